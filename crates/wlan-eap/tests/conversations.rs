//! The peer with an EAP-TLS server, directly and through an access point and RADIUS.

mod common;
#[path = "../../wlan-rsn/tests/common/mod.rs"]
mod random;

use std::sync::Arc;
use std::time::Duration;

use common::{CA, CLIENT, SERVER_NAME, Server};
use proptest::prelude::*;
use random::TestRng;
use rustls::version::{TLS12, TLS13};
use wlan_eap::packet::{Code, Packet, kind};
use wlan_eap::peer::{Failure, Method, Settings, Tls};
use wlan_eap::{PassThrough, Peer, Secret, eapol, pass_through, radius};
use wlan_frames::MacAddr;

fn settings(ca: &[u8], name: &str, client: &[u8]) -> Arc<Settings> {
    Arc::new(Settings {
        method: Method::Tls,
        identity: b"station@airtoll.example".to_vec(),
        anonymous_identity: None,
        tls: Tls::new(ca, name, Some((client, client))).unwrap(),
    })
}

fn identity_request() -> Vec<u8> {
    Packet {
        code: Code::Request,
        identifier: 1,
        data: &[kind::IDENTITY],
    }
    .build()
}

/// Runs a conversation in which every Request arrives twice; the outcome and the last packet of the server.
fn converse(peer: &mut Peer, server: &mut Server) -> (Option<Result<(), Failure>>, Vec<u8>) {
    let mut rng = TestRng(1);
    let mut packet = identity_request();
    for _ in 0..100 {
        let reply = peer.receive(&packet, &mut rng);
        if reply.response.is_some() {
            assert_eq!(
                peer.receive(&packet, &mut rng).response,
                reply.response,
                "a repeated Request"
            );
        }
        match (reply.end, reply.response) {
            (Some(end), Some(response)) => return (Some(end), server.answer(&response)),
            (Some(end), None) => return (Some(end), packet),
            (None, Some(response)) => packet = server.answer(&response),
            (None, None) => return (None, packet),
        }
    }
    panic!("the conversation has no end")
}

#[test]
fn both_ends_have_the_same_msk() {
    for version in [&TLS12, &TLS13] {
        let mut peer = Peer::new(settings(CA, SERVER_NAME, CLIENT));
        let mut server = Server::new(version);
        let (end, _) = converse(&mut peer, &mut server);
        assert_eq!(end, Some(Ok(())));
        assert_eq!(
            peer.msk().unwrap().pmk(),
            &server.msk().unwrap()[..32],
            "{version:?}"
        );
    }
}

#[test]
fn a_server_without_trust_or_with_another_name_is_refused() {
    // The certificate of the station is no CA.
    for (ca, name) in [(CLIENT, SERVER_NAME), (CA, "other.example")] {
        for version in [&TLS12, &TLS13] {
            let mut peer = Peer::new(settings(ca, name, CLIENT));
            let (end, _) = converse(&mut peer, &mut Server::new(version));
            assert!(matches!(end, Some(Err(Failure::Tls(_)))), "{end:?}");
            assert!(peer.msk().is_none());
        }
    }
}

#[test]
fn a_station_whose_certificate_the_server_refuses_has_no_msk() {
    // A server's certificate is not valid for a client.
    for version in [&TLS12, &TLS13] {
        let mut peer = Peer::new(settings(CA, SERVER_NAME, common::SERVER));
        let (end, last) = converse(&mut peer, &mut Server::new(version));
        assert!(matches!(end, Some(Err(Failure::Tls(_)))), "{end:?}");
        assert_eq!(Packet::parse(&last).unwrap().code, Code::Failure);
        assert!(peer.msk().is_none());
    }
}

#[test]
fn an_early_success_and_a_forged_failure_change_nothing() {
    let mut peer = Peer::new(settings(CA, SERVER_NAME, CLIENT));
    let mut rng = TestRng(2);
    let success = peer.receive(&[3, 1, 0, 4], &mut rng);
    assert!(success.end.is_none() && peer.msk().is_none());
    peer.receive(&[4, 1, 0, 4], &mut rng);
    assert_eq!(peer.failed(), Some(&Failure::Refused));
    let (end, _) = converse(&mut peer, &mut Server::new(&TLS13));
    assert_eq!((end, peer.failed()), (Some(Ok(())), None));
}

#[test]
fn another_method_is_refused_by_name() {
    let mut peer = Peer::new(settings(CA, SERVER_NAME, CLIENT));
    let data = [4, 16, 0, 0];
    let md5 = Packet {
        code: Code::Request,
        identifier: 9,
        data: &data,
    };
    let reply = peer.receive(&md5.build(), &mut TestRng(3));
    assert_eq!(reply.response, Some(vec![2, 9, 0, 6, kind::NAK, kind::TLS]));
}

