//! The contract of a scenario: every key of the table `[link]` of a study and of a scenario, declared once in [`KEYS`].
//!
//! The types, options, JSON Schema, reference pages and errors in Python derive from this table, and so does the division
//! of a scenario's JSON into `Words`. A new key is one row here, and one field of the struct of its group, which applies
//! it. The factors of studies are declared in Python (`airtoll.study.factors`); their rows have only a name in JSON.

use wlan_air::channel::ErrorModel;
use wlan_air::phy::{Band, ErpSlot, PHYS, Preamble};
use wlan_air::tcp::{CongestionControl, IpVersion};
use wlan_air::{Category, Protection};
use wlan_ciphers::Suite;
use wlan_rsn::Akm;

use super::{Words, phy_of};
use crate::air::check_suite;
use crate::words::{
    FadingKind, Ieee80211w, Kind as TrafficKind, Level, Pacing, PathLossModel, ProcessorKind, Queue,
    RateChoice, Topology, Transport, WakeUps, Word, Words as HasWords,
};

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The name in study files.
    pub name: &'static str,
    /// The group of the key's value in `Words`; empty if the medium does not have the key.
    pub group: &'static str,
    /// The name in JSON, after the name of the object that contains it: `wired.rate_mbps`.
    pub json: &'static str,
    /// The tables of a study that have the key: `real hosts` and `hosts` are TCP/IP in `[link]` and `[stack.NAME]`, the
    /// latter also of simulated hosts; `medium` is the rest of `[link]`; `factors`; `scenario` is in no table.
    pub table: &'static str,
    /// The values.
    pub values: Values,
    /// The initial value; `None` if the medium chooses.
    pub initial: Option<f64>,
    /// The panel of the option in `airtoll simulate --help`.
    pub panel: &'static str,
    /// Labs that can set the key. Lab sim can set every key of the medium.
    pub labs: &'static [&'static str],
    /// The program that sets the key in place of lab linux.
    pub set_by: Option<&'static str>,
    /// The value of `crypto_at` that the key requires.
    pub crypto_at: Option<&'static str>,
    requires: &'static [Requirement],
    text: &'static str,
    default: Option<&'static str>,
}

/// The values of a key or of a parameter.
#[derive(Clone, Copy, Debug)]
pub struct Values {
    /// `word`, `words` (one or a list), `switch`, `integer`, `quantity` (a number with a unit), `whole quantity`, `number`,
    /// `number or matrix`, `matrix` (square), `table` or `factor`.
    pub kind: &'static str,
    /// The words.
    pub words: fn() -> Vec<&'static str>,
    /// The least and the largest integer.
    pub bounds: (i64, i64),
    /// The source of the bounds, the name of the quantity in `airtoll.study.quantity`, or the unit in a matrix.
    pub of: &'static str,
    /// The parameters of a table.
    pub parameters: &'static [(&'static str, Values)],
}

/// A condition for the effect of a key.
#[derive(Clone, Copy, Debug)]
struct Requirement {
    text: &'static str,
    is_met: fn(&Words) -> bool,
}

impl Key {
    /// The description, which ends with the default if the medium chooses it.
    #[must_use]
    pub fn text(&self) -> String {
        let text = filled(self.text).replace("{words}", &choice(&(self.values.words)(), "or"));
        let default = self.default.map(|default| format!("; default: {default}"));
        format!("{text}{}.", default.unwrap_or_default())
    }

    const fn json(self, json: &'static str) -> Key {
        Key { json, ..self }
    }

    const fn of(self, table: &'static str) -> Key {
        Key { table, ..self }
    }

    const fn not_of_the_medium(self) -> Key {
        Key { group: "", ..self }
    }

    const fn on(self, panel: &'static str) -> Key {
        Key { panel, ..self }
    }

    const fn at(self, place: &'static str) -> Key {
        let crypto_at = Some(place);
        Key { crypto_at, ..self }
    }

