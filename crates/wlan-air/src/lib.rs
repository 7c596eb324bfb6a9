//! The medium of an 802.11 link, in virtual time.
//!
//! No clock, no I/O, no randomness of its own: a caller queues frames with their times of arrival and
//! performs events in the order of their times. A virtual-time simulator ([`sim`]) and a real-time emulator
//! drive the same code. Every event is computed from the ideal previous event, never from the caller's clock,
//! so an emulator that runs late loses no airtime: its lateness shows as delay and does not add up.
//!
//! - [`phy`]: PHY rates, the airtime of a PPDU, what a BSS agrees on (clauses 15 to 19 and 21);
//! - [`channel`]: signal-to-noise ratio between stations, and how likely a frame survives it;
//! - [`Access`], [`Aggregation`]: DCF or EDCA parameters, how MSDUs and MPDUs form a PPDU;
//! - [`RateControl`], [`queue`]: which rate is chosen, how MSDUs wait;
//! - [`Medium`]: backoff, collisions, frame exchange sequences, retries; the core that both drivers share;
//! - [`tcp`], [`traffic`]: what applications send, and what is measured where it arrives;
//! - [`analytic`]: closed forms that say what the medium must give in the cases that can be solved;
//! - [`sim`]: sources and sinks around a medium in virtual time.
//!
//! Clauses cite IEEE Std 802.11-2020. What the medium leaves out, so that it is not mistaken for a result:
//! propagation delay (0), capture (PPDUs that overlap at a receiver are all lost there), losses at stations
//! that a frame is not for.

#![forbid(unsafe_code)]

mod access;
pub mod analytic;
pub mod channel;
mod medium;
pub mod phy;
pub mod queue;
mod rate;
pub mod sim;
pub mod tcp;
mod time;
pub mod traffic;

pub use access::{Access, Aggregation, Category, Countdown, Framing};
pub use medium::{
    Airtime, Beacons, Counters, Delivery, Event, Fragment, Gone, Hearing, Kind, Medium, MediumConfig,
    Outcome, Ppdu, Protection, Route, StationConfig, StationCounters,
};
pub use rate::RateControl;
pub use time::Nanos;

use phy::Mode;

/// What can be wrong with a [`MediumConfig`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No station.
    #[error("too few stations: a medium needs at least one")]
    Stations,
    /// A queue that cannot be.
    #[error(transparent)]
    Queue(#[from] queue::QueueError),
    /// Nothing to send at.
    #[error("a rate control needs at least one rate")]
    NoRate,
    /// A rate that the BSS does not have.
    #[error("{0} cannot be sent in this BSS: its band or its PHY is another (IEEE Std 802.11-2020, 10.6)")]
    NotInBss(Mode),
    /// A channel between other stations.
    #[error("a channel between {channel} stations, but the medium has {stations}")]
    ChannelStations {
        /// Stations of the channel.
        channel: usize,
        /// Stations of the medium.
        stations: usize,
    },
    /// Neither DCF nor some of EDCA's four.
    #[error("a station has {0} access categories; EDCA has one to four (IEEE Std 802.11-2020, 10.2.3.2)")]
    AccessCategories(usize),
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
    /// A TXOP limit that no AP can announce.
    #[error(
        "a TXOP limit of {0} is too long: the EDCA Parameter Set element holds at most 2 097 120 us \
         (IEEE Std 802.11-2020, 9.4.2.28)"
    )]
    TxopLimit(Nanos),
    /// Aggregation on a PHY without it.
    #[error(
        "{0} carries no A-MPDU and no A-MSDU: aggregation needs HT or VHT (IEEE Std 802.11-2020, 9.7, 10.12)"
    )]
    AggregationWithoutHt(Mode),
    /// More MPDUs than a `BlockAck` answers.
    #[error("an A-MPDU of {0} MPDUs: allowed are 1 to 64 (IEEE Std 802.11-2020, 9.3.1.8.2)")]
    AmpduCount(usize),
    /// An A-MPDU longer than its PHY carries.
    #[error("an A-MPDU of {len_b} octets: {mode} carries at most {max_len_b} (IEEE Std 802.11-2020, 9.7.1)")]
    AmpduLength {
        /// Octets asked for.
        len_b: usize,
        /// Octets allowed.
        max_len_b: usize,
        /// The mode.
        mode: Mode,
    },
    /// An A-MSDU longer than its PHY carries.
    #[error(
        "an A-MSDU of {len_b} octets: {mode} carries at most {max_len_b} (IEEE Std 802.11-2020, Table 9-25)"
    )]
    AmsduLength {
        /// Octets asked for.
        len_b: usize,
        /// Octets allowed.
        max_len_b: usize,
        /// The mode.
        mode: Mode,
    },
    /// An A-MSDU too long for an A-MPDU.
    #[error(
        "an A-MSDU that makes an MPDU of {len_b} octets: an HT A-MPDU carries MPDUs of at most {max_len_b} \
         (IEEE Std 802.11-2020, 9.7.1)"
    )]
    MpduInAmpdu {
        /// Octets of the MPDU.
        len_b: usize,
        /// Octets allowed.
        max_len_b: usize,
    },
    /// Not a value of dot11FragmentationThreshold.
    #[error(
        "a fragmentation threshold of {0} octets: allowed are even numbers from 256 to 11 500 \
         (IEEE Std 802.11-2020, 10.4, dot11FragmentationThreshold)"
    )]
    FragmentationThreshold(usize),
    /// Who hears whom does not fit the stations.
    #[error("the matrix of who hears whom must have {stations} rows of {stations}, one for each station")]
    HearingMatrix {
        /// Number of stations.
        stations: usize,
    },
    /// Beacons that never come.
    #[error("the beacon interval must be at least 1 time unit (IEEE Std 802.11-2020, 9.4.1.3)")]
    Beacons,
}
