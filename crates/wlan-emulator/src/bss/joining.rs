//! How the stations of an emulated link join before the first packet: discovery, authentication, association and the
//! handshake that yields their keys (IEEE Std 802.11-2020, 11.1.4, 11.3, 12.6).
//!
//! The access point and the stations are those of `wlan-bss`; this module carries their frames. Each frame is sent on an
//! idle medium, a DIFS after the previous frame, at the lowest basic rate, and is acknowledged. No frame is lost, because
//! the cost of failed attempts is not part of the cost of a link.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use getrandom::SysRng;
use getrandom::rand_core::UnwrapErr;
use wlan_air::phy::Bss;
use wlan_air::{MediumConfig, Nanos};
use wlan_bss::{AccessPoint, Beacons, End, Event, Failure, Network, Station};
use wlan_frames::control::Ack;
use wlan_frames::fcs::FCS_LEN;
use wlan_frames::{MacAddr, Role};
use wlan_rsn::{Key, Mismatch};

use super::beacon;
use super::keys::Keys;
use crate::frames::protection::Protection;
use crate::frames::sent::{Sent, duration_us};
use crate::roster::{AP, mac};

/// Offset of the Duration field in a frame.
const DURATION_AT: usize = 2;
/// Offset of the first octet of Address 1, whose lowest bit marks group addresses.
const RECEIVER_AT: usize = 4;

/// Why a station could not join the link.
#[derive(Debug, thiserror::Error)]
pub enum JoiningError {
    /// The policy is inconsistent.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// An end gave up. Since no frame is lost, this is a bug.
    #[error("station {0} cannot join: {1}")]
    Failed(MacAddr, Failure),
}

/// An established association.
pub struct Joined {
    /// The protection at the access point's end and at the station's end; `None` on an open link.
    pub protections: [Option<Protection>; 2],
    /// The pairwise key of both ends.
    pub temporal_key: Option<Key>,
    /// The next sequence numbers of both ends for non-QoS frames, which share a counter with management frames.
    pub sequences: [u16; 2],
}

/// The BSS while stations join.
pub struct Joining<'a> {
    bss: &'a Bss,
    keys: &'a Keys,
    access_point: AccessPoint,
    /// The network, as each station is configured for it.
    of_stations: Network,
    now: Nanos,
    sent: Vec<Sent>,
}

impl<'a> Joining<'a> {
    /// The BSS on this medium. Time starts at zero. `tid` is the TID of the stations' QoS data frames; `bigtk` protects
    /// the beacons.
    ///
    /// # Errors
    /// The policy is inconsistent.
    pub fn new(
        medium: &'a MediumConfig,
        tid: Option<u8>,
        keys: &'a Keys,
        bigtk: Option<Key>,
    ) -> Result<Self, JoiningError> {
        let network = |role| beacon::network(medium, tid, keys, role);
        let beacons = beacon::beacons(mac(AP), medium, tid, keys, bigtk);
        Ok(Self {
            bss: &medium.bss,
            keys,
            access_point: AccessPoint::new(network(Role::Ap), beacons, &mut UnwrapErr(SysRng))?,
            of_stations: network(Role::Sta),
            now: Nanos::ZERO,
            sent: Vec::new(),
        })
    }

    /// Lets station `station` join the link.
    ///
    /// # Errors
    /// [`JoiningError`].
    pub fn join(&mut self, station: usize) -> Result<Joined, JoiningError> {
        let rng = &mut UnwrapErr(SysRng);
        let mut joining = Station::new(mac(station), self.of_stations.clone());
        joining.probe();
        let mut established = 0;
        let mut on_air = VecDeque::new();
        loop {
            for (from, end) in [(AP, &mut self.access_point.end), (station, &mut joining.end)] {
                let output = end.take_output();
                on_air.extend(output.frames.into_iter().map(|mpdu| (from, mpdu)));
                for (_, event) in output.events {
                    match event {
                        Event::Established => established += 1,
                        Event::Failed(why) => return Err(JoiningError::Failed(mac(station), why)),
                        _ => {}
                    }
                }
            }
            // An end sends all its frames before the other end answers the first one.
            let Some((from, mpdu)) = on_air.pop_front() else {
                break;
            };
            self.transmit(mpdu.clone(), from);
            let now = Duration::from_nanos(self.now.0);
            if from == AP {
                joining.receive(now, &mpdu, rng);
            } else {
                self.access_point.receive(now, &mpdu, rng);
            }
        }
        if established < 2 {
            return Err(JoiningError::Failed(mac(station), Failure::NoAnswer));
        }
        let ends = [&self.access_point.end, &joining.end];
        let [ap, sta] = ends;
        let (protections, temporal_key) = match self.keys {
            Keys::Open => ([None, None], None),
            Keys::Wep(suite, key) => {
                let end = |role| Protection::new(*suite, key, role);
                ([end(Role::Ap), end(Role::Sta)], Some(Key::new(key)))
            }
            Keys::Rsn(_) => (
                [
                    protection(ap, mac(station), Role::Ap),
                    protection(sta, mac(AP), Role::Sta),
                ],
                sta.pairwise_key(mac(AP))
                    .map(|(_, opening)| opening.key().clone()),
            ),
        };
        Ok(Joined {
            protections,
            temporal_key,
            sequences: ends.map(End::sequence),
        })
    }

    /// The beacons of the access point, all frames sent, and the end of the last frame.
    pub fn finish(self) -> (Beacons, Vec<Sent>, Nanos) {
        (self.access_point.into_beacons(), self.sent, self.now)
    }

    /// Sends an MPDU over the air, and the Ack to its transmitter, unless the MPDU is group addressed (10.3.2.9).
    fn transmit(&mut self, mut mpdu: Vec<u8>, transmitter: usize) {
        let mode = self.bss.beacon_mode();
        let (sifs, ack) = (self.bss.sifs(), self.bss.ack_duration(&mode));
        // The frame starts a DIFS after the previous one (10.3.7).
        let at = self.now + sifs + self.bss.slot() * 2;
        let end = at + mode.ppdu_duration(mpdu.len() + FCS_LEN);
        self.now = end;
        let is_acknowledged = mpdu[RECEIVER_AT] & 1 == 0;
        let ack = is_acknowledged.then(|| {
            mpdu[DURATION_AT..][..2].copy_from_slice(&duration_us(sifs + ack).to_le_bytes());
            self.now = end + sifs + ack;
            let mut octets = vec![0; Ack::LEN];
            Ack {
                duration_us: 0,
                ra: mac(transmitter),
            }
            .emit(&mut octets);
            Sent {
                at: end + sifs,
                mode: self.bss.control_response(&mode),
                mpdu: octets,
            }
        });
        self.sent.push(Sent { at, mode, mpdu });
        self.sent.extend(ack);
    }
}

/// The protection of the association with `peer`, which continues the packet numbers of the handshake.
fn protection(end: &End, peer: MacAddr, role: Role) -> Option<Protection> {
    let (sealing, opening) = end.pairwise_key(peer)?;
    let protection = Protection::new(sealing.suite(), opening.key().as_octets(), role)?;
    Some(protection.after(sealing.last_pn(), opening.window().clone()))
}
