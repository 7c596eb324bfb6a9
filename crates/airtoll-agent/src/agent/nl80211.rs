//! The state of radios by nl80211 (`linux/nl80211.h`): peers, occupancy of the channel, and events.
//!
//! Requests are dumps of one interface. Events arrive on a second socket, which joins the kernel's multicast groups.

use std::io;

use nix::libc;
use nix::sys::socket::SockProtocol;
use serde_json::{Map, Value, json};
use wlan_host::clock::monotonic_ns;
use wlan_host::netlink::{Socket, attributes, find, generic, messages};

const FAMILY: &str = "nl80211";
/// Multicast groups of events of stations and links, and of the regulatory domain.
const GROUPS: [&str; 2] = ["mlme", "regulatory"];

const GET_STATION: u8 = 17;
const GET_SURVEY: u8 = 50;

/// Commands of events (`enum nl80211_commands`), and the words for them.
const EVENTS: [(u8, &str); 11] = [
    (19, "station joined"),
    (20, "station left"),
    (36, "regulatory domain changed"),
    (38, "associated"),
    (39, "deauthenticated"),
    (40, "disassociated"),
    (46, "connected"),
    (47, "roamed"),
    (48, "disconnected"),
    (88, "channel switched"),
    (113, "regulatory domain changed"),
];

/// Attributes of a message (`enum nl80211_attrs`).
mod attribute {
    pub const INTERFACE: u16 = 3;
    pub const MAC: u16 = 6;
    pub const STATION: u16 = 21;
    pub const ALPHA2: u16 = 33;
    pub const REASON: u16 = 54;
    pub const STATUS: u16 = 72;
    pub const SURVEY: u16 = 84;
    pub const MLO_LINKS: u16 = 312;
    pub const MLO_LINK_ID: u16 = 313;
}

/// Attributes of a peer (`enum nl80211_sta_info`).
mod station {
    /// Octets of MPDUs. Old drivers have only the counters of 32 bits, which wrap.
    pub const BYTES: [(&str, u16, u16); 2] = [("rx_bytes", 23, 2), ("tx_bytes", 24, 3)];
    pub const SIGNAL: u16 = 7;
    pub const TX_RATE: u16 = 8;
    pub const TX_PACKETS: u16 = 10;
    pub const TX_RETRIES: u16 = 11;
    pub const TX_FAILED: u16 = 12;
    pub const RX_RATE: u16 = 14;
    pub const RX_AIRTIME: u16 = 32;
    pub const TX_AIRTIME: u16 = 39;
}

/// Attributes of a rate (`enum nl80211_rate_info`).
mod rate {
    pub const BITRATE: u16 = 1;
    pub const BITRATE32: u16 = 5;
    pub const SHORT_GI: u16 = 4;
    /// Format, attribute of its MCS, of its streams, and of its guard interval. That of HT implies the streams.
    pub const FORMATS: [(&str, u16, Option<u16>, Option<u16>); 4] = [
        ("eht", 19, Some(20), Some(21)),
        ("he", 13, Some(14), Some(15)),
        ("vht", 6, Some(7), None),
        ("ht", 2, None, None),
    ];
    /// Widths in MHz; without any of them, the width is 20 MHz.
    pub const WIDTHS: [(u16, u32); 7] = [
        (3, 40),
        (8, 80),
        (9, 160),
        (10, 160),
        (11, 10),
        (12, 5),
        (18, 320),
    ];
}

/// Attributes of a channel (`enum nl80211_survey_info`).
mod survey {
    pub const FREQUENCY: u16 = 1;
    pub const NOISE: u16 = 2;
    pub const IN_USE: u16 = 3;
    pub const TIMES: [(u16, &str); 4] = [
        (4, "active_ms"),
        (5, "busy_ms"),
        (7, "receive_ms"),
        (8, "transmit_ms"),
    ];
}

/// The radios of the calling thread's network namespace.
pub struct Radios {
    family: u16,
    requests: Socket,
    events: Socket,
}

impl Radios {
    /// Opens both sockets. Events are kept from now on.
    ///
    /// # Errors
    /// The kernel has no nl80211, or refuses the sockets.
    pub fn open() -> io::Result<Self> {
        let mut requests = Socket::open(SockProtocol::NetlinkGeneric)?;
        let family = requests.family(FAMILY)?;
        let events = Socket::open(SockProtocol::NetlinkGeneric)?;
        for (_, id) in family
            .groups
            .iter()
            .filter(|(name, _)| GROUPS.contains(&&name[..]))
        {
            events.join(*id)?;
        }
        Ok(Self {
            family: family.id,
            requests,
            events,
        })
    }

