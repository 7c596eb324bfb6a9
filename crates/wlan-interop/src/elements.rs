//! The elements of a BSS of this program: OFDM rates in the 5 GHz band, QoS, and the security elements.

use wlan_frames::beacon::{
    CAPABILITY_ESS, CAPABILITY_PRIVACY, CAPABILITY_QOS, ID_SSID, elements, push_element,
};
use wlan_frames::rsn::{ID_RSN, ID_RSNX, ID_VENDOR, WPA_OUI_TYPE};
use wlan_rsn::Elements;

/// Capability Information of both ends.
pub const CAPABILITY: u16 = CAPABILITY_ESS | CAPABILITY_PRIVACY | CAPABILITY_QOS;

const ID_SUPPORTED_RATES: u8 = 1;
const ID_TIM: u8 = 5;
const ID_EXTENDED_CAPABILITIES: u8 = 127;
/// The rates of clause 17 in units of 500 kb/s; 6, 12 and 24 Mb/s are basic rates.
const RATES: [u8; 8] = [0x8c, 18, 0x98, 36, 0xb0, 72, 96, 108];
/// OUI, type of WMM (Wi-Fi Alliance, Wireless Multimedia 1.2).
const WMM: [u8; 4] = [0x00, 0x50, 0xf2, 2];
/// Subtype and version of a WMM Information element, and QoS Info without U-APSD.
const WMM_INFORMATION: [u8; 3] = [0, 1, 0];
/// The same of a WMM Parameter element, a reserved octet, and the default parameters of each category: ACI and AIFSN,
/// contention windows, TXOP limit.
const WMM_PARAMETERS: [u8; 20] = [
    1, 1, 0, 0, //
    0x03, 0xa4, 0, 0, //
    0x27, 0xa4, 0, 0, //
    0x42, 0x43, 94, 0, //
    0x62, 0x32, 47, 0,
];
/// Beacon Protection Enabled, a bit of the Extended Capabilities element (9.4.2.26).
const BEACON_PROTECTION: usize = 84;

/// The properties of a peer, from its elements.
#[derive(Default)]
pub struct Heard {
    /// SSID.
    pub ssid: Vec<u8>,
    /// The security elements.
    pub security: Elements,
    /// Whether the peer has QoS.
    pub qos: bool,
}

impl Heard {
    /// Reads elements up to the first one that is incomplete.
    pub fn of(octets: &[u8]) -> Self {
        let mut heard = Self::default();
        for (id, body) in elements(octets).map_while(Result::ok) {
            let mut whole = Vec::new();
            push_element(&mut whole, id, body);
            match id {
                ID_SSID => heard.ssid = body.to_vec(),
                ID_RSN => heard.security.rsn = whole,
                ID_RSNX => heard.security.rsnx = whole,
                ID_VENDOR if body.starts_with(&WPA_OUI_TYPE) => heard.security.wpa = whole,
                ID_VENDOR if body.starts_with(&WMM) => heard.qos = true,
                _ => {}
            }
        }
        heard
    }
}

/// The elements of a beacon. Probe Responses have no TIM.
pub fn of_beacon(ssid: &[u8], security: &Elements, protects_beacons: bool, has_tim: bool) -> Vec<u8> {
    let mut octets = Vec::new();
    push_element(&mut octets, ID_SSID, ssid);
    push_element(&mut octets, ID_SUPPORTED_RATES, &RATES);
    if has_tim {
        push_element(&mut octets, ID_TIM, &[0, 1, 0, 0]);
    }
    octets.extend(&security.rsn);
    if protects_beacons {
        let mut capabilities = [0; BEACON_PROTECTION / 8 + 1];
        capabilities[BEACON_PROTECTION / 8] |= 1 << (BEACON_PROTECTION % 8);
        push_element(&mut octets, ID_EXTENDED_CAPABILITIES, &capabilities);
    }
    octets.extend(&security.rsnx);
    octets.extend(&security.wpa);
    push_element(&mut octets, ID_VENDOR, &[&WMM[..], &WMM_PARAMETERS].concat());
    octets
}

/// The elements of an Association Request, and `more`.
pub fn of_request(ssid: &[u8], security: &Elements, qos: bool, more: &[u8]) -> Vec<u8> {
    let mut octets = Vec::new();
    push_element(&mut octets, ID_SSID, ssid);
    push_element(&mut octets, ID_SUPPORTED_RATES, &RATES);
    octets.extend(&security.rsn);
    octets.extend(&security.rsnx);
    octets.extend(&security.wpa);
    if qos {
        push_element(&mut octets, ID_VENDOR, &[&WMM[..], &WMM_INFORMATION].concat());
    }
    octets.extend(more);
    octets
}

/// The elements of an Association Response, and `more`.
pub fn of_response(security: &Elements, qos: bool, more: &[u8]) -> Vec<u8> {
    let mut octets = Vec::new();
    push_element(&mut octets, ID_SUPPORTED_RATES, &RATES);
    octets.extend(&security.rsnx);
    if qos {
        push_element(&mut octets, ID_VENDOR, &[&WMM[..], &WMM_PARAMETERS].concat());
    }
    octets.extend(more);
    octets
}
