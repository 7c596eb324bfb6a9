//! Time for the emulator: a monotonic clock that starts at zero, and waiting on it to the microsecond.

use std::io;

use nix::errno::Errno;
use nix::poll::{PollFd, ppoll};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use serde::Deserialize;
use wlan_air::Nanos;

/// The clock of a machine: real, or virtual in a guest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClockKind {
    /// Time passes by itself.
    #[default]
    Real,
    /// Time moves only while every program sleeps, as in a guest that airtoll boots: sleeps end exactly, and a
    /// busy-wait would never end.
    Virtual,
}

impl ClockKind {
    /// Length of the final busy-wait of a sleep. Timers of real time fire a few microseconds late, and the scheduler
    /// penalises longer busy-waits.
    fn spin(self) -> Nanos {
        match self {
            Self::Real => Nanos(25_000),
            Self::Virtual => Nanos::ZERO,
        }
    }
}

/// `CLOCK_MONOTONIC`, relative to the start of the emulated link.
#[derive(Clone, Copy)]
pub struct Clock {
    origin_ns: u64,
    kind: ClockKind,
}

/// `CLOCK_MONOTONIC` in nanoseconds, which all processes and network namespaces of a machine share.
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("CLOCK_MONOTONIC exists on every Linux");
    now.tv_sec().unsigned_abs() * 1_000_000_000 + now.tv_nsec().unsigned_abs()
}

fn timespec(span_ns: u64) -> TimeSpec {
    TimeSpec::new(
        (span_ns / 1_000_000_000).cast_signed(),
        (span_ns % 1_000_000_000).cast_signed(),
    )
}

impl Clock {
    /// Creates a clock that reads zero now.
    pub fn start(kind: ClockKind) -> Self {
        Self {
            origin_ns: monotonic_ns(),
            kind,
        }
    }

    /// The clock of the machine.
    pub fn kind(&self) -> ClockKind {
        self.kind
    }

    /// How much earlier than a deadline a sleep must end to meet the deadline exactly.
    pub fn spin(&self) -> Nanos {
        self.kind.spin()
    }

    /// Time since the start.
    pub fn now(&self) -> Nanos {
        Nanos(monotonic_ns() - self.origin_ns)
    }

    /// Sleeps, then spins, until `deadline`.
    pub fn wait_until(&self, deadline: Nanos) {
        let spin = self.spin();
        if self.now() + spin < deadline {
            let wake = timespec(self.origin_ns + (deadline - spin).0);
            while clock_nanosleep(
                ClockId::CLOCK_MONOTONIC,
                ClockNanosleepFlags::TIMER_ABSTIME,
                &wake,
            ) == Err(Errno::EINTR)
            {}
        }
        while self.now() < deadline {
            std::hint::spin_loop();
        }
    }

    /// Waits until one of `polled` is readable (`true`) or `deadline` has passed (`false`). Without a deadline, it
    /// waits indefinitely. It may return some microseconds late; use [`wait_until`](Self::wait_until) if the time must
    /// be exact.
    ///
    /// # Errors
    /// `ppoll` fails, except if a signal interrupts it.
    pub fn wait_readable(&self, polled: &mut [PollFd<'_>], deadline: Option<Nanos>) -> io::Result<bool> {
        loop {
            let timeout = deadline.map(|at| timespec(at.0.saturating_sub(self.now().0)));
            match ppoll(polled, timeout, None) {
                Ok(readable) => return Ok(readable > 0),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
