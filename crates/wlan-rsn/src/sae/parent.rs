//! The access point's side: exchanges with many stations, and limits on the cost of forged Commits (IEEE 802.11-2020
//! 12.4.6, 12.4.8.6.1).
//!
//! Once [`Limits::threshold`] exchanges are open, a Commit costs only a keyed hash until its sender has shown that it
//! receives frames sent to its address. The token is this hash of the address and the minute, so tokens are not
//! stored.

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
    /// Maximum number of open exchanges. Further Commits are ignored until an exchange ends. As many abandoned
    /// exchanges may be kept for a few seconds.
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

/// The exchanges of one access point.
pub struct Parent {
    own: MacAddr,
    config: Arc<Config>,
    passwords: Vec<Arc<Password>>,
    limits: Limits,
    token_key: Zeroizing<[u8; 32]>,
    open: BTreeMap<MacAddr, Sae>,
    accepted: BTreeMap<MacAddr, Ended>,
    /// The last abandoned exchange of each station, and how long to keep it. The station may continue it. If the
    /// station has started another exchange, its late frames of the abandoned exchange can still be recognized.
    given_up: BTreeMap<MacAddr, (Duration, Sae)>,
    /// Number of accepted exchanges so far.
    ended: u64,
}

struct Ended {
    number: u64,
    sae: Sae,
}

impl fmt::Debug for Parent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parent")
            .field("own", &self.own)
            .field("open", &self.open.len())
            .field("accepted", &self.accepted.len())
            .finish_non_exhaustive()
    }
}

impl Parent {
    /// Creates an access point with address `own`. A station that sends no identifier gets the password without an
    /// identifier. The `token_key` must be random and secret.
    #[must_use]
    pub fn new(
        own: MacAddr,
        config: Arc<Config>,
        passwords: Vec<Arc<Password>>,
        limits: Limits,
        token_key: [u8; 32],
    ) -> Parent {
        Parent {
            own,
            config,
            passwords,
            limits,
            token_key: Zeroizing::new(token_key),
            open: BTreeMap::new(),
            accepted: BTreeMap::new(),
            given_up: BTreeMap::new(),
            ended: 0,
        }
    }

    /// Number of open exchanges.
    #[must_use]
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Whether an exchange with this station is in progress.
    #[must_use]
    pub fn is_open(&self, peer: MacAddr) -> bool {
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
        self.open.values().filter_map(Sae::deadline).min()
    }

    /// Handles the timeout of one station, and returns its address and the reply. Call this until it returns `None`.
    pub fn expire(&mut self, now: Duration) -> Option<(MacAddr, Reply)> {
        self.given_up.retain(|_, (until, _)| *until > now);
        let is_due = |sae: &Sae| sae.deadline().is_some_and(|deadline| deadline <= now);
        let (&peer, sae) = self.open.iter_mut().find(|(_, sae)| is_due(sae))?;
        let reply = sae.expire(now);
        self.settle(now, peer);
        Some((peer, reply))
    }

    /// Forgets the accepted exchange of a station whose key is no longer used. A newer exchange with the station
    /// continues.
    pub fn forget(&mut self, peer: MacAddr) {
        self.accepted.remove(&peer);
    }

    /// Handles the body of an Authentication frame from `peer`.
    pub fn receive(&mut self, now: Duration, peer: MacAddr, body: &[u8], rng: &mut dyn CryptoRng) -> Reply {
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
        peer: MacAddr,
        commit: &Commit<'_>,
        body: &[u8],
        rng: &mut dyn CryptoRng,
    ) -> Reply {
        let is_known = |sae: &Sae| sae.began_with(commit);
        match self.open.get(&peer) {
            Some(sae) if is_known(sae) => return self.pass_on(now, peer, body, rng),
            // Another Commit comes from another sender, unless the station is silent: it may have restarted.
            Some(sae) if !sae.is_silent() => return Reply::default(),
            _ => {}
        }
        // A Commit of a completed exchange (12.4.8.6.1), a disabled method, or our own address.
        if self.accepted.get(&peer).is_some_and(|ended| is_known(&ended.sae))
            || !self.takes(commit.method)
            || peer == self.own
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
        // A station that has restarted reuses its open exchange.
        if self.open.len() >= self.limits.open && !self.open.contains_key(&peer) {
            return Reply::default();
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
        match Sae::answer(now, [self.own, peer], config, password, commit, rng) {
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

    fn pass_on(&mut self, now: Duration, peer: MacAddr, body: &[u8], rng: &mut dyn CryptoRng) -> Reply {
        let Some(sae) = self.open.get_mut(&peer) else {
            return Reply::default();
        };
        let reply = sae.receive(now, body, rng);
        self.settle(now, peer);
        reply
    }

    /// Opens an exchange, which replaces the exchange of a silent station.
    fn begin(&mut self, now: Duration, peer: MacAddr, sae: Sae) {
        if let Some(before) = self.open.insert(peer, sae) {
            self.give_up(now, peer, before);
        }
    }

    fn give_up(&mut self, now: Duration, peer: MacAddr, sae: Sae) {
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
    fn settle(&mut self, now: Duration, peer: MacAddr) {
        match self.open.get(&peer).map(Sae::state) {
            Some(State::Nothing) => {
                if let Some(sae) = self.open.remove(&peer) {
                    self.give_up(now, peer, sae);
                }
            }
            Some(State::Accepted) => {
                self.given_up.remove(&peer);
                if let Some(sae) = self.open.remove(&peer) {
                    let number = self.ended;
                    self.ended += 1;
                    self.accepted.insert(peer, Ended { number, sae });
                }
                let oldest = self.accepted.iter().min_by_key(|(_, ended)| ended.number);
                if self.accepted.len() > self.limits.accepted
                    && let Some((&oldest, _)) = oldest
                {
                    self.accepted.remove(&oldest);
                }
            }
            None | Some(State::Committed | State::Confirmed) => {}
        }
    }

    fn token(&self, peer: MacAddr, period: u64) -> Octets<MAX_DIGEST_LEN> {
        Hash::Sha256.hmac(self.token_key.as_slice(), &[&period.to_le_bytes(), &peer.0])
    }

    fn is_token(&self, now: Duration, peer: MacAddr, token: &[u8]) -> bool {
        let period = now.as_secs() / TOKEN_PERIOD_S;
        let is_of = |period| self.token(peer, period).ct_eq(token);
        let earlier = period.checked_sub(1).map_or(Choice::from(0), is_of);
        (is_of(period) | earlier).into()
    }

    fn ask_for_token(&self, now: Duration, peer: MacAddr, commit: &Commit<'_>) -> Reply {
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
