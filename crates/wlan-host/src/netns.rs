//! Anonymous network namespaces. They exist as long as a descriptor or a process holds them, so nothing is left behind
//! however the process ends.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::thread;

use nix::sched::{CloneFlags, unshare};

/// Creates a network namespace and runs `setup` in it. Returns both.
///
/// A namespace is a property of a thread, so both run on a separate thread.
///
/// # Errors
/// The kernel refuses the namespace (`EPERM` without `CAP_SYS_ADMIN`), or `setup` fails.
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
