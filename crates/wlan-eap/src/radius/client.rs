//! The requests of an access point to one server: identifiers, retransmission, answers.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use rand_core::CryptoRng;
use wlan_frames::MacAddr;

use super::{Attributes, Code, Response, attribute, keys, request};
use crate::{Msk, Secret};

/// NAS-Port-Type of 802.11 (RFC 2865 section 5.41).
const WIRELESS_802_11: u32 = 19;
/// Service-Type "Framed" (RFC 3580 section 3.2).
const FRAMED: u32 = 2;

/// Times of retransmissions (RFC 2865 section 2.5, RFC 5080 section 2.2.1).
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// Time before the first retransmission; each further one waits twice as long.
    pub first: Duration,
    /// Number of transmissions.
    pub tries: u8,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(1),
            tries: 4,
        }
    }
}

/// The description of a station in a request.
#[derive(Debug, Clone, Copy)]
pub struct Station<'a, P = MacAddr> {
    /// The station as the caller identifies it. Its address is the Calling-Station-Id.
    pub peer: P,
    /// Its identity: User-Name.
    pub identity: &'a [u8],
    /// The State of the last challenge.
    pub state: Option<&'a [u8]>,
}

/// An event about a station.
#[derive(Debug)]
pub enum Event {
    /// The server's answer.
    Answer {
        /// The kind of the answer.
        code: Code,
        /// The EAP packet for the station.
        eap: Option<Vec<u8>>,
        /// State for the next request.
        state: Option<Vec<u8>>,
        /// The MSK, in an Accept with keys.
        msk: Option<Msk>,
        /// Maximum duration of the session, in an Accept.
        session_timeout: Option<Duration>,
        /// The server's words for the operator.
        message: Option<String>,
    },
    /// The server did not answer.
    NoAnswer {
        /// Answers whose authenticator was wrong: the shared secret differs, or they were forged.
        refused: u32,
    },
}

struct Pending<P> {
    station: P,
    packet: Vec<u8>,
    authenticator: [u8; 16],
    tries: u8,
    next: Duration,
    refused: u32,
}

/// The client of one server. A station has at most one request in progress. `P` identifies a station to the caller.
pub struct Client<P = MacAddr> {
    secret: Secret,
    timing: Timing,
    /// Attributes that are the same in all requests.
    common: Vec<(u8, Vec<u8>)>,
    pending: BTreeMap<u8, Pending<P>>,
    next_identifier: u8,
    outgoing: VecDeque<Vec<u8>>,
}

impl<P> std::fmt::Debug for Client<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("pending", &self.pending.len())
            .finish_non_exhaustive()
    }
}

impl<P: Copy + Ord + Into<MacAddr>> Client<P> {
    /// A client that shares `secret` with its server, of the access point `own` with this SSID. `framed_mtu` is the
    /// maximum number of octets in an EAP packet to a station.
    #[must_use]
    pub fn new(
        secret: Secret,
        timing: Timing,
        own: MacAddr,
        ssid: &[u8],
        nas: &str,
        framed_mtu: u32,
    ) -> Self {
        let called = [dashed(own).as_bytes(), b":", ssid].concat();
        let common = vec![
            (attribute::NAS_IDENTIFIER, nas.as_bytes().to_vec()),
            (attribute::CALLED_STATION_ID, called),
            (attribute::NAS_PORT_TYPE, WIRELESS_802_11.to_be_bytes().to_vec()),
            (attribute::SERVICE_TYPE, FRAMED.to_be_bytes().to_vec()),
            (attribute::FRAMED_MTU, framed_mtu.to_be_bytes().to_vec()),
        ];
        Self {
            secret,
            timing,
            common,
            pending: BTreeMap::new(),
            next_identifier: 0,
            outgoing: VecDeque::new(),
        }
    }

