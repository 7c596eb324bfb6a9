//! One exchange with one peer: the protocol instance of IEEE 802.11-2020 12.4.8.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rand_core::CryptoRng;
use wlan_frames::MacAddr;

use super::exchange::{self, Agreed, Commitment, Secret};
use super::frame::{Commit, Message, status, token_of};
use super::{Config, Event, Failure, Method, Password, Reply, StartError, State};
use crate::Group;

/// The send-confirm number of all Confirms after acceptance (12.4.8.6.5).
const LAST_SEND_CONFIRM: u16 = u16::MAX;

/// The reason why a Commit is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitFault {
    /// The scalar or element is invalid, or the Commit is our own, reflected.
    Bad,
    /// The Commit lists a supported group as rejected.
    Downgraded,
}

/// The peer's Commit and the keys that result from it.
struct Met {
    commitment: Commitment,
    agreed: Agreed,
}

/// An exchange with one peer.
pub struct Sae {
    own: MacAddr,
    peer: MacAddr,
    config: Arc<Config>,
    password: Arc<Password>,
    method: Method,
    group: Group,
    state: State,
    commitment: Commitment,
    /// Kept until the peer's Commit is accepted. A Confirm tests one password against the peer's Commit, so a second
    /// Commit under the same secret would let the peer test another password.
    secret: Option<Secret>,
    met: Option<Met>,
    /// The peer has sent a Commit other than the accepted one.
    has_other_commit: bool,
    token: Option<Box<[u8]>>,
    /// Groups that the peer has rejected.
    rejected: Vec<Group>,
    /// Sync: number of retransmissions.
    sync: u16,
    /// A deadline has passed without a valid answer.
    is_silent: bool,
    /// Sc: the number of the last Confirm sent.
    sent: u16,
    /// Rc: the number of the last Confirm received.
    received: u16,
    /// Expiry of the timer t0.
    deadline: Option<Duration>,
    /// The failure to report if the exchange times out.
    suspicion: Failure,
}

