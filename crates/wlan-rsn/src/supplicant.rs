//! The station's side of the 4-way and group key handshakes (IEEE 802.11-2020 12.7.6, 12.7.7).
//!
//! ```text
//!  start ──► waits for 1 ──message 1: sends 2──► waits for 3 ──message 3: installs, sends 4──► established ─┐
//!                                   ▲                                                                       │
//!                                   └──────────────────── message 1, sealed: a new pairwise key ◄───────────┘
//! ```
//! Rules, each against an attack that is known:
//!
//! - The SNonce stays the same until a message 3 verified, and the PTK is derived from the ANonce *in* message 3: forged
//!   messages 1 change nothing (He and Mitchell, 2004).
//! - Every key is installed once (12.7.6.4, KRACK): a message 3 that comes again is answered and no more; a group key that
//!   is there stays as it is, with its replay window.
//! - Replay counters only rise, and only frames with a right MIC move them (12.7.2).
//! - Once keys are installed a new handshake comes sealed or not at all (12.6.14); in the open, only message 3 of the
//!   handshake that installed them comes again, because message 4 was lost.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use rand_core::CryptoRng;
use wlan_ciphers::KeyId;
use wlan_frames::MacAddr;
use wlan_frames::eapol::{KeyData, KeyInfo};

use crate::installed::InstalledGroupKeys;
use crate::message::{Contents, Message, Received};
use crate::output::{Direction, Discard, Failure, Output, Timing};
use crate::protection::{Inputs, Protection, Ptk};
use crate::retiring::Retiring;
use crate::{Association, Pmk, Protocol, WrongPmk};

/// One station's side.
pub struct Supplicant {
    own: MacAddr,
    authenticator: MacAddr,
    association: Association,
    protection: Protection,
    pmk: Pmk,
    timing: Timing,
    state: State,
    /// Replay counter of the last frame with a right MIC.
    last_counter: Option<u64>,
    /// Replay counter of the next request of ours.
    next_request: u64,
    /// Drawn at the beginning of a handshake; none when it is over.
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
    /// Waits for message 1.
    One,
    /// Message 2 was sent.
    Three,
    /// WPA: waits for the group key.
    Group,
    Established,
}

/// What was installed.
struct Session {
    ptk: Ptk,
    anonce: [u8; 32],
    /// The handshake that installed it went sealed.
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
    /// A station with the address `own` that associated with `authenticator`.
    ///
    /// # Errors
    /// [`WrongPmk`] if the key management has no PMK of this length.
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

    /// Begins anew, without any key: after each association.
    pub fn start(&mut self, now: Duration, rng: &mut dyn CryptoRng) {
        self.forget();
        self.state = State::One;
        self.snonce = Some(crate::nonce(rng));
        self.deadline = Some(now.saturating_add(self.timing.answer));
    }

    /// What to do next. Ask until there is nothing, after each call of another function.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When to call [`timeout`](Self::timeout) at the latest.
    #[must_use]
    pub fn next_timeout(&self, now: Duration) -> Option<Duration> {
        let deadline = [self.deadline, self.retiring.next()]
            .into_iter()
            .flatten()
            .min()?;
        Some(self.timing.wait_until(deadline, now))
    }

    /// True while all keys are there.
    #[must_use]
    pub fn is_established(&self) -> bool {
        // A rekey leaves the keys of before in use.
        self.session.is_some() && self.state != State::Group
    }

    /// Time has passed.
    pub fn timeout(&mut self, now: Duration) {
        self.retiring
            .expire(self.authenticator, &self.timing, now, &mut self.outputs);
        if self.deadline.is_some_and(|at| self.timing.is_due(at, now)) {
            // An authenticator with another key never gets to message 3.
            let reason = match self.state {
                State::Three if self.session.is_none() => Failure::WrongKey,
                State::Group => Failure::NoGroupAnswer,
                _ => Failure::NoAnswer,
            };
            self.fail(reason);
        }
    }

    /// The link says that the access point is gone. If it went while message 3 was due, it did not like message 2.
    pub fn peer_gone(&mut self) {
        let reason = match self.state {
            State::Idle => return,
            State::Three if self.session.is_none() => Failure::WrongKey,
            _ => Failure::PeerGone,
        };
        self.fail(reason);
    }

    /// Asks the access point for a new pairwise key, or for a new group key (12.7.2, Request bit).
    ///
    /// Returns false if there are no keys yet.
    pub fn request_rekey(&mut self, pairwise: bool) -> bool {
        self.request(if pairwise { KeyInfo::PAIRWISE } else { 0 })
    }

    /// Reports a frame whose TKIP MIC was forged (12.5.2.4.1), `pairwise` or group addressed.
    ///
    /// Returns false if there are no keys yet.
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

    /// Takes an EAPOL packet from the authenticator; `sealed` says whether it came under the pairwise key. A message 3 that
    /// shows a downgrade ends the handshake: [`Output::Failed`].
    ///
    /// # Errors
    /// [`Discard`]: the packet changed nothing.
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
            (false, _) => self.group_message(&received, sealed),
        }
    }

    /// 12.7.6.2: nothing in it is authenticated, so that all it brings about is message 2.
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
            // A name of another PMK: the authenticator would not get far with ours (12.7.6.2).
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
            // The very elements of the (re)association request (12.7.6.3).
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
        // Forged messages 1 must not put the end off for ever: the first one counts.
        if self.state != State::Three {
            self.state = State::Three;
            self.deadline = Some(now.saturating_add(self.timing.answer));
        }
        Ok(())
    }

    fn message_3(&mut self, received: &Received<'_>, sealed: bool, now: Duration) -> Result<(), Discard> {
        let key = &received.key;
        // Sent again because message 4 was lost: everything is installed (12.7.6.4). This comes before any derivation.
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

        // Receive before message 4, transmit after it: the authenticator opens with the new key since message 3, and
        // takes message 4 under the key of before.
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
        self.install_group(contents);
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
    fn group_message(&mut self, received: &Received<'_>, sealed: bool) -> Result<(), Discard> {
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
        // WPA's answer names the key as its question does.
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
        self.install_group(contents);
        self.send(packet, true);
        if self.state == State::Group {
            self.establish();
        }
        Ok(())
    }

    /// The elements in message 3 are those of the beacon (12.7.6.4). An element of the other generation that the beacon did
    /// not have, or had otherwise, says that someone hid or changed it.
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
            // An access point that has RSN leaves its element out towards a WPA station, or shows it.
            Protocol::Wpa => {
                !told(&contents.wpa, &advertised.wpa)
                    || contents.rsn.as_ref().is_some_and(|rsn| *rsn != advertised.rsn)
            }
        }
    }

    fn install_pairwise(&mut self, ptk: &Ptk, key_id: KeyId, direction: Direction) {
        self.outputs.push_back(Output::InstallPairwise {
            peer: self.authenticator,
            key_id,
            suite: self.association.pairwise,
            key: ptk.tk(),
            direction,
        });
    }

    fn install_group(&mut self, contents: Contents) {
        self.group
            .install(contents, &self.association, self.authenticator, &mut self.outputs);
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
