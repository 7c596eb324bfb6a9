//! Distribution of group keys to stations (IEEE 802.11-2020 12.7.7).

use std::time::Duration;

use super::Authenticator;
use super::station::{Kind, Slot, Station, Wait};
use crate::Peer;

impl<P: Peer> Authenticator<P> {
    /// Sends the newest group key to a station that has a session, lacks the key and is not receiving one (12.7.7.2).
    pub(super) fn update_group(&mut self, peer: P, now: Duration) {
        let Some(station) = self.stations.get_mut(&peer) else {
            return;
        };
        let keys = self.group.told();
        let Some(session) = &mut station.session else {
            return;
        };
        if session.wait.is_some() || session.generation == Some(keys.generation) {
            return;
        }
        session.wait = Some(Wait::new(Kind::Group(keys.generation), true));
        self.send_again(peer, Slot::Session, now);
    }

    /// Starts transmission with the next group key once every station with a session has it (12.7.7.1).
    pub(super) fn settle_group(&mut self) {
        let generation = self.group.coming();
        if generation.is_none() {
            return;
        }
        // Also wait for a handshake whose message 3 carried the previous key.
        let lacks = |station: &Station| {
            let session = station.session.as_ref().map(|session| session.generation);
            let handshake = station.handshake.as_ref();
            let answer = handshake.and_then(|handshake| handshake.answer.as_ref());
            session.is_some_and(|told| told != generation)
                || answer.is_some_and(|answer| answer.generation != generation)
        };
        if self.stations.values().any(lacks) {
            return;
        }
        self.group.settle(self.address, &mut self.outputs);
    }
}
