//! The properties and totals of a link, as the emulator reports them.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use wlan_air::channel::SignalCounts;
use wlan_air::sim::Wired;
use wlan_air::{Nanos, StationCounters};
use wlan_host::schedule::Scheduling;
use wlan_host::tun::Offloads;
use wlan_scenario::signals::counts;

use super::counters::Lateness;
use super::stage::Stage;

/// The properties of the link that the emulator determines.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// The cipher of the frames, by hostapd's name; `open` without a cipher.
    pub cipher: &'static str,
    /// The key management (hostapd's `wpa_key_mgmt`, in lower case); null for WEP and open links.
    pub wpa_key_mgmt: Option<&'static str>,
    /// The pairwise temporal key of each station in hexadecimal digits; for WEP, the WEP key.
    pub temporal_keys: BTreeMap<String, String>,
    /// Time in milliseconds that all stations together spent on the air to join.
    pub joining_ms: f64,
    /// Scheduling of the MAC thread.
    pub scheduling: Scheduling,
    /// PHY rate in kbit/s.
    pub rate_kbit_per_s: u64,
    /// Number of stations, without the access point.
    pub stations: usize,
    /// The processor of each station's card; null if the hosts seal and open the frames, or the link is open.
    pub processor: Option<ProcessorFacts>,
    /// The wire between the access point and the server; null without a server.
    pub wired: Option<WiredFacts>,
    /// Queue limit of each station in MPDUs.
    pub queue_limit_mpdus: usize,
    /// Whether MPDUs are aggregated to A-MPDUs.
    pub ampdu: bool,
    /// Whether hosts receive packets coalesced to super-packets, as far as `offloads` allow.
    pub coalesce: bool,
    /// The offloads that the hosts' stacks leave to their devices.
    pub offloads: Offloads,
}

/// Service times of a card's processor.
#[derive(Clone, Debug, Serialize)]
pub struct ProcessorFacts {
    /// Time per frame in microseconds, to forward it and to seal or open it.
    pub frame_us: f64,
    /// Time per octet of the MSDU in nanoseconds.
    pub byte_ns: f64,
    /// Latency after that time, per frame in microseconds.
    pub latency_us: f64,
    /// Latency after that time, per octet of the MSDU in nanoseconds.
    pub latency_byte_ns: f64,
    /// Number of received frames that it holds.
    pub receive_limit: usize,
}

/// Properties of the wire.
#[derive(Clone, Debug, Serialize)]
pub struct WiredFacts {
    /// Rate in bits per second.
    pub rate_bit_per_s: u64,
    /// Constant delay of each frame in microseconds.
    pub delay_us: f64,
    /// Queue limit of each direction in frames.
    pub queue_limit: usize,
}

impl From<Wired> for WiredFacts {
    fn from(wired: Wired) -> Self {
        Self {
            rate_bit_per_s: wired.rate_bps,
            delay_us: wired.delay.as_us_f64(),
            queue_limit: wired.queue_limit,
        }
    }
}

/// Totals since the link came up.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Time in seconds since the link came up.
    pub elapsed_s: f64,
    /// CPU time of the emulator process. It includes the receiving hosts' IP stacks, which run when a packet is written
    /// to a TUN device. Null in virtual time, in which programs take no time.
    pub emulator_cpu_s: Option<f64>,
    /// The part of this CPU time that sealing and opening frames took. Null in virtual time.
    pub crypto_s: Option<f64>,
    /// Time that the MAC thread has run. Null in virtual time, and if the kernel does not count it.
    pub emulator_run_s: Option<f64>,
    /// Time that the MAC thread has waited for a CPU although it could run. Null as `emulator_run_s`.
    pub emulator_wait_s: Option<f64>,
    /// Time during which the medium was busy.
    pub air_busy_s: f64,
    /// Ideal time during which no station, processor or wire held a frame.
    pub air_idle_s: f64,
    /// Time by which the medium is behind the clock at this moment.
    pub behind_s: f64,
    /// Delay between the ideal end of each PPDU and the delivery of its first frame; null before the first delivery.
    pub lateness_us: Option<Lateness>,
    /// PPDUs delivered more than 5 ms late.
    pub slips: u64,
    /// Frames that the receiver rejected: invalid header or MIC, or a replay.
    pub open_errors: u64,
    /// Packets that a host's stack refused.
    pub refused: u64,
    /// Packets from hosts that were neither IPv4 nor IPv6.
    pub unclassified: u64,
    /// Packets from hosts that could not be converted to MSDUs: too long, or with an unknown segmentation.
    pub unsplittable: u64,
    /// PPDUs missing from the capture because the disk was too slow; null without a capture.
    pub capture_lost: Option<u64>,
    /// Transmissions, including collisions.
    pub transmissions: u64,
    /// Transmissions in which PPDUs collided.
    pub collisions: u64,
    /// Packets from hosts to addresses that no host has.
    pub unroutable: u64,
    /// Frames that the wire dropped, in both directions; null without a wire.
    pub drops_wired: Option<u64>,
    /// The totals of each station of the medium: `ap`, and `sta` or `sta1`, `sta2`, ...
    #[serde(flatten)]
    pub stations: BTreeMap<String, Sent>,
}

/// Totals of one station as sender, of its card's processor, and of the signals that it received.
#[derive(Debug, Serialize)]
pub struct Sent {
    /// PPDUs.
    pub ppdus: u64,
    /// MPDUs received.
    pub mpdus: u64,
    /// Octets of the received MPDUs, including headers and security fields.
    pub octets: u64,
    /// Airtime of the data PPDUs; missing in lab linux.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_air_s: Option<f64>,
    /// The part of it in PPDUs that took all frames which the station held; missing in lab linux.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starved_air_s: Option<f64>,
    /// MPDU retransmissions.
    pub retries: u64,
    /// MPDUs dropped because the queue was full.
    pub drops_queue: u64,
    /// MPDUs dropped at the retry limit.
    pub drops_retry: u64,
    /// Busy time of the station's processor; null without a processor.
    pub processor_busy_s: Option<f64>,
    /// Frames that the processor dropped because its queue was full; null without a processor.
    pub drops_processor: Option<u64>,
    /// Signals of the data PPDUs that the station received ([`counts`]); missing before the first one, and without a
    /// channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received: Option<Value>,
}

impl Sent {
    /// The totals of a station, with its processor's busy time at `now`.
    pub(crate) fn new(
        of: &StationCounters,
        processor: Option<&Stage>,
        now: Nanos,
        signals: &SignalCounts,
    ) -> Self {
        Self {
            ppdus: of.txops,
            mpdus: of.mpdus,
            octets: of.octets,
            data_air_s: None,
            starved_air_s: None,
            retries: of.retries,
            drops_queue: of.drops_queue,
            drops_retry: of.drops_retry,
            processor_busy_s: processor.map(|stage| stage.busy(now).as_secs_f64()),
            drops_processor: processor.map(|stage| stage.drops),
            received: (!signals.is_empty()).then(|| counts(signals)),
        }
    }
}
