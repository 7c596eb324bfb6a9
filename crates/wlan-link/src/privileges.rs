//! Drops the privileges that a link no longer requires once its device and sockets are open.

use std::io;

use caps::{CapSet, CapsHashSet};
use nix::sys::prctl;
use nix::unistd::{Gid, Uid, User, setgroups, setresgid, setresuid};

pub use caps::Capability;

/// The privileges could not be dropped.
#[derive(Debug, thiserror::Error)]
pub enum PrivilegeError {
    /// The process cannot become the user: it lacks `CAP_SETUID` or `CAP_SETGID`, or its user namespace does not map the user.
    #[error("cannot change to user {}, group {}: {source}", user.uid, user.gid)]
    User {
        /// The user to become.
        user: UserIds,
        /// The kernel's error.
        source: nix::Error,
    },
    /// Capabilities cannot be changed.
    #[error("cannot drop capabilities: {0}")]
    Capabilities(#[from] caps::errors::CapsError),
    /// The kernel does not support the process attribute.
    #[error("cannot set no_new_privs, dumpable or keepcaps: {0}")]
    Attribute(#[from] nix::Error),
}

/// The user of links that `contrib/systemd/airtoll-link.sysusers.conf` creates.
pub const OWN_USER: &str = "airtoll-link";

/// The numeric IDs of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserIds {
    /// User ID.
    pub uid: u32,
    /// ID of the user's primary group.
    pub gid: u32,
}

impl UserIds {
    /// A user without files: the IDs of `nobody` on most systems.
    const NOBODY: Self = Self {
        uid: 65_534,
        gid: 65_534,
    };

    /// Looks up a user by name; `None` if the user does not exist.
    ///
    /// # Errors
    /// The user database cannot be read.
    pub fn named(name: &str) -> io::Result<Option<Self>> {
        let found = User::from_name(name)?;
        Ok(found.map(|User { uid, gid, .. }| Self {
            uid: uid.as_raw(),
            gid: gid.as_raw(),
        }))
    }

    /// The user `airtoll-link`, whom no other service shares, if it exists. Otherwise the user `nobody`, or the IDs that it
    /// usually has.
    #[must_use]
    pub fn unprivileged() -> Self {
        let of = |name| Self::named(name).ok().flatten();
        of(OWN_USER).or_else(|| of("nobody")).unwrap_or(Self::NOBODY)
    }

    /// Whether other services may run as this user.
    #[must_use]
    pub fn is_shared(self) -> bool {
        self == Self::NOBODY || Self::named("nobody").ok().flatten() == Some(self)
    }
}

/// Prevents other processes of the same user from reading the keys in this process's memory, and excludes the memory
/// from core dumps (`PR_SET_DUMPABLE`).
///
/// # Errors
/// [`PrivilegeError::Attribute`].
pub fn hide_memory() -> Result<(), PrivilegeError> {
    Ok(prctl::set_dumpable(false)?)
}

/// Whether the process is root, possibly only of its user namespace.
#[must_use]
pub fn is_root() -> bool {
    Uid::effective().is_root()
}

/// Changes the user of a root process and removes its supplementary groups. The calling thread retains its permitted
/// capabilities, so that [`keep_capabilities`] can select from them.
///
/// # Errors
/// All variants of [`PrivilegeError`]. After [`PrivilegeError::User`], the gid may have changed, but not the uid.
pub fn become_user(user: UserIds) -> Result<(), PrivilegeError> {
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    prctl::set_keepcaps(true)?;
    // The user changes last, because the change removes the permission for the others.
    let became = setresgid(gid, gid, gid)
        .and_then(|()| setgroups(&[]))
        .and_then(|()| setresuid(uid, uid, uid));
    prctl::set_keepcaps(false)?;
    became.map_err(|source| PrivilegeError::User { user, source })?;
    // The change of the user cleared only the effective set.
    caps::set(None, CapSet::Effective, &caps::read(None, CapSet::Permitted)?)?;
    // A change of the user resets the attribute to fs.suid_dumpable (proc_sys_fs(5)).
    hide_memory()
}

/// Drops all capabilities except `wanted`, also for programs that the process starts, and sets `no_new_privs`
/// (capabilities(7), `PR_SET_NO_NEW_PRIVS`). Capabilities that the process does not have are ignored.
///
/// Capabilities are per thread. Call this between [`Link::open`](crate::plane::Link::open) and
/// [`Link::start`](crate::plane::Link::start), from the thread that calls both, while no other thread exists.
///
/// # Errors
/// All variants of [`PrivilegeError`] except [`PrivilegeError::User`].
pub fn keep_capabilities(wanted: &[Capability]) -> Result<(), PrivilegeError> {
    let wanted: CapsHashSet = wanted.iter().copied().collect();
    let kept: CapsHashSet = &caps::read(None, CapSet::Permitted)? & &wanted;
    // Only CAP_SETPCAP, which is dropped below, permits changes of the bounding set.
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
