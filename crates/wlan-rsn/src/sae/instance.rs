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

/// The number of every Confirm of one that has accepted (12.4.8.6.5).
const LAST_SEND_CONFIRM: u16 = u16::MAX;

/// Why a Commit is not gone along with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitFault {
    /// Its scalar or element is not one, or it is the own Commit come back.
    Bad,
    /// It lists a group as refused that is taken here.
    Downgraded,
}

/// The peer's side, once its Commit is taken.
struct Met {
    commitment: Commitment,
    agreed: Agreed,
}

/// One exchange with one peer.
pub struct Sae {
    own: MacAddr,
    peer: MacAddr,
    config: Arc<Config>,
    password: Arc<Password>,
    method: Method,
    group: Group,
    state: State,
    commitment: Commitment,
    /// Kept until the peer's Commit is taken. A Confirm tests one password against the peer's Commit, so a secret that met
    /// a second Commit would let the peer test a second password.
    secret: Option<Secret>,
    met: Option<Met>,
    /// The peer has sent another Commit than the one that was taken.
    has_other_commit: bool,
    token: Option<Box<[u8]>>,
    /// Groups that the peer refused.
    rejected: Vec<Group>,
    /// Sync: how often a message was sent again.
    sync: u16,
    /// A deadline has passed without an answer that fits.
    is_silent: bool,
    /// Sc: the number of the last Confirm sent.
    sent: u16,
    /// Rc: the number of the last Confirm received.
    received: u16,
    /// t0.
    deadline: Option<Duration>,
    /// Why it will have failed if time runs out.
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
    /// Starts an exchange of the station `own` with `peer`; the reply is the Commit (12.4.8.6.3, event Initiate).
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

    /// Answers a Commit as an access point does (12.4.8.6.3, event Com): with a Commit, and with the Confirm not before the
    /// peer's is there, so that frames alternate. `None` if the password is not for the Commit's group and method.
    pub(super) fn answer(
        now: Duration,
        addresses: [MacAddr; 2],
        config: Arc<Config>,
        password: Arc<Password>,
        commit: &Commit<'_>,
        rng: &mut dyn CryptoRng,
    ) -> Option<Result<(Sae, Reply), CommitFault>> {
        // What costs nothing first.
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

    /// Where it stands.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// The group in use.
    #[must_use]
    pub fn group(&self) -> Group {
        self.group
    }

    /// When [`expire`](Self::expire) is to be called; `None` if there is nothing to wait for.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    /// What the clock leads to: the last message again, or the end. Nothing before the [deadline](Self::deadline).
    pub fn expire(&mut self, now: Duration) -> Reply {
        let mut reply = Reply::default();
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return reply;
        }
        self.is_silent = true;
        if !self.may_repeat(now) {
            self.state = State::Nothing;
            self.deadline = None;
            self.secret = None;
            // A peer that has begun anew refuses a Confirm of the exchange before, whatever its password is.
            let failure = match self.suspicion {
                Failure::PasswordMismatch if self.has_other_commit => Failure::NoAnswer,
                other => other,
            };
            reply.event = Some(Event::Failed(failure));
        } else if self.state == State::Confirmed {
            self.push_confirm(&mut reply);
        } else {
            // Also to one whose Confirm did not fit: it may have been for a Commit of before.
            reply.frames.push(self.commit());
        }
        reply
    }

    /// Goes on with an exchange that was given up, as the peer goes on with it: with the same Commit, so that no Confirm of
    /// it is taken for a wrong one.
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

    /// What the body of an Authentication frame from the peer leads to; nothing, if it is not one of SAE.
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
            // Once the exchange is over, nobody asks for the suspicion.
            Message::Refused { status, .. } => {
                self.suspicion = match status {
                    status::CHALLENGE_FAILURE => Failure::PasswordMismatch,
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

    /// Whether the peer's Commit is still to come.
    fn is_unanswered(&self) -> bool {
        self.state == State::Committed && self.met.is_none()
    }

    /// Whether this is the Commit that the peer's side of this exchange began with.
    pub(super) fn began_with(&self, commit: &Commit<'_>) -> bool {
        self.met.as_ref().is_some_and(|met| {
            met.commitment.scalar.as_slice() == commit.scalar
                && met.commitment.element.as_slice() == commit.element
        })
    }

    /// Whether this is a Confirm of the peer in this exchange, and not in another.
    pub(super) fn fits(&self, send_confirm: u16, confirm: &[u8]) -> bool {
        self.met.as_ref().is_some_and(|met| {
            met.agreed
                .verify(confirm, send_confirm, &met.commitment, &self.commitment)
        })
    }

    /// Whether the peer has let a deadline pass. Frames do not count: anybody can repeat or forge them.
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
                // The peer did not get the answer.
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
                // Both started, in different groups: that of the higher address holds (12.4.8.6.4).
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
            // The peer did not get our Commit or our Confirm (12.4.8.6.5). Only the Commit that was taken is answered: a
            // peer that has begun anew is met by a new exchange, once this one has timed out.
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
            // It overtook the peer's Commit, or this was lost: the peer has to say it again (12.4.8.6.4).
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
            // Discarded (12.4.8.6.5), but kept in mind.
            (State::Confirmed, Some(false)) => self.suspicion = Failure::PasswordMismatch,
            // The peer did not get our Confirm. One who has accepted has got it (12.4.8.6.6).
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

    /// Counts a message that is sent again, and waits for its answer. False once there were too many.
    fn may_repeat(&mut self, now: Duration) -> bool {
        if self.sync > self.config.max_sync {
            return false;
        }
        self.sync += 1;
        self.deadline = Some(now.saturating_add(self.config.retransmit));
        true
    }

    /// Takes the peer's Commit.
    fn meet(&mut self, commit: &Commit<'_>) -> Result<(), CommitFault> {
        let theirs =
            Commitment::checked(self.group, commit.scalar, commit.element).ok_or(CommitFault::Bad)?;
        // A reflection attack (12.4.8.6.4).
        if theirs == self.commitment {
            return Err(CommitFault::Bad);
        }
        // Identifiers that differ are different passwords. An access point need not repeat ours.
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

    /// Commits in another group. False if the password is not for that.
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

    /// The peer refuses the group: the next one that it did not refuse yet (12.4.8.6.4).
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
            // Not said by us, as no Commit without it follows.
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

    /// The groups that the peer refused, as the Rejected Groups element holds them; hunting-and-pecking has none.
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

    /// 12.4.5.4: in the salt of the key seed, the list of the higher address comes first.
    #[test]
    fn the_rejected_groups_go_into_the_key_in_the_order_of_the_addresses() {
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
