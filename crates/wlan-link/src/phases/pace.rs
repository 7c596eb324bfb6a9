//! Time: a monotonic clock, rate limits, and the liveness of a peer.

use std::time::Duration;

use wlan_bss::sa_query::{Asked, Query};

/// Minimum time between the starts of two queries of a peer, which bounds what forged frames can trigger.
const QUERY_AGAIN: Duration = Duration::from_secs(1);
/// Monotonic time of the machines. If the caller's clock goes back, this clock stands still.
#[derive(Debug, Default)]
pub struct Steady {
    told: Duration,
    now: Duration,
}

impl Steady {
    /// Converts the caller's time to monotonic time.
    pub fn at(&mut self, told: Duration) -> Duration {
        self.now = self.now.saturating_add(told.saturating_sub(self.told));
        self.told = told;
        self.now
    }

    /// Converts monotonic time to the caller's time.
    pub fn told(&self, at: Duration) -> Duration {
        self.told.saturating_add(at.saturating_sub(self.now))
    }
}

/// A rate limit: at most `most` events at once, plus one per `every`.
#[derive(Debug)]
pub struct Budget {
    most: u32,
    every: Duration,
    left: u32,
    since: Duration,
    /// Number of refused events since the last permitted event.
    refused: u64,
}

impl Budget {
    /// A full budget.
    pub fn new(most: u32, every: Duration) -> Self {
        Self {
            most,
            every,
            left: most,
            since: Duration::ZERO,
            refused: 0,
        }
    }

    /// Takes one event. Returns the number of events refused since the previous permitted event, or `None` if this
    /// event is refused.
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

/// Time at which a peer was last heard, and the query if one is in progress.
#[derive(Debug)]
pub struct Liveness {
    received: u64,
    heard: Duration,
    query: Option<Query>,
    /// Earliest start of the next query.
    asks_from: Duration,
}

impl Liveness {
    /// A peer that was heard now.
    pub fn new(now: Duration) -> Self {
        Self {
            received: 0,
            heard: now,
            query: None,
            asks_from: now,
        }
    }

    /// Records an authentic frame of the peer.
    pub fn hear(&mut self, now: Duration) {
        self.heard = now;
        self.query = None;
    }

    /// Records the total number of authentic MPDUs of the peer. MPDUs from before the query do not answer it.
    pub fn count(&mut self, received: u64, now: Duration) {
        let is_news = std::mem::replace(&mut self.received, received) != received;
        if is_news && self.query.as_ref().is_none_or(Query::was_asked) {
            self.hear(now);
        }
    }

    /// Starts a query unless one is in progress, at most one per second. A query that comes too early starts later.
    pub fn start_query(&mut self, now: Duration) {
        if self.query.is_none() {
            let at = now.max(self.asks_from);
            self.asks_from = at + QUERY_AGAIN;
            self.query = Some(Query::new(at));
        }
    }

    /// The action due now. Starts a query after `keep_alive` of silence.
    pub fn poll(&mut self, keep_alive: Duration, now: Duration) -> Asked {
        if now >= self.heard + keep_alive {
            self.start_query(now);
        }
        self.query.as_mut().map_or(Asked::Wait, |query| query.poll(now))
    }

    /// Time of the next action.
    pub fn due(&self, keep_alive: Duration) -> Duration {
        self.query.as_ref().map_or(self.heard + keep_alive, Query::due)
    }
}

#[cfg(test)]
mod tests {
    use wlan_bss::sa_query::{MAXIMUM as SILENT_AFTER, RETRY, TU};

    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn a_budget_permits_a_burst_then_one_event_per_interval_and_counts_the_refused() {
        let mut budget = Budget::new(3, S);
        let start = 100 * S;
        let burst: Vec<_> = (0..5).map(|_| budget.take(start)).collect();
        assert_eq!(burst, [Some(0), Some(0), Some(0), None, None]);
        assert_eq!(budget.take(start + S / 2), None);
        assert_eq!(budget.take(start + S), Some(3));
        assert_eq!(budget.take(start + S), None);
        assert_eq!(budget.take(start + 2 * S), Some(1));
        // After a long pause the budget is full, and not more than full.
        let later = start + 1000 * S;
        let burst: Vec<_> = (0..4).map(|_| budget.take(later).is_some()).collect();
        assert_eq!(burst, [true, true, true, false]);
        assert_eq!(budget.take(later + S - Duration::from_nanos(1)), None);
        assert_eq!(budget.take(later + S), Some(2));
    }

    #[test]
    fn time_never_goes_back() {
        let mut clock = Steady::default();
        assert_eq!(clock.at(10 * S), 10 * S);
        assert_eq!(clock.at(4 * S), 10 * S, "the caller's clock went back");
        assert_eq!(clock.at(5 * S), 11 * S);
        assert_eq!(clock.told(13 * S), 7 * S);
        assert_eq!(clock.told(11 * S), 5 * S);
    }

    #[test]
    fn a_silent_peer_is_queried_and_any_authentic_frame_answers() {
        let keep_alive = 10 * S;
        let mut peer = Liveness::new(S);
        assert_eq!(peer.due(keep_alive), 11 * S);
        assert_eq!(peer.poll(keep_alive, 10 * S), Asked::Wait);
        peer.count(7, 10 * S);
        assert_eq!(
            peer.poll(keep_alive, 11 * S),
            Asked::Wait,
            "an MPDU arrived at 10 s"
        );
        peer.count(7, 15 * S);
        assert_eq!(
            peer.poll(keep_alive, 20 * S),
            Asked::Ask,
            "no MPDU has arrived since"
        );
        assert_eq!(peer.due(keep_alive), 20 * S + RETRY);
        peer.hear(20 * S + TU);
        assert_eq!(peer.poll(keep_alive, 20 * S + SILENT_AFTER), Asked::Wait);
    }

    #[test]
    fn a_peer_that_answers_is_queried_once_per_second() {
        let mut peer = Liveness::new(S);
        let mut asked = 0;
        for ms in 0..10_000 {
            let now = 2 * S + Duration::from_millis(ms);
            peer.start_query(now);
            if peer.poll(100 * S, now) == Asked::Ask {
                asked += 1;
                peer.hear(now);
            }
        }
        assert_eq!(asked, 10);
        // No trigger is lost: the query starts a second after the previous one.
        peer.start_query(12 * S - Duration::from_millis(1));
        assert_eq!(peer.due(100 * S), 12 * S);
    }

    #[test]
    fn an_mpdu_from_before_the_request_does_not_answer_a_query() {
        let keep_alive = 10 * S;
        let mut peer = Liveness::new(S);
        peer.start_query(2 * S);
        peer.count(1, 2 * S);
        assert_eq!(peer.poll(keep_alive, 2 * S), Asked::Ask);
        peer.start_query(2 * S + SILENT_AFTER / 2);
        assert_eq!(
            peer.poll(keep_alive, 2 * S + SILENT_AFTER),
            Asked::Gone,
            "a query in progress is not restarted"
        );
        peer.count(2, 2 * S + SILENT_AFTER);
        assert_eq!(peer.poll(keep_alive, 2 * S + SILENT_AFTER), Asked::Wait);
    }
}
