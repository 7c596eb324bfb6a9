//! What both ends of TKIP do about forgeries, IEEE 802.11-2020 12.5.2.4.
//!
//! Michael is weak, so an active attack must be slow: after the second MIC failure within 60 seconds TKIP stops for 60
//! seconds. The supplicant reports every failure to the authenticator, and a report counts there like a failure of its
//! own. Only frames with a right ICV in the right order count: [`crate::tkip`] has the order of the checks.
//!
//! No clock is read: every call says what time it is, in nanoseconds since any fixed instant.

/// Two failures closer than this are an attack, and the stop lasts as long.
pub const PERIOD_NS: u64 = 60_000_000_000;

/// What is to be done about a MIC failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The first in 60 seconds: log it, and as a supplicant send a Michael MIC Failure Report.
    Report,
    /// The second: report it, delete the TKIP keys and end the associations that use them; no TKIP frame is sent or
    /// taken, and no TKIP key agreed on, before this time.
    StopUntil {
        /// When the stop ends.
        time_ns: u64,
    },
    /// TKIP is stopped already, nothing more is to be done.
    Stopped,
}

/// The countermeasures of one station or access point.
#[derive(Debug, Clone, Default)]
pub struct Countermeasures {
    last_failure_ns: Option<u64>,
    stopped_until_ns: Option<u64>,
}

impl Countermeasures {
    /// No failure was seen yet.
    #[must_use]
    pub fn new() -> Countermeasures {
        Countermeasures::default()
    }

    /// Takes note of a MIC failure seen, or of one that a supplicant reports, at `now_ns`.
    pub fn mic_failure(&mut self, now_ns: u64) -> Action {
        if self.is_stopped(now_ns) {
            return Action::Stopped;
        }
        let second = self
            .last_failure_ns
            .is_some_and(|last| now_ns.saturating_sub(last) < PERIOD_NS);
        if !second {
            self.last_failure_ns = Some(now_ns);
            return Action::Report;
        }
        // What led to this stop does not count towards the next.
        self.last_failure_ns = None;
        let time_ns = now_ns.saturating_add(PERIOD_NS);
        self.stopped_until_ns = Some(time_ns);
        Action::StopUntil { time_ns }
    }

    /// Whether TKIP is stopped at `now_ns`.
    #[must_use]
    pub fn is_stopped(&self, now_ns: u64) -> bool {
        self.stopped_until_ns.is_some_and(|until| now_ns < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn two_failures_within_a_minute_stop_tkip_for_a_minute() {
        let mut ap = Countermeasures::new();
        assert_eq!(ap.mic_failure(100 * S), Action::Report);
        assert!(!ap.is_stopped(159 * S));
        assert_eq!(
            ap.mic_failure(160 * S - 1),
            Action::StopUntil { time_ns: 220 * S - 1 }
        );
        assert!(ap.is_stopped(160 * S));
        assert_eq!(ap.mic_failure(170 * S), Action::Stopped);
        assert!(ap.is_stopped(220 * S - 2) && !ap.is_stopped(220 * S - 1));
        assert_eq!(ap.mic_failure(230 * S), Action::Report, "the count begins anew");
    }

    #[test]
    fn failures_a_minute_apart_are_reported_only() {
        let mut station = Countermeasures::new();
        for minute in 1..5 {
            assert_eq!(station.mic_failure(minute * PERIOD_NS), Action::Report);
        }
        assert!(!station.is_stopped(0));
    }
}
