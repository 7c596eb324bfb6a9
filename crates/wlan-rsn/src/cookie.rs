//! Cookies: proof that whoever begins a handshake receives what is sent to its address, without any state here.
//!
//! A link that many unknown stations knock at answers the first knock with a cookie, and goes on with those who show it:
//! whoever begins under addresses that are not its own never sees one. (SAE's anti-clogging token is the same thing,
//! IEEE 802.11-2020 12.4.6.)

use std::time::Duration;

use hmac::{Hmac, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;
use wlan_frames::MacAddr;

use crate::Key;
use crate::hash::{finish, keyed};

/// A cookie is good for at least this long, and at most for twice as long.
const LIFETIME: Duration = Duration::from_secs(10);

/// Octets of a cookie.
pub const COOKIE_LEN: usize = 16;

/// Makes and checks cookies.
#[derive(Debug)]
pub struct Cookies {
    secret: Key,
}

impl Cookies {
    /// Cookies that are made with this secret, drawn once at the start.
    #[must_use]
    pub fn new(secret: &[u8; 32]) -> Cookies {
        Cookies {
            secret: Key::new(secret),
        }
    }

    /// The cookie of a station that frames come from `place` of: what the network beneath has for an address, in any octets.
    #[must_use]
    pub fn issue(&self, station: MacAddr, place: &[u8], now: Duration) -> [u8; COOKIE_LEN] {
        self.of(station, place, epoch(now))
    }

    /// Whether a cookie is this station's at this place, and of the present or the last while.
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
    fn a_cookie_is_of_one_station_in_one_place_and_grows_stale() {
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