    /// The peers of an interface by MAC address, and, if asked for, the channel that it uses. Both are absent if the interface is no
    /// radio's; a value that the driver does not report is absent.
    pub fn read(&mut self, interface: u32, with_channel: bool) -> Map<String, Value> {
        let mut found = Map::new();
        let mut peers = Map::new();
        let listed = self.dump(GET_STATION, interface, |body| {
            if let (Some(mac), Some(values)) = (
                find(body, attribute::MAC).and_then(mac_text),
                find(body, attribute::STATION),
            ) {
                let mut peer = peer(values);
                if let Some(links) = find(body, attribute::MLO_LINKS) {
                    peer.insert("links".to_owned(), Value::Object(links_of(links)));
                }
                peers.insert(mac, Value::Object(peer));
            }
        });
        if listed.is_ok() {
            found.insert("peers".to_owned(), peers.into());
        }
        if !with_channel {
            return found;
        }
        // Drivers that count no times have no survey at all, which is no error.
        let _ = self.dump(GET_SURVEY, interface, |body| {
            if let Some(values) = find(body, attribute::SURVEY)
                && find(values, survey::IN_USE).is_some()
            {
                found.insert("channel".to_owned(), Value::Object(channel(values)));
            }
        });
        found
    }

    /// The events since the last call, in order. `name` names an interface, or leaves its events out.
    pub fn events(&mut self, name: impl Fn(u32) -> Option<String>) -> Vec<Value> {
        let at_ns = monotonic_ns();
        let mut found = Vec::new();
        while let Ok(Some(datagram)) = self.events.poll() {
            for (command, body) in messages(datagram).filter_map(|message| message.generic()) {
                if let Some(mut event) = event(command, body, &name) {
                    event.insert("t_ns".to_owned(), at_ns.into());
                    found.push(event.into());
                }
            }
        }
        found
    }

    fn dump(&mut self, command: u8, interface: u32, mut take: impl FnMut(&[u8])) -> io::Result<()> {
        let of_interface = [(attribute::INTERFACE, &interface.to_ne_bytes()[..])];
        let head = generic(command);
        self.requests
            .exchange(self.family, libc::NLM_F_DUMP, &head, &of_interface, |message| {
                if let Some((_, body)) = message.generic() {
                    take(body);
                }
            })
    }
}

/// The value of an unsigned attribute of 1, 2, 4 or 8 octets.
fn number(nest: &[u8], kind: u16) -> Option<u64> {
    match find(nest, kind)? {
        &[octet] => Some(octet.into()),
        octets => match octets.len() {
            2 => Some(u16::from_ne_bytes(octets.try_into().ok()?).into()),
            4 => Some(u32::from_ne_bytes(octets.try_into().ok()?).into()),
            8 => Some(u64::from_ne_bytes(octets.try_into().ok()?)),
            _ => None,
        },
    }
}

/// A level in dBm, which the kernel sends as one octet.
fn dbm(nest: &[u8], kind: u16) -> Option<i8> {
    match find(nest, kind)? {
        &[octet] => Some(octet.cast_signed()),
        _ => None,
    }
}

fn mac_text(octets: &[u8]) -> Option<String> {
    let octets: [u8; 6] = octets.try_into().ok()?;
    Some(octets.map(|octet| format!("{octet:02x}")).join(":"))
}

/// The statistics of a peer.
fn peer(values: &[u8]) -> Map<String, Value> {
    let mut found = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            found.insert(name.to_owned(), value);
        }
    };
    put("signal_dbm", dbm(values, station::SIGNAL).map(Value::from));
    for (name, kind) in [("tx_rate", station::TX_RATE), ("rx_rate", station::RX_RATE)] {
        put(name, find(values, kind).and_then(rate_of));
    }
    for (name, kind, kind_of_32_bits) in station::BYTES {
        let total = number(values, kind).or_else(|| number(values, kind_of_32_bits));
        put(name, total.map(Value::from));
    }
    for (name, kind) in [
        ("tx_packets", station::TX_PACKETS),
        ("tx_retries", station::TX_RETRIES),
        ("tx_failed", station::TX_FAILED),
    ] {
        put(name, number(values, kind).map(Value::from));
    }
    for (name, kind) in [
        ("tx_airtime_us", station::TX_AIRTIME),
        ("rx_airtime_us", station::RX_AIRTIME),
    ] {
        // mac80211 reports 0 if the driver does not measure airtime.
        put(
            name,
            number(values, kind).filter(|time| *time > 0).map(Value::from),
        );
    }
    found
}

