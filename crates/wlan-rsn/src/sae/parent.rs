//! The access point's side: exchanges with many stations, and limits on the cost of forged Commits (IEEE 802.11-2020
//! 12.4.6, 12.4.8.6.1).
//!
//! Once [`Limits::threshold`] exchanges are open, a Commit costs only a keyed hash until its sender has shown that it
//! receives frames sent to its address and [place](Peer::place). The token is this hash of the address, the place and
//! the minute, so tokens are not stored.
//!
//! An access point sends nothing by itself before a valid Confirm: it answers each Commit once and each repetition of the
//! Commit once. A forged Commit therefore draws at most one frame, which is no longer than the Commit.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rand_core::CryptoRng;
use subtle::{Choice, ConstantTimeEq};
use wlan_frames::MacAddr;
use zeroize::Zeroizing;

use super::frame::{Commit, Message, status, token_rest};
use super::instance::{CommitFault, Sae};
use super::{Config, Method, Password, Reply, State};
use crate::Peer;
use crate::hash::{Hash, MAX_DIGEST_LEN, Octets};

/// A token is valid for at least this time and at most twice as long.
const TOKEN_PERIOD_S: u64 = 60;

/// How long an abandoned exchange is kept: longer than its station continues it, and longer than a frame is in
/// flight.
const GIVEN_UP_FOR: Duration = Duration::from_secs(5);

/// Limits on the state kept for stations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Number of open exchanges from which a Commit requires a token: dot11RSNASAEAntiCloggingThreshold.
    pub threshold: usize,
    /// Maximum number of open exchanges. A further one displaces the oldest. As many abandoned exchanges may be kept for
    /// a few seconds.
    pub open: usize,
    /// Maximum number of kept accepted exchanges; the oldest is dropped first. They are kept to repeat the last
    /// Confirm and to recognize their Commits.
    pub accepted: usize,
}

impl Default for Limits {
    /// The standard's threshold (IEEE 802.11-2020 C.3). An exchange takes about a kilobyte.
    fn default() -> Limits {
        Limits {
            threshold: 5,
            open: 64,
            accepted: 256,
        }
    }
}

/// The exchanges of one access point. `P` identifies a station to the caller.
pub struct Parent<P = MacAddr> {
    own: MacAddr,
    config: Arc<Config>,
    passwords: Vec<Arc<Password>>,
    limits: Limits,
    token_key: Zeroizing<[u8; 32]>,
    open: BTreeMap<P, Numbered>,
    accepted: BTreeMap<P, Numbered>,
    /// The last abandoned exchange of each station, and how long to keep it. The station may continue it. If the
    /// station has started another exchange, its late frames of the abandoned exchange can still be recognized.
    given_up: BTreeMap<P, (Duration, Sae)>,
    /// Number of exchanges that were opened or accepted so far.
    count: u64,
}

/// An exchange with its position in the order in which they were opened or accepted.
struct Numbered {
    number: u64,
    sae: Sae,
}

/// The exchange with the smallest number.
fn oldest<P: Copy>(exchanges: &BTreeMap<P, Numbered>) -> Option<P> {
    let oldest = exchanges.iter().min_by_key(|(_, exchange)| exchange.number);
    oldest.map(|(&peer, _)| peer)
}

impl<P> fmt::Debug for Parent<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parent")
            .field("own", &self.own)
            .field("open", &self.open.len())
            .field("accepted", &self.accepted.len())
            .finish_non_exhaustive()
    }
}

impl<P: Peer> Parent<P> {
    /// Creates an access point with address `own`. A station that sends no identifier gets the password without an
    /// identifier. The `token_key` must be random and secret.
    #[must_use]
    pub fn new(
        own: MacAddr,
        config: Arc<Config>,
        passwords: Vec<Arc<Password>>,
        limits: Limits,
        token_key: [u8; 32],
    ) -> Parent<P> {
        Parent {
            own,
            config,
            passwords,
            limits,
            token_key: Zeroizing::new(token_key),
            open: BTreeMap::new(),
            accepted: BTreeMap::new(),
            given_up: BTreeMap::new(),
            count: 0,
        }
    }

    /// Number of open exchanges.
    #[must_use]
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Whether an exchange with this station is in progress.
    #[must_use]
    pub fn is_open(&self, peer: P) -> bool {
        self.open.contains_key(&peer)
    }

