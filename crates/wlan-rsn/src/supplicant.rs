//! The station's side of the 4-way and group key handshakes (IEEE 802.11-2020 12.7.6, 12.7.7).
//!
//! ```text
//!  start ──► waits for 1 ──message 1: sends 2──► waits for 3 ──message 3: installs, sends 4──► established ─┐
//!                                   ▲                                                                       │
//!                                   └──────────────────── message 1, sealed: a new pairwise key ◄───────────┘
//! ```
//! Rules, each against a known attack:
//!
//! - The SNonce stays the same until a message 3 verifies. The PTK is derived from the ANonce *in* message 3:
//!   forged messages 1 have no effect (He and Mitchell, 2004).
//! - Every key is installed once (12.7.6.4, KRACK). A repeated message 3 is answered without installing keys. A group
//!   key that is already installed keeps its replay window.
//! - Replay counters only increase, and only frames with a valid MIC advance them (12.7.2).
//! - Once keys are installed, a new handshake must be encrypted (12.6.14). The only accepted unencrypted message is a
//!   repeated message 3 of the handshake that installed the keys, sent because message 4 was lost.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use rand_core::CryptoRng;
use wlan_ciphers::KeyId;
use wlan_frames::MacAddr;
use wlan_frames::eapol::{KeyData, KeyInfo};

use crate::installed::InstalledGroupKeys;
use crate::message::{Contents, Message, Received};
use crate::output::{Direction, Discard, Failure, Output, PairwiseKey, Timing};
use crate::protection::{Inputs, Protection, Ptk};
use crate::retiring::Retiring;
use crate::{Association, Pmk, Protocol, WrongPmk};

/// The station's side of the handshakes with one access point.
pub struct Supplicant {
    own: MacAddr,
    authenticator: MacAddr,
    association: Association,
    protection: Protection,
    pmk: Pmk,
    timing: Timing,
    state: State,
    /// Replay counter of the last frame with a valid MIC.
    last_counter: Option<u64>,
    /// Replay counter of our next request.
    next_request: u64,
    /// Drawn at the start of a handshake; `None` after its end.
    snonce: Option<[u8; 32]>,
    session: Option<Session>,
    group: InstalledGroupKeys,
    deadline: Option<Duration>,
    retiring: Retiring,
    outputs: VecDeque<Output>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not started, or failed.
    Idle,
    /// Waiting for message 1.
    One,
    /// Message 2 has been sent; waiting for message 3.
    Three,
    /// WPA: waiting for the group key.
    Group,
    Established,
}

/// The installed pairwise key.
struct Session {
    ptk: Ptk,
    anonce: [u8; 32],
    /// The handshake that installed the key was encrypted.
    sealed: bool,
}

