//! What an access point knows of one station.

use std::time::Duration;

use rand_core::CryptoRng;
use subtle::ConstantTimeEq;
use wlan_ciphers::KeyId;
use wlan_frames::MacAddr;
use wlan_frames::eapol::{KeyData, KeyInfo};
use zeroize::Zeroizing;

use super::Elements;
use super::group::Group;
use crate::message::Message;
use crate::output::Failure;
use crate::protection::{Inputs, Protection, Ptk};
use crate::retiring::Retiring;
use crate::{Association, Pmk, Protocol};

#[derive(Default)]
pub(super) struct Station {
    /// What is installed.
    pub(super) session: Option<Session>,
    /// A 4-way handshake under way.
    pub(super) handshake: Option<Handshake>,
    /// Its place among those that have not answered yet.
    pub(super) half_open: Option<u64>,
    /// The replay counter that was used last: it rises as long as the station is known.
    pub(super) counter: u64,
    pub(super) retiring: Retiring,
    /// What stands in the access point's timers.
    pub(super) timer: Option<Duration>,
}

/// What is installed, and may be used to prove who a packet is from.
pub(super) struct Session {
    pub(super) association: Association,
    pub(super) protection: Protection,
    pub(super) pmk: Pmk,
    pub(super) ptk: Ptk,
    pub(super) key_id: KeyId,
    /// Which of the group keys the station has.
    pub(super) generation: Option<u64>,
    /// Replay counter of its last request.
    pub(super) last_request: Option<u64>,
    /// WPA: the group key has not been acknowledged for the first time.
    pub(super) is_opening: bool,
    /// The group message whose answer is waited for.
    pub(super) wait: Option<Wait>,
}

impl Session {
    /// The handshake that replaces its pairwise key.
    pub(super) fn rekey(&self, rng: &mut dyn CryptoRng) -> Handshake {
        let mut handshake = Handshake::new(self.association.clone(), self.protection, self.pmk.clone(), rng);
        handshake.sealed = true;
        if self.association.extended_key_id {
            handshake.key_id = KeyId::new(1 - self.key_id.get()).expect("0 or 1");
        }
        handshake
    }
}

impl Session {
    /// Message 1 of a group key handshake (12.7.7.2). `None` if the group key that it tells is gone.
    fn group_message(&self, wait: &Wait, group: &Group) -> Option<Body> {
        let Kind::Group(generation) = wait.kind else {
            return None;
        };
        let keys = group.of(generation)?;
        let iv = iv(self.protection, wait);
        let mut info = KeyInfo::ACK | KeyInfo::SECURE;
        let mut data = Zeroizing::new(Vec::with_capacity(256));
        let key_len = match self.association.protocol {
            Protocol::Rsn => {
                info |= KeyInfo::ENCRYPTED;
                group.push(keys, self.association.group_management.is_some(), &mut data);
                0
            }
            Protocol::Wpa => {
                info |= u16::from(keys.key_id.get()) << 4;
                data.extend_from_slice(keys.gtk.as_octets());
                keys.gtk.as_octets().len()
            }
        };
        Some(Body {
            info,
            key_len,
            iv,
            rsc: keys.rsc,
            data: self.protection.wrap(&self.ptk, &iv, data),
        })
    }
}

/// How often a station may draw another SNonce within one handshake.
pub(super) const MAX_ANSWERS: usize = 8;

/// A 4-way handshake under way.
pub(super) struct Handshake {
    pub(super) association: Association,
    pub(super) protection: Protection,
    pub(super) pmk: Pmk,
    pub(super) anonce: [u8; 32],
    pub(super) key_id: KeyId,
    /// It replaces the pairwise key of a session, under whose protection it goes.
    pub(super) sealed: bool,
    /// Replay counters of message 1, first and last.
    pub(super) first_1: Option<u64>,
    pub(super) last_1: u64,
    /// Messages 2 whose MIC was wrong.
    pub(super) wrong_mics: u32,
    pub(super) answer: Option<Answer>,
    /// SNonces of all messages 2 that were right, of which there are [`MAX_ANSWERS`] at most: no key comes back that
    /// another has replaced.
    pub(super) snonces: Vec<[u8; 32]>,
    /// The message whose answer is waited for.
    pub(super) wait: Option<Wait>,
}

