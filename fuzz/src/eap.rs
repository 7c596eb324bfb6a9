//! EAP and RADIUS: neither a station nor an access point panics, and nothing that an attacker sends authenticates.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use wlan_eap::packet::{Code, Packet, kind};
use wlan_eap::peer::{Method, Settings, Tls};
use wlan_eap::{PassThrough, Peer, Secret, eapol, pass_through, radius};

use crate::handshake::{AP, Counter, STATION};

const CA: &[u8] = include_bytes!("../../python/airtoll/labs/certificates/ca.pem");

static SETTINGS: LazyLock<Arc<Settings>> = LazyLock::new(|| {
    Arc::new(Settings {
        method: Method::PeapMsChapV2(Secret::new(b"password".to_vec().into())),
        identity: b"station".to_vec(),
        anonymous_identity: None,
        tls: Tls::new(CA, "radius.airtoll.example", None).expect("the certificate is valid"),
    })
});

/// The first octet of each piece is its length. Each piece is a packet or the data of a method for the station, and a
/// packet of the station or a datagram of the server for the access point.
pub fn eap(mut data: &[u8]) {
    let mut rng = Counter(1);
    let mut peer = Peer::new(SETTINGS.clone());
    let timing = radius::Timing::default();
    let secret = Secret::new(b"shared".to_vec().into());
    let mut ap = PassThrough::new(radius::Client::new(secret, timing, AP, b"ssid", "nas", 1400));
    ap.start(STATION, Duration::ZERO, &mut rng);
    let mut now = Duration::ZERO;
    while let Some((&length, rest)) = data.split_first() {
        let (piece, after) = rest.split_at(rest.len().min(length.into()));
        data = after;
        let request = [&[kind::PEAP], piece].concat();
        let packet = Packet {
            code: Code::Request,
            identifier: length,
            data: &request,
        };
        for octets in [piece, &packet.build()] {
            peer.receive(octets, &mut rng);
            assert!(peer.msk().is_none(), "there was no server");
        }
        let _ = eapol::Pdu::parse(piece);
        ap.receive(STATION, piece, now, &mut rng);
        ap.radius(piece, now);
        now += Duration::from_millis(length.into());
        ap.timeout(now);
        while let Some(output) = ap.poll_output() {
            assert!(!matches!(output, pass_through::Output::Authenticated { .. }));
        }
    }
}