impl fmt::Debug for Sae {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sae")
            .field("peer", &self.peer)
            .field("method", &self.method)
            .field("group", &self.group)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl Sae {
    /// Starts an exchange of the station `own` with `peer`. The reply is the Commit (12.4.8.6.3, event Initiate).
    ///
    /// # Errors
    /// [`StartError`].
    pub fn initiate(
        now: Duration,
        [own, peer]: [MacAddr; 2],
        method: Method,
        config: Arc<Config>,
        password: Arc<Password>,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Sae, Reply), StartError> {
        if method == Method::HuntingAndPecking && password.identifier().is_some() {
            return Err(StartError::IdentifierNeedsHashToElement);
        }
        let offered = config.groups.clone();
        let mut sae = offered
            .into_iter()
            .find_map(|group| {
                let (config, password) = (config.clone(), password.clone());
                Sae::new([own, peer], method, group, config, password, rng)
            })
            .ok_or(StartError::NoGroup)?;
        let mut reply = Reply::default();
        sae.deadline = Some(now.saturating_add(sae.config.retransmit));
        reply.frames.push(sae.commit());
        Ok((sae, reply))
    }

    /// Answers a Commit as an access point (12.4.8.6.3, event Com): with a Commit, and with a Confirm only after the
    /// peer's Confirm, so that frames alternate. Unlike in the standard, no timer repeats the Commit. Returns `None` if the password does not support the Commit's group
    /// and method.
    pub(super) fn answer(
        now: Duration,
        addresses: [MacAddr; 2],
        config: Arc<Config>,
        password: Arc<Password>,
        commit: &Commit<'_>,
        rng: &mut dyn CryptoRng,
    ) -> Option<Result<(Sae, Reply), CommitFault>> {
        // Cheap checks come first.
        let checked = Commitment::checked(commit.group, commit.scalar, commit.element);
        if checked.is_none() {
            return Some(Err(CommitFault::Bad));
        }
        let mut sae = Sae::new(addresses, commit.method, commit.group, config, password, rng)?;
        if let Err(fault) = sae.meet(commit) {
            return Some(Err(fault));
        }
        let mut reply = Reply::default();
        sae.deadline = Some(now.saturating_add(sae.config.retransmit));
        reply.frames.push(sae.commit());
        Some(Ok((sae, reply)))
    }

    fn new(
        [own, peer]: [MacAddr; 2],
        method: Method,
        group: Group,
        config: Arc<Config>,
        password: Arc<Password>,
        rng: &mut dyn CryptoRng,
    ) -> Option<Sae> {
        let pwe = password.element(method, group, own, peer)?;
        let (commitment, secret) = exchange::commit(method, group, pwe, rng);
        Some(Sae {
            own,
            peer,
            config,
            password,
            method,
            group,
            state: State::Committed,
            commitment,
            secret: Some(secret),
            met: None,
            has_other_commit: false,
            token: None,
            rejected: Vec::new(),
            sync: 0,
            is_silent: false,
            sent: 0,
            received: 0,
            deadline: None,
            suspicion: Failure::NoAnswer,
        })
    }

    /// The peer's address.
    #[must_use]
    pub fn peer(&self) -> MacAddr {
        self.peer
    }

    /// The state of the exchange.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// The group in use.
    #[must_use]
    pub fn group(&self) -> Group {
        self.group
    }

    /// The time for the next call of [`expire`](Self::expire); `None` if no timer is running.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    /// Handles a timeout: repeats the last message, or ends the exchange. A side that answers as an access point repeats
    /// nothing. Has no effect before the [deadline](Self::deadline).
    pub fn expire(&mut self, now: Duration) -> Reply {
        let mut reply = Reply::default();
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return reply;
        }
        let was_silent = std::mem::replace(&mut self.is_silent, true);
        if self.is_answering() && !was_silent {
            // The station repeats its Commit. Unasked repetitions would let a forged Commit draw several frames.
            let rest = self.config.retransmit.saturating_mul(self.config.max_sync.into());
            self.deadline = Some(now.saturating_add(rest));
        } else if self.is_answering() || !self.may_repeat(now) {
            self.state = State::Nothing;
            self.deadline = None;
            self.secret = None;
            // A peer that has restarted rejects a Confirm of the previous exchange, even with the correct password.
            let failure = match self.suspicion {
                Failure::PasswordMismatch if self.has_other_commit => Failure::NoAnswer,
                other => other,
            };
            reply.event = Some(Event::Failed(failure));
        } else if self.state == State::Confirmed {
            self.push_confirm(&mut reply);
        } else {
            // The Commit is also repeated after an invalid Confirm, which may belong to an earlier Commit.
            reply.frames.push(self.commit());
        }
        reply
    }

    /// Resumes an abandoned exchange that the peer continues. The Commit stays the same, so that a Confirm of this
    /// exchange remains valid.
    pub(super) fn resume(&mut self, now: Duration) -> Reply {
        self.state = State::Committed;
        self.sync = 0;
        self.is_silent = false;
        self.suspicion = Failure::NoAnswer;
        self.deadline = Some(now.saturating_add(self.config.retransmit));
        let mut reply = Reply::default();
        reply.frames.push(self.commit());
        reply
    }

    /// Handles the body of an Authentication frame from the peer. A body that is not SAE has no effect.
    pub fn receive(&mut self, now: Duration, body: &[u8], rng: &mut dyn CryptoRng) -> Reply {
        let mut reply = Reply::default();
        let Ok(message) = Message::parse(body) else {
            return reply;
        };
        match message {
            Message::Commit(commit) => self.receive_commit(now, &commit, rng, &mut reply),
            Message::Confirm {
                send_confirm,
                confirm,
            } => self.receive_confirm(now, send_confirm, confirm, &mut reply),
            Message::TokenRequired { group, rest } => {
                let token = token_of(self.method, rest);
                if self.is_unanswered()
                    && group == self.group.number()
                    && token.is_some()
                    && self.may_repeat(now)
                {
                    self.token = token.map(Box::from);
                    reply.frames.push(self.commit());
                }
            }
            Message::GroupRefused { group } if self.is_unanswered() && group == self.group.number() => {
                self.offer_another(now, rng, &mut reply);
            }
            // After the end of the exchange, the suspicion is unused.
            Message::Refused { status, .. } => {
                self.suspicion = match status {
                    status::CHALLENGE_FAILURE => Failure::PasswordMismatch,
                    // hostapd 2.10 refuses an invalid Confirm with this status.
                    status::UNSPECIFIED_FAILURE if self.state == State::Confirmed => {
                        Failure::PasswordMismatch
                    }
                    status::UNKNOWN_PASSWORD_IDENTIFIER => Failure::UnknownIdentifier,
                    other => Failure::Refused(other),
                };
            }
            Message::ForeignCommit { method, group } if self.is_unanswered() && method == self.method => {
                reply.frames.push(Message::GroupRefused { group }.emit());
            }
            Message::ForeignCommit { .. } | Message::GroupRefused { .. } => {}
        }
        reply
    }

