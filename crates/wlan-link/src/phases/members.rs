//! State of an access point for each station with a session.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use wlan_ciphers::Suite;
use wlan_frames::MacAddr;
use wlan_rsn::{Akm, Pmk};

use super::joins::Claimant;
use super::lease::{Lease, Prefix};
use super::pace::Liveness;
use crate::plane::as_text;

/// A station that has shown that it has the key.
#[derive(Debug)]
pub struct Member {
    /// Address and endpoint of its handshake. The data plane keeps the endpoint of its data.
    pub peer: Claimant,
    /// Association identifier, 1 to 2007.
    pub aid: u16,
    /// Time of the association.
    pub began: Duration,
    /// Maximum duration of the session, as the authentication server demands.
    pub session_timeout: Option<Duration>,
    /// The session.
    pub session: Session,
}

/// A station in the data plane.
#[derive(Debug)]
pub struct Session {
    /// Its addresses.
    pub lease: Lease,
    /// Its cipher suite.
    pub suite: Suite,
    /// Its liveness.
    pub liveness: Liveness,
    /// Time of the next rekey.
    pub rekey_at: Duration,
    /// Time at which the station must authenticate again.
    pub authenticate_at: Option<Duration>,
    /// The PMK of an authentication during the session, until a handshake takes it.
    pub renewed: Option<Pmk>,
}

/// The session of a station, if it has one.
pub fn session_of(members: &mut BTreeMap<MacAddr, Member>, station: MacAddr) -> Option<&mut Session> {
    members.get_mut(&station).map(|member| &mut member.session)
}

/// State of a station.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemberState {
    /// Its address.
    #[serde(serialize_with = "as_text")]
    pub address: MacAddr,
    /// Time of the association, relative to the machine's start.
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
