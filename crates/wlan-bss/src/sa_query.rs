//! SA Queries (IEEE Std 802.11-2020, 11.13): whether the other end of an association still has its keys, before an unprotected
//! frame ends the association.

use std::time::Duration;

/// A time unit (3.1).
pub const TU: Duration = Duration::from_micros(1024);
/// Interval between the requests of a query: dot11AssociationSAQueryRetryTimeout (C.3).
pub const RETRY: Duration = TU.saturating_mul(201);
/// [`MAXIMUM`] in time units.
pub const MAXIMUM_TU: u32 = 1000;
/// Time after which a query without an answer ends the association: dot11AssociationSAQueryMaximumTimeout (C.3).
pub const MAXIMUM: Duration = TU.saturating_mul(MAXIMUM_TU);

/// A query in progress.
#[derive(Debug)]
pub struct Query {
    began: Duration,
    next: Duration,
    asked: bool,
}

/// Result of polling a query.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked {
    /// Send a request now.
    Ask,
    /// Wait.
    Wait,
    /// The peer is gone.
    Gone,
}

impl Query {
    /// A query that starts at this time.
    pub fn new(at: Duration) -> Self {
        Self {
            began: at,
            next: at,
            asked: false,
        }
    }

    /// The action due now.
    pub fn poll(&mut self, now: Duration) -> Asked {
        if now >= self.began + MAXIMUM {
            return Asked::Gone;
        }
        if now < self.next {
            return Asked::Wait;
        }
        self.next = now + RETRY;
        self.asked = true;
        Asked::Ask
    }

    /// Whether a request was sent.
    pub fn was_asked(&self) -> bool {
        self.asked
    }

    /// Time of the next action.
    pub fn due(&self) -> Duration {
        self.next.min(self.began + MAXIMUM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 11.13: requests every 201 TU until the maximum of 1000 TU.
    #[test]
    fn an_sa_query_repeats_its_request_and_gives_up_after_1000_tu() {
        let tu = |n: u32| Duration::from_secs(5) + n * TU;
        let mut query = Query::new(tu(0));
        for request in 0..5 {
            assert_eq!(query.due(), tu(201 * request));
            assert_eq!(query.poll(tu(201 * request)), Asked::Ask);
            assert_eq!(query.poll(tu(201 * request + 195)), Asked::Wait);
        }
        assert_eq!(query.due(), tu(1000));
        assert_eq!(query.poll(tu(1000)), Asked::Gone);
    }
}