    /// Sends an EAP packet of a station. Returns false if all identifiers are in use, or the packet is too long. The
    /// station's previous request, if any, is forgotten.
    pub fn send(
        &mut self,
        station: Station<'_, P>,
        eap: &[u8],
        now: Duration,
        rng: &mut dyn CryptoRng,
    ) -> bool {
        self.forget(station.peer);
        let free = (0..=u8::MAX).map(|n| self.next_identifier.wrapping_add(n));
        let Some(identifier) = free.into_iter().find(|id| !self.pending.contains_key(id)) else {
            return false;
        };
        let mut attributes = Attributes::default();
        attributes.push(attribute::USER_NAME, station.identity);
        attributes.push(
            attribute::CALLING_STATION_ID,
            dashed(station.peer.into()).as_bytes(),
        );
        for (kind, value) in &self.common {
            attributes.push(*kind, value);
        }
        if let Some(state) = station.state {
            attributes.push(attribute::STATE, state);
        }
        attributes.push_eap(eap);
        let mut authenticator = [0; 16];
        rng.fill_bytes(&mut authenticator);
        let Some(packet) = request(identifier, &authenticator, &attributes, &self.secret) else {
            return false;
        };
        self.next_identifier = identifier.wrapping_add(1);
        self.outgoing.push_back(packet.clone());
        let pending = Pending {
            station: station.peer,
            packet,
            authenticator,
            tries: 1,
            next: now + self.timing.first,
            refused: 0,
        };
        self.pending.insert(identifier, pending);
        true
    }

    /// Drops the request of a station.
    pub fn forget(&mut self, station: P) {
        self.pending.retain(|_, pending| pending.station != station);
    }

    /// The next datagram for the server.
    pub fn poll_send(&mut self) -> Option<Vec<u8>> {
        self.outgoing.pop_front()
    }

    /// Processes a datagram of the server. A datagram that does not answer a request, or was not made with the shared
    /// secret, has no effect.
    pub fn receive(&mut self, datagram: &[u8]) -> Option<(P, Event)> {
        let identifier = Response::identifier(datagram)?;
        let pending = self.pending.get_mut(&identifier)?;
        let Some(response) = Response::parse(datagram, &pending.authenticator, &self.secret) else {
            pending.refused = pending.refused.saturating_add(1);
            return None;
        };
        let accepted = response.code == Code::Accept;
        let msk = if accepted {
            keys::msk(&response, &pending.authenticator, &self.secret)
        } else {
            None
        };
        let seconds = |value: &[u8]| {
            Some(Duration::from_secs(
                u32::from_be_bytes(value.try_into().ok()?).into(),
            ))
        };
        let message = response.all(attribute::REPLY_MESSAGE).next().map(printable);
        let event = Event::Answer {
            code: response.code,
            eap: response.eap(),
            state: response.all(attribute::STATE).next().map(<[u8]>::to_vec),
            msk,
            session_timeout: response
                .all(attribute::SESSION_TIMEOUT)
                .next()
                .and_then(seconds)
                .filter(|_| accepted),
            message,
        };
        let pending = self.pending.remove(&identifier)?;
        Some((pending.station, event))
    }

    /// The time of the next retransmission.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Duration> {
        self.pending.values().map(|pending| pending.next).min()
    }

    /// Retransmits requests, octet for octet, and gives up those without an answer.
    pub fn timeout(&mut self, now: Duration) -> Vec<(P, Event)> {
        let mut over = Vec::new();
        let (timing, outgoing) = (self.timing, &mut self.outgoing);
        self.pending.retain(|_, pending| {
            if now < pending.next {
                return true;
            }
            if pending.tries >= timing.tries {
                let refused = pending.refused;
                over.push((pending.station, Event::NoAnswer { refused }));
                return false;
            }
            pending.next = now + timing.first.saturating_mul(1 << pending.tries.min(16));
            pending.tries += 1;
            outgoing.push_back(pending.packet.clone());
            true
        });
        over
    }
}

/// An address as RFC 3580 section 3.20 writes it.
fn dashed(address: MacAddr) -> String {
    let octets: Vec<String> = address.0.iter().map(|octet| format!("{octet:02X}")).collect();
    octets.join("-")
}

