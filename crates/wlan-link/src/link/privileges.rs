//! Giving up what a link does not need once its device and sockets are open.

use caps::{CapSet, Capability, CapsHashSet};

/// The privileges could not be given up.
#[derive(Debug, thiserror::Error)]
pub enum PrivilegeError {
    /// The kernel refuses to change capabilities.
    #[error("giving up capabilities: {0}")]
    Capabilities(#[from] caps::errors::CapsError),
    /// The kernel does not know `no_new_privs`.
    #[error("no_new_privs: {0}")]
    NoNewPrivileges(#[from] nix::Error),
}

/// Keeps `CAP_NET_ADMIN` and `CAP_NET_RAW`, which an interface that comes again asks for, as far as the process has them;
/// gives up all other capabilities, those that programs it starts could have among them, and sets `no_new_privs`
/// (capabilities(7), `PR_SET_NO_NEW_PRIVS`).
///
/// Capabilities are a thread's own: to be called between [`Link::open`](super::Link::open) and
/// [`Link::start`](super::Link::start), from the thread that does both, while there is no other.
///
/// # Errors
/// Each kind of [`PrivilegeError`].
pub fn keep_network_privileges() -> Result<(), PrivilegeError> {
    let wanted = CapsHashSet::from([Capability::CAP_NET_ADMIN, Capability::CAP_NET_RAW]);
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
    nix::sys::prctl::set_no_new_privs()?;
    Ok(())
}
