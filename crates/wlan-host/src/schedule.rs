//! Scheduling of the thread that keeps the time of the air.

use std::time::Duration;

/// The scheduling class of the calling thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheduling {
    /// `SCHED_FIFO`: real-time priority over all ordinary threads.
    Fifo,
    /// The ordinary scheduler, because the process lacks the permission for real-time priority.
    Other,
}

/// Time slice that an ordinary thread requests: the smallest that the kernel grants. A shorter slice gives an earlier
/// virtual deadline (EEVDF), so that the thread runs sooner after it wakes. Its share of the CPU stays the same.
const SLICE: Duration = Duration::from_micros(100);

/// Requests exact timers (the default slack is 50 us) and, if permitted, real-time priority.
pub fn claim_real_time() -> Scheduling {
    // This fails only on a kernel without timer slack, where timers are exact anyway.
    let _ = nix::sys::prctl::set_timerslack(1);
    if sys::set_fifo(1).is_ok() {
        return Scheduling::Fifo;
    }
    // Kernels before Linux 6.12 ignore the slice.
    let _ = sys::set_slice(SLICE);
    Scheduling::Other
}

/// The scheduling calls that `nix` does not wrap.
#[allow(unsafe_code)]
mod sys {
    use std::time::Duration;

    use nix::errno::Errno;
    use nix::libc;

    /// Sets the policy of the calling thread to `SCHED_FIFO` with `priority`.
    pub fn set_fifo(priority: libc::c_int) -> nix::Result<()> {
        // SAFETY: sched_param is a plain C struct for which all zeroes is a valid value; musl's has more fields.
        let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
        parameters.sched_priority = priority;
        // SAFETY: pid 0 is the calling thread, and the pointer is to a live sched_param.
        Errno::result(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) })
            .map(drop)
    }

    /// Requests this slice of the ordinary scheduler, and keeps the priority of the thread.
    pub fn set_slice(slice: Duration) -> nix::Result<()> {
        // SAFETY: sched_attr is a plain C struct for which all zeroes is a valid value.
        let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
        attributes.size =
            u32::try_from(size_of::<libc::sched_attr>()).expect("the length of sched_attr fits");
        attributes.sched_policy = libc::SCHED_OTHER.cast_unsigned();
        attributes.sched_runtime = u64::try_from(slice.as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: pid 0 is the calling thread, the pointer is to a live sched_attr that contains its own size, and the
        // call has no flags.
        Errno::result(unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) })
            .map(drop)
    }
}
