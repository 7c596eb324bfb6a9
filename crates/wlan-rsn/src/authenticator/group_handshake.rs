//! Which station is told which group key (IEEE 802.11-2020 12.7.7).

use std::time::Duration;

use wlan_frames::MacAddr;

use super::Authenticator;
use super::station::{Kind, Slot, Station, Wait};

impl Authenticator {
    /// Tells a station the newest group key, if it has a session and not the key, and is not being told one (12.7.7.2).
    pub(super) fn update_group(&mut self, address: MacAddr, now: Duration) {
        let Some(station) = self.stations.get_mut(&address) else {
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
        self.send_again(address, Slot::Session, now);
    }

    /// Sends with the next group key once no station with a session is without it (12.7.7.1).
    pub(super) fn settle_group(&mut self) {
        let generation = self.group.coming();
        if generation.is_none() {
            return;
        }
        // A handshake in which message 3 told the key of before is waited for as well.
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
