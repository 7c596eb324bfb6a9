//! The elements of management frames (IEEE Std 802.11-2020, 9.3.3, 9.4.2): those of the capabilities of an end, the SSID and
//! the security elements, in the order of the standard.

use wlan_frames::beacon::{CAPABILITY_QOS, ID_SSID, elements, push_element};
use wlan_frames::rsn::{ID_RSN, ID_RSNX, ID_VENDOR, WPA_OUI_TYPE};
use wlan_rsn::Elements;

use crate::network::Network;

// Element IDs (Table 9-92).
/// Supported Rates and BSS Membership Selectors.
pub const ID_SUPPORTED_RATES: u8 = 1;
/// DSSS Parameter Set.
pub const ID_DSSS_PARAMETER_SET: u8 = 3;
const ID_TIM: u8 = 5;
/// EDCA Parameter Set.
pub const ID_EDCA_PARAMETER_SET: u8 = 12;
/// ERP.
pub const ID_ERP: u8 = 42;
/// HT Capabilities.
pub const ID_HT_CAPABILITIES: u8 = 45;
/// Extended Supported Rates and BSS Membership Selectors.
pub const ID_EXTENDED_SUPPORTED_RATES: u8 = 50;
/// HT Operation.
pub const ID_HT_OPERATION: u8 = 61;
const ID_TIMEOUT_INTERVAL: u8 = 56;
/// Timeout Interval type: association comeback time (9.4.2.48).
const COMEBACK: u8 = 3;
const ID_EXTENDED_CAPABILITIES: u8 = 127;
/// VHT Capabilities.
pub const ID_VHT_CAPABILITIES: u8 = 191;
/// VHT Operation.
pub const ID_VHT_OPERATION: u8 = 192;
/// OUI and type of a vendor specific WMM element (Wi-Fi Alliance, Wireless Multimedia 1.2).
pub const WMM: [u8; 4] = [0x00, 0x50, 0xf2, 2];

/// Octets of the longest SSID (9.4.2.2).
const SSID_MAX_B: usize = 32;
/// The IDs of the elements in the order of management frames (Table 9-34). Vendor specific elements are last.
const ORDER: [u8; 14] = [
    0, 1, 3, ID_TIM, 42, 50, ID_RSN, 12, 45, 61, 127, 191, 192, ID_RSNX,
];
/// DTIM count 0, DTIM period 1 and an empty bitmap (9.4.2.5.1): no station dozes.
const TIM: [u8; 6] = [ID_TIM, 4, 0, 1, 0, 0];
/// Beacon Protection Enabled, a bit of the Extended Capabilities element (9.4.2.26).
const BEACON_PROTECTION: usize = 84;

/// The properties of a peer, from its Capability Information and its elements.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Heard {
    /// SSID; empty in a wildcard Probe Request.
    pub ssid: Vec<u8>,
    /// The security elements.
    pub security: Elements,
    /// Whether the peer has QoS.
    pub qos: bool,
    /// Association comeback time, in time units.
    pub comeback_tu: Option<u32>,
}

impl Heard {
    /// Reads elements up to the first one that is incomplete. The first element of each kind is used; unknown elements are
    /// ignored (9.4.3).
    pub fn of(information: u16, octets: &[u8]) -> Self {
        let mut heard = Self {
            qos: information & CAPABILITY_QOS != 0,
            ..Self::default()
        };
        let mut has_ssid = false;
        for (id, body) in elements(octets).map_while(Result::ok) {
            let whole = || [&[id, u8::try_from(body.len()).unwrap_or(u8::MAX)], body].concat();
            let security = &mut heard.security;
            match (id, body) {
                (ID_SSID, name) if !has_ssid && name.len() <= SSID_MAX_B => {
                    has_ssid = true;
                    heard.ssid = name.to_vec();
                }
                (ID_RSN, _) if security.rsn.is_empty() => security.rsn = whole(),
                (ID_RSNX, _) if security.rsnx.is_empty() => security.rsnx = whole(),
                (ID_VENDOR, body) if body.starts_with(&WPA_OUI_TYPE) && security.wpa.is_empty() => {
                    security.wpa = whole();
                }
                (ID_VENDOR, body) if body.starts_with(&WMM) => heard.qos = true,
                (ID_TIMEOUT_INTERVAL, &[COMEBACK, a, b, c, d]) => {
                    heard.comeback_tu = Some(u32::from_le_bytes([a, b, c, d]));
                }
                _ => {}
            }
        }
        heard
    }
}

/// A Timeout Interval element: a station may associate again after this number of time units (9.4.2.48).
pub fn of_comeback(after_tu: u32) -> Vec<u8> {
    let [a, b, c, d] = after_tu.to_le_bytes();
    let mut octets = Vec::new();
    push_element(&mut octets, ID_TIMEOUT_INTERVAL, &[COMEBACK, a, b, c, d]);
    octets
}

