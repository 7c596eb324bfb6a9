//! Network namespaces without names: they live as long as a descriptor or a process holds them, so that
//! nothing is left behind whichever way the process ends.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::thread;

use nix::sched::{CloneFlags, unshare};

/// A new network namespace, and what `setup` made inside it.
///
/// A namespace is a property of a thread, so both happen on a thread of their own, which then ends.
///
/// # Errors
/// The namespace is refused (`EPERM` without `CAP_SYS_ADMIN`), or `setup` fails.
pub fn create<T: Send>(setup: impl FnOnce() -> io::Result<T> + Send) -> io::Result<(OwnedFd, T)> {
    thread::scope(|scope| {
        scope
            .spawn(|| {
                unshare(CloneFlags::CLONE_NEWNET)?;
                let namespace = File::open("/proc/thread-self/ns/net")?;
                Ok((namespace.into(), setup()?))
            })
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
