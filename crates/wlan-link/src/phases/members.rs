//! What an access point keeps of a station that associated.

use std::time::Duration;

use serde::Serialize;
use wlan_ciphers::Suite;
use wlan_frames::MacAddr;
use wlan_rsn::{Akm, Pmk};

use super::lease::{Lease, Prefix};
use super::pace::Liveness;
use super::{Endpoint, Installed};

/// A station that associated.
#[derive(Debug)]
pub struct Member {
    /// Where its handshake comes from and goes to; where its data goes, the data plane knows.
    pub endpoint: Endpoint,
    /// Association identifier, 1 to 2007.
    pub aid: u16,
    /// What it proved, or is to prove.
    pub pmk: Pmk,
    /// Since when.
    pub began: Duration,
    /// There once the station has shown that it has the key.
    pub session: Option<Session>,
}

/// A station in the data plane.
#[derive(Debug)]
pub struct Session {
    /// Its keys.
    pub keys: Installed,
    /// Its addresses.
    pub lease: Lease,
    /// The cipher.
    pub suite: Suite,
    /// Both directions have a key.
    pub established: bool,
    /// The dialog token of a question for addresses that came before that.
    pub asked: Option<u8>,
    /// Is it there?
    pub liveness: Liveness,
    /// When it gets a new key.
    pub rekey_at: Duration,
}

/// What is known of a station.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemberState {
    /// Its address.
    #[serde(serialize_with = "as_text")]
    pub address: MacAddr,
    /// Since the machine began.
    #[serde(rename = "since_s", serialize_with = "as_seconds")]
    pub since: Duration,
    /// Key management.
    #[serde(serialize_with = "akm_name")]
    pub akm: Akm,
    /// Cipher.
    #[serde(serialize_with = "suite_name")]
    pub cipher: Suite,
    /// Its addresses.
    pub addresses: Vec<Prefix>,
}

/// Writes an address as people do.
pub fn as_text<S: serde::Serializer>(address: &MacAddr, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(address)
}

fn as_seconds<S: serde::Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_secs_f64())
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
fn akm_name<S: serde::Serializer>(akm: &Akm, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(akm.name())
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
fn suite_name<S: serde::Serializer>(suite: &Suite, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(suite.name())
}