/// At most 200 characters, without control characters, for the log.
pub(crate) fn printable(text: &[u8]) -> String {
    String::from_utf8_lossy(text)
        .chars()
        .filter(|character| !character.is_control())
        .take(200)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::super::tests::{answer, secret};
    use super::super::{MAX_LEN, each};
    use super::*;

    struct Counting(u8);

    impl rand_core::TryRng for Counting {
        type Error = Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Infallible> {
            Ok(0)
        }

        fn try_next_u64(&mut self) -> Result<u64, Infallible> {
            Ok(0)
        }

        fn try_fill_bytes(&mut self, octets: &mut [u8]) -> Result<(), Infallible> {
            self.0 = self.0.wrapping_add(1);
            octets.fill(self.0);
            Ok(())
        }
    }

    impl rand_core::TryCryptoRng for Counting {}

    const AP: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xa0]);
    const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

    fn client() -> Client {
        Client::new(secret("shared"), Timing::default(), AP, b"office", "link", 1020)
    }

    fn send(client: &mut Client, station: MacAddr, eap: &[u8]) -> bool {
        let station = Station {
            peer: station,
            identity: b"me",
            state: Some(b"state"),
        };
        client.send(station, eap, Duration::ZERO, &mut Counting(0))
    }

    #[test]
    fn a_request_names_the_station_the_access_point_and_the_state() {
        let mut client = client();
        assert!(send(&mut client, STATION, &[2, 0, 0, 5, 1]));
        let packet = client.poll_send().unwrap();
        assert_eq!(packet[0], 1);
        let values: Vec<_> = each(&packet[20..]).flatten().collect();
        for expected in [
            (attribute::USER_NAME, &b"me"[..]),
            (attribute::CALLING_STATION_ID, b"02-00-00-00-00-01"),
            (attribute::CALLED_STATION_ID, b"02-00-00-00-00-A0:office"),
            (attribute::STATE, b"state"),
            (attribute::EAP_MESSAGE, &[2, 0, 0, 5, 1]),
            (attribute::NAS_PORT_TYPE, &[0, 0, 0, 19]),
        ] {
            assert!(values.contains(&expected), "{expected:?}");
        }
        assert_eq!(values[0].0, attribute::MESSAGE_AUTHENTICATOR);
    }

    #[test]
    fn a_request_is_repeated_unchanged_and_given_up_after_the_last_try() {
        let mut client = client();
        send(&mut client, STATION, &[2, 0, 0, 5, 1]);
        let first = client.poll_send().unwrap();
        for seconds in [1, 3, 7] {
            assert_eq!(client.next_timeout(), Some(Duration::from_secs(seconds)));
            assert!(client.timeout(Duration::from_secs(seconds)).is_empty());
            assert_eq!(client.poll_send(), Some(first.clone()));
        }
        let over = client.timeout(Duration::from_secs(15));
        assert!(matches!(over[..], [(STATION, Event::NoAnswer { refused: 0 })]));
        assert_eq!((client.next_timeout(), client.poll_send()), (None, None));
    }

    #[test]
    fn an_answer_ends_its_request_and_a_forged_one_is_counted() {
        let mut client = client();
        send(&mut client, STATION, &[2, 0, 0, 5, 1]);
        let packet = client.poll_send().unwrap();
        let authenticator: [u8; 16] = packet[4..20].try_into().unwrap();
        let values: [(u8, &[u8]); 2] = [
            (attribute::EAP_MESSAGE, &[1, 1, 0, 6, 13, 32]),
            (attribute::STATE, b"next"),
        ];
        let forged = answer(11, packet[1], &authenticator, &values, &secret("other"));
        assert!(client.receive(&forged).is_none());
        let real = answer(11, packet[1], &authenticator, &values, &secret("shared"));
        let Some((
            STATION,
            Event::Answer {
                code: Code::Challenge,
                eap,
                state,
                msk: None,
                ..
            },
        )) = client.receive(&real)
        else {
            panic!("a challenge")
        };
        assert_eq!(
            (eap, state),
            (Some(vec![1, 1, 0, 6, 13, 32]), Some(b"next".to_vec()))
        );
        assert!(client.receive(&real).is_none(), "a repeated answer");
        send(&mut client, STATION, &[2, 1, 0, 5, 1]);
        client.receive(&[&[11, 1][..], &[0; 30]].concat());
        for seconds in [1, 3, 7] {
            client.timeout(Duration::from_secs(seconds));
        }
        let over = client.timeout(Duration::from_secs(15));
        assert!(matches!(over[..], [(STATION, Event::NoAnswer { refused: 1 })]));
    }

    #[test]
    fn requests_are_bounded_by_their_identifiers_and_their_length() {
        let mut client = client();
        for last in 0..=255 {
            assert!(send(
                &mut client,
                MacAddr([2, 0, 0, 0, 1, last]),
                &[2, 0, 0, 5, 1]
            ));
        }
        assert!(!send(&mut client, STATION, &[2, 0, 0, 5, 1]));
        // A further request of a station replaces its previous one.
        assert!(send(&mut client, MacAddr([2, 0, 0, 0, 1, 9]), &[2, 0, 0, 5, 1]));
        client.forget(MacAddr([2, 0, 0, 0, 1, 0]));
        assert!(!send(&mut client, STATION, &[0; MAX_LEN]));
        assert!(send(&mut client, STATION, &[2, 0, 0, 5, 1]));
    }
}
