//! The outputs of a state machine: management frames, log lines and other actions, in order.

use std::collections::VecDeque;
use std::time::Duration;

use wlan_bss::Beacons;
use wlan_frames::MacAddr;
use wlan_frames::management::Body;

use super::frames::{Protected, Writer};
use super::pace::Budget;
use super::{Action, Event, Outcome, Phase};
use crate::plane::Endpoint;

/// The receiver of a management frame.
#[derive(Debug, Clone, Copy)]
pub struct Destination {
    /// The transport's address of the receiver.
    pub endpoint: Endpoint,
    /// Destination address of the frame.
    pub address: MacAddr,
    /// The BSS of both ends.
    pub bssid: MacAddr,
}

/// The actions that the caller of a state machine has not taken yet.
#[derive(Debug)]
pub struct Outbox {
    writer: Writer,
    actions: VecDeque<Action>,
    /// Rate limit of log lines that any host can trigger.
    lines: Budget,
    /// Rate limit of log lines about sessions, if any host can have one. Other lines do not count, so that a flood does not
    /// hide sessions.
    sessions: Option<Budget>,
}

impl Outbox {
    /// The outbox of the end with this address. `admits_anyone`: whether any host can have a session with it.
    pub fn new(own: MacAddr, admits_anyone: bool) -> Self {
        let limit = || Budget::new(20, Duration::from_secs(5));
        Self {
            writer: Writer::new(own),
            actions: VecDeque::new(),
            lines: limit(),
            sessions: admits_anyone.then(limit),
        }
    }

    /// Takes the next action.
    pub fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Adds an action.
    pub fn push(&mut self, action: Action) {
        self.actions.push_back(action);
    }

    fn push_frame(&mut self, to: Endpoint, protected: bool, frame: Vec<u8>) {
        self.push(Action::Management { to, protected, frame });
    }

    /// Sends an unprotected frame.
    pub fn send(&mut self, to: Destination, body: Body<'_>) {
        let frame = self.writer.frame(to.address, to.bssid, body);
        self.push_frame(to.endpoint, false, frame);
    }

    /// Sends an unprotected request, padded so that no answer is longer.
    pub fn send_request(&mut self, to: Destination, body: Body<'_>) {
        let frame = self.writer.question(to.address, to.bssid, body);
        self.push_frame(to.endpoint, false, frame);
    }

    /// Sends an unprotected answer, unless it is longer than the `request_b` octets of the frame that it answers.
    pub fn send_answer(&mut self, to: Destination, request_b: usize, body: Body<'_>) {
        let frame = self.writer.frame(to.address, to.bssid, body);
        if frame.len() <= request_b {
            self.push_frame(to.endpoint, false, frame);
        }
    }

    /// Sends an unprotected Authentication frame for each SAE body.
    pub fn send_sae(&mut self, to: Destination, bodies: &[Vec<u8>]) {
        for body in bodies {
            if let Ok(body) = Body::authentication(body) {
                self.send(to, body);
            }
        }
    }

    /// Broadcasts a beacon.
    pub fn send_beacon(&mut self, to: Endpoint, beacons: &mut Beacons, now: Duration) {
        self.push_frame(to, false, beacons.next(now));
    }

    /// Sends a frame sealed under the pairwise key of its receiver.
    pub fn send_sealed(&mut self, to: Destination, body: Body<'_>) {
        let frame = self.writer.frame(to.address, to.bssid, body);
        self.push_frame(to.endpoint, true, frame);
    }

    /// Sends a sealed Action frame.
    pub fn send_action(&mut self, to: Destination, content: &Protected) {
        let (category, rest) = content.emit();
        let body = Body::Action {
            category,
            rest: &rest,
        };
        self.send_sealed(to, body);
    }

    /// Adds a log line.
    pub fn log(
        &mut self,
        phase: Phase,
        outcome: Outcome,
        peer: impl Into<Option<MacAddr>>,
        text: impl Into<String>,
    ) {
        self.push(Action::Tell(Event {
            phase,
            outcome,
            peer: peer.into(),
            text: text.into(),
        }));
    }

    /// Adds a log line about an event that any host can trigger, with a rate limit.
    pub fn log_limited(
        &mut self,
        now: Duration,
        phase: Phase,
        outcome: Outcome,
        peer: impl Into<Option<MacAddr>>,
        text: impl Into<String>,
    ) {
        if let Some(omitted) = self.lines.take(now) {
            self.log(phase, outcome, peer, with_omitted(text.into(), omitted));
        }
    }

    /// Adds a log line about a session, with a rate limit if any host can have one.
    pub fn log_session(
        &mut self,
        now: Duration,
        phase: Phase,
        outcome: Outcome,
        peer: impl Into<Option<MacAddr>>,
        text: impl Into<String>,
    ) {
        if let Some(omitted) = self.sessions.as_mut().map_or(Some(0), |limit| limit.take(now)) {
            self.log(phase, outcome, peer, with_omitted(text.into(), omitted));
        }
    }
}

/// The text of a line with the number of omitted lines before it.
fn with_omitted(text: String, omitted: u64) -> String {
    match omitted {
        0 => text,
        _ => format!("{text} ({omitted} similar lines omitted)"),
    }
}

impl Extend<Action> for Outbox {
    fn extend<I: IntoIterator<Item = Action>>(&mut self, actions: I) {
        self.actions.extend(actions);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_log_lines_is_limited_and_the_next_line_counts_the_omitted_ones() {
        let mut outbox = Outbox::new(MacAddr([2; 6]), false);
        let mut log = |at: Duration| {
            outbox.log_limited(at, Phase::Discovery, Outcome::Progress, None, "probe");
            match outbox.poll() {
                Some(Action::Tell(event)) => Some(event.text),
                _ => None,
            }
        };
        let start = Duration::from_secs(100);
        let lines: Vec<_> = (0..50).filter_map(|_| log(start)).collect();
        assert_eq!(lines, vec!["probe"; 20]);
        assert_eq!(
            log(start + Duration::from_secs(5)).as_deref(),
            Some("probe (30 similar lines omitted)")
        );
        assert_eq!(log(start + Duration::from_secs(10)).as_deref(), Some("probe"));
    }
}
