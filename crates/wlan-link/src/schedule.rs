//! How the kernel is asked to run the thread that keeps the air's time.

/// How the calling thread is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheduling {
    /// `SCHED_FIFO`, ahead of every ordinary thread.
    Fifo,
    /// The ordinary scheduler, since the process may not ask for more.
    Other,
}

/// Asks for exact timers (the default slack is 50 us) and, where permitted, for real-time priority.
pub fn claim_real_time() -> Scheduling {
    // Refused only by a kernel without timer slack, where timers are exact anyway.
    let _ = nix::sys::prctl::set_timerslack(1);
    if sys::set_fifo(1).is_ok() {
        Scheduling::Fifo
    } else {
        Scheduling::Other
    }
}

/// The one scheduling call that `nix` has no wrapper for.
#[allow(unsafe_code)]
mod sys {
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
}