/// What message 2 brought.
pub(super) struct Answer {
    pub(super) ptk: Ptk,
    /// Replay counter of message 2.
    pub(super) counter: u64,
    /// Which group key message 3 tells.
    pub(super) generation: Option<u64>,
}

impl Handshake {
    pub(super) fn new(
        association: Association,
        protection: Protection,
        pmk: Pmk,
        rng: &mut dyn CryptoRng,
    ) -> Handshake {
        Handshake {
            association,
            protection,
            pmk,
            anonce: crate::nonce(rng),
            key_id: KeyId::PAIRWISE,
            sealed: false,
            first_1: None,
            last_1: 0,
            wrong_mics: 0,
            answer: None,
            snonces: Vec::new(),
            wait: None,
        }
    }

    /// Whether it is one for the same association.
    pub(super) fn is_for(&self, association: &Association, pmk: &Pmk) -> bool {
        self.association == *association && bool::from(self.pmk.as_octets().ct_eq(pmk.as_octets()))
    }

    pub(super) fn derive(&self, aa: MacAddr, spa: MacAddr, snonce: &[u8; 32]) -> Ptk {
        let inputs = Inputs {
            aa,
            spa,
            anonce: &self.anonce,
            snonce,
        };
        Ptk::derive(self.protection, self.pmk.as_octets(), inputs)
    }
}

/// Which message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    One,
    Three,
    /// A group message that tells the group key of this generation.
    Group(u64),
}

/// A message whose answer is waited for. Its contents are built anew for each transmission, because they name the packet
/// numbers that the group keys have reached.
pub(super) struct Wait {
    pub(super) kind: Kind,
    pub(super) sealed: bool,
    /// Replay counters of this message, first and last.
    pub(super) first_counter: u64,
    pub(super) last_counter: u64,
    pub(super) tries: u8,
    pub(super) deadline: Duration,
}

impl Wait {
    /// A message that was not sent yet.
    pub(super) fn new(kind: Kind, sealed: bool) -> Wait {
        Wait {
            kind,
            sealed,
            first_counter: 0,
            last_counter: 0,
            tries: 0,
            deadline: Duration::ZERO,
        }
    }

    /// Whether an answer may name this replay counter (12.7.2 d).
    pub(super) fn is_of(&self, counter: u64) -> bool {
        (self.first_counter..=self.last_counter).contains(&counter)
    }
}

impl Station {
    /// The messages that wait for an answer: of the handshake, of the session.
    pub(super) fn waits(&self) -> [Option<&Wait>; 2] {
        [
            self.handshake
                .as_ref()
                .and_then(|handshake| handshake.wait.as_ref()),
            self.session.as_ref().and_then(|session| session.wait.as_ref()),
        ]
    }

    fn wait_mut(&mut self, slot: Slot) -> Option<&mut Wait> {
        match slot {
            Slot::Handshake => self.handshake.as_mut()?.wait.as_mut(),
            Slot::Session => self.session.as_mut()?.wait.as_mut(),
        }
    }

    /// The packet of the message in this slot, with the next replay counter and the present packet numbers of the group
    /// keys, and whether it goes sealed. `deadline` gives the deadline from the tries before and the kind; `offered` are the
    /// elements of the access point.
    pub(super) fn send_again(
        &mut self,
        slot: Slot,
        deadline: impl FnOnce(u8, Kind) -> Duration,
        offered: &Elements,
        group: &Group,
    ) -> Option<(Vec<u8>, bool)> {
        let counter = self.counter + 1;
        let wait = self.wait_mut(slot)?;
        wait.deadline = deadline(wait.tries, wait.kind);
        wait.tries += 1;
        if wait.tries == 1 {
            wait.first_counter = counter;
        }
        wait.last_counter = counter;
        let sealed = wait.sealed;
        self.counter = counter;
        Some((self.build(slot, offered, group)?, sealed))
    }

