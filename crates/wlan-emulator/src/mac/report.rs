//! What a link is and what it counted, as it is told to whoever asks.

use std::collections::BTreeMap;

use serde::Serialize;
use wlan_air::{Nanos, StationCounters};
use wlan_host::schedule::Scheduling;
use wlan_host::tun::Offloads;

use super::counters::Lateness;
use super::stage::Stage;

/// What the link is, as far as the emulator decides it.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// The cipher that seals the frames, by hostapd's name; `open` without one.
    pub cipher: &'static str,
    /// How its keys were agreed on (hostapd's `wpa_key_mgmt`, in small letters); null for WEP and without a cipher.
    pub wpa_key_mgmt: Option<&'static str>,
    /// By station: the pairwise temporal key that the handshake led to, in hexadecimal digits; for WEP the key.
    pub temporal_keys: BTreeMap<String, String>,
    /// How long all stations together took on the air to come to the link.
    pub joining_ms: f64,
    /// How the MAC thread is scheduled.
    pub scheduling: Scheduling,
    /// PHY rate in kbit/s.
    pub rate_kbit_per_s: u64,
    /// Stations beside the access point.
    pub stations: usize,
    /// The processor of each station's card; null where hosts seal and open frames, or nothing is sealed.
    pub processor: Option<ProcessorFacts>,
    /// The wire behind the access point; null without a server there.
    pub wired: Option<WiredFacts>,
    /// MPDUs that each station queues.
    pub queue_limit_mpdus: usize,
    /// Whether MPDUs are joined to A-MPDUs.
    pub ampdu: bool,
    /// Whether hosts get packets joined to super-packets, as far as `offloads` allow.
    pub coalesce: bool,
    /// What the hosts' stacks leave to their devices.
    pub offloads: Offloads,
}

/// What a card's processor takes.
#[derive(Clone, Debug, Serialize)]
pub struct ProcessorFacts {
    /// Time for each frame.
    pub frame_us: f64,
    /// Time for each octet of the MSDU.
    pub byte_ns: f64,
    /// Frames that it holds.
    pub queue_limit: usize,
}

/// What the wire is.
#[derive(Clone, Debug, Serialize)]
pub struct WiredFacts {
    /// Bits a second.
    pub rate_bit_per_s: u64,
    /// What delays all frames alike.
    pub delay_us: f64,
    /// Frames that wait at each end.
    pub queue_limit: usize,
}

/// Totals since the link came up.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Age of the link.
    pub elapsed_s: f64,
    /// CPU time of the emulator process. Writing to a TUN device runs the receiving host's IP stack in it.
    pub emulator_cpu_s: f64,
    /// Part of it spent sealing and opening frames.
    pub crypto_s: f64,
    /// Time in which the medium was busy.
    pub air_busy_s: f64,
    /// How late the first frame of each PPDU was delivered, after the ideal end of the PPDU; none before the first
    /// delivery.
    pub lateness_us: Option<Lateness>,
    /// PPDUs later than 5 ms.
    pub slips: u64,
    /// Frames that the receiver rejected: wrong header or MIC, or replayed.
    pub open_errors: u64,
    /// Packets that a host's stack refused.
    pub refused: u64,
    /// Packets from a host that were neither IPv4 nor IPv6.
    pub unclassified: u64,
    /// Packets from a host that could not be made into MSDUs: too long, or split in a way that nobody knows.
    pub unsplittable: u64,
    /// PPDUs that the capture lacks because the disk did not keep up; none without a capture.
    pub capture_lost: Option<u64>,
    /// Transmissions, collisions included.
    pub transmissions: u64,
    /// Transmissions in which PPDUs collided.
    pub collisions: u64,
    /// Packets from a host for an address that no host has.
    pub unroutable: u64,
    /// Frames that the wire dropped, both ways; null without one.
    pub drops_wired: Option<u64>,
    /// What each station of the medium sent: `ap`, and `sta` or `sta1`, `sta2`...
    #[serde(flatten)]
    pub stations: BTreeMap<String, Sent>,
}

/// What one station sent, and what its card's processor did.
#[derive(Debug, Serialize)]
pub struct Sent {
    /// PPDUs.
    pub ppdus: u64,
    /// MPDUs that arrived.
    pub mpdus: u64,
    /// Octets of these, headers and security included.
    pub octets: u64,
    /// MPDUs sent again.
    pub retries: u64,
    /// MPDUs dropped at the full queue.
    pub drops_queue: u64,
    /// MPDUs given up at the retry limit.
    pub drops_retry: u64,
    /// Time that its processor worked; null without one.
    pub processor_busy_s: Option<f64>,
    /// Frames that found no room at it, to be sealed or opened; null without one.
    pub drops_processor: Option<u64>,
}

impl Sent {
    /// What a station counted, with its processor at `now`.
    pub(super) fn new(of: &StationCounters, processor: Option<&Stage>, now: Nanos) -> Self {
        Self {
            ppdus: of.txops,
            mpdus: of.mpdus,
            octets: of.octets,
            retries: of.retries,
            drops_queue: of.drops_queue,
            drops_retry: of.drops_retry,
            processor_busy_s: processor.map(|stage| stage.busy(now).as_secs_f64()),
            drops_processor: processor.map(|stage| stage.drops),
        }
    }
}
