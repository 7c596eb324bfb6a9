//! Cookies: proof that the initiator of a handshake receives frames sent to its address. They require no state.
//!
//! A link under load answers the first frame of an unknown station with a cookie, and continues only with stations
//! that return it. An attacker with forged addresses never receives the cookie. SAE's anti-clogging token works in
//! the same way (IEEE 802.11-2020 12.4.6).

use std::time::Duration;

use hmac::{Hmac, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;
use wlan_frames::MacAddr;

use crate::Key;
use crate::hash::{finish, keyed};

/// A cookie is valid for at least this time and at most twice as long.
const LIFETIME: Duration = Duration::from_secs(10);

/// Length of a cookie in octets.
pub const COOKIE_LEN: usize = 16;

/// Issues and checks cookies.
#[derive(Debug)]
pub struct Cookies {
    secret: Key,
}

impl Cookies {
    /// Creates cookies with this secret, which must be random and drawn once at start-up.
    #[must_use]
    pub fn new(secret: &[u8; 32]) -> Cookies {
        Cookies {
            secret: Key::new(secret),
        }
    }

    /// Returns the cookie of a station whose frames come from `place`: its address in the underlying network, as any
    /// octets.
    #[must_use]
    pub fn issue(&self, station: MacAddr, place: &[u8], now: Duration) -> [u8; COOKIE_LEN] {
        self.of(station, place, epoch(now))
    }

    /// Whether a cookie belongs to this station and place, and was issued in the current or the previous period.
    #[must_use]
    pub fn check(&self, station: MacAddr, place: &[u8], cookie: &[u8], now: Duration) -> bool {
        let epoch = epoch(now);
        [Some(epoch), epoch.checked_sub(1)]
            .into_iter()
            .flatten()
            .any(|epoch| bool::from(self.of(station, place, epoch).ct_eq(cookie)))
    }

    fn of(&self, station: MacAddr, place: &[u8], epoch: u64) -> [u8; COOKIE_LEN] {
        let mut mac: Hmac<Sha256> = keyed(self.secret.as_octets());
        mac.update(&station.0);
        mac.update(&epoch.to_be_bytes());
        mac.update(place);
        let mut cookie = [0; COOKIE_LEN];
        finish(mac, &mut cookie);
        cookie
    }
}

fn epoch(now: Duration) -> u64 {
    now.as_secs() / LIFETIME.as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_valid_for_one_station_and_place_until_it_expires() {
        let cookies = Cookies::new(&[7; 32]);
        let (station, other) = (MacAddr([2; 6]), MacAddr([4; 6]));
        let at = Duration::from_secs;
        let cookie = cookies.issue(station, b"here", at(9));
        assert!(cookies.check(station, b"here", &cookie, at(9)));
        assert!(cookies.check(station, b"here", &cookie, at(19)));
        for late in [20, 29, 109] {
            assert!(!cookies.check(station, b"here", &cookie, at(late)), "{late}");
        }
        assert!(!cookies.check(other, b"here", &cookie, at(9)));
        assert!(!cookies.check(station, b"there", &cookie, at(9)));
        assert!(!cookies.check(station, b"here", &cookie[..15], at(9)));
        assert!(!cookies.check(station, b"here", &[], at(9)));
        assert!(!Cookies::new(&[8; 32]).check(station, b"here", &cookie, at(9)));
    }
}
