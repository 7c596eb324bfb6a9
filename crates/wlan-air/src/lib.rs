//! The medium of an 802.11 link, in virtual time.
//!
//! No clock, no I/O, no randomness of its own: a caller queues frames with their times of arrival and
//! performs events in the order of their times. A virtual-time simulator ([`sim`]) and a real-time emulator
//! drive the same code. Every event is computed from the ideal previous event, never from the caller's clock,
//! so an emulator that runs late loses no airtime: its lateness shows as delay and does not add up.
//!
//! - [`phy`]: a PHY rate and the airtime of a PPDU (clauses 17 and 19);
//! - [`Access`], [`Aggregation`]: DCF or EDCA parameters, how many MPDUs form a PPDU;
//! - [`Medium`]: queues, backoff, collisions, retries; the core that both drivers share;
//! - [`analytic`]: closed forms that say what the medium must give in the cases that can be solved;
//! - [`sim`]: sources and sinks around a medium in virtual time.
//!
//! Clauses cite IEEE Std 802.11-2020. What the medium leaves out, so that it is not mistaken for a result:
//! propagation delay (0), capture (overlapping PPDUs are all lost), loss without collision, hidden stations,
//! RTS/CTS.

#![forbid(unsafe_code)]

mod access;
pub mod analytic;
mod medium;
pub mod phy;
pub mod sim;
mod time;

pub use access::{Access, Aggregation, Countdown};
pub use medium::{Counters, Event, Medium, MediumConfig, Mpdu, StationCounters};
pub use time::Nanos;

use phy::Mode;

/// What can be wrong with a [`MediumConfig`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Fewer stations than the work needs.
    #[error("too few stations: a medium needs at least one, a ping-pong two")]
    Stations,
    /// No room for a frame.
    #[error("a station's queue must hold at least one MPDU")]
    QueueLimit,
    /// Not a contention window of the standard.
    #[error(
        "contention window {min} to {max}: both must be a power of two less one, and the first not the larger"
    )]
    ContentionWindow {
        /// CWmin, slots.
        min: u16,
        /// CWmax, slots.
        max: u16,
    },
    /// No transmission allowed.
    #[error("the retry limit must be at least 1 transmission")]
    RetryLimit,
    /// A-MPDU on a PHY without it.
    #[error("{0} carries no A-MPDU: aggregation needs an HT mode")]
    AmpduWithoutHt(Mode),
    /// More MPDUs than a `BlockAck` answers.
    #[error("an A-MPDU of {0} MPDUs: allowed are 1 to 64")]
    AmpduCount(usize),
}