    const fn labs(self, labs: &'static [&'static str]) -> Key {
        Key { labs, ..self }
    }

    const fn set_by(self, program: &'static str) -> Key {
        let set_by = Some(program);
        Key { set_by, ..self }
    }

    const fn default(self, default: &'static str) -> Key {
        let default = Some(default);
        Key { default, ..self }
    }

    const fn initial(self, initial: f64) -> Key {
        let initial = Some(initial);
        Key { initial, ..self }
    }

    const fn requires(self, requires: &'static [Requirement]) -> Key {
        Key { requires, ..self }
    }
}

const fn key((group, panel): Group, name: &'static str, values: Values, text: &'static str) -> Key {
    Key {
        name,
        group,
        json: name,
        table: "medium",
        values,
        initial: None,
        panel,
        labs: &[],
        set_by: None,
        crypto_at: None,
        requires: &[],
        text,
        default: None,
    }
}

const fn factor(group: Group, name: &'static str) -> Key {
    key(group, name, values("factor", ""), "").of("factors")
}

const fn values(kind: &'static str, of: &'static str) -> Values {
    Values {
        kind,
        words: Vec::new,
        bounds: (0, 0),
        of,
        parameters: &[],
    }
}

const fn word<T: HasWords>() -> Values {
    let words: fn() -> Vec<&'static str> = || T::WORDS.iter().map(|(word, _)| *word).collect();
    Values {
        words,
        ..values("word", "")
    }
}

const fn integer(least: i64, most: i64, source: &'static str) -> Values {
    Values {
        bounds: (least, most),
        ..values("integer", source)
    }
}

const fn quantity(name: &'static str) -> Values {
    values("quantity", name)
}

const fn whole(name: &'static str) -> Values {
    values("whole quantity", name)
}

const SWITCH: Values = values("switch", "");
const NUMBER: Values = values("number", "");

/// A group of `Words`, and the panel of its options.
type Group = (&'static str, &'static str);

const TRAFFIC: Group = ("traffic", "Traffic");
const PHY: Group = ("air", "PHY");
const SECURITY: Group = ("security", "Security");
const ACCESS: Group = ("station", "Access");
const CHANNEL: Group = ("channel", "Channel");
const STATIONS: Group = ("cell", "Stations");
const SEALING: Group = ("sealing", "Security");
const RUN: Group = ("run", "Run");

/// The keys among `given` that have no effect beside the other keys of a scenario, each with the error.
pub(super) fn unused(words: &Words, given: &[String]) -> Vec<(&'static str, String)> {
    let given = KEYS
        .iter()
        .filter(|key| given.iter().any(|name| name == key.name));
    let unmet = given.flat_map(|key| {
        let unmet = key
            .requires
            .iter()
            .filter(|requirement| !(requirement.is_met)(words));
        unmet.map(|requirement| {
            (
                key.name,
                format!("has no effect here; it requires {}", filled(requirement.text)),
            )
        })
    });
    unmet.collect()
}

/// A text with the words of the declarations in place of `{ht}` ("ht or vht"), `{every ht}` ("ht and vht") and
/// `{without ht}`, the suites that HT stations do not use.
fn filled(text: &str) -> String {
    let phys = PHYS.iter().filter(|phy| phy.is_ht());
    let ht: Vec<_> = phys.map(|phy| phy.word).collect();
    let suites = Suite::ALL.into_iter().filter(|suite| suite.is_rc4());
    let without_ht: Vec<_> = suites.map(Suite::name).collect();
    text.replace("{ht}", &choice(&ht, "or"))
        .replace("{every ht}", &choice(&ht, "and"))
        .replace("{without ht}", &choice(&without_ht, "or"))
}

/// Words as a list: "a, b or c".
fn choice(words: &[&str], before_last: &str) -> String {
    match words {
        [before @ .., last] if !before.is_empty() => format!("{} {before_last} {last}", before.join(", ")),
        _ => words.concat(),
    }
}

