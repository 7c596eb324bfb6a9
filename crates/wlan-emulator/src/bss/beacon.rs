//! The elements of the emulated BSS, from the configuration of its medium (IEEE Std 802.11-2020, 9.4.2).

use wlan_air::phy::{Band, ERP, Format, GuardInterval, Mode, Phy, Preamble, VHT_MPDU_LENS_B};
use wlan_air::{Access, Category, MediumConfig, Nanos, Protection};
use wlan_bss::elements::{
    ID_DSSS_PARAMETER_SET, ID_EDCA_PARAMETER_SET, ID_ERP, ID_EXTENDED_SUPPORTED_RATES, ID_HT_CAPABILITIES,
    ID_HT_OPERATION, ID_SUPPORTED_RATES, ID_VHT_CAPABILITIES, ID_VHT_OPERATION,
};
use wlan_bss::{Beacons, Capabilities, Network};
use wlan_frames::beacon::{
    CAPABILITY_ESS, CAPABILITY_PRIVACY, CAPABILITY_QOS, CAPABILITY_SHORT_PREAMBLE, CAPABILITY_SHORT_SLOT,
    push_element,
};
use wlan_frames::fcs::FCS_LEN;
use wlan_frames::rsn::{ID_VENDOR, OUI_LOCAL};
use wlan_frames::{MacAddr, Role};
use wlan_rsn::Key;
use wlan_scenario::beacon::{MAX_LEN_B, USUAL_LEN_B};

use super::keys::{Keys, SSID};

/// The primary channels that the emulated access point announces: number and centre in MHz (17.3.8.4.2, 16.3.6.3).
const CHANNEL_2GHZ: (u8, u16) = (6, 2437);
const CHANNEL_5GHZ: (u8, u16) = (36, 5180);

// Bits of the ERP Parameters (9.4.2.11).
const NON_ERP_PRESENT: u8 = 1;
const USE_PROTECTION: u8 = 1 << 1;
const BARKER_PREAMBLE_MODE: u8 = 1 << 2;

/// Number of rates that a Supported Rates element holds (9.4.2.3).
const SUPPORTED_RATES_MAX: usize = 8;
/// Marks a rate as a basic rate (9.4.2.3).
const BASIC: u8 = 0x80;

/// The primary 20 MHz channel of the emulated air in a band, and its centre frequency in MHz.
pub fn channel(band: Band) -> (u8, u16) {
    match band {
        Band::Ghz2_4 => CHANNEL_2GHZ,
        Band::Ghz5 => CHANNEL_5GHZ,
    }
}

/// The network on this medium, as its access point or each of its stations is configured for it. `tid` is the TID of the
/// stations' QoS data frames.
pub fn network(medium: &MediumConfig, tid: Option<u8>, keys: &Keys, role: Role) -> Network {
    Network {
        ssid: SSID.to_vec(),
        capabilities: capabilities(medium, tid, !matches!(keys, Keys::Open)),
        security: keys.security(role),
    }
}

/// The beacons of station 0 of this medium. `bigtk` protects them.
///
/// # Panics
/// If `bigtk` does not fit the policy of the network.
pub fn beacons(
    bssid: MacAddr,
    medium: &MediumConfig,
    tid: Option<u8>,
    keys: &Keys,
    bigtk: Option<Key>,
) -> Beacons {
    let network = network(medium, tid, keys, Role::Ap);
    let station = &medium.stations[0];
    let mode = mode(medium);
    let interval = medium
        .beacons
        .map_or(wlan_air::Beacons::TU, |beacons| beacons.interval);
    let interval_tu = u16::try_from(interval.0 / wlan_air::Beacons::TU.0).unwrap_or(u16::MAX);
    let is_protecting = station.protection != Protection::None;
    let mut elements = Vec::with_capacity(USUAL_LEN_B);
    if mode.band() == Band::Ghz2_4 {
        push_element(&mut elements, ID_DSSS_PARAMETER_SET, &[channel(mode.band()).0]);
    }
    if mode.phy().supports(&ERP, mode.band()) {
        push_element(&mut elements, ID_ERP, &[erp_parameters(medium, is_protecting)]);
    }
    if let Some(tid) = tid {
        push_element(
            &mut elements,
            ID_EDCA_PARAMETER_SET,
            &edca_parameter_set(tid, &station.access[0]),
        );
    }
    if medium.bss.phy_with(Format::Ht).is_some() {
        push_element(&mut elements, ID_HT_OPERATION, &ht_operation(mode, is_protecting));
    }
    if medium.bss.phy_with(Format::Vht).is_some() {
        push_element(&mut elements, ID_VHT_OPERATION, &vht_operation(mode));
    }
    let of = |elements: &[u8], bigtk| {
        Beacons::new(bssid, &network, interval_tu, elements, bigtk)
            .expect("beacons are protected only with management frames")
    };
    let len_b = if bigtk.is_some() { MAX_LEN_B } else { USUAL_LEN_B };
    let mut filling = vec![0; len_b - FCS_LEN - 2 - of(&elements, bigtk.clone()).len()];
    filling[..OUI_LOCAL.len()].copy_from_slice(&OUI_LOCAL);
    push_element(&mut elements, ID_VENDOR, &filling);
    of(&elements, bigtk)
}

