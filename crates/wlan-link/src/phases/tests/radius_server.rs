//! An authentication server for the world: EAP-TLS in RADIUS.

#[path = "../../../../wlan-eap/tests/common/mod.rs"]
mod eap_tls;

use std::collections::BTreeMap;

use hmac::{Hmac, KeyInit, Mac};
use md5::{Digest, Md5};
use rustls::version::{TLS12, TLS13};
use wlan_eap::packet::{Code, Packet};

pub use eap_tls::{CA, CLIENT, SERVER, SERVER_NAME};

pub const SECRET: &[u8] = b"shared secret";

const EAP_MESSAGE: u8 = 79;
const STATE: u8 = 24;

/// The conversations by their State.
#[derive(Default)]
pub struct RadiusServer {
    conversations: BTreeMap<[u8; 4], eap_tls::Server>,
    started: u32,
    /// Session-Timeout of an Access-Accept, in seconds.
    pub session_timeout_s: Option<u32>,
    pub accepted: usize,
    pub rejected: usize,
}

impl RadiusServer {
    pub fn answer(&mut self, request: &[u8]) -> Vec<u8> {
        assert_eq!(request[0], 1, "an Access-Request");
        let authenticator: [u8; 16] = request[4..20].try_into().unwrap();
        let (mut eap, mut state) = (Vec::new(), None);
        let mut rest = &request[20..];
        while let [kind, length, ..] = rest {
            let (attribute, after) = rest.split_at((*length).into());
            match *kind {
                EAP_MESSAGE => eap.extend_from_slice(&attribute[2..]),
                STATE => state = Some(<[u8; 4]>::try_from(&attribute[2..]).unwrap()),
                _ => {}
            }
            rest = after;
        }
        let state = state.unwrap_or_else(|| {
            self.started += 1;
            let version = if self.started.is_multiple_of(2) {
                &TLS12
            } else {
                &TLS13
            };
            let state = self.started.to_be_bytes();
            self.conversations.insert(state, eap_tls::Server::new(version));
            state
        });
        let server = self.conversations.get_mut(&state).unwrap();
        let answer = server.answer(&eap);
        let mut attributes = vec![80, 18];
        attributes.extend([0; 16]);
        for part in answer.chunks(253) {
            attributes.extend([EAP_MESSAGE, u8::try_from(part.len() + 2).unwrap()]);
            attributes.extend_from_slice(part);
        }
        let code = match Packet::parse(&answer).unwrap().code {
            Code::Success => {
                let msk = server.msk().unwrap()[..64].to_vec();
                for (kind, key, salt) in [(17, &msk[..32], 0x81), (16, &msk[32..], 0x82)] {
                    attributes.extend(sealed(kind, key, [salt, 1], &authenticator));
                }
                if let Some(timeout_s) = self.session_timeout_s {
                    attributes.extend([27, 6]);
                    attributes.extend(timeout_s.to_be_bytes());
                }
                self.accepted += 1;
                2
            }
            Code::Failure => {
                self.rejected += 1;
                3
            }
            _ => {
                attributes.extend([STATE, 6]);
                attributes.extend(state);
                11
            }
        };
        let [high, low] = u16::try_from(20 + attributes.len()).unwrap().to_be_bytes();
        let mut packet = [&[code, request[1], high, low], &authenticator[..], &attributes].concat();
        let mut mac = Hmac::<Md5>::new_from_slice(SECRET).unwrap();
        mac.update(&packet);
        packet[22..38].copy_from_slice(&mac.finalize().into_bytes());
        let sum = Md5::new().chain_update(&packet).chain_update(SECRET).finalize();
        packet[4..20].copy_from_slice(&sum);
        packet
    }
}

/// An MS-MPPE key (RFC 2548 section 2.4.2).
fn sealed(kind: u8, key: &[u8], salt: [u8; 2], authenticator: &[u8; 16]) -> Vec<u8> {
    let mut plain = vec![u8::try_from(key.len()).unwrap()];
    plain.extend_from_slice(key);
    plain.resize(plain.len().next_multiple_of(16), 0);
    let (mut out, mut before) = (Vec::new(), [&authenticator[..], &salt].concat());
    for block in plain.chunks(16) {
        let pad = Md5::new().chain_update(SECRET).chain_update(&before).finalize();
        before = block.iter().zip(pad).map(|(octet, pad)| octet ^ pad).collect();
        out.extend_from_slice(&before);
    }
    let length = u8::try_from(4 + out.len()).unwrap();
    [&[26, length + 6, 0, 0, 1, 55, kind, length], &salt[..], &out].concat()
}
