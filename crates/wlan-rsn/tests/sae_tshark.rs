//! tshark reads the emitted values from SAE and OWE frames.

mod common;
#[path = "common/sae.rs"]
mod sides;

use std::sync::Arc;
use std::time::Duration;

use common::TestRng;
use sides::{ACCESS_POINT, METHODS, STATION, config, password, start};
use test_support::{capture, tshark};
use wlan_frames::radiotap::Radiotap;
use wlan_rsn::Group;
use wlan_rsn::owe::{DhParameter, Station};
use wlan_rsn::sae::{Limits, Message, Method, Parent, status};

const AUTHENTICATION: u8 = 0xb0;
const ASSOCIATION_REQUEST: u8 = 0x00;

/// A management frame from the station to the access point.
fn frame(subtype: u8, body: &[u8]) -> Vec<u8> {
    let radiotap = Radiotap::default();
    let mut frame = vec![0; radiotap.len()];
    radiotap.emit(&mut frame);
    frame.extend([subtype, 0, 0, 0]);
    for address in [ACCESS_POINT, STATION, ACCESS_POINT] {
        frame.extend(address.0);
    }
    frame.extend([0, 0]);
    frame.extend(body);
    frame
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

#[test]
fn every_field_of_an_sae_frame() {
    let mut rng = TestRng(1);
    let groups = [Group::P384, Group::P256];
    let guests = password("mekmitasdigoat", Some("guests"), &groups);
    let everyone = password("mekmitasdigoat", None, &groups);
    let now = Duration::ZERO;
    let mut bodies: Vec<Vec<u8>> = Vec::new();
    for method in METHODS {
        let secret = match method {
            Method::HashToElement => guests.clone(),
            Method::HuntingAndPecking => everyone.clone(),
        };
        let limits = Limits {
            threshold: 0,
            ..Limits::default()
        };
        let config = config(&[Group::P256]);
        let mut parent = Parent::new(ACCESS_POINT, config, vec![Arc::clone(&secret)], limits, [7; 32]);
        let (mut station, first) = start(method, &groups, secret, &mut rng);
        // A token for a group that is then refused, the refusal, the Commits, the Confirms.
        let mut heard = first;
        while let Some(said) = parent.receive(now, STATION, &heard, &mut rng).frames.pop() {
            let answer = station.receive(now, &said, &mut rng).frames.pop();
            bodies.extend([std::mem::replace(&mut heard, answer.unwrap_or_default()), said]);
        }
    }
    let parsed: Vec<_> = bodies.iter().map(|body| Message::parse(body).unwrap()).collect();
    let fields = [
        "wlan.fixed.auth.alg",
        "wlan.fixed.auth_seq",
        "wlan.fixed.status_code",
        "wlan.fixed.finite_cyclic_group",
        "wlan.fixed.scalar",
        "wlan.fixed.finite_field_element",
        "wlan.fixed.send_confirm",
        "wlan.fixed.confirm",
        "wlan.ext_tag.sae.password_identifier",
        "wlan.ext_tag.rejected_groups.group",
        "wlan.ext_tag.sae.anti_clogging_token",
        "wlan.fixed.anti_clogging_token",
        "_ws.malformed",
    ];
    let frames: Vec<_> = bodies.iter().map(|body| frame(AUTHENTICATION, body)).collect();
    let Some(seen) = tshark(&capture(&frames), &[], &fields) else {
        return;
    };
    assert_eq!(seen.len(), parsed.len());
    for (seen, message) in seen.iter().zip(&parsed) {
        assert_eq!(seen, &expected(message), "{message:02x?}");
    }
    let has = |wanted: fn(&Message<'_>) -> bool| parsed.iter().any(wanted);
    assert!(has(|message| matches!(message, Message::TokenRequired { .. })));
    assert!(has(|message| matches!(message, Message::GroupRefused { .. })));
    assert!(has(|message| matches!(message, Message::Confirm { .. })));
}

/// The values of the fields of a message in tshark's output, in order.
fn expected(message: &Message<'_>) -> Vec<String> {
    let mut seen = vec![String::new(); 13];
    seen[0] = "3".to_owned();
    let mut set = |transaction: u16, status: u16, fields: &[(usize, String)]| {
        seen[1] = format!("{transaction:#06x}");
        seen[2] = format!("{status:#06x}");
        for (at, value) in fields {
            seen[*at].clone_from(value);
        }
    };
    match *message {
        Message::Commit(commit) => {
            let (status, token_at) = match commit.method {
                Method::HashToElement => (status::SAE_HASH_TO_ELEMENT, 10),
                Method::HuntingAndPecking => (status::SUCCESS, 11),
            };
            let rejected = commit.rejected.first().map(u8::to_string);
            let identifier = commit
                .identifier
                .map(|octets| String::from_utf8_lossy(octets).into_owned());
            let fields = [
                (3, commit.group.number().to_string()),
                (4, hex(commit.scalar)),
                (5, hex(commit.element)),
                (8, identifier.unwrap_or_default()),
                (9, rejected.unwrap_or_default()),
                (token_at, commit.token.map(hex).unwrap_or_default()),
            ];
            set(1, status, &fields);
        }
        Message::TokenRequired { group, rest } => {
            // In the element, the token follows the element ID, length and extension.
            let (token_at, token) = if rest.len() == 32 {
                (11, rest)
            } else {
                (10, &rest[3..])
            };
            let fields = [(3, group.to_string()), (token_at, hex(token))];
            set(1, status::ANTI_CLOGGING_TOKEN_REQUIRED, &fields);
        }
        Message::GroupRefused { group } => {
            set(
                1,
                status::UNSUPPORTED_FINITE_CYCLIC_GROUP,
                &[(3, group.to_string())],
            );
        }
        Message::Confirm {
            send_confirm,
            confirm,
        } => {
            set(
                2,
                status::SUCCESS,
                &[(6, send_confirm.to_string()), (7, hex(confirm))],
            );
        }
        Message::ForeignCommit { .. } | Message::Refused { .. } => unreachable!("not sent in this test"),
    }
    seen
}

#[test]
fn the_parameter_of_owe() {
    let element = Station::new(&[Group::P384], &mut TestRng(1)).unwrap().element();
    let body = [&[0; 4][..], &[0, 3, b'n', b'e', b't'], &element].concat();
    let fields = [
        "wlan.ext_tag.owe_dh_parameter.group",
        "wlan.ext_tag.owe_dh_parameter.public_key",
    ];
    let Some(seen) = tshark(&capture(&[frame(ASSOCIATION_REQUEST, &body)]), &[], &fields) else {
        return;
    };
    let public_key = hex(DhParameter::find(&element).unwrap().public_key);
    assert_eq!(seen, [["20".to_owned(), public_key]]);
}
