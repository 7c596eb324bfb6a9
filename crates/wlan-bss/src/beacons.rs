//! The beacons of an access point (IEEE Std 802.11-2020, 9.3.3.2), and their protection (11.52).

use std::time::Duration;

use wlan_ciphers::{IntegrityKeyId, PacketNumber};
use wlan_frames::beacon::Beacon;
use wlan_frames::management::Body;
use wlan_frames::{MacAddr, SequenceControl};
use wlan_rsn::{Key, Mismatch};

use crate::elements;
use crate::keys::Integrity;
use crate::network::Network;
use crate::sa_query::TU;

/// The key ID of the access point's only key for beacons (BIGTK).
pub const BIGTK_ID: IntegrityKeyId = IntegrityKeyId::new(6).expect("6 is a valid key ID");

/// The beacons of an access point.
pub struct Beacons {
    pub(crate) bssid: MacAddr,
    interval_tu: u16,
    capability: u16,
    elements: Vec<u8>,
    of_probe_response: Vec<u8>,
    /// The key that protects beacons, if they are protected.
    pub(crate) bigtk: Option<(Key, Integrity)>,
    /// Beacons have their own sequence numbers, since drivers count beacons separately from data.
    sequence: u16,
}

impl Beacons {
    /// The beacons of the access point of `network`, one per `interval_tu` time units. `more` are its elements that only
    /// beacons and Probe Responses have, such as DSSS Parameter Set, EDCA Parameter Set, HT and VHT Operation. `bigtk`
    /// protects the beacons.
    ///
    /// # Errors
    /// [`Mismatch::ManagementProtection`] if `bigtk` does not fit the cipher for group addressed management frames.
    pub fn new(
        bssid: MacAddr,
        network: &Network,
        interval_tu: u16,
        more: &[u8],
        bigtk: Option<Key>,
    ) -> Result<Self, Mismatch> {
        let security = network.security.as_ref();
        let suite = security.and_then(|security| security.policy.group_management);
        let bigtk = bigtk.map(|key| {
            let suite = suite
                .filter(|suite| suite.key_len() == key.as_octets().len())
                .ok_or(Mismatch::ManagementProtection)?;
            let integrity = Integrity::new(suite, &key, BIGTK_ID, PacketNumber::ZERO);
            Ok((key, integrity))
        });
        let bigtk = bigtk.transpose()?;
        let elements = elements::of_beacon(network, more, bigtk.is_some());
        Ok(Self {
            bssid,
            interval_tu,
            capability: network.capabilities.information,
            of_probe_response: elements::of_probe_response(&elements),
            elements,
            bigtk,
            sequence: 0,
        })
    }

    /// The time from one beacon to the next.
    pub fn interval(&self) -> Duration {
        TU * u32::from(self.interval_tu)
    }

    /// The packet number of the last protected beacon.
    pub(crate) fn last_number(&self) -> u64 {
        self.bigtk.as_ref().map_or(0, |(_, key)| key.last_ipn().get())
    }

    /// The body of a Probe Response: that of a beacon without the TIM (9.3.3.10).
    pub fn probe_response(&self, now: Duration) -> Body<'_> {
        Body::ProbeResponse {
            timestamp_us: microseconds(now),
            interval_tu: self.interval_tu,
            capability: self.capability,
            elements: &self.of_probe_response,
        }
    }

    /// The next beacon, without FCS.
    pub fn next(&mut self, now: Duration) -> Vec<u8> {
        let mut mpdu = vec![0; self.len()];
        self.emit(microseconds(now), &mut mpdu);
        mpdu
    }

    /// Octets of a beacon, without FCS.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        let mme = self.bigtk.as_ref().map_or(0, |(_, key)| key.overhead());
        Beacon::FIXED_LEN + self.elements.len() + mme
    }

    /// Writes the next beacon, without FCS, and returns its length in octets.
    ///
    /// # Panics
    /// If `octets` is shorter than [`len`](Self::len).
    pub fn emit(&mut self, timestamp_us: u64, octets: &mut [u8]) -> usize {
        let beacon = Beacon {
            bssid: self.bssid,
            sequence: self.sequence,
            timestamp_us,
            interval_tu: self.interval_tu,
            capability: self.capability,
            elements: &self.elements,
        };
        self.sequence = (self.sequence + 1) % SequenceControl::MODULUS;
        beacon.emit(octets);
        let len = self.len();
        if let Some((_, key)) = &mut self.bigtk {
            key.protect(&mut octets[..len]);
        }
        len
    }
}

/// A time of the access point's clock, for a Timestamp field.
fn microseconds(now: Duration) -> u64 {
    u64::try_from(now.as_micros()).unwrap_or(u64::MAX)
}
