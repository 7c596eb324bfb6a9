//! The configuration file of a link as serde parses it. `docs/how-to/protect-an-open-network.md` describes each key.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use serde::Deserialize as Deserializable;
use serde::de::{Deserialize, Deserializer, Error as _};
use toml::Spanned;
use wlan_ciphers::Suite;
use wlan_frames::MacAddr;
use wlan_rsn::Akm;

use crate::phases::Prefix;

/// The complete file.
#[derive(Deserializable)]
#[serde(deny_unknown_fields)]
pub struct Written {
    pub name: Spanned<String>,
    pub device: Spanned<String>,
    #[serde(default)]
    pub kind: WrittenKind,
    #[serde(default = "sae", deserialize_with = "akm")]
    pub akm: Akm,
    pub ciphers: Spanned<Vec<Cipher>>,
    pub passphrase_file: Option<Spanned<PathBuf>>,
    pub ethernet: Option<Ethernet>,
    pub udp: Option<Udp>,
    pub rekey_s: Option<Spanned<u64>>,
    pub rekey_packets: Option<Spanned<u64>>,
    pub keep_alive_s: Option<Spanned<u64>>,
    pub workers: Option<Spanned<usize>>,
    pub status_socket: Option<PathBuf>,
    pub metrics: Option<Spanned<SocketAddr>>,
    pub user: Option<Spanned<String>>,
    // Access point only.
    pub addresses: Option<Spanned<Vec<Text<Prefix>>>>,
    pub pool: Option<Spanned<bool>>,
    pub max_stations: Option<Spanned<usize>>,
    pub group_rekey_s: Option<Spanned<u64>>,
    pub radius: Option<Spanned<Radius>>,
    pub station: Option<Vec<Spanned<Listed>>>,
    // Station only.
    pub assigned: Option<Spanned<Vec<Text<Prefix>>>>,
    pub eap: Option<Spanned<Eap>>,
    pub bssid: Option<Spanned<Text<MacAddr>>>,
    pub device_down_when_lost: Option<Spanned<bool>>,
}

#[derive(Deserializable, Default)]
#[serde(rename_all = "lowercase")]
pub enum WrittenKind {
    #[default]
    Tun,
    Tap,
}

#[derive(Deserializable)]
#[serde(deny_unknown_fields)]
pub struct Ethernet {
    pub interface: String,
    pub ethertype: Option<Spanned<u16>>,
}

#[derive(Deserializable)]
#[serde(deny_unknown_fields)]
pub struct Udp {
    pub local: SocketAddr,
    pub address: Spanned<Text<MacAddr>>,
    pub outer_mtu: Option<Spanned<usize>>,
    pub peer: Option<Spanned<SocketAddr>>,
}

/// The authentication server, in hostapd's words.
#[derive(Deserializable)]
#[serde(deny_unknown_fields)]
pub struct Radius {
    pub auth_server_addr: IpAddr,
    #[serde(default = "radius_port")]
    pub auth_server_port: u16,
    pub auth_server_shared_secret_file: PathBuf,
    pub nas_identifier: Option<Spanned<String>>,
    pub eap_reauth_period: Option<Spanned<u64>>,
}

/// The station's identity, in wpa_supplicant's words.
#[derive(Deserializable)]
#[serde(deny_unknown_fields)]
pub struct Eap {
    pub eap: EapMethod,
    pub identity: Spanned<String>,
    pub anonymous_identity: Option<Spanned<String>>,
    pub ca_cert: PathBuf,
    pub domain_match: Spanned<String>,
    pub client_cert: Option<Spanned<PathBuf>>,
    pub private_key: Option<Spanned<PathBuf>>,
    pub phase2: Option<Spanned<Phase2>>,
    pub password_file: Option<Spanned<PathBuf>>,
}

#[derive(Deserializable, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "UPPERCASE")]
pub enum EapMethod {
    Tls,
    Ttls,
    Peap,
}

#[derive(Deserializable, Clone, Copy, PartialEq, Eq)]
pub enum Phase2 {
    #[serde(rename = "auth=PAP")]
    Pap,
    #[serde(rename = "auth=MSCHAPV2")]
    MsChapV2,
}

#[derive(Deserializable)]
#[serde(deny_unknown_fields)]
pub struct Listed {
    pub address: Text<MacAddr>,
    #[serde(default)]
    pub addresses: Vec<IpAddr>,
    #[serde(default)]
    pub networks: Vec<Text<Prefix>>,
}

/// A value written as a string.
#[derive(Clone, Copy)]
pub struct Text<T>(pub T);

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map(Text).map_err(D::Error::custom)
    }
}

pub struct Cipher(pub Suite);

impl<'de> Deserialize<'de> for Cipher {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        let suite = Suite::from_name(&name).filter(|suite| Suite::OF_TEMPORAL_KEYS.contains(suite));
        suite.map(Cipher).ok_or_else(|| {
            let names = Suite::OF_TEMPORAL_KEYS.map(Suite::name);
            D::Error::custom(format!(
                "unsupported cipher \"{name}\" (expected one of {})",
                names.join(", ")
            ))
        })
    }
}

/// The port of RADIUS (RFC 2865 section 3).
fn radius_port() -> u16 {
    1812
}

fn sae() -> Akm {
    Akm::Sae
}

fn akm<'de, D: Deserializer<'de>>(from: D) -> Result<Akm, D::Error> {
    let name = String::deserialize(from)?;
    Akm::from_name(&name)
        .filter(|akm| *akm != Akm::WpaPsk && akm.facts().is_offered)
        .ok_or_else(|| {
            D::Error::custom(format!(
                "unsupported key management \"{name}\" (expected sae, wpa-psk-sha256, owe, wpa-eap or wpa-eap-sha256)"
            ))
        })
}