const fn requirement(text: &'static str, is_met: fn(&Words) -> bool) -> Requirement {
    Requirement { text, is_met }
}

const BULK_TCP: Requirement = requirement("transport tcp and traffic saturated", |of| {
    of.traffic.transport == Transport::Tcp && of.traffic.kind == TrafficKind::Saturated
});
const NO_WINDOW: Requirement = requirement("a connection without window", |of| {
    of.traffic.window_bytes.is_none()
});
const UDP: Requirement = requirement("transport udp", |of| of.traffic.transport == Transport::Udp);
const UDP_BUFFER: Requirement = requirement("transport udp and udp_buffer", has_udp_buffer);
const LOAD: Requirement = requirement("traffic cbr or video", |of| {
    matches!(of.traffic.kind, TrafficKind::Cbr | TrafficKind::Video)
});
const SPACED: Requirement = requirement("traffic cbr, or transport udp and udp_buffer", |of| {
    of.traffic.kind == TrafficKind::Cbr || has_udp_buffer(of)
});
const BY_IPERF3: Requirement = requirement("traffic cbr and pacing iperf3", |of| {
    is_spaced_by(of, Pacing::Iperf3)
});
const BY_IPERF2: Requirement = requirement("traffic cbr and pacing iperf2", |of| {
    is_spaced_by(of, Pacing::Iperf2)
});
const REQUESTS: Requirement = requirement("traffic request-response", |of| {
    of.traffic.kind == TrafficKind::RequestResponse
});
const WRITTEN: Requirement = requirement("traffic saturated or cbr", |of| {
    matches!(of.traffic.kind, TrafficKind::Saturated | TrafficKind::Cbr)
});
const AT_2_4_GHZ: Requirement = requirement(
    "a PHY in the 2.4 GHz band: phy dsss or erp, or band 2.4 GHz",
    |of| {
        let band = of.air.band.map(|Word(band)| band);
        band.or(phy_of(of).map(|phy| phy.bands[0])) == Some(Band::Ghz2_4)
    },
);
const HANDSHAKE: Requirement = requirement("a security level with a handshake, such as ccmp", |of| {
    suite(of).is_some_and(|suite| !suite.is_wep())
});
const PROTECTS_MANAGEMENT: Requirement = requirement(
    "a security level that protects management frames, such as ccmp",
    |of| suite(of).is_some_and(|suite| !suite.is_rc4()),
);
const RICIAN: Requirement = requirement("fading rician", |of| {
    of.channel.fading == Some(FadingKind::Rician)
});
const FADES: Requirement = requirement("fading rayleigh or rician", |of| {
    !matches!(of.channel.fading, None | Some(FadingKind::None))
});
const WIRE: Requirement = requirement("topology wired-ap", |of| of.cell.topology == Topology::WiredAp);
const IPV4: Requirement = requirement("ip ipv4", |of| of.traffic.ip.0 == IpVersion::V4);
const IPV6: Requirement = requirement("ip ipv6", |of| of.traffic.ip.0 == IpVersion::V6);
const SEALED: Requirement = requirement("a security level other than open", |of| suite(of).is_some());
const MODELLED: Requirement = requirement("a card without both processor_frame and processor_byte", |of| {
    of.sealing
        .processor
        .is_none_or(|words| words.frame_us.is_none() || words.byte_ns.is_none())
});
const UNAGGREGATED: Requirement = requirement(
    "frames without aggregation: on {every ht}, ampdu false and no amsdu",
    |of| {
        let is_off = of.station.ampdu == Some(false) && of.station.amsdu_bytes.unwrap_or(0) == 0;
        is_off || !phy_of(of).is_some_and(|phy| phy.is_ht())
    },
);
const WITHOUT_HT: Requirement = requirement("security {without ht} with phy {ht}", |of| {
    let (suite, phy) = (suite(of), phy_of(of));
    suite
        .zip(phy)
        .is_some_and(|(suite, phy)| check_suite(suite, phy).is_err())
});