    fn build(&mut self, slot: Slot, offered: &Elements, group: &Group) -> Option<Vec<u8>> {
        match slot {
            Slot::Session => {
                let session = self.session.as_ref()?;
                let wait = session.wait.as_ref()?;
                let body = session.group_message(wait, group)?;
                Some(body.build(wait, [0; 32], session.protection, Some(&session.ptk)))
            }
            Slot::Handshake => {
                let handshake = self.handshake.as_mut()?;
                let wait = handshake.wait.as_ref()?;
                if wait.kind == Kind::One {
                    handshake.first_1.get_or_insert(wait.first_counter);
                    handshake.last_1 = wait.last_counter;
                }
                let (body, ptk) = match &handshake.answer {
                    Some(answer) => (
                        handshake.message_3(answer, wait, offered, group)?,
                        Some(&answer.ptk),
                    ),
                    None => (handshake.message_1(), None),
                };
                Some(body.build(wait, handshake.anonce, handshake.protection, ptk))
            }
        }
    }
}

/// What a message says beside its nonce and replay counter.
struct Body {
    /// Key Information without version and MIC bit.
    info: u16,
    key_len: usize,
    iv: [u8; 16],
    rsc: u64,
    /// As it is sent: encrypted where the message has it so.
    data: Vec<u8>,
}

impl Body {
    fn build(&self, wait: &Wait, nonce: [u8; 32], protection: Protection, ptk: Option<&Ptk>) -> Vec<u8> {
        Message {
            info: self.info,
            key_len: self.key_len,
            replay_counter: wait.last_counter,
            nonce,
            iv: self.iv,
            rsc: self.rsc,
            data: &self.data,
        }
        .build(protection, ptk)
    }
}

/// The EAPOL-Key IV of a message. RC4 takes an IV that no other message has under this key, and no two messages to a station
/// have one replay counter; AES key wrap takes none (12.7.2 e).
fn iv(protection: Protection, wait: &Wait) -> [u8; 16] {
    let mut iv = [0; 16];
    if protection.version == 1 {
        iv[8..].copy_from_slice(&wait.last_counter.to_be_bytes());
    }
    iv
}

/// Which of the two messages that a station may be waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// Of the 4-way handshake.
    Handshake,
    /// Of the session: the group key.
    Session,
}

impl Handshake {
    /// Message 1 (12.7.6.2).
    fn message_1(&self) -> Body {
        let mut data = Vec::new();
        if let (Some(pmkid), Protocol::Rsn) = (self.pmk.pmkid(), self.association.protocol) {
            KeyData::Pmkid(pmkid).push(&mut data);
        }
        // The initial exchange is over when a key is replaced (12.7.2 b 7).
        let secure = if self.sealed { KeyInfo::SECURE } else { 0 };
        Body {
            info: KeyInfo::PAIRWISE | KeyInfo::ACK | secure,
            key_len: self.association.pairwise.key_len(),
            iv: [0; 16],
            rsc: 0,
            data,
        }
    }

    /// Message 3 (12.7.6.4). `None` if the group key that it tells is gone.
    fn message_3(&self, answer: &Answer, wait: &Wait, offered: &Elements, group: &Group) -> Option<Body> {
        let iv = iv(self.protection, wait);
        let mut info = KeyInfo::PAIRWISE | KeyInfo::INSTALL | KeyInfo::ACK;
        let mut rsc = 0;
        let data = match self.association.protocol {
            Protocol::Wpa => offered.wpa.clone(),
            Protocol::Rsn => {
                info |= KeyInfo::SECURE | KeyInfo::ENCRYPTED;
                let keys = group.of(answer.generation?)?;
                rsc = keys.rsc;
                let mut data = Zeroizing::new(Vec::with_capacity(1024));
                for element in [&offered.rsn, &offered.rsnx, &offered.wpa] {
                    data.extend_from_slice(element);
                }
                if self.association.extended_key_id {
                    KeyData::KeyId(self.key_id.get()).push(&mut data);
                }
                group.push(keys, self.association.group_management.is_some(), &mut data);
                self.protection.wrap(&answer.ptk, &iv, data)
            }
        };
        Some(Body {
            info,
            key_len: self.association.pairwise.key_len(),
            iv,
            rsc,
            data,
        })
    }

    pub(super) fn why_no_answer(&self) -> Failure {
        if self.answer.is_none() && self.wrong_mics > 0 {
            Failure::WrongKey
        } else {
            Failure::NoAnswer
        }
    }
}
