//! Handling of received packets.

use std::time::Duration;

use rand_core::CryptoRng;
use wlan_ciphers::Suite;
use wlan_frames::eapol::KeyInfo;

use super::station::{Answer, Handshake, Kind, MAX_ANSWERS, Session, Slot, Wait};
use super::{Authenticator, Elements};
use crate::message::{Received, elements};
use crate::output::{Direction, Discard, Failure, Output, PairwiseKey};
use crate::protection::Ptk;
use crate::{Association, Peer, Protocol};

impl<P: Peer> Authenticator<P> {
    /// Sends message 1, or repeats it; a repetition counts towards the number of tries.
    pub(super) fn send_message_1(&mut self, peer: P, now: Duration) {
        let Some(station) = self.stations.get_mut(&peer) else {
            return;
        };
        let Some(handshake) = &mut station.handshake else {
            return;
        };
        let first = Wait::new(Kind::One, handshake.sealed);
        if handshake.wait.get_or_insert(first).tries < self.timing.tries {
            self.send_again(peer, Slot::Handshake, now);
        }
    }

    /// Handles an EAPOL packet from a station. `sealed` states that it arrived under the station's pairwise key. A
    /// message 2 whose elements differ from those of the association ends the handshake: [`Output::Failed`].
    ///
    /// # Errors
    /// [`Discard`]: the packet changed only counters.
    pub fn receive(
        &mut self,
        peer: P,
        packet: &[u8],
        sealed: bool,
        now: Duration,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Discard> {
        let station = self.stations.get(&peer).ok_or(Discard::UnknownPeer)?;
        // Packets of a session are encrypted (12.6.14). There are two exceptions: a station that starts a new handshake
        // has no key, and wpa_supplicant sends message 4 of a rekey unencrypted, because it has replaced its record of
        // the old key by the new one, which it has not installed yet. The MIC of that message is under the new key.
        let in_session = station.session.as_ref().filter(|_| sealed);
        let handshake = station.handshake.as_ref();
        let protection = match (in_session, handshake) {
            (Some(session), _) => session.protection,
            (None, Some(handshake)) => handshake.protection,
            (None, None) => return Err(Discard::Unprotected),
        };
        let received = Received::parse(protection, packet)?;
        if received.has(KeyInfo::ACK) || !received.has(KeyInfo::MIC) {
            return Err(Discard::Unexpected);
        }
        let pairwise = received.has(KeyInfo::PAIRWISE);
        if received.has(KeyInfo::REQUEST) || !pairwise {
            if in_session.is_none() {
                return Err(Discard::Unprotected);
            }
            return if received.has(KeyInfo::REQUEST) {
                self.request(peer, &received, now, rng)
            } else {
                self.group_answer(peer, &received, now)
            };
        }
        let is_message_4 = received.key.data.is_empty();
        match handshake.map(|handshake| (handshake.sealed, in_session.is_some())) {
            Some((true, false)) if !is_message_4 => return Err(Discard::Unprotected),
            None | Some((false, true)) => return Err(Discard::Unexpected),
            _ => {}
        }
        if is_message_4 {
            self.message_4(peer, &received, now)
        } else {
            self.message_2(peer, &received, now)
        }
    }

    /// 12.7.6.3.
    fn message_2(&mut self, peer: P, received: &Received<'_>, now: Duration) -> Result<(), Discard> {
        let own = self.address;
        let station = self.stations.get_mut(&peer).ok_or(Discard::UnknownPeer)?;
        let handshake = station.handshake.as_mut().ok_or(Discard::Unexpected)?;
        let (counter, snonce) = (received.key.replay_counter, received.key.nonce);
        if !(handshake.first_1.unwrap_or(u64::MAX)..=handshake.last_1).contains(&counter) {
            return Err(Discard::Replay);
        }
        // A station may draw a new SNonce for a repeated message 1; message 3 must then use the new SNonce. An
        // earlier message 2 must not restore its key, even if it arrives late and answers a later message 1.
        if handshake
            .answer
            .as_ref()
            .is_some_and(|answer| counter <= answer.counter)
        {
            return Err(Discard::Replay);
        }
        if handshake.snonces.len() == MAX_ANSWERS || handshake.snonces.contains(&snonce) {
            return Err(Discard::Unexpected);
        }
        let ptk = handshake.derive(own, peer.into(), &snonce);
        if let Err(discard) = received.verify(&ptk) {
            handshake.wrong_mics = handshake.wrong_mics.saturating_add(1);
            return Err(discard);
        }
        let told = elements(received.key.data)?;
        // The station has proved that it holds the key: newer stations may no longer displace it.
        if let Some(order) = station.half_open.take() {
            self.half_open.remove(&(order, peer));
        }
        if !is_same(&told, &handshake.association) {
            self.fail(peer, Slot::Handshake, Failure::ElementsDiffer, now);
            return Ok(());
        }
        handshake.snonces.push(snonce);
        let answer = Answer {
            ptk,
            counter,
            generation: None,
        };
        if let Some(before) = handshake.answer.replace(answer) {
            self.outputs.push_back(Output::Retire {
                peer,
                key: before.ptk.tk(),
            });
        }
        self.send_message_3(peer, now);
        Ok(())
    }

    /// 12.7.6.4.
    fn send_message_3(&mut self, peer: P, now: Duration) {
        let Some(station) = self.stations.get_mut(&peer) else {
            return;
        };
        let Some(handshake) = &mut station.handshake else {
            return;
        };
        let Some(answer) = &mut handshake.answer else {
            return;
        };
        if handshake.association.protocol == Protocol::Rsn {
            answer.generation = Some(self.group.told().generation);
        }
        handshake.wait = Some(Wait::new(Kind::Three, handshake.sealed));
        let outputs = &mut self.outputs;
        if let Some(answer) = &handshake.answer {
            outputs.push_back(install(peer, handshake, &answer.ptk, Direction::Receive));
        }
        self.send_again(peer, Slot::Handshake, now);
    }

    /// 12.7.6.5.
    fn message_4(&mut self, peer: P, received: &Received<'_>, now: Duration) -> Result<(), Discard> {
        let station = self.stations.get_mut(&peer).ok_or(Discard::UnknownPeer)?;
        let handshake = station.handshake.as_ref().ok_or(Discard::Unexpected)?;
        let (Some(answer), Some(wait)) = (&handshake.answer, &handshake.wait) else {
            return Err(Discard::Unexpected);
        };
        if !wait.is_of(received.key.replay_counter) {
            return Err(Discard::Replay);
        }
        received.verify(&answer.ptk)?;

        self.outputs
            .push_back(install(peer, handshake, &answer.ptk, Direction::Transmit));
        let handshake = station.handshake.take().ok_or(Discard::Unexpected)?;
        let Handshake {
            association,
            protection,
            pmk,
            key_id,
            sealed,
            answer: Some(Answer { ptk, generation, .. }),
            ..
        } = handshake
        else {
            return Err(Discard::Unexpected);
        };
        let before = station.session.take();
        if let Some(session) = &before {
            let (key, outputs) = (session.ptk.tk(), &mut self.outputs);
            station.retiring.push(key, peer, &self.timing, now, outputs);
        }
        let before = before.filter(|_| sealed);
        // A new WPA station has no group key yet.
        let is_opening = association.protocol == Protocol::Wpa && before.is_none();
        let known = before.and_then(|session| session.generation);
        station.session = Some(Session {
            association,
            protection,
            pmk,
            ptk,
            key_id,
            generation: generation.or(known),
            // Request counters start at zero under each key.
            last_request: None,
            is_opening,
            wait: None,
        });
        if !is_opening {
            self.outputs.push_back(Output::Established { peer });
        }
        self.set_timer(peer);
        self.update_group(peer, now);
        self.settle_group();
        Ok(())
    }

    /// 12.7.7.3.
    fn group_answer(&mut self, peer: P, received: &Received<'_>, now: Duration) -> Result<(), Discard> {
        let station = self.stations.get_mut(&peer).ok_or(Discard::UnknownPeer)?;
        let session = station.session.as_mut().ok_or(Discard::Unexpected)?;
        let wait = session.wait.as_ref().ok_or(Discard::Unexpected)?;
        if !wait.is_of(received.key.replay_counter) {
            return Err(Discard::Replay);
        }
        received.verify(&session.ptk)?;
        if let Kind::Group(generation) = wait.kind {
            session.generation = Some(generation);
        }
        session.wait = None;
        if std::mem::take(&mut session.is_opening) {
            self.outputs.push_back(Output::Established { peer });
        }
        self.set_timer(peer);
        // A newer group key may exist by now.
        self.update_group(peer, now);
        self.settle_group();
        Ok(())
    }

    /// Handles a station's request for new keys, or its report of a forged MIC (12.7.2 b 9, 10).
    fn request(
        &mut self,
        peer: P,
        received: &Received<'_>,
        now: Duration,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Discard> {
        let station = self.stations.get_mut(&peer).ok_or(Discard::UnknownPeer)?;
        let session = station.session.as_mut().ok_or(Discard::Unexpected)?;
        let counter = received.key.replay_counter;
        if session.last_request.is_some_and(|last| counter <= last) {
            return Err(Discard::Replay);
        }
        received.verify(&session.ptk)?;
        let is_report = received.has(KeyInfo::ERROR);
        // Only TKIP has a Michael MIC (12.5.2.4): with other ciphers, a report must not lead to countermeasures.
        let reported = match received.has(KeyInfo::PAIRWISE) {
            true => session.association.pairwise,
            false => session.association.group,
        };
        if is_report && reported != Suite::Tkip {
            return Err(Discard::Unexpected);
        }
        session.last_request = Some(counter);
        if is_report {
            self.outputs.push_back(Output::MichaelFailure { peer });
        } else if received.has(KeyInfo::PAIRWISE) {
            self.rekey_pairwise(peer, now, rng);
        } else {
            self.rekey_group(now, rng);
        }
        Ok(())
    }
}

fn install<P>(peer: P, handshake: &Handshake, ptk: &Ptk, direction: Direction) -> Output<P> {
    let key = PairwiseKey {
        key_id: handshake.key_id,
        suite: handshake.association.pairwise,
        key: ptk.tk(),
        direction,
    };
    Output::InstallPairwise { peer, key }
}

/// Whether message 2 contains the elements of the association.
fn is_same(told: &Elements, association: &Association) -> bool {
    let station = &association.station;
    match association.protocol {
        Protocol::Rsn => told.rsn == station.rsn && told.rsnx == station.rsnx,
        Protocol::Wpa => told.wpa == station.wpa,
    }
}