fn has_udp_buffer(of: &Words) -> bool {
    of.traffic.transport == Transport::Udp && of.traffic.udp_buffer_bytes.is_some()
}

fn is_spaced_by(of: &Words, program: Pacing) -> bool {
    of.traffic.kind == TrafficKind::Cbr && of.traffic.program() == program
}

fn suite(of: &Words) -> Option<Suite> {
    let Level(suite) = of.security.security;
    suite
}

const EVERY_LAB: &[&str] = &["air", "linux", "radios", "hosts"];
/// Labs whose hosts are on this machine; `radios` is lab linux on radios of this machine.
const THIS_MACHINE: &[&str] = &["air", "linux", "radios"];
/// Labs with emulated air.
const EMULATED: &[&str] = &["air", "linux"];
const AIR: &[&str] = &["air"];

const PATH_LOSS: Values = Values {
    parameters: &[
        ("model", word::<PathLossModel>()),
        ("distance_m", values("number or matrix", "m")),
        ("exponent", NUMBER),
        ("tx_power_dbm", NUMBER),
        ("noise_figure_db", NUMBER),
        ("reference_distance_m", NUMBER),
        ("reference_loss_db", NUMBER),
        ("shadowing_db", NUMBER),
        // Fading, by the names of versions before 0.3.
        ("fading", word::<FadingKind>()),
        ("k_factor_db", NUMBER),
        ("coherence_ms", NUMBER),
    ],
    ..values("table", "")
};