const AP: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xa0]);

fn station(last: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 1, last])
}

fn access_point() -> PassThrough {
    let secret = Secret::new(b"shared".to_vec().into());
    let timing = radius::Timing::default();
    PassThrough::new(radius::Client::new(secret, timing, AP, b"office", "link", 1400))
}

#[test]
fn an_access_point_repeats_its_request_and_gives_up_a_silent_station() {
    let mut ap = access_point();
    assert!(ap.start(station(1), Duration::ZERO, &mut TestRng(1)));
    let mut sent = Vec::new();
    let mut failed = None;
    while let Some(at) = ap.next_timeout() {
        while let Some(output) = ap.poll_output() {
            match output {
                pass_through::Output::Send { pdu, .. } => sent.push((at, pdu)),
                other => panic!("{other:?}"),
            }
        }
        ap.timeout(at);
    }
    while let Some(output) = ap.poll_output() {
        match output {
            pass_through::Output::Failed { failure, .. } => failed = Some(failure),
            pass_through::Output::Send { pdu, .. } => assert_eq!(pdu[4], 4, "a Failure"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(sent.len(), 5);
    assert!(sent.iter().all(|(_, pdu)| *pdu == sent[0].1));
    assert_eq!(failed, Some(pass_through::Failure::NoStation));
    assert!(ap.is_empty());
}

#[test]
fn a_repeated_response_reaches_the_server_once() {
    let mut ap = access_point();
    let mut rng = TestRng(1);
    ap.start(station(1), Duration::ZERO, &mut rng);
    let Some(pass_through::Output::Send { pdu, .. }) = ap.poll_output() else {
        panic!("a Request")
    };
    let Some(eapol::Pdu::Eap(request)) = eapol::Pdu::parse(&pdu) else {
        panic!("EAP")
    };
    let response = [2, request[1], 0, 7, kind::IDENTITY, b'm', b'e'];
    let mut other = response;
    other[1] = other[1].wrapping_add(1);
    for packet in [other, response, response] {
        ap.receive(station(1), &packet, Duration::ZERO, &mut rng);
    }
    assert!(matches!(ap.poll_output(), Some(pass_through::Output::Radius(_))));
    assert!(ap.poll_output().is_none());
}

#[test]
fn conversations_are_bounded_and_one_gives_way_if_the_caller_says_so() {
    let mut ap = access_point();
    let mut rng = TestRng(1);
    for n in 0..=u8::MAX {
        assert!(ap.start(station(n), Duration::from_millis(n.into()), &mut rng));
    }
    assert_eq!(ap.len(), pass_through::CONVERSATIONS);
    assert!(!ap.start(AP, Duration::from_secs(1), &mut rng));
    ap.displace(station(7));
    assert!(!ap.is_open(station(7)));
    assert!(ap.start(AP, Duration::from_secs(1), &mut rng));
    let outputs = std::iter::from_fn(|| ap.poll_output());
    let told = outputs.filter(|output| match output {
        pass_through::Output::Send { station: to, pdu } => *to == station(7) && pdu[4] == 4,
        pass_through::Output::Failed { failure, .. } => *failure == pass_through::Failure::Displaced,
        _ => false,
    });
    assert_eq!(told.count(), 2, "a Failure for the station, and an event");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Neither arbitrary packets nor arbitrary data of the method make the peer panic or give it an MSK.
    #[test]
    fn arbitrary_packets_never_authenticate(packets in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..40)), 1..12)) {
        let mut peer = Peer::new(settings(CA, SERVER_NAME, CLIENT));
        let mut rng = TestRng(4);
        for (n, (is_method, octets)) in (0..).zip(packets) {
            let data = [&[kind::TLS], &octets[..]].concat();
            let packet = if is_method {
                Packet { code: Code::Request, identifier: n, data: &data }.build()
            } else {
                octets
            };
            peer.receive(&packet, &mut rng);
            prop_assert!(peer.msk().is_none());
        }
    }

    /// Arbitrary packets of stations and of the server have no effect on the access point's other conversations.
    #[test]
    fn arbitrary_packets_reach_no_server(octets: Vec<u8>, datagram: Vec<u8>) {
        let mut ap = access_point();
        let mut rng = TestRng(5);
        ap.start(station(1), Duration::ZERO, &mut rng);
        ap.receive(station(2), &octets, Duration::ZERO, &mut rng);
        ap.radius(&datagram, Duration::ZERO);
        prop_assert!(ap.is_open(station(1)) && ap.len() == 1);
    }
}
