//! Datagrams at a constant bit rate, spaced as by the programs that measure networks.

use super::{Departure, Draws, TrafficError, WakeUp, check_rate};
use crate::Nanos;

/// How a program spaces the datagrams of a constant bit rate. The time that a program takes to send is neglected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pace {
    /// At equal intervals.
    Even,
    /// As iperf3 does: a timer with this period runs. When the timer expires, iperf3 sends until its mean rate since
    /// the start is the rate that it was given (`iperf_check_throttle` of `iperf_api.c`, 3.12).
    Timer(Nanos),
    /// As iperf 2.0 to 2.0.4 do, and JPerf, which contains iperf 2.0.2: after each datagram the program reads the
    /// host's clock in a loop until the datagram's time has passed (`delay.cpp`), and sends late datagrams without a
    /// delay (`Client.cpp`). The clock advances in steps of this duration: the program sends all datagrams of a step
    /// at its beginning, and the receiver's clock has the same steps.
    Clock(Nanos),
}

/// Datagrams of one size at a constant bit rate.
#[derive(Clone, Debug)]
pub struct Cbr {
    rate_bps: u64,
    packet_b: usize,
    start: Nanos,
    pace: Pace,
    sent: u64,
    wake_up: WakeUp,
    draws: Draws,
    /// Time at which the program runs, after the start.
    runs_at: Nanos,
}

impl Cbr {
    /// Datagrams of `packet_b` octets of payload at `rate_bps` bits of payload per second, the first at `start`.
    ///
    /// # Errors
    /// [`TrafficError`] if the datagram is empty, if the rate is zero or exceeds one datagram per nanosecond, or if
    /// the timer or the clock has no period.
    pub fn new(rate_bps: u64, packet_b: usize, start: Nanos, pace: Pace) -> Result<Cbr, TrafficError> {
        check_rate(rate_bps, packet_b)?;
        if matches!(pace, Pace::Timer(Nanos::ZERO) | Pace::Clock(Nanos::ZERO)) {
            return Err(TrafficError::Period);
        }
        Ok(Cbr {
            rate_bps,
            packet_b,
            start,
            pace,
            sent: 0,
            wake_up: WakeUp::Instant,
            draws: Draws::new(0),
            runs_at: Nanos::ZERO,
        })
    }

    /// The same datagrams of a program that runs this time after its timer has expired, with random numbers from this
    /// seed. It then sends all datagrams that are due. A program that reads the clock in a loop does not sleep.
    #[must_use]
    pub fn with_wake_ups(self, wake_up: WakeUp, seed: u64) -> Cbr {
        let wake_up = match self.pace {
            Pace::Clock(_) => WakeUp::Instant,
            Pace::Even | Pace::Timer(_) => wake_up,
        };
        Cbr {
            wake_up,
            draws: Draws::new(seed),
            ..self
        }
    }
}

impl Iterator for Cbr {
    type Item = Departure;

    /// Datagram n leaves when n datagrams are due, so rounding errors do not accumulate.
    fn next(&mut self) -> Option<Departure> {
        let bits = u128::from(self.sent) * self.packet_b as u128 * 8;
        let due = u64::try_from(bits * 1_000_000_000 / u128::from(self.rate_bps)).ok()?;
        if due > self.runs_at.0 {
            let expires = match self.pace {
                Pace::Even => due,
                Pace::Timer(step) | Pace::Clock(step) => due.checked_next_multiple_of(step.0)?,
            };
            self.runs_at = Nanos(expires.checked_add(self.wake_up.draw(&mut self.draws).0)?);
        }
        self.sent += 1;
        Some(Departure {
            at: Nanos(self.start.0.checked_add(self.runs_at.0)?),
            len_b: self.packet_b,
        })
    }
}