    /// Whether this side has answered a Commit and waits for the first Confirm. Only an access point does.
    fn is_answering(&self) -> bool {
        self.state == State::Committed && self.met.is_some()
    }

    /// Whether no Commit of the peer has been accepted yet.
    fn is_unanswered(&self) -> bool {
        self.state == State::Committed && self.met.is_none()
    }

    /// Whether this is the peer's accepted Commit of this exchange.
    pub(super) fn began_with(&self, commit: &Commit<'_>) -> bool {
        self.met.as_ref().is_some_and(|met| {
            met.commitment.scalar.as_slice() == commit.scalar
                && met.commitment.element.as_slice() == commit.element
        })
    }

    /// Whether this is a valid Confirm of the peer in this exchange.
    pub(super) fn fits(&self, send_confirm: u16, confirm: &[u8]) -> bool {
        self.met.as_ref().is_some_and(|met| {
            met.agreed
                .verify(confirm, send_confirm, &met.commitment, &self.commitment)
        })
    }

    /// Whether the peer has let a deadline pass. Received frames do not reset this, because an attacker can replay or
    /// forge them.
    pub(super) fn is_silent(&self) -> bool {
        self.is_silent
    }

    fn receive_commit(
        &mut self,
        now: Duration,
        commit: &Commit<'_>,
        rng: &mut dyn CryptoRng,
        reply: &mut Reply,
    ) {
        if commit.method != self.method {
            return;
        }
        match self.state {
            State::Committed if self.met.is_some() => {
                // The peer missed our Commit.
                if self.began_with(commit) && self.may_repeat(now) {
                    reply.frames.push(self.commit());
                }
            }
            State::Committed => {
                let changed = commit.group != self.group;
                if changed && !self.config.groups.contains(&commit.group) {
                    let group = commit.group.number();
                    reply.frames.push(Message::GroupRefused { group }.emit());
                    return;
                }
                // Both sides started, in different groups: the group of the higher address wins (12.4.8.6.4).
                if changed
                    && (self.own > self.peer
                        || self.rejected.contains(&commit.group)
                        || !self.change_group(commit.group, rng))
                {
                    return;
                }
                match self.meet(commit) {
                    Ok(()) => {
                        self.state = State::Confirmed;
                        self.suspicion = Failure::NoAnswer;
                        self.sync = 0;
                        self.deadline = Some(now.saturating_add(self.config.retransmit));
                        if changed {
                            reply.frames.push(self.commit());
                        }
                        self.push_confirm(reply);
                    }
                    Err(CommitFault::Downgraded) => self.suspicion = Failure::Downgraded,
                    Err(CommitFault::Bad) => {}
                }
            }
            // The peer missed our Commit or our Confirm (12.4.8.6.5). Only a repetition of the accepted Commit is
            // answered. A peer that has restarted gets a new exchange after this one has timed out.
            State::Confirmed => {
                if !self.began_with(commit) {
                    self.has_other_commit = true;
                } else if self.may_repeat(now) {
                    reply.frames.push(self.commit());
                    self.push_confirm(reply);
                }
            }
            State::Nothing | State::Accepted => {}
        }
    }