/// The elements of a beacon, with `more` than the capabilities of the access point.
pub(crate) fn of_beacon(network: &Network, more: &[u8], protects_beacons: bool) -> Vec<u8> {
    let Elements { rsn, rsnx, wpa } = network.security_elements();
    let mut parts = vec![of_ssid(&network.ssid), TIM.to_vec(), rsn, rsnx, wpa];
    if protects_beacons {
        let mut capabilities = [0; BEACON_PROTECTION / 8 + 1];
        capabilities[BEACON_PROTECTION / 8] |= 1 << (BEACON_PROTECTION % 8);
        let mut extended = Vec::new();
        push_element(&mut extended, ID_EXTENDED_CAPABILITIES, &capabilities);
        parts.push(extended);
    }
    in_order(&[&parts.concat(), &network.capabilities.elements, more], true)
}

/// The elements of a beacon as those of a Probe Response, which has no TIM (9.3.3.10).
pub(crate) fn of_probe_response(of_beacon: &[u8]) -> Vec<u8> {
    let mut octets = Vec::with_capacity(of_beacon.len());
    for (id, body) in elements(of_beacon).flatten().filter(|&(id, _)| id != ID_TIM) {
        push_element(&mut octets, id, body);
    }
    octets
}

/// The elements of a Probe Request.
pub(crate) fn of_probe_request(network: &Network) -> Vec<u8> {
    in_order(&[&of_ssid(&network.ssid), &network.capabilities.elements], true)
}

/// The elements of an Association Request, and `more`.
pub fn of_request(network: &Network, qos: bool, more: &[u8]) -> Vec<u8> {
    let Elements { rsn, rsnx, wpa } = network.security_elements();
    let own = [of_ssid(&network.ssid), rsn, rsnx, wpa].concat();
    [
        in_order(&[&own, &network.capabilities.elements], qos),
        more.to_vec(),
    ]
    .concat()
}

/// The elements of an Association Response, and `more`.
pub(crate) fn of_response(network: &Network, qos: bool, more: &[u8]) -> Vec<u8> {
    let rsnx = network.security_elements().rsnx;
    [
        in_order(&[&rsnx, &network.capabilities.elements], qos),
        more.to_vec(),
    ]
    .concat()
}

/// The SSID element.
pub fn of_ssid(ssid: &[u8]) -> Vec<u8> {
    let mut octets = Vec::new();
    push_element(&mut octets, ID_SSID, ssid);
    octets
}

/// All elements in the order of the standard; those of WMM only with `qos`.
fn in_order(parts: &[&[u8]], qos: bool) -> Vec<u8> {
    let rank = |id: u8| match id {
        ID_VENDOR => ORDER.len() + 1,
        id => ORDER.iter().position(|&at| at == id).unwrap_or(ORDER.len()),
    };
    let mut all: Vec<(u8, &[u8])> = parts.iter().flat_map(|part| elements(part).flatten()).collect();
    all.retain(|(id, body)| qos || *id != ID_VENDOR || !body.starts_with(&WMM));
    all.sort_by_key(|&(id, _)| rank(id));
    let mut octets = Vec::new();
    for (id, body) in all {
        push_element(&mut octets, id, body);
    }
    octets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(id: u8, body: &[u8]) -> Vec<u8> {
        let mut octets = Vec::new();
        push_element(&mut octets, id, body);
        octets
    }

    #[test]
    fn only_the_first_valid_element_of_each_kind_counts() {
        let of = |all: &[Vec<u8>]| Heard::of(0, &all.concat());
        let names = [&[b'x'; 33][..], b"first", b"second"].map(|name| element(ID_SSID, name));
        assert_eq!(of(&names).ssid, b"first");
        let names = [b"", &b"second"[..]].map(|name| element(ID_SSID, name));
        assert_eq!(of(&names).ssid, b"");
        let wpa = |octet: u8| [&WPA_OUI_TYPE[..], &[octet]].concat();
        let security = [
            element(ID_RSN, &[1]),
            element(ID_RSN, &[2]),
            element(ID_RSNX, &[3]),
            element(ID_RSNX, &[4]),
            element(ID_VENDOR, &wpa(5)),
            element(ID_VENDOR, &wpa(6)),
        ];
        let Elements { rsn, rsnx, wpa } = of(&security).security;
        assert_eq!((&rsn[..], &rsnx[..]), (&[ID_RSN, 1, 1][..], &[ID_RSNX, 1, 3][..]));
        assert_eq!(wpa.last(), Some(&5));
    }

    #[test]
    fn the_comeback_time_is_a_timeout_interval_element() {
        assert_eq!(of_comeback(1000), [56, 5, 3, 0xe8, 3, 0, 0]);
        assert_eq!(Heard::of(0, &of_comeback(1000)).comeback_tu, Some(1000));
        let reassociation_deadline = [56, 5, 1, 0xe8, 3, 0, 0];
        assert_eq!(Heard::of(0, &reassociation_deadline).comeback_tu, None);
    }
}