/// The statistics of a peer on each link of a multi-link association, by link ID (Linux 6.17 and later).
fn links_of(nest: &[u8]) -> Map<String, Value> {
    let links = attributes(nest).filter_map(|(_, link)| {
        let id = number(link, attribute::MLO_LINK_ID)?;
        let values = find(link, attribute::STATION)?;
        Some((id.to_string(), Value::Object(peer(values))))
    });
    links.collect()
}

/// The PHY rate of a frame; `None` if the radio has not sent or received one.
fn rate_of(values: &[u8]) -> Option<Value> {
    let steps = number(values, rate::BITRATE32)
        .or_else(|| number(values, rate::BITRATE))
        .filter(|steps| *steps > 0)?;
    let mut found = json!({"bit_per_s": steps * 100_000});
    let format = rate::FORMATS
        .iter()
        .find_map(|format| Some((format, number(values, format.1)?)));
    if let Some(((name, _, streams, guard), mcs)) = format {
        let width_mhz = rate::WIDTHS
            .iter()
            .find(|(kind, _)| find(values, *kind).is_some())
            .map_or(20, |(_, width_mhz)| *width_mhz);
        found["format"] = (*name).into();
        found["mcs"] = mcs.into();
        found["streams"] = match streams {
            Some(kind) => number(values, *kind).into(),
            None => (mcs / 8 + 1).into(),
        };
        found["width_mhz"] = width_mhz.into();
        found["guard_ns"] = match guard {
            // 0.8, 1.6 and 3.2 us
            Some(kind) => number(values, *kind).map(|step| 800 << step.min(2)).into(),
            None if find(values, rate::SHORT_GI).is_some() => 400.into(),
            None => 800.into(),
        };
    }
    Some(found)
}

/// The channel in use: times since the interface came up, or since its driver last reset them.
fn channel(values: &[u8]) -> Map<String, Value> {
    let mut found = Map::new();
    if let Some(frequency) = number(values, survey::FREQUENCY) {
        found.insert("frequency_mhz".to_owned(), frequency.into());
    }
    if let Some(noise) = dbm(values, survey::NOISE) {
        found.insert("noise_dbm".to_owned(), noise.into());
    }
    for (kind, name) in survey::TIMES {
        if let Some(time_ms) = number(values, kind) {
            found.insert(name.to_owned(), time_ms.into());
        }
    }
    found
}