    fn receive_confirm(&mut self, now: Duration, send_confirm: u16, confirm: &[u8], reply: &mut Reply) {
        let is_right = self.met.is_some().then(|| self.fits(send_confirm, confirm));
        match (self.state, is_right) {
            // The Confirm overtook the peer's Commit, or the Commit was lost: the peer must repeat it (12.4.8.6.4).
            (State::Committed, None) => {
                if self.may_repeat(now) {
                    reply.frames.push(self.commit());
                }
            }
            (State::Committed, Some(true)) => {
                self.push_confirm(reply);
                self.accept(send_confirm, reply);
            }
            (State::Committed, Some(false)) => {
                self.suspicion = Failure::PasswordMismatch;
                if self.may_repeat(now) {
                    let refusal = Message::Refused {
                        transaction: 2,
                        status: status::CHALLENGE_FAILURE,
                    };
                    reply.frames.push(refusal.emit());
                }
            }
            (State::Confirmed, Some(true)) => self.accept(send_confirm, reply),
            // Discarded (12.4.8.6.5), but recorded as the reason of a later failure.
            (State::Confirmed, Some(false)) => self.suspicion = Failure::PasswordMismatch,
            // The peer missed our Confirm. A peer that has accepted has received it (12.4.8.6.6).
            (State::Accepted, Some(true))
                if send_confirm > self.received
                    && send_confirm != LAST_SEND_CONFIRM
                    && self.sync <= self.config.max_sync =>
            {
                self.received = send_confirm;
                self.sync += 1;
                self.push_confirm(reply);
            }
            (State::Nothing | State::Confirmed | State::Accepted, _) => {}
        }
    }

    /// Counts a retransmission and restarts the timer. Returns false after too many retransmissions.
    fn may_repeat(&mut self, now: Duration) -> bool {
        if self.sync > self.config.max_sync {
            return false;
        }
        self.sync += 1;
        let next = now.saturating_add(self.config.retransmit);
        // The end of a silent peer's exchange does not come nearer.
        let end = self.deadline.filter(|_| self.is_answering() && self.is_silent);
        self.deadline = end.max(Some(next));
        true
    }

    /// Accepts or rejects the peer's Commit.
    fn meet(&mut self, commit: &Commit<'_>) -> Result<(), CommitFault> {
        let theirs =
            Commitment::checked(self.group, commit.scalar, commit.element).ok_or(CommitFault::Bad)?;
        // A reflection attack (12.4.8.6.4).
        if theirs == self.commitment {
            return Err(CommitFault::Bad);
        }
        // Different identifiers mean different passwords. An access point need not repeat the station's identifier.
        if commit.identifier.is_some() && commit.identifier != self.password.identifier() {
            return Err(CommitFault::Bad);
        }
        let ours = |number: &[u8]| {
            let mut groups = self.config.groups.iter();
            groups.any(|group| group.number().to_le_bytes() == number)
        };
        if commit.rejected.chunks(2).any(ours) {
            return Err(CommitFault::Downgraded);
        }
        let ours = self.rejected_octets();
        let rejected = if self.own > self.peer {
            [ours.as_slice(), commit.rejected]
        } else {
            [commit.rejected, ours.as_slice()]
        };
        let secret = self.secret.as_ref().ok_or(CommitFault::Bad)?;
        let agreed = secret
            .agree(&self.commitment, &theirs, rejected)
            .ok_or(CommitFault::Bad)?;
        self.met = Some(Met {
            commitment: theirs,
            agreed,
        });
        self.secret = None;
        Ok(())
    }

    /// Creates a Commit in another group. Returns false if the password does not support the group.
    fn change_group(&mut self, group: Group, rng: &mut dyn CryptoRng) -> bool {
        let Some(pwe) = self.password.element(self.method, group, self.own, self.peer) else {
            return false;
        };
        let (commitment, secret) = exchange::commit(self.method, group, pwe, rng);
        self.group = group;
        self.commitment = commitment;
        self.secret = Some(secret);
        true
    }