    /// Number of kept exchanges that ended with a key.
    #[must_use]
    pub fn accepted(&self) -> usize {
        self.accepted.len()
    }

    /// Number of kept abandoned exchanges.
    #[must_use]
    pub fn given_up(&self) -> usize {
        self.given_up.len()
    }

    /// The time for the next call of [`expire`](Self::expire); `None` if no timer is running.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        self.open.values().filter_map(|open| open.sae.deadline()).min()
    }

    /// Handles the timeout of one station, and returns its address and the reply. Call this until it returns `None`.
    pub fn expire(&mut self, now: Duration) -> Option<(P, Reply)> {
        self.given_up.retain(|_, (until, _)| *until > now);
        let is_due = |sae: &Sae| sae.deadline().is_some_and(|deadline| deadline <= now);
        let (&peer, open) = self.open.iter_mut().find(|(_, open)| is_due(&open.sae))?;
        let reply = open.sae.expire(now);
        self.settle(now, peer);
        Some((peer, reply))
    }

    /// Forgets the accepted exchange of a station whose key is no longer used. A newer exchange with the station
    /// continues.
    pub fn forget(&mut self, peer: P) {
        self.accepted.remove(&peer);
    }

    /// Drops the open exchange with a station, for example in favour of a newer station.
    pub fn abandon(&mut self, peer: P) {
        self.open.remove(&peer);
    }

    /// Handles the body of an Authentication frame from `peer`.
    pub fn receive(&mut self, now: Duration, peer: P, body: &[u8], rng: &mut dyn CryptoRng) -> Reply {
        match Message::parse(body) {
            Ok(Message::Commit(commit)) => self.receive_commit(now, peer, &commit, body, rng),
            Ok(Message::ForeignCommit { group, method }) if self.takes(method) => {
                one(&Message::GroupRefused { group })
            }
            Ok(Message::Confirm {
                send_confirm,
                confirm,
            }) => {
                // A repeated or late Confirm does not belong to the exchange that the station has started since.
                let is_of = |sae: &Sae| sae.fits(send_confirm, confirm);
                if let Some(ended) = self.accepted.get_mut(&peer)
                    && is_of(&ended.sae)
                {
                    return ended.sae.receive(now, body, rng);
                }
                if self.given_up.get(&peer).is_some_and(|(_, sae)| is_of(sae)) {
                    return Reply::default();
                }
                self.pass_on(now, peer, body, rng)
            }
            // An access point initiates no exchange, so these answers match nothing.
            Ok(_) | Err(_) => Reply::default(),
        }
    }

    fn receive_commit(
        &mut self,
        now: Duration,
        peer: P,
        commit: &Commit<'_>,
        body: &[u8],
        rng: &mut dyn CryptoRng,
    ) -> Reply {
        let is_known = |sae: &Sae| sae.began_with(commit);
        match self.open.get(&peer).map(|open| &open.sae) {
            Some(sae) if is_known(sae) => return self.pass_on(now, peer, body, rng),
            // Another Commit comes from another sender, unless the station is silent: it may have restarted.
            Some(sae) if !sae.is_silent() => return Reply::default(),
            _ => {}
        }
        // A Commit of a completed exchange (12.4.8.6.1), a disabled method, or our own address.
        if self.accepted.get(&peer).is_some_and(|ended| is_known(&ended.sae))
            || !self.takes(commit.method)
            || peer.into() == self.own
        {
            return Reply::default();
        }
        if self.open.len() >= self.limits.threshold {
            match commit.token {
                None => return self.ask_for_token(now, peer, commit),
                Some(token) if !self.is_token(now, peer, token) => return Reply::default(),
                Some(_) => {}
            }
        }
        if let Some((_, sae)) = self.given_up.get_mut(&peer)
            && is_known(sae)
        {
            let reply = sae.resume(now);
            if let Some((_, sae)) = self.given_up.remove(&peer) {
                self.begin(now, peer, sae);
            }
            return reply;
        }
        if !self.config.groups.contains(&commit.group) {
            return one(&Message::GroupRefused {
                group: commit.group.number(),
            });
        }
        let refused = |status| {
            one(&Message::Refused {
                transaction: 1,
                status,
            })
        };
        let of_identifier = |password: &&Arc<Password>| password.identifier() == commit.identifier;
        let Some(password) = self.passwords.iter().find(of_identifier) else {
            return refused(status::UNKNOWN_PASSWORD_IDENTIFIER);
        };
        let (config, password) = (self.config.clone(), password.clone());
        match Sae::answer(now, [self.own, peer.into()], config, password, commit, rng) {
            Some(Ok((sae, reply))) => {
                self.begin(now, peer, sae);
                reply
            }
            Some(Err(CommitFault::Bad | CommitFault::Downgraded)) => refused(status::UNSPECIFIED_FAILURE),
            None => one(&Message::GroupRefused {
                group: commit.group.number(),
            }),
        }
    }

    fn takes(&self, method: Method) -> bool {
        method == Method::HashToElement || self.config.hunting_and_pecking
    }

    fn pass_on(&mut self, now: Duration, peer: P, body: &[u8], rng: &mut dyn CryptoRng) -> Reply {
        let Some(open) = self.open.get_mut(&peer) else {
            return Reply::default();
        };
        let reply = open.sae.receive(now, body, rng);
        self.settle(now, peer);
        reply
    }

    /// Opens an exchange, which replaces the exchange of a silent station, or displaces the oldest one.
    fn begin(&mut self, now: Duration, peer: P, sae: Sae) {
        let open = self.numbered(sae);
        if let Some(before) = self.open.insert(peer, open) {
            self.give_up(now, peer, before.sae);
        }
        if self.open.len() > self.limits.open
            && let Some(oldest) = oldest(&self.open)
        {
            self.open.remove(&oldest);
        }
    }

    fn numbered(&mut self, sae: Sae) -> Numbered {
        let number = self.count;
        self.count += 1;
        Numbered { number, sae }
    }

    fn give_up(&mut self, now: Duration, peer: P, sae: Sae) {
        let oldest = self.given_up.iter().min_by_key(|(_, (until, _))| *until);
        if self.given_up.len() >= self.limits.open
            && !self.given_up.contains_key(&peer)
            && let Some((&oldest, _)) = oldest
        {
            self.given_up.remove(&oldest);
        }
        self.given_up
            .insert(peer, (now.saturating_add(GIVEN_UP_FOR), sae));
    }

    /// Moves an exchange that has ended to the accepted or abandoned exchanges.
    fn settle(&mut self, now: Duration, peer: P) {
        match self.open.get(&peer).map(|open| open.sae.state()) {
            Some(State::Nothing) => {
                if let Some(open) = self.open.remove(&peer) {
                    self.give_up(now, peer, open.sae);
                }
            }
            Some(State::Accepted) => {
                self.given_up.remove(&peer);
                if let Some(open) = self.open.remove(&peer) {
                    let accepted = self.numbered(open.sae);
                    self.accepted.insert(peer, accepted);
                }
                if self.accepted.len() > self.limits.accepted
                    && let Some(oldest) = oldest(&self.accepted)
                {
                    self.accepted.remove(&oldest);
                }
            }
            None | Some(State::Committed | State::Confirmed) => {}
        }
    }

    fn token(&self, peer: P, period: u64) -> Octets<MAX_DIGEST_LEN> {
        let address: MacAddr = peer.into();
        let (period, place) = (period.to_le_bytes(), peer.place());
        Hash::Sha256.hmac(self.token_key.as_slice(), &[&period, &address.0, &place])
    }

    fn is_token(&self, now: Duration, peer: P, token: &[u8]) -> bool {
        let period = now.as_secs() / TOKEN_PERIOD_S;
        let is_of = |period| self.token(peer, period).ct_eq(token);
        let earlier = period.checked_sub(1).map_or(Choice::from(0), is_of);
        (is_of(period) | earlier).into()
    }

    fn ask_for_token(&self, now: Duration, peer: P, commit: &Commit<'_>) -> Reply {
        let token = self.token(peer, now.as_secs() / TOKEN_PERIOD_S);
        one(&Message::TokenRequired {
            group: commit.group.number(),
            rest: &token_rest(commit.method, &token),
        })
    }
}

fn one(message: &Message<'_>) -> Reply {
    let mut reply = Reply::default();
    reply.frames.push(message.emit());
    reply
}
