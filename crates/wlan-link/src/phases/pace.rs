//! Time: a clock that does not go back, how often something may be done, and the asking of an end that is silent.

use std::time::Duration;

/// A time unit (IEEE Std 802.11-2020 3.1).
const TU: Duration = Duration::from_micros(1024);
/// Between two SA Query Requests: dot11AssociationSAQueryRetryTimeout (C.3).
const RETRY: Duration = TU.saturating_mul(201);
/// Until an end that did not answer is gone: dot11AssociationSAQueryMaximumTimeout (C.3).
pub const SILENT_AFTER: Duration = TU.saturating_mul(1000);
/// The same in time units, as a Timeout Interval element has it (9.4.2.48).
pub const SILENT_AFTER_TU: u32 = 1000;

/// Time as the machines see it: where the caller's clock goes back, this one stands still.
#[derive(Debug, Default)]
pub struct Steady {
    told: Duration,
    now: Duration,
}

impl Steady {
    /// The time now.
    pub fn at(&mut self, told: Duration) -> Duration {
        self.now = self.now.saturating_add(told.saturating_sub(self.told));
        self.told = told;
        self.now
    }

    /// When on the caller's clock it is this time.
    pub fn told(&self, at: Duration) -> Duration {
        self.told.saturating_add(at.saturating_sub(self.now))
    }
}

/// So many at once, and one more with every `every`.
#[derive(Debug)]
pub struct Budget {
    most: u32,
    every: Duration,
    left: u32,
    since: Duration,
    /// How many were refused since one was not.
    refused: u64,
}

impl Budget {
    /// One that is full.
    pub fn new(most: u32, every: Duration) -> Self {
        Self {
            most,
            every,
            left: most,
            since: Duration::ZERO,
            refused: 0,
        }
    }

    /// Takes one: how many were refused before, or `None` if this one is.
    pub fn take(&mut self, now: Duration) -> Option<u64> {
        while self.left < self.most && now.saturating_sub(self.since) >= self.every {
            self.left += 1;
            self.since += self.every;
        }
        if self.left == self.most {
            self.since = now;
        }
        if self.left == 0 {
            self.refused += 1;
            return None;
        }
        self.left -= 1;
        Some(std::mem::take(&mut self.refused))
    }
}

/// An SA Query (11.13): is the other end there, with its keys?
#[derive(Debug)]
pub struct Query {
    began: Duration,
    next: Duration,
    asked: bool,
}

/// What a query comes to.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked {
    /// Ask now.
    Ask,
    /// Nothing yet.
    Wait,
    /// The other end is gone.
    Gone,
}

impl Query {
    /// One that begins now.
    pub fn new(now: Duration) -> Self {
        Self {
            began: now,
            next: now,
            asked: false,
        }
    }

    /// What to do now.
    pub fn poll(&mut self, now: Duration) -> Asked {
        if now >= self.began + SILENT_AFTER {
            return Asked::Gone;
        }
        if now < self.next {
            return Asked::Wait;
        }
        self.next = now + RETRY;
        self.asked = true;
        Asked::Ask
    }

    /// When there is something to do.
    pub fn due(&self) -> Duration {
        self.next.min(self.began + SILENT_AFTER)
    }
}

/// When another end was heard last, and whether it is being asked.
#[derive(Debug)]
pub struct Liveness {
    received: u64,
    heard: Duration,
    query: Option<Query>,
}

impl Liveness {
    /// Of one that was heard just now.
    pub fn new(now: Duration) -> Self {
        Self {
            received: 0,
            heard: now,
            query: None,
        }
    }

    /// A sealed frame opened.
    pub fn hear(&mut self, now: Duration) {
        self.heard = now;
        self.query = None;
    }

    /// So many MPDUs of it opened so far. Those from before it was asked are no answer.
    pub fn count(&mut self, received: u64, now: Duration) {
        let is_news = std::mem::replace(&mut self.received, received) != received;
        if is_news && self.query.as_ref().is_none_or(|query| query.asked) {
            self.hear(now);
        }
    }

    /// Has it asked, if it is not being asked.
    pub fn doubt(&mut self, now: Duration) {
        self.query.get_or_insert_with(|| Query::new(now));
    }

    /// What to do now, where it is asked after `keep_alive` of silence.
    pub fn poll(&mut self, keep_alive: Duration, now: Duration) -> Asked {
        if now >= self.heard + keep_alive {
            self.doubt(now);
        }
        self.query.as_mut().map_or(Asked::Wait, |query| query.poll(now))
    }

    /// When there is something to do.
    pub fn due(&self, keep_alive: Duration) -> Duration {
        self.query.as_ref().map_or(self.heard + keep_alive, Query::due)
    }
}