    /// Offers the next group that the peer has not rejected (12.4.8.6.4).
    fn offer_another(&mut self, now: Duration, rng: &mut dyn CryptoRng, reply: &mut Reply) {
        let refused = self.group;
        let config = self.config.clone();
        self.rejected.push(refused);
        let mut groups = config.groups.iter();
        if groups.any(|&group| !self.rejected.contains(&group) && self.change_group(group, rng)) {
            self.sync = 0;
            self.deadline = Some(now.saturating_add(config.retransmit));
            reply.frames.push(self.commit());
        } else {
            // The peer never learns of this rejection, because no Commit follows.
            self.rejected.pop();
            self.suspicion = Failure::GroupsRefused;
        }
    }

    fn commit(&self) -> Vec<u8> {
        Message::Commit(Commit {
            method: self.method,
            group: self.group,
            token: self.token.as_deref(),
            scalar: &self.commitment.scalar,
            element: &self.commitment.element,
            identifier: self.password.identifier(),
            rejected: &self.rejected_octets(),
        })
        .emit()
    }

    fn push_confirm(&mut self, reply: &mut Reply) {
        if let Some(met) = &self.met {
            self.sent = self.sent.saturating_add(1);
            let confirm = met.agreed.confirm(self.sent, &self.commitment, &met.commitment);
            let message = Message::Confirm {
                send_confirm: self.sent,
                confirm: &confirm,
            };
            reply.frames.push(message.emit());
        }
    }

    fn accept(&mut self, send_confirm: u16, reply: &mut Reply) {
        self.state = State::Accepted;
        self.deadline = None;
        self.sync = 0;
        self.sent = LAST_SEND_CONFIRM;
        self.received = send_confirm;
        reply.event = self
            .met
            .as_ref()
            .map(|met| Event::Accepted(met.agreed.pmk.clone()));
    }

    /// The groups that the peer has rejected, as in the Rejected Groups element; empty with hunting-and-pecking.
    fn rejected_octets(&self) -> Vec<u8> {
        match self.method {
            Method::HuntingAndPecking => Vec::new(),
            Method::HashToElement => {
                let numbers = self.rejected.iter().map(|group| group.number().to_le_bytes());
                numbers.flatten().collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Constant;

    const OURS: &[u8] = &[20, 0];
    const THEIRS: &[u8] = &[21, 0, 25, 0];

    /// 12.4.5.4: in the salt of the key seed, the list of the station with the higher address comes first.
    #[test]
    fn rejected_groups_enter_the_key_in_the_order_of_the_addresses() {
        let (method, now) = (Method::HashToElement, Duration::ZERO);
        let (low, high) = (MacAddr([2, 0, 0, 0, 0, 1]), MacAddr([2, 0, 0, 0, 0, 2]));
        let groups = vec![Group::P384, Group::P256];
        let password = Arc::new(Password::new(b"net", b"mekmitasdigoat", None, &groups).unwrap());
        let pwe = password.element(method, Group::P256, low, high).unwrap();
        let config = Arc::new(Config {
            groups,
            ..Config::default()
        });
        for (own, peer, rejected) in [(low, high, [THEIRS, OURS]), (high, low, [OURS, THEIRS])] {
            let mut rng = Constant(0x55);
            let (config, password) = (config.clone(), password.clone());
            let (mut sae, _) = Sae::initiate(now, [own, peer], method, config, password, &mut rng).unwrap();
            let refusal = Message::GroupRefused { group: 20 }.emit();
            sae.receive(now, &refusal, &mut rng);
            let ours = sae.commitment.clone();
            let (theirs, secret) = exchange::commit(method, Group::P256, pwe.clone(), &mut Constant(0x33));
            let commit = Message::Commit(Commit {
                method,
                group: Group::P256,
                token: None,
                scalar: &theirs.scalar,
                element: &theirs.element,
                identifier: None,
                rejected: THEIRS,
            });
            let reply = sae.receive(now, &commit.emit(), &mut rng);
            let Ok(Message::Confirm {
                send_confirm,
                confirm,
            }) = Message::parse(&reply.frames[0])
            else {
                panic!("{:02x?}", reply.frames)
            };
            let agreed = secret.agree(&theirs, &ours, rejected).unwrap();
            assert!(agreed.verify(confirm, send_confirm, &ours, &theirs));
        }
    }
}