/// An event in words; `None` for other messages, and for interfaces without a name.
fn event(command: u8, body: &[u8], name: impl Fn(u32) -> Option<String>) -> Option<Map<String, Value>> {
    let (_, word) = EVENTS.iter().find(|(known, _)| *known == command)?;
    let mut found = Map::new();
    found.insert("event".to_owned(), (*word).into());
    // The regulatory domain belongs to no interface.
    if let Some(index) = number(body, attribute::INTERFACE) {
        found.insert("interface".to_owned(), name(u32::try_from(index).ok()?)?.into());
    }
    if let Some(mac) = find(body, attribute::MAC).and_then(mac_text) {
        found.insert("peer".to_owned(), mac.into());
    }
    for (word, kind) in [("reason", attribute::REASON), ("status", attribute::STATUS)] {
        if let Some(code) = number(body, kind) {
            found.insert(word.to_owned(), code.into());
        }
    }
    if let Some(letters) = find(body, attribute::ALPHA2).and_then(|octets| octets.get(..2)) {
        found.insert(
            "country".to_owned(),
            String::from_utf8_lossy(letters).into_owned().into(),
        );
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wlan_host::netlink::put;

    use super::*;

    fn nest(attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut octets = Vec::new();
        put(&mut octets, 0, 0, 0, &[], attributes);
        messages(&octets).next().unwrap().body.to_vec()
    }

    #[test]
    fn rates_have_the_words_of_their_format() {
        let bitrate = |bit_per_s: u32| (bit_per_s / 100_000).to_ne_bytes();
        let cases: [(Vec<u8>, Value); 5] = [
            (
                nest(&[(1, &60_u16.to_ne_bytes()), (5, &bitrate(6_000_000))]),
                json!({"bit_per_s": 6_000_000}),
            ),
            (
                nest(&[(5, &bitrate(270_000_000)), (2, &[15]), (3, &[])]),
                json!({"bit_per_s": 270_000_000, "format": "ht", "mcs": 15, "streams": 2, "width_mhz": 40, "guard_ns": 800}),
            ),
            (
                nest(&[
                    (5, &bitrate(325_000_000)),
                    (6, &[7]),
                    (7, &[1]),
                    (8, &[]),
                    (4, &[]),
                ]),
                json!({"bit_per_s": 325_000_000, "format": "vht", "mcs": 7, "streams": 1, "width_mhz": 80, "guard_ns": 400}),
            ),
            (
                nest(&[
                    (5, &bitrate(2_401_900_000)),
                    (10, &[]),
                    (13, &[11]),
                    (14, &[2]),
                    (15, &[0]),
                ]),
                json!({"bit_per_s": 2_401_900_000_u32, "format": "he", "mcs": 11, "streams": 2, "width_mhz": 160, "guard_ns": 800}),
            ),
            (
                nest(&[
                    (5, &bitrate(4_000_000_000)),
                    (18, &[]),
                    (19, &[13]),
                    (20, &[2]),
                    (21, &[2]),
                ]),
                json!({"bit_per_s": 4_000_000_000_u32, "format": "eht", "mcs": 13, "streams": 2, "width_mhz": 320, "guard_ns": 3200}),
            ),
        ];
        for (octets, expected) in cases {
            assert_eq!(rate_of(&octets), Some(expected));
        }
        assert_eq!(rate_of(&[]), None);
        assert_eq!(rate_of(&nest(&[(1, &0_u16.to_ne_bytes())])), None);
    }

    #[test]
    fn a_value_that_the_driver_does_not_report_is_absent() {
        let values = nest(&[
            (station::SIGNAL, &[(-42_i8).cast_unsigned()]),
            (station::TX_PACKETS, &7_u32.to_ne_bytes()),
            (station::TX_AIRTIME, &0_u64.to_ne_bytes()),
        ]);
        assert_eq!(
            Value::Object(peer(&values)),
            json!({"signal_dbm": -42, "tx_packets": 7})
        );
    }

    #[test]
    fn a_peer_has_statistics_per_link() {
        let on_link = |id: u8, tx_bytes: u64| {
            let values = nest(&[
                (3, &7_u32.to_ne_bytes()), // the counter of 32 bits
                (24, &tx_bytes.to_ne_bytes()),
                (station::SIGNAL, &[(-40_i8).cast_unsigned()]),
            ]);
            nest(&[
                (attribute::MLO_LINK_ID, &[id]),
                (attribute::MAC, &[2, 0, 0, 0, 1, id]),
                (attribute::STATION, &values),
            ])
        };
        // The kernel numbers the nests from 1.
        let links = nest(&[(1, &on_link(0, 1000)), (3, &on_link(2, 1 << 33))]);
        assert_eq!(
            Value::Object(links_of(&links)),
            json!({
                "0": {"signal_dbm": -40, "tx_bytes": 1000},
                "2": {"signal_dbm": -40, "tx_bytes": 1_u64 << 33},
            })
        );
    }

    #[test]
    fn an_event_names_its_interface_and_peer() {
        let body = nest(&[
            (attribute::INTERFACE, &5_u32.to_ne_bytes()),
            (attribute::MAC, &[2, 0, 0, 0, 1, 0xff]),
            (attribute::REASON, &3_u16.to_ne_bytes()),
        ]);
        let name = |index: u32| (index == 5).then(|| "wlan0".to_owned());
        assert_eq!(
            event(48, &body, name).map(Value::Object),
            Some(
                json!({"event": "disconnected", "interface": "wlan0", "peer": "02:00:00:00:01:ff", "reason": 3})
            )
        );
        assert_eq!(event(48, &body, |_| None), None);
    }

    proptest! {
        #[test]
        fn no_octets_make_it_panic(octets in proptest::collection::vec(any::<u8>(), 0..80), command: u8) {
            let _ = (peer(&octets), channel(&octets), rate_of(&octets), links_of(&octets));
            let _ = event(command, &octets, |_| Some(String::new()));
        }
    }
}