/// All keys. A scenario's JSON has this order, so the digests of sweeps depend on it.
#[rustfmt::skip]
pub const KEYS: &[Key] = &[
    key(TRAFFIC, "sack", SWITCH, "Whether TCP uses selective acknowledgements (RFC 2018)")
        .of("real hosts").not_of_the_medium().labs(THIS_MACHINE),

    key(TRAFFIC, "congestion_control", word::<CongestionControl>(), "Congestion control of TCP: {words}")
        .of("hosts").labs(EVERY_LAB).requires(&[BULK_TCP]),
    key(TRAFFIC, "window", whole("OCTETS"),
        "Window of TCP in bytes: the send and receive buffers that iperf3 sets with -w. Linux doubles them, and \
         the window that it then advertises depends on the memory of the packets that wait")
        .json("window_bytes").of("hosts").labs(EVERY_LAB).requires(&[BULK_TCP]),
    key(TRAFFIC, "receive_buffer", whole("OCTETS"),
        "Receive buffer with which a TCP connection starts, in bytes, without window: the second number of Linux's \
         tcp_rmem. Linux enlarges it as needed")
        .json("receive_buffer_bytes").of("hosts").labs(THIS_MACHINE).requires(&[BULK_TCP, NO_WINDOW]),
    key(TRAFFIC, "delayed_ack", SWITCH, "Whether TCP delays acknowledgements")
        .of("hosts").requires(&[BULK_TCP]),
    key(TRAFFIC, "coalesce", SWITCH, "Whether hosts receive packets of one flow coalesced, as with GRO")
        .of("hosts").labs(AIR).requires(&[BULK_TCP]),
    key(TRAFFIC, "timestamps", SWITCH, "Whether TCP uses time stamps (RFC 7323), 12 bytes per segment")
        .of("hosts").labs(THIS_MACHINE).requires(&[BULK_TCP]),
    key(TRAFFIC, "segmentation_offload", SWITCH,
        "Whether hosts leave segmentation of TCP and UDP to their cards, as with TSO")
        .of("hosts").labs(THIS_MACHINE).requires(&[BULK_TCP]),
    key(TRAFFIC, "ip_fragments", SWITCH,
        "Whether UDP datagrams may exceed the IP packet size of 1500 bytes, so that IP fragments them")
        .of("hosts").labs(THIS_MACHINE).requires(&[UDP]),
    key(TRAFFIC, "udp_buffer", whole("OCTETS"),
        "Buffers of UDP sockets in bytes: the send buffer of the sender and the receive buffer of the receiver. \
         Linux doubles them, and counts the memory of datagrams instead of their payload")
        .json("udp_buffer_bytes").of("hosts").labs(EVERY_LAB).requires(&[UDP]),
    key(TRAFFIC, "pacing", word::<Pacing>(),
        "The program whose spacing of datagrams virtual time imitates: {words}")
        .of("hosts").labs(THIS_MACHINE).requires(&[SPACED]),
    key(TRAFFIC, "pacing_timer", quantity("PERIOD"),
        "Time in us between two decisions of iperf3 on how much to send")
        .json("pacing_timer_us").of("hosts").labs(EVERY_LAB).requires(&[BY_IPERF3]),
    key(TRAFFIC, "clock_resolution", quantity("PERIOD"),
        "Time in us between two steps of the clock that iperf2 reads")
        .json("clock_resolution_us").of("hosts").labs(THIS_MACHINE).requires(&[BY_IPERF2]),
    key(TRAFFIC, "write_time", quantity("FRAME_TIME"),
        "Time in us that a host's CPU takes to write a datagram, or packet_size bytes of TCP, in virtual time")
        .json("write_time_us").of("hosts").labs(THIS_MACHINE).requires(&[WRITTEN]),
    key(TRAFFIC, "packet_time", quantity("FRAME_TIME"),
        "Time in us that a host's CPU takes to pass a packet to its card, in virtual time")
        .json("packet_time_us").of("hosts").labs(THIS_MACHINE).requires(&[WRITTEN]),
    key(TRAFFIC, "wake_up", word::<WakeUps>(),
        "Distribution of the time until a program runs that waited for a timer or a packet, in virtual time: {words}")
        .of("hosts").labs(THIS_MACHINE),
    key(TRAFFIC, "wake_up_mean", quantity("FRAME_TIME"), "Mean of that time in us")
        .json("wake_up_mean_us").of("hosts").labs(THIS_MACHINE),
    key(TRAFFIC, "wake_up_deviation", quantity("FRAME_TIME"),
        "Standard deviation of that time in us, with lognormal")
        .json("wake_up_deviation_us").of("hosts").labs(THIS_MACHINE),

    key(PHY, "preamble", word::<Preamble>(), "PHY preamble of DSSS frames in the 2.4 GHz band: {words}").labs(AIR),
    key(PHY, "band", word::<Band>(), "Frequency band of ht: {words}").labs(THIS_MACHINE),
    key(PHY, "slot", word::<ErpSlot>(), "Slot in the 2.4 GHz band: short (9 us) or long (20 us)")
        .labs(AIR).set_by("hostapd").requires(&[AT_2_4_GHZ]),
    key(PHY, "dot11b_stations", SWITCH,
        "Whether an 802.11b station is associated in the 2.4 GHz band: long slot, DSSS basic rates, protection")
        .labs(AIR).set_by("hostapd").requires(&[AT_2_4_GHZ]),
    key(SECURITY, "wpa_key_mgmt", Values { kind: "words", ..word::<Akm>() }, "Key management: {words}")
        .labs(EVERY_LAB).requires(&[HANDSHAKE]),
    key(SECURITY, "ieee80211w", word::<Ieee80211w>(), "Protection of management frames: {words}")
        .labs(EVERY_LAB).requires(&[PROTECTS_MANAGEMENT]),
    key(SECURITY, "beacon_prot", SWITCH, "Whether beacons are protected as well").labs(THIS_MACHINE),
    key(ACCESS, "access_category", word::<Category>(), "EDCA access category of the data: {words}").labs(AIR),
    key(ACCESS, "txop_limit", quantity("TXOP_LIMIT"), "TXOP limit in us; 0 allows one frame exchange per TXOP")
        .json("txop_limit_us").labs(AIR),
    key(ACCESS, "retry_limit", integer(1, 255, "IEEE Std 802.11-2020, Annex C"),
        "Transmissions of a frame before it is dropped").labs(AIR),
    key(ACCESS, "rate_control", word::<RateChoice>(),
        "Rate control: fixed uses one rate, minstrel falls back to lower rates").labs(THIS_MACHINE),
    key(ACCESS, "ampdu", SWITCH, "Whether MPDUs are aggregated into A-MPDUs").labs(AIR),
    key(ACCESS, "amsdu", whole("OCTETS"), "Maximum A-MSDU size in bytes; 0 disables A-MSDUs")
        .json("amsdu_bytes"),
    key(ACCESS, "rts_threshold", whole("OCTETS"), "RTS and CTS precede frames with more bytes than this")
        .labs(EMULATED),
    key(ACCESS, "fragmentation_threshold", whole("OCTETS"),
        "Frames with more bytes than this are fragmented").labs(AIR).requires(&[UNAGGREGATED]),
    key(ACCESS, "protection", word::<Protection>(), "Protection of frames from older stations: {words}")
        .default("none, or cts-to-self with 802.11b stations").labs(AIR).set_by("hostapd"),
    key(SECURITY, "beacon_interval", whole("BEACON_INTERVAL"),
        "Time between beacons in TU (1024 us); 0 sends no beacons")
        .json("beacon_interval_tu").on("Access").labs(EVERY_LAB),
    key(CHANNEL, "error_model", word::<ErrorModel>(), "Model of frame errors: {words}")
        .default("nist if an SNR or a path loss is given").labs(EMULATED),
    key(CHANNEL, "path_loss", PATH_LOSS,
        "Transmit power, distances and their loss, which determine the SNR, as a TOML table").labs(EMULATED),
    key(CHANNEL, "fading", word::<FadingKind>(), "Fading around the SNR: {words}").labs(EMULATED),
    key(CHANNEL, "k_factor", quantity("K_FACTOR"),
        "Power of the dominant path over that of all other paths with rician, in dB")
        .json("k_factor_db").default("6 dB").labs(EMULATED).requires(&[RICIAN]),
    key(CHANNEL, "coherence_time", quantity("COHERENCE_TIME"), "Time for which the fading is constant, in us")
        .json("coherence_time_us").default("50 ms").labs(EMULATED).requires(&[FADES]),
    key(ACCESS, "queue", word::<Queue>(), "Queue discipline of every sender: {words}").labs(AIR),
    key(ACCESS, "queue_limit", integer(1, 1_000_000, ""), "Capacity of each queue in packets").labs(AIR),
    key(STATIONS, "wired_rate", quantity("DATA_RATE"), "Data rate of the wire behind the access point in Mbit/s")
        .json("wired.rate_mbps").labs(THIS_MACHINE).requires(&[WIRE]),
    key(STATIONS, "wired_delay", quantity("DELAY"), "One-way delay of that wire in us")
        .json("wired.delay_us").labs(THIS_MACHINE).requires(&[WIRE]),
    key(SEALING, "forward_ipv4", quantity("FRAME_TIME"),
        "Time in us that each card takes to forward a packet of IPv4, with any security, if cards encrypt")
        .at("card").json("processor.forward_us").default("0").on("Stations").labs(AIR).requires(&[IPV4]),
    key(SEALING, "forward_ipv6", quantity("FRAME_TIME"), "The same time for a packet of IPv6")
        .at("card").json("processor.forward_us").on("Stations").labs(AIR).requires(&[IPV6]),
    key(SEALING, "forward_byte", quantity("OCTET_TIME"),
        "Time in ns per byte that each card takes in addition to forward a packet")
        .at("card").json("processor.forward_byte_ns").default("0").on("Stations").labs(AIR),
    key(SEALING, "forward_latency", quantity("FRAME_TIME"),
        "Time in us by which each card delays a packet longer than the packet occupies it")
        .at("card").json("processor.forward_latency_us").default("0").on("Stations").labs(AIR),
    key(SEALING, "processor_frame", quantity("FRAME_TIME"),
        "Time in us that the card's processor takes per frame to seal or open it")
        .at("card").json("processor.frame_us").labs(AIR).requires(&[SEALED]),
    key(SEALING, "processor_byte", quantity("OCTET_TIME"),
        "Time in ns that the card's processor takes per byte to seal or open it")
        .at("card").json("processor.byte_ns").labs(AIR).requires(&[SEALED]),
    key(SEALING, "processor_latency", quantity("OCTET_TIME"),
        "Time in ns per byte by which sealing or opening a frame takes longer than it occupies the card's \
         processor, as in a pipeline")
        .at("card").json("processor.latency_ns").default("0").labs(AIR).requires(&[SEALED]),
    key(SEALING, "processor_clock", quantity("CLOCK"),
        "Clock in MHz of the card's processor, whose cycle counts are modelled")
        .at("card").json("processor.clock_mhz").default("400 MHz").labs(AIR).requires(&[SEALED, MODELLED]),
    key(SEALING, "processor_kind", word::<ProcessorKind>(),
        "Kind of the card's processor, whose cycles per byte were measured, or model: {words}")
        .at("card").json("processor.kind").default("model").labs(AIR).requires(&[SEALED, MODELLED]),
    key(SEALING, "host_frame", quantity("FRAME_TIME"),
        "Time in us that the host's CPU takes per frame to seal or open it, in virtual time")
        .at("host").json("processor.frame_us").requires(&[SEALED]),
    key(SEALING, "host_byte", quantity("OCTET_TIME"),
        "Time in ns that the host's CPU takes per byte to seal or open it, in virtual time")
        .at("host").json("processor.byte_ns").requires(&[SEALED]),
    // `airtoll.study.scenario` turns the cell into its legacy link.
    key(SECURITY, "legacy_fallback", SWITCH,
        "Whether WEP and TKIP fall back from {every ht} to legacy rates without aggregation, like \
         hostapd's stations; otherwise they are refused")
        .not_of_the_medium().labs(AIR).requires(&[WITHOUT_HT]),

    factor(PHY, "phy"),
    factor(PHY, "rate"),
    factor(PHY, "bandwidth"),
    factor(PHY, "gi"),
    factor(PHY, "streams"),
    factor(SECURITY, "security"),
    factor(SEALING, "crypto_at"),
    factor(STATIONS, "stations"),
    factor(STATIONS, "topology"),
    factor(TRAFFIC, "direction"),
    factor(TRAFFIC, "transport"),
    factor(TRAFFIC, "ip"),
    factor(TRAFFIC, "packet_size"),
    factor(TRAFFIC, "offered").json("offered_mbps").requires(&[LOAD]),
    key(TRAFFIC, "traffic", word::<TrafficKind>(), "{words}")
        .of("scenario").default("saturated, or cbr if a load is offered"),
    key(TRAFFIC, "pause", quantity("DELAY"), "Pause in us between a response and the next request")
        .json("pause_us").of("scenario").default("0").requires(&[REQUESTS]),
    factor(CHANNEL, "snr").json("snr_db"),
    key(TRAFFIC, "udp_tun", SWITCH,
        "Whether the UDP sockets with a udp_buffer are above TUN devices, as in lab air")
        .of("scenario").requires(&[UDP_BUFFER]),
    key(STATIONS, "hears", values("matrix", "0 and 1"),
        "Matrix of 0 and 1: which station (row) hears which (column); the access point is first")
        .of("scenario"),
    key(RUN, "seed", integer(0, (1 << 53) - 1, ""), "Seed of all random numbers").of("scenario").initial(1.0),
    key(RUN, "duration", quantity("DURATION"), "Measured simulated time, in seconds")
        .json("duration_s").of("scenario").initial(1.0),
    key(RUN, "warmup", quantity("WARMUP"), "Simulated time before the measured time, in seconds")
        .json("warmup_s").of("scenario").initial(0.2),
];
