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

    /// The cookie of a station.
    #[must_use]
    pub fn issue(&self, station: MacAddr, now: Duration) -> [u8; COOKIE_LEN] {
        self.of(station, epoch(now))
    }

    /// Whether a cookie is this station's, and of the present or the last while.
    #[must_use]
    pub fn check(&self, station: MacAddr, cookie: &[u8], now: Duration) -> bool {
        let epoch = epoch(now);
        [Some(epoch), epoch.checked_sub(1)]
            .into_iter()
            .flatten()
            .any(|epoch| bool::from(self.of(station, epoch).ct_eq(cookie)))
    }

    fn of(&self, station: MacAddr, epoch: u64) -> [u8; COOKIE_LEN] {
        let mut mac: Hmac<Sha256> = keyed(self.secret.as_octets());
        mac.update(&station.0);
        mac.update(&epoch.to_be_bytes());
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
    fn a_cookie_is_of_one_station_and_grows_stale() {
        let cookies = Cookies::new(&[7; 32]);
        let (station, other) = (MacAddr([2; 6]), MacAddr([4; 6]));
        let at = Duration::from_secs;
        let cookie = cookies.issue(station, at(9));
        assert!(cookies.check(station, &cookie, at(9)));
        assert!(cookies.check(station, &cookie, at(19)));
        assert!(!cookies.check(station, &cookie, at(20)));
        assert!(!cookies.check(other, &cookie, at(9)));
        assert!(!cookies.check(station, &cookie[..15], at(9)));
        assert!(!cookies.check(station, &[], at(9)));
        assert!(!Cookies::new(&[8; 32]).check(station, &cookie, at(9)));
    }
}
