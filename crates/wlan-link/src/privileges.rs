//! Giving up what a link does not need once its device and sockets are open.

use std::io;

use caps::{CapSet, CapsHashSet};
use nix::sys::prctl;
use nix::unistd::{Gid, Uid, User, setgroups, setresgid, setresuid};

pub use caps::Capability;

/// The privileges could not be given up.
#[derive(Debug, thiserror::Error)]
pub enum PrivilegeError {
    /// The process cannot become the user: it lacks `CAP_SETUID` or `CAP_SETGID`, or its user namespace does not map the user.
    #[error("becoming user {}, group {}: {source}", user.uid, user.gid)]
    User {
        /// Which user.
        user: UserIds,
        /// What the kernel said.
        source: nix::Error,
    },
    /// The kernel refuses to change capabilities.
    #[error("giving up capabilities: {0}")]
    Capabilities(#[from] caps::errors::CapsError),
    /// The kernel does not know the attribute of the process.
    #[error("no_new_privs, dumpable or keepcaps: {0}")]
    Attribute(#[from] nix::Error),
}

/// The numbers of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserIds {
    /// Of the user.
    pub uid: u32,
    /// Of the user's group.
    pub gid: u32,
}

impl UserIds {
    /// The user without files: `nobody` where the system names no other.
    const NOBODY: Self = Self {
        uid: 65_534,
        gid: 65_534,
    };

    /// The user of this name; `None` if it does not exist.
    ///
    /// # Errors
    /// The list of users cannot be read.
    pub fn named(name: &str) -> io::Result<Option<Self>> {
        let found = User::from_name(name)?;
        Ok(found.map(|User { uid, gid, .. }| Self {
            uid: uid.as_raw(),
            gid: gid.as_raw(),
        }))
    }

    /// The user `nobody`.
    #[must_use]
    pub fn nobody() -> Self {
        Self::named("nobody").ok().flatten().unwrap_or(Self::NOBODY)
    }
}

/// Keeps other processes of the same user from reading the keys in this one's memory, and the memory from core dumps
/// (`PR_SET_DUMPABLE`).
///
/// # Errors
/// [`PrivilegeError::Attribute`].
pub fn hide_memory() -> Result<(), PrivilegeError> {
    Ok(prctl::set_dumpable(false)?)
}

/// Whether the process is root, of its user namespace at least.
#[must_use]
pub fn is_root() -> bool {
    Uid::effective().is_root()
}

/// Has a process of root become another user, without supplementary groups. The calling thread keeps its permitted
/// capabilities, for [`keep_capabilities`] to choose from.
///
/// # Errors
/// Each kind of [`PrivilegeError`]. After [`PrivilegeError::User`] the uid is unchanged; the gid may have changed.
pub fn become_user(user: UserIds) -> Result<(), PrivilegeError> {
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    prctl::set_keepcaps(true)?;
    // The user is the last, since its change takes the permission for the others.
    let became = setresgid(gid, gid, gid)
        .and_then(|()| setgroups(&[]))
        .and_then(|()| setresuid(uid, uid, uid));
    prctl::set_keepcaps(false)?;
    became.map_err(|source| PrivilegeError::User { user, source })?;
    // The change cleared the effective set only.
    caps::set(None, CapSet::Effective, &caps::read(None, CapSet::Permitted)?)?;
    // A change of the user sets it to fs.suid_dumpable (proc_sys_fs(5)).
    hide_memory()
}

/// Keeps the given capabilities if the process has them, gives up all others, also for the programs that it starts, and sets
/// `no_new_privs` (capabilities(7), `PR_SET_NO_NEW_PRIVS`).
///
/// Capabilities are a thread's own: to be called between [`Link::open`](crate::plane::Link::open) and
/// [`Link::start`](crate::plane::Link::start), from the thread that does both, while there is no other.
///
/// # Errors
/// Each kind of [`PrivilegeError`] but [`PrivilegeError::User`].
pub fn keep_capabilities(wanted: &[Capability]) -> Result<(), PrivilegeError> {
    let wanted: CapsHashSet = wanted.iter().copied().collect();
    let kept: CapsHashSet = &caps::read(None, CapSet::Permitted)? & &wanted;
    // The bounding set can only be narrowed with CAP_SETPCAP, which goes then.
    if caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP)? {
        for capability in &caps::read(None, CapSet::Bounding)? - &wanted {
            caps::drop(None, CapSet::Bounding, capability)?;
        }
    }
    caps::clear(None, CapSet::Ambient)?;
    caps::set(None, CapSet::Inheritable, &CapsHashSet::new())?;
    caps::set(None, CapSet::Effective, &kept)?;
    caps::set(None, CapSet::Permitted, &kept)?;
    prctl::set_no_new_privs()?;
    Ok(())
}