/// The capabilities of all stations of this medium. `is_private` states whether data is protected.
fn capabilities(medium: &MediumConfig, tid: Option<u8>, is_private: bool) -> Capabilities {
    let mode = mode(medium);
    let mut elements = Vec::new();
    let rates = supported_rates(medium);
    let (rates, extended) = rates.split_at(rates.len().min(SUPPORTED_RATES_MAX));
    push_element(&mut elements, ID_SUPPORTED_RATES, rates);
    if !extended.is_empty() {
        push_element(&mut elements, ID_EXTENDED_SUPPORTED_RATES, extended);
    }
    if let Some(ht) = medium.bss.phy_with(Format::Ht) {
        push_element(&mut elements, ID_HT_CAPABILITIES, &ht_capabilities(mode, ht));
    }
    if let Some(vht) = medium.bss.phy_with(Format::Vht) {
        push_element(&mut elements, ID_VHT_CAPABILITIES, &vht_capabilities(mode, vht));
    }
    Capabilities {
        information: capability(medium, mode, tid, is_private),
        elements,
    }
}

fn mode(medium: &MediumConfig) -> &Mode {
    medium.stations[0]
        .rate
        .modes()
        .last()
        .expect("a station has a rate")
}

/// ERP Parameters (9.4.2.11).
fn erp_parameters(medium: &MediumConfig, is_protecting: bool) -> u8 {
    let has_dot11b = medium.bss.has_dot11b_stations();
    let is_long = has_dot11b && !has_short_preamble(medium);
    flag(NON_ERP_PRESENT, is_protecting || has_dot11b)
        | flag(USE_PROTECTION, is_protecting)
        | flag(BARKER_PREAMBLE_MODE, is_long)
}

/// These bits if the flag is set.
fn flag<T: Default>(bits: T, is_set: bool) -> T {
    if is_set { bits } else { T::default() }
}

/// Whether a basic rate of the BSS has the short preamble.
fn has_short_preamble(medium: &MediumConfig) -> bool {
    let mut rates = medium.bss.basic_rates();
    rates.any(|rate| rate.dsss_preamble() == Some(Preamble::Short))
}

fn capability(medium: &MediumConfig, mode: &Mode, tid: Option<u8>, is_private: bool) -> u16 {
    let has_short_slot = mode.band() == Band::Ghz2_4 && medium.bss.slot() == Nanos::from_us(9);
    CAPABILITY_ESS
        | flag(CAPABILITY_PRIVACY, is_private)
        | flag(CAPABILITY_SHORT_PREAMBLE, has_short_preamble(medium))
        | flag(CAPABILITY_QOS, tid.is_some())
        | flag(CAPABILITY_SHORT_SLOT, has_short_slot)
}

/// The rates of the BSS in units of 500 kb/s, with the basic rates marked (9.4.2.3, 9.4.2.13).
fn supported_rates(medium: &MediumConfig) -> Vec<u8> {
    let in_units = |kbps: u32| u8::try_from(kbps / 500).unwrap_or(!BASIC);
    let rates = medium.bss.supported_rates();
    rates
        .map(|(kbps, is_basic)| in_units(kbps) | if is_basic { BASIC } else { 0 })
        .collect()
}

/// EDCA Parameter Set element (9.4.2.28): the default values, and the stations' own in the category of their TID.
fn edca_parameter_set(tid: u8, used: &Access) -> Vec<u8> {
    // In the order of the ACI (Table 9-154).
    let categories = [Category::Be, Category::Bk, Category::Vi, Category::Vo];
    // Table 10-1.
    let of_tid = match tid {
        1 | 2 => Category::Bk,
        0 | 3 => Category::Be,
        4 | 5 => Category::Vi,
        _ => Category::Vo,
    };
    let mut body = vec![0; 2];
    for (aci, category) in (0u8..).zip(categories) {
        let usual = Access::edca(category);
        let access = if category == of_tid { used } else { &usual };
        let exponent = |window: u16| u8::try_from((window + 1).trailing_zeros()).unwrap_or(15);
        let txop_limit = u16::try_from(access.txop_limit.0 / 32_000).unwrap_or(u16::MAX);
        body.push(access.aifsn & 0xf | aci << 5);
        body.push(exponent(access.cw_min) | exponent(access.cw_max) << 4);
        body.extend(txop_limit.to_le_bytes());
    }
    body
}

