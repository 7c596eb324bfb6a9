//! An EAP-TLS server without I/O, for tests of the peer and of the access point. It requires the station's certificate.

use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ProtocolVersion, RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion};
use wlan_eap::packet::{Code, Packet, kind};

pub const CA: &[u8] = include_bytes!("../../../../python/airtoll/labs/certificates/ca.pem");
pub const SERVER: &[u8] = include_bytes!("../../../../python/airtoll/labs/certificates/server.pem");
pub const CLIENT: &[u8] = include_bytes!("../../../../python/airtoll/labs/certificates/client.pem");
pub const SERVER_NAME: &str = "radius.airtoll.example";

const FRAGMENT_LEN: usize = 300;

fn certificates(pem: &[u8]) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem).map(Result::unwrap).collect()
}

/// The server's side of one conversation.
pub struct Server {
    tls: ServerConnection,
    identifier: u8,
    outgoing: Vec<u8>,
    sent: usize,
    incoming: Vec<u8>,
    began: bool,
    committed: bool,
    failed: bool,
}

impl Server {
    pub fn new(version: &'static SupportedProtocolVersion) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        certificates(CA).into_iter().for_each(|ca| roots.add(ca).unwrap());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
        let config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .unwrap()
            .with_client_cert_verifier(verifier.build().unwrap())
            .with_single_cert(
                certificates(SERVER),
                PrivateKeyDer::from_pem_slice(SERVER).unwrap(),
            )
            .unwrap();
        Self {
            tls: ServerConnection::new(Arc::new(config)).unwrap(),
            identifier: 100,
            outgoing: Vec::new(),
            sent: 0,
            incoming: Vec::new(),
            began: false,
            committed: false,
            failed: false,
        }
    }

    fn request(&mut self, data: &[u8]) -> Vec<u8> {
        self.identifier = self.identifier.wrapping_add(1);
        let data = [&[kind::TLS], data].concat();
        Packet {
            code: Code::Request,
            identifier: self.identifier,
            data: &data,
        }
        .build()
    }

    fn end(&self, code: Code) -> Vec<u8> {
        Packet {
            code,
            identifier: self.identifier,
            data: &[],
        }
        .build()
    }

    /// The keying material, once the station has been authenticated.
    pub fn msk(&self) -> Option<Vec<u8>> {
        if self.failed || self.tls.is_handshaking() {
            return None;
        }
        let out = vec![0; 128];
        let exported = match self.tls.protocol_version()? {
            ProtocolVersion::TLSv1_3 => {
                let context = [kind::TLS];
                self.tls
                    .export_keying_material(out, b"EXPORTER_EAP_TLS_Key_Material", Some(&context))
            }
            _ => self
                .tls
                .export_keying_material(out, b"client EAP encryption", None),
        };
        exported.ok()
    }

    /// The answer to a Response: a Request, Success or Failure.
    pub fn answer(&mut self, response: &[u8]) -> Vec<u8> {
        // A channel may damage a Response: the conversation then fails.
        let Some(packet) = Packet::parse(response).filter(|packet| packet.code == Code::Response) else {
            return self.end(Code::Failure);
        };
        if packet.data.first() == Some(&kind::IDENTITY) {
            return self.request(&[0x20]);
        }
        let &[kind::TLS, flags, ref rest @ ..] = packet.data else {
            return self.end(Code::Failure);
        };
        let Some(rest) = rest.get(if flags & 0x80 == 0 { 0 } else { 4 }..) else {
            return self.end(Code::Failure);
        };
        if packet.identifier != self.identifier {
            return self.end(Code::Failure);
        }
        self.incoming.extend_from_slice(rest);
        if flags & 0x40 != 0 {
            return self.request(&[0]);
        }
        if self.sent == self.outgoing.len() {
            let message = std::mem::take(&mut self.incoming);
            let is_acknowledgement = message.is_empty();
            let mut unread = &message[..];
            while !unread.is_empty() {
                if self.tls.read_tls(&mut unread).is_err() {
                    return self.end(Code::Failure);
                }
                self.failed |= self.tls.process_new_packets().is_err();
            }
            if is_acknowledgement && self.began && (self.failed || !self.tls.is_handshaking()) {
                return self.end(if self.failed { Code::Failure } else { Code::Success });
            }
            let is_1_3 = self.tls.protocol_version() == Some(ProtocolVersion::TLSv1_3);
            if is_1_3 && !self.failed && !self.tls.is_handshaking() && !self.committed {
                self.committed = true;
                std::io::Write::write_all(&mut self.tls.writer(), &[0]).unwrap();
            }
            self.outgoing.clear();
            self.sent = 0;
            while self.tls.wants_write() {
                self.tls.write_tls(&mut self.outgoing).unwrap();
            }
            self.began = true;
        }
        let rest = &self.outgoing[self.sent..];
        let part = &rest[..rest.len().min(FRAGMENT_LEN)];
        let mut data = vec![0];
        if self.sent == 0 && rest.len() > FRAGMENT_LEN {
            data[0] |= 0x80;
            data.extend(u32::try_from(rest.len()).unwrap().to_be_bytes());
        }
        if part.len() < rest.len() {
            data[0] |= 0x40;
        }
        data.extend_from_slice(part);
        self.sent += part.len();
        self.request(&data)
    }
}
