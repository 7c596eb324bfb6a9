//! The medium of an 802.11 link, in virtual time.
//!
//! The crate has no clock, no I/O and no source of randomness. A caller queues frames with their arrival
//! times and executes events in the order of their times. A virtual-time simulator ([`sim`]) and a real-time
//! emulator drive the same code. Every event is computed from the ideal time of the previous event, never
//! from the caller's clock. An emulator that runs late therefore loses no airtime: its lateness appears as
//! delay and does not accumulate.
//!
//! - [`phy`]: PHY rates, the airtime of a PPDU, the parameters of a BSS (clauses 15 to 19 and 21);
//! - [`channel`]: the signal-to-noise ratio between stations, and the probability that a frame is received;
//! - [`Access`], [`Aggregation`]: DCF or EDCA parameters, how MSDUs and MPDUs form a PPDU;
//! - [`RateControl`], [`queue`]: the choice of the rate, the queues of MSDUs;
//! - [`Medium`]: backoff, collisions, frame exchange sequences, retries; the core that both drivers share;
//! - [`tcp`], [`traffic`]: the packets that applications send, and the measurements at the receiver;
//! - [`analytic`]: closed forms that predict the medium's result in the solvable cases;
//! - [`sim`]: sources and sinks around a medium in virtual time.
//!
//! Clauses cite IEEE Std 802.11-2020. The medium does not model propagation delay (it is 0), capture (PPDUs
//! that overlap at a receiver are all lost there) or losses at stations other than a frame's receiver.

#![forbid(unsafe_code)]

mod access;
pub mod analytic;
pub mod channel;
mod cpu;
mod medium;
pub mod phy;
pub mod queue;
mod rate;
pub mod sim;
pub mod tcp;
mod time;
pub mod traffic;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub use access::{Access, Aggregation, Category, Countdown, Framing};
pub use cpu::Cpu;
pub use medium::{
    Airtime, Beacons, Completion, Counters, Delivery, Event, Fragment, Hearing, Kind, Medium, MediumConfig,
    Outcome, Ppdu, Protection, RequestFn, Route, StationConfig, StationCounters, TxRequest,
};
pub use rate::RateControl;
pub use time::Nanos;

use phy::Mode;

/// An invalid [`MediumConfig`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The medium has no station.
    #[error("no stations: a medium requires at least one")]
    Stations,
    /// A queue configuration is invalid.
    #[error(transparent)]
    Queue(#[from] queue::QueueError),
    /// The rate control has no rate.
    #[error("rate control requires at least one rate")]
    NoRate,
    /// A setting of a station whose driver decides it for each frame.
    #[error("{0} must not be configured with RateControl::Driver: the driver decides it for each frame")]
    ChosenByDriver(&'static str),
    /// [`Medium::new`] with a station that requires a driver.
    #[error("RateControl::Driver requires a request function: use Medium::with_driver")]
    NoDriver,
    /// The BSS does not support the rate.
    #[error("{0} is not supported in this BSS: its band or its PHY differs (IEEE Std 802.11-2020, 10.6)")]
    NotInBss(Mode),
    /// The channel has a different number of stations than the medium.
    #[error("the channel has {channel} stations, but the medium has {stations}")]
    ChannelStations {
        /// Stations in the channel.
        channel: usize,
        /// Stations in the medium.
        stations: usize,
    },
    /// A station has neither DCF nor one to four access categories of EDCA, not counting
    /// [`Access::beacon`] after them.
    #[error("a station has {0} access categories: EDCA has 1 to 4 (IEEE Std 802.11-2020, 10.2.3.2)")]
    AccessCategories(usize),
    /// A contention window is not a power of two minus one, or the minimum exceeds the maximum.
    #[error("contention window {min} to {max}: both must be a power of two minus one, and min at most max")]
    ContentionWindow {
        /// CWmin, slots.
        min: u16,
        /// CWmax, slots.
        max: u16,
    },
    /// The retry limit allows no transmission.
    #[error("the retry limit must be at least 1 transmission")]
    RetryLimit,
    /// The TXOP limit exceeds the range of the EDCA Parameter Set element.
    #[error(
        "a TXOP limit of {0} is too long: the EDCA Parameter Set element holds at most 2 097 120 us \
         (IEEE Std 802.11-2020, 9.4.2.28)"
    )]
    TxopLimit(Nanos),
    /// Aggregation on a PHY that does not support it.
    #[error(
        "{0} carries no A-MPDU and no A-MSDU: aggregation requires HT or a later PHY (IEEE Std 802.11-2020, 9.7, 10.12)"
    )]
    AggregationWithoutHt(Mode),
    /// More MPDUs than a `BlockAck` can acknowledge.
    #[error("an A-MPDU of {0} MPDUs: the count must be 1 to 64 (IEEE Std 802.11-2020, 9.3.1.8.2)")]
    AmpduCount(usize),
    /// An A-MPDU that exceeds the limit of its PHY.
    #[error(
        "an A-MPDU of {len_b} octets is too long: {mode} carries at most {max_len_b} \
         (IEEE Std 802.11-2020, 9.7.1)"
    )]
    AmpduLength {
        /// Configured length in octets.
        len_b: usize,
        /// Maximum length in octets.
        max_len_b: usize,
        /// The mode.
        mode: Mode,
    },
    /// An A-MSDU that exceeds the limit of its PHY.
    #[error(
        "an A-MSDU of {len_b} octets is too long: {mode} carries at most {max_len_b} \
         (IEEE Std 802.11-2020, Table 9-25)"
    )]
    AmsduLength {
        /// Configured length in octets.
        len_b: usize,
        /// Maximum length in octets.
        max_len_b: usize,
        /// The mode.
        mode: Mode,
    },
    /// An A-MSDU that does not fit into an A-MPDU.
    #[error(
        "an A-MSDU gives an MPDU of {len_b} octets, which is too long: an A-MPDU of this PHY carries \
         MPDUs of at most {max_len_b} (IEEE Std 802.11-2020, 9.7.1)"
    )]
    MpduInAmpdu {
        /// Length of the MPDU in octets.
        len_b: usize,
        /// Maximum length in octets.
        max_len_b: usize,
    },
    /// An invalid value of dot11FragmentationThreshold.
    #[error(
        "a fragmentation threshold of {0} octets: it must be an even number from 256 to 11 500 \
         (IEEE Std 802.11-2020, 10.4, dot11FragmentationThreshold)"
    )]
    FragmentationThreshold(usize),
    /// The hearing matrix does not match the number of stations.
    #[error("the hearing matrix must have {stations} rows and {stations} columns, one per station")]
    HearingMatrix {
        /// Number of stations.
        stations: usize,
    },
    /// The beacon interval is zero.
    #[error("the beacon interval must be at least 1 time unit (IEEE Std 802.11-2020, 9.4.1.3)")]
    Beacons,
}
