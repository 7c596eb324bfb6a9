//! How the kernel is asked to run the thread that keeps the air's time.

use std::time::Duration;

/// How the calling thread is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheduling {
    /// `SCHED_FIFO`, ahead of every ordinary thread.
    Fifo,
    /// The ordinary scheduler, since the process may not ask for more.
    Other,
}

/// What an ordinary thread asks to run for at a time: the least that the kernel grants. The less a thread asks for, the
/// sooner it runs once it is awake (EEVDF: an earlier virtual deadline); it gets no more of the CPU by it.
const SLICE: Duration = Duration::from_micros(100);

/// Asks for exact timers (the default slack is 50 us) and, where permitted, for real-time priority.
pub fn claim_real_time() -> Scheduling {
    // Refused only by a kernel without timer slack, where timers are exact anyway.
    let _ = nix::sys::prctl::set_timerslack(1);
    if sys::set_fifo(1).is_ok() {
        return Scheduling::Fifo;
    }
    // Kernels before Linux 6.12 have no such wish, and go on as they did.
    let _ = sys::set_slice(SLICE);
    Scheduling::Other
}

/// The scheduling calls that `nix` has no wrappers for.
#[allow(unsafe_code)]
mod sys {
    use std::time::Duration;

    use nix::errno::Errno;
    use nix::libc;

    /// Puts the calling thread under `SCHED_FIFO` at `priority`.
    pub fn set_fifo(priority: libc::c_int) -> nix::Result<()> {
        let parameters = libc::sched_param {
            sched_priority: priority,
        };
        // SAFETY: pid 0 names the calling thread and the pointer is to a live sched_param.
        Errno::result(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) })
            .map(drop)
    }

    /// Asks for this slice of the ordinary scheduler, at the priority that the thread has.
    pub fn set_slice(slice: Duration) -> nix::Result<()> {
        // SAFETY: sched_attr is a plain C struct for which all zeroes is a valid value.
        let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
        attributes.size = u32::try_from(size_of::<libc::sched_attr>()).expect("some dozens of octets");
        attributes.sched_policy = libc::SCHED_OTHER.cast_unsigned();
        attributes.sched_runtime = u64::try_from(slice.as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: pid 0 names the calling thread, the pointer is to a live sched_attr that says its own size, and the
        // call has no flags.
        Errno::result(unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) })
            .map(drop)
    }
}