impl fmt::Debug for Supplicant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supplicant")
            .field("own", &self.own)
            .field("authenticator", &self.authenticator)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl Supplicant {
    /// Creates the supplicant of the station `own`, which has associated with `authenticator`.
    ///
    /// # Errors
    /// [`WrongPmk`] if the key management does not support this PMK length.
    pub fn new(
        own: MacAddr,
        authenticator: MacAddr,
        association: Association,
        pmk: Pmk,
        timing: Timing,
    ) -> Result<Supplicant, WrongPmk> {
        let protection = crate::protection_of(&association, &pmk)?;
        Ok(Supplicant {
            own,
            authenticator,
            association,
            protection,
            pmk,
            timing,
            state: State::Idle,
            last_counter: None,
            next_request: 0,
            snonce: None,
            session: None,
            group: InstalledGroupKeys::default(),
            deadline: None,
            retiring: Retiring::default(),
            outputs: VecDeque::new(),
        })
    }

    /// Discards all keys and waits for a handshake. Call this after each association.
    pub fn start(&mut self, now: Duration, rng: &mut dyn CryptoRng) {
        self.forget();
        self.state = State::One;
        self.snonce = Some(crate::nonce(rng));
        self.deadline = Some(now.saturating_add(self.timing.answer));
    }

    /// The next action. Call this after each call of another function, until it returns `None`.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// The latest time for the next call of [`timeout`](Self::timeout).
    #[must_use]
    pub fn next_timeout(&self, now: Duration) -> Option<Duration> {
        let deadline = [self.deadline, self.retiring.next(), self.group.next()]
            .into_iter()
            .flatten()
            .min()?;
        Some(self.timing.wait_until(deadline, now))
    }

    /// True while all keys are installed.
    #[must_use]
    pub fn is_established(&self) -> bool {
        // During a rekey, the previous keys remain in use.
        self.session.is_some() && self.state != State::Group
    }

    /// Handles the passage of time.
    pub fn timeout(&mut self, now: Duration) {
        let (peer, outputs) = (self.authenticator, &mut self.outputs);
        self.retiring.expire(peer, &self.timing, now, outputs);
        self.group.expire(peer, &self.timing, now, outputs);
        if self.deadline.is_some_and(|at| self.timing.is_due(at, now)) {
            // An authenticator with another key never sends message 3.
            let reason = match self.state {
                State::Three if self.session.is_none() => Failure::WrongKey,
                State::Group => Failure::NoGroupAnswer,
                _ => Failure::NoAnswer,
            };
            self.fail(reason);
        }
    }

    /// Handles the loss of the access point. If message 3 was due, the access point has probably rejected message 2.
    pub fn peer_gone(&mut self) {
        let reason = match self.state {
            State::Idle => return,
            State::Three if self.session.is_none() => Failure::WrongKey,
            _ => Failure::PeerGone,
        };
        self.fail(reason);
    }

    /// Uses another PMK in later handshakes, after the station has authenticated again. The installed keys remain in use.
    ///
    /// # Errors
    /// [`WrongPmk`] if the key management does not support this PMK length.
    pub fn replace_pmk(&mut self, pmk: Pmk) -> Result<(), WrongPmk> {
        self.protection = crate::protection_of(&self.association, &pmk)?;
        self.pmk = pmk;
        Ok(())
    }

    /// Requests a new pairwise key, or a new group key, from the access point (12.7.2, Request bit).
    ///
    /// Returns false if no keys are installed yet.
    pub fn request_rekey(&mut self, pairwise: bool) -> bool {
        self.request(if pairwise { KeyInfo::PAIRWISE } else { 0 })
    }

    /// Reports a frame with a forged TKIP MIC (12.5.2.4.1), `pairwise` or group addressed.
    ///
    /// Returns false if no keys are installed yet.
    pub fn report_michael_failure(&mut self, pairwise: bool) -> bool {
        self.request(KeyInfo::ERROR | if pairwise { KeyInfo::PAIRWISE } else { 0 })
    }

    fn request(&mut self, info: u16) -> bool {
        let Some(session) = self.session.as_ref().filter(|_| self.is_established()) else {
            return false;
        };
        let packet = Message {
            info: info | KeyInfo::REQUEST | KeyInfo::SECURE,
            replay_counter: self.next_request,
            ..Message::default()
        }
        .build(self.protection, Some(&session.ptk));
        self.next_request += 1;
        self.send(packet, true);
        true
    }

    /// Handles an EAPOL packet from the authenticator. `sealed` states that it arrived under the pairwise key. A
    /// message 3 that reveals a downgrade ends the handshake: [`Output::Failed`].
    ///
    /// # Errors
    /// [`Discard`]: the packet had no effect.
    pub fn receive(
        &mut self,
        packet: &[u8],
        sealed: bool,
        now: Duration,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Discard> {
        let received = Received::parse(self.protection, packet)?;
        if self.state == State::Idle {
            return Err(Discard::UnknownPeer);
        }
        if !received.has(KeyInfo::ACK) || received.has(KeyInfo::REQUEST) {
            return Err(Discard::Unexpected);
        }
        // Equal counters are replays too (12.7.2 d).
        if self
            .last_counter
            .is_some_and(|last| received.key.replay_counter <= last)
        {
            return Err(Discard::Replay);
        }
        match (received.has(KeyInfo::PAIRWISE), received.has(KeyInfo::MIC)) {
            (true, false) => self.message_1(&received, sealed, now, rng),
            (true, true) => self.message_3(&received, sealed, now),
            (false, _) => self.group_message(&received, sealed, now),
        }
    }

    /// 12.7.6.2: message 1 is not authenticated, so its only effect is message 2.
    fn message_1(
        &mut self,
        received: &Received<'_>,
        sealed: bool,
        now: Duration,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Discard> {
        if self.session.is_some() && !sealed {
            return Err(Discard::Unprotected);
        }
        if self.state == State::Group {
            return Err(Discard::Unexpected);
        }
        for item in KeyData::each(received.key.data) {
            // The PMKID belongs to another PMK, with which this handshake would fail (12.7.6.2).
            if let (Ok(KeyData::Pmkid(named)), Some(pmkid)) = (item, self.pmk.pmkid())
                && named != pmkid
            {
                return Err(Discard::KeyData);
            }
        }
        let snonce = *self.snonce.get_or_insert_with(|| crate::nonce(rng));
        let ptk = self.derive(&received.key.nonce, &snonce);
        let station = &self.association.station;
        let (data, key_len) = match self.association.protocol {
            // The exact elements of the (re)association request (12.7.6.3).
            Protocol::Rsn => ([&station.rsn[..], &station.rsnx].concat(), 0),
            Protocol::Wpa => (station.wpa.clone(), usize::from(received.key.key_len)),
        };
        let packet = Message {
            info: KeyInfo::PAIRWISE | received.key.info.0 & KeyInfo::SECURE,
            key_len,
            replay_counter: received.key.replay_counter,
            nonce: snonce,
            data: &data,
            ..Message::default()
        }
        .build(self.protection, Some(&ptk));
        self.send(packet, sealed);
        // Forged messages 1 must not postpone the deadline for ever: only the first one sets it.
        if self.state != State::Three {
            self.state = State::Three;
            self.deadline = Some(now.saturating_add(self.timing.answer));
        }
        Ok(())
    }

    fn message_3(&mut self, received: &Received<'_>, sealed: bool, now: Duration) -> Result<(), Discard> {
        let key = &received.key;
        // A retransmission because message 4 was lost: all keys are installed (12.7.6.4). Check this before any
        // derivation.
        if let Some(session) = &self.session
            && session.anonce == key.nonce
        {
            if session.sealed && !sealed {
                return Err(Discard::Unprotected);
            }
            received.verify(&session.ptk)?;
            self.last_counter = Some(key.replay_counter);
            let packet = self.message_4(&session.ptk, received);
            self.send(packet, session.sealed);
            return Ok(());
        }
        if self.session.is_some() && !sealed {
            return Err(Discard::Unprotected);
        }
        let snonce = match (self.state, self.snonce) {
            (State::Three, Some(snonce)) if received.has(KeyInfo::INSTALL) => snonce,
            _ => return Err(Discard::Unexpected),
        };
        let ptk = self.derive(&key.nonce, &snonce);
        received.verify(&ptk)?;
        let contents = received.contents(&ptk, &self.association)?;
        if self.was_downgraded(&contents) {
            self.fail(Failure::ElementsDiffer);
            return Ok(());
        }
        let rsn = self.association.protocol == Protocol::Rsn;
        if rsn && contents.gtk.is_none() {
            return Err(Discard::KeyData);
        }
        let key_id = match (self.association.extended_key_id, contents.key_id) {
            (false, None | Some(0)) => KeyId::PAIRWISE,
            (true, Some(key_id @ 0..=1)) => KeyId::new(key_id).expect("0 or 1"),
            _ => return Err(Discard::KeyData),
        };
        self.last_counter = Some(key.replay_counter);

        // Receive with the new key before message 4, transmit after it: the authenticator accepts the new key since
        // message 3, and expects message 4 under the previous key.
        let replaced = self.session.take();
        let replaces = replaced.is_some();
        self.install_pairwise(&ptk, key_id, Direction::Receive);
        let packet = self.message_4(&ptk, received);
        self.send(packet, replaces);
        self.install_pairwise(&ptk, key_id, Direction::Transmit);
        self.session = Some(Session {
            anonce: key.nonce,
            ptk,
            sealed: replaces,
        });
        self.snonce = None;
        if let Some(session) = replaced {
            let (peer, timing) = (self.authenticator, &self.timing);
            self.retiring
                .push(session.ptk.tk(), peer, timing, now, &mut self.outputs);
        }
        self.install_group(contents, now);
        if rsn || replaces {
            self.establish();
        } else {
            self.state = State::Group;
            self.deadline = Some(now.saturating_add(self.timing.answer));
        }
        Ok(())
    }

    /// 12.7.6.5.
    fn message_4(&self, ptk: &Ptk, received: &Received<'_>) -> Vec<u8> {
        let key_len = match self.association.protocol {
            Protocol::Rsn => 0,
            Protocol::Wpa => usize::from(received.key.key_len),
        };
        Message {
            info: KeyInfo::PAIRWISE | received.key.info.0 & KeyInfo::SECURE,
            key_len,
            replay_counter: received.key.replay_counter,
            ..Message::default()
        }
        .build(self.protection, Some(ptk))
    }

    /// 12.7.7.2.
    fn group_message(&mut self, received: &Received<'_>, sealed: bool, now: Duration) -> Result<(), Discard> {
        let session = self.session.as_ref().ok_or(Discard::Unexpected)?;
        if !sealed {
            return Err(Discard::Unprotected);
        }
        received.verify(&session.ptk)?;
        let key = &received.key;
        let contents = received.contents(&session.ptk, &self.association)?;
        if contents.gtk.is_none() && contents.igtk.is_none() && contents.bigtk.is_none() {
            return Err(Discard::KeyData);
        }
        self.last_counter = Some(key.replay_counter);
        // WPA's answer repeats the Key ID of the request.
        let wpa_key_id = match self.association.protocol {
            Protocol::Rsn => 0,
            Protocol::Wpa => u16::from(key.info.wpa_key_id()) << 4,
        };
        let packet = Message {
            info: KeyInfo::SECURE | wpa_key_id,
            replay_counter: key.replay_counter,
            ..Message::default()
        }
        .build(self.protection, Some(&session.ptk));
        self.install_group(contents, now);
        self.send(packet, true);
        if self.state == State::Group {
            self.establish();
        }
        Ok(())
    }

    /// Whether the elements in message 3 differ from those of the beacon (12.7.6.4). An element of the other protocol
    /// that the beacon lacked, or that differs from the beacon's, also indicates that an attacker removed or changed
    /// elements.
    fn was_downgraded(&self, contents: &Contents) -> bool {
        let advertised = &self.association.access_point;
        let told = |element: &Option<Vec<u8>>, advertised: &[u8]| {
            element.as_deref().unwrap_or_default() == advertised
        };
        match self.association.protocol {
            Protocol::Rsn => {
                !told(&contents.rsn, &advertised.rsn)
                    || !told(&contents.rsnx, &advertised.rsnx)
                    || contents.wpa.as_ref().is_some_and(|wpa| *wpa != advertised.wpa)
            }
            // An access point with RSN and WPA may include or omit its RSN element in messages to a WPA station.
            Protocol::Wpa => {
                !told(&contents.wpa, &advertised.wpa)
                    || contents.rsn.as_ref().is_some_and(|rsn| *rsn != advertised.rsn)
            }
        }
    }

    fn install_pairwise(&mut self, ptk: &Ptk, key_id: KeyId, direction: Direction) {
        let peer = self.authenticator;
        let key = PairwiseKey {
            key_id,
            suite: self.association.pairwise,
            key: ptk.tk(),
            direction,
        };
        self.outputs.push_back(Output::InstallPairwise { peer, key });
    }

    fn install_group(&mut self, contents: Contents, now: Duration) {
        self.group.install(
            contents,
            &self.association,
            self.authenticator,
            (&self.timing, now),
            &mut self.outputs,
        );
    }

    fn establish(&mut self) {
        self.state = State::Established;
        self.deadline = None;
        self.outputs.push_back(Output::Established {
            peer: self.authenticator,
        });
    }

    fn derive(&self, anonce: &[u8; 32], snonce: &[u8; 32]) -> Ptk {
        let inputs = Inputs {
            aa: self.authenticator,
            spa: self.own,
            anonce,
            snonce,
        };
        Ptk::derive(self.protection, self.pmk.as_octets(), inputs)
    }

    fn send(&mut self, packet: Vec<u8>, sealed: bool) {
        self.outputs.push_back(Output::Send {
            to: self.authenticator,
            packet,
            sealed,
        });
    }

    fn fail(&mut self, reason: Failure) {
        self.forget();
        self.outputs.push_back(Output::Failed {
            peer: self.authenticator,
            reason,
            still_established: false,
        });
    }

    fn forget(&mut self) {
        self.state = State::Idle;
        self.last_counter = None;
        self.next_request = 0;
        self.snonce = None;
        self.session = None;
        self.group = InstalledGroupKeys::default();
        self.deadline = None;
        self.retiring = Retiring::default();
    }
}

#[cfg(test)]
mod tests {
    use wlan_ciphers::Suite;

    use super::*;
    use crate::{Akm, Elements, Key, Policy};

    /// IEEE 802.11-2020 12.7.6.4.
    #[test]
    fn message_3_must_have_the_elements_of_the_beacon() {
        let wpa = Policy::of(Protocol::Wpa, Akm::WpaPsk, Suite::Tkip);
        let rsn = Policy {
            group: Suite::Tkip,
            ..Policy::of(Protocol::Rsn, Akm::WpaPsk, Suite::Ccmp128)
        };
        let beacon = Elements {
            rsn: rsn.element(),
            rsnx: vec![0xf4, 1, 0x20],
            wpa: wpa.element(),
        };
        let other = || Some(vec![0xff]);
        let (told_rsn, told_rsnx) = (Some(beacon.rsn.clone()), Some(beacon.rsnx.clone()));
        let told_wpa = Some(beacon.wpa.clone());
        for (policy, rsn, rsnx, wpa, is_downgraded) in [
            (&rsn, &told_rsn, &told_rsnx, &told_wpa, false),
            (&rsn, &told_rsn, &told_rsnx, &None, false),
            (&rsn, &None, &told_rsnx, &told_wpa, true),
            (&rsn, &other(), &told_rsnx, &told_wpa, true),
            (&rsn, &told_rsn, &None, &told_wpa, true),
            (&rsn, &told_rsn, &other(), &told_wpa, true),
            (&rsn, &told_rsn, &told_rsnx, &other(), true),
            (&wpa, &None, &None, &told_wpa, false),
            (&wpa, &told_rsn, &None, &told_wpa, false),
            (&wpa, &None, &None, &None, true),
            (&wpa, &None, &None, &other(), true),
            (&wpa, &other(), &None, &told_wpa, true),
        ] {
            let association = Association::negotiate(&beacon, &Elements::of(policy)).unwrap();
            let (own, authenticator) = (MacAddr([2; 6]), MacAddr([4; 6]));
            let pmk = Pmk::of_psk(Key::new(&[7; 32]));
            let station = Supplicant::new(own, authenticator, association, pmk, Timing::default()).unwrap();
            let contents = Contents {
                rsn: rsn.clone(),
                rsnx: rsnx.clone(),
                wpa: wpa.clone(),
                ..Contents::default()
            };
            assert_eq!(station.was_downgraded(&contents), is_downgraded);
        }
    }
}
