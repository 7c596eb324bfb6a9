//! The access point's state of one station.

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
    /// The installed keys.
    pub(super) session: Option<Session>,
    /// A 4-way handshake in progress.
    pub(super) handshake: Option<Handshake>,
    /// Position among the stations that have not answered yet.
    pub(super) half_open: Option<u64>,
    /// Last replay counter used. It increases as long as the station is known.
    pub(super) counter: u64,
    pub(super) retiring: Retiring,
    /// The station's entry in the timers of the access point.
    pub(super) timer: Option<Duration>,
}

/// The installed keys, which also authenticate packets.
pub(super) struct Session {
    pub(super) association: Association,
    pub(super) protection: Protection,
    pub(super) pmk: Pmk,
    pub(super) ptk: Ptk,
    pub(super) key_id: KeyId,
    /// Generation of the station's group keys.
    pub(super) generation: Option<u64>,
    /// Replay counter of the station's last request.
    pub(super) last_request: Option<u64>,
    /// WPA: the first group key has not been acknowledged yet.
    pub(super) is_opening: bool,
    /// The pending group message.
    pub(super) wait: Option<Wait>,
}

impl Session {
    /// Creates the handshake that replaces the pairwise key, under this PMK.
    pub(super) fn rekey(&self, pmk: Pmk, rng: &mut dyn CryptoRng) -> Handshake {
        let mut handshake = Handshake::new(self.association.clone(), self.protection, pmk, rng);
        handshake.sealed = true;
        if self.association.extended_key_id {
            handshake.key_id = KeyId::new(1 - self.key_id.get()).expect("0 or 1");
        }
        handshake
    }
}

impl Session {
    /// Builds message 1 of a group key handshake (12.7.7.2). Returns `None` if its group key no longer exists.
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

/// Maximum number of SNonces that a station may use within one handshake.
pub(super) const MAX_ANSWERS: usize = 8;

/// A 4-way handshake in progress.
pub(super) struct Handshake {
    pub(super) association: Association,
    pub(super) protection: Protection,
    pub(super) pmk: Pmk,
    pub(super) anonce: [u8; 32],
    pub(super) key_id: KeyId,
    /// The handshake replaces the pairwise key of a session and is encrypted under the session.
    pub(super) sealed: bool,
    /// First and last replay counter of message 1.
    pub(super) first_1: Option<u64>,
    pub(super) last_1: u64,
    /// Number of messages 2 with a wrong MIC.
    pub(super) wrong_mics: u32,
    pub(super) answer: Option<Answer>,
    /// SNonces of all valid messages 2, at most [`MAX_ANSWERS`], so that a replaced key cannot return.
    pub(super) snonces: Vec<[u8; 32]>,
    /// The pending message.
    pub(super) wait: Option<Wait>,
}

/// The result of message 2.
pub(super) struct Answer {
    pub(super) ptk: Ptk,
    /// Replay counter of message 2.
    pub(super) counter: u64,
    /// Generation of the group keys in message 3.
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

    /// Whether the handshake is for this association and PMK.
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

/// The kind of a pending message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    One,
    Three,
    /// A group message with the group keys of this generation.
    Group(u64),
}

/// A message that waits for an answer. It is rebuilt for each transmission, because it contains the current packet
/// numbers of the group keys.
pub(super) struct Wait {
    pub(super) kind: Kind,
    pub(super) sealed: bool,
    /// First and last replay counter of the message.
    pub(super) first_counter: u64,
    pub(super) last_counter: u64,
    pub(super) tries: u8,
    pub(super) deadline: Duration,
}

impl Wait {
    /// A message that has not been sent yet.
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

    /// Whether an answer may carry this replay counter (12.7.2 d).
    pub(super) fn is_of(&self, counter: u64) -> bool {
        (self.first_counter..=self.last_counter).contains(&counter)
    }
}

impl Station {
    /// The pending messages of the handshake and of the session.
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

    /// Builds the pending message of `slot` with the next replay counter and the current packet numbers of the group
    /// keys. Returns the packet and whether to seal it. `deadline` computes the deadline from the number of previous
    /// tries and the kind of the message; `offered` are the elements of the access point.
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

/// The contents of a message, except its nonce and replay counter.
struct Body {
    /// Key Information without the version and the MIC bit.
    info: u16,
    key_len: usize,
    iv: [u8; 16],
    rsc: u64,
    /// Key data as sent: encrypted if the message requires it.
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

/// Returns the EAPOL-Key IV of a message (12.7.2 e). RC4 requires a unique IV per message under a key, and the replay
/// counter is unique among the messages to a station. AES key wrap uses no IV.
fn iv(protection: Protection, wait: &Wait) -> [u8; 16] {
    let mut iv = [0; 16];
    if protection.version == 1 {
        iv[8..].copy_from_slice(&wait.last_counter.to_be_bytes());
    }
    iv
}

/// The two messages to a station that may be pending at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// The message of the 4-way handshake.
    Handshake,
    /// The message of the session: the group key.
    Session,
}

impl Handshake {
    /// Message 1 (12.7.6.2).
    fn message_1(&self) -> Body {
        let mut data = Vec::new();
        if let (Some(pmkid), Protocol::Rsn) = (self.pmk.pmkid(), self.association.protocol) {
            KeyData::Pmkid(pmkid).push(&mut data);
        }
        // The initial key exchange is complete if the handshake replaces a key (12.7.2 b 7).
        let secure = if self.sealed { KeyInfo::SECURE } else { 0 };
        Body {
            info: KeyInfo::PAIRWISE | KeyInfo::ACK | secure,
            key_len: self.association.pairwise.key_len(),
            iv: [0; 16],
            rsc: 0,
            data,
        }
    }

    /// Builds message 3 (12.7.6.4). Returns `None` if its group key no longer exists.
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