fn is_short(mode: &Mode) -> bool {
    mode.guard_interval() == Some(GuardInterval::Short)
}

/// Exponent of the longest A-MPDU, of 2^(13 + exponent) - 1 octets (9.4.2.55.3, 9.4.2.157.2).
fn ampdu_exponent(phy: &Phy) -> u8 {
    let longest_b = phy.aggregation.map_or(0, |limits| limits.max_ampdu_len_b);
    u8::try_from((longest_b + 1).ilog2())
        .unwrap_or(u8::MAX)
        .saturating_sub(13)
}

/// HT Capabilities element (9.4.2.55).
fn ht_capabilities(mode: &Mode, ht: &Phy) -> [u8; 26] {
    /// Spatial multiplexing power save is off; A-MSDUs of up to 7935 octets.
    const ALWAYS: u16 = 0b11 << 2 | 1 << 11;
    const FORTY_MHZ: u16 = 1 << 1;
    const SHORT_GI_20_AND_40: u16 = 0b11 << 5;
    const TX_MCS_SET_DEFINED: u8 = 1;
    let mut info = ALWAYS;
    if mode.bandwidth_mhz() >= 40 {
        info |= FORTY_MHZ;
    }
    if is_short(mode) {
        info |= SHORT_GI_20_AND_40;
    }
    let mut body = [0; 26];
    body[..2].copy_from_slice(&info.to_le_bytes());
    body[2] = ampdu_exponent(ht);
    body[3..3 + usize::from(mode.streams().min(ht.max_streams))].fill(0xff);
    body[15] = TX_MCS_SET_DEFINED;
    body
}

/// HT Operation element (9.4.2.56).
fn ht_operation(mode: &Mode, is_protecting: bool) -> [u8; 22] {
    /// The secondary channel is above the primary, and any width is allowed.
    const FORTY_MHZ: u8 = 0b101;
    /// There are non-HT stations.
    const MIXED: u8 = 3;
    let mut body = [0; 22];
    body[0] = channel(mode.band()).0;
    body[1] = if mode.bandwidth_mhz() >= 40 { FORTY_MHZ } else { 0 };
    body[2] = if is_protecting { MIXED } else { 0 };
    body
}

/// VHT-MCSs 0 to 9 on each of `streams` streams (9.4.2.157.3).
fn vht_mcs_map(streams: u8) -> [u8; 2] {
    let of = |stream: u8| if stream < streams { 0b10 } else { 0b11 };
    let map = (0..8).fold(0u16, |map, stream| map | of(stream) << (2 * stream));
    map.to_le_bytes()
}

/// VHT Capabilities element (9.4.2.157).
fn vht_capabilities(mode: &Mode, vht: &Phy) -> [u8; 12] {
    const ONE_SIXTY_MHZ: u32 = 0b01 << 2;
    const SHORT_GI_80: u32 = 1 << 5;
    const SHORT_GI_160: u32 = 1 << 6;
    let mpdu_lens = VHT_MPDU_LENS_B.iter().zip(0..);
    let longest_mpdu = mpdu_lens
        .filter(|(len_b, _)| **len_b <= vht.max_mpdu_len_b)
        .last();
    let mut info = longest_mpdu.map_or(0, |(_, value)| value) | u32::from(ampdu_exponent(vht)) << 23;
    if is_short(mode) {
        info |= SHORT_GI_80;
    }
    if mode.bandwidth_mhz() == 160 {
        info |= ONE_SIXTY_MHZ | if is_short(mode) { SHORT_GI_160 } else { 0 };
    }
    let mut body = [0; 12];
    body[..4].copy_from_slice(&info.to_le_bytes());
    let map = vht_mcs_map(mode.streams());
    body[4..6].copy_from_slice(&map);
    body[8..10].copy_from_slice(&map);
    body
}

/// VHT Operation element (9.4.2.158): the channel whose first 20 MHz are channel 36.
fn vht_operation(mode: &Mode) -> [u8; 5] {
    let [low, high] = vht_mcs_map(1);
    let (width, centre_80, centre_160) = match mode.bandwidth_mhz() {
        80 => (1, 42, 0),
        160 => (1, 42, 50),
        _ => (0, 0, 0),
    };
    [width, centre_80, centre_160, low, high]
}
