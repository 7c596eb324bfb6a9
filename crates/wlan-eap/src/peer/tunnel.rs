//! TLS in fragments of EAP packets (RFC 5216 section 3, RFC 5281 section 9, PEAP).
//!
//! ```text
//!  octet 0 flags: L (0x80), M (0x40), S (0x20), version (bits 0 to 2)   1 with L: length of the message (4)   data
//! ```
//! A side acknowledges each fragment but the last one with an empty packet.

use std::io::{Read as _, Write as _};

use rustls::{ClientConnection, ProtocolVersion};
use zeroize::Zeroizing;

use super::{Failure, Method, Settings};
use crate::Msk;
use crate::packet::kind;

const LENGTH: u8 = 0x80;
const MORE: u8 = 0x40;
const START: u8 = 0x20;

/// Octets of TLS in one packet. With all headers and tags it fits the MTU of every transport.
const FRAGMENT_LEN: usize = 1000;
/// Maximum octets of a message.
const MESSAGE_LEN: usize = 64 * 1024;

/// Label of the exporter of EAP-TLS and PEAP, and of EAP-TTLS, up to TLS 1.2 (RFC 5216 section 2.3, RFC 5281 section 8).
const LABEL: &[u8] = b"client EAP encryption";
const LABEL_TTLS: &[u8] = b"ttls keying material";
/// Label of all methods with TLS 1.3; the context is their type (RFC 9190 section 2.3, RFC 9427 section 2.1).
const LABEL_1_3: &[u8] = b"EXPORTER_EAP_TLS_Key_Material";

/// Octets of the keying material: the MSK and then the EMSK. The exporter of TLS 1.3 depends on the length.
const MATERIAL_LEN: usize = 2 * Msk::LEN;

pub(super) struct Tunnel {
    tls: ClientConnection,
    kind: u8,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    /// Octets of `outgoing` that have been sent.
    sent: usize,
}

impl Tunnel {
    /// Starts TLS.
    pub(super) fn new(settings: &Settings) -> Result<Self, Failure> {
        let tls = &settings.tls;
        let connection =
            ClientConnection::new(tls.config.clone(), tls.server.clone()).map_err(|error| failed(&error))?;
        Ok(Self {
            tls: connection,
            kind: settings.method.kind(),
            incoming: Vec::new(),
            outgoing: Vec::new(),
            sent: 0,
        })
    }

    /// Whether the data of a Request starts a conversation.
    pub(super) fn is_start(data: &[u8]) -> bool {
        data.first().is_some_and(|flags| flags & START != 0)
    }

    /// Processes the data of a Request. Returns true once a whole message has passed TLS, so that the method inside can
    /// proceed; false if it was a fragment or an acknowledgement.
    pub(super) fn receive(&mut self, data: &[u8]) -> Result<bool, Failure> {
        let (&flags, mut rest) = data.split_first().ok_or(Failure::Malformed)?;
        if flags & START != 0 {
            // TLS writes its first message unasked.
            self.collect()?;
            return Ok(false);
        }
        if flags & LENGTH != 0 {
            let (length, after) = rest.split_first_chunk::<4>().ok_or(Failure::Malformed)?;
            if usize::try_from(u32::from_be_bytes(*length)).is_ok_and(|length| length > MESSAGE_LEN) {
                return Err(Failure::Malformed);
            }
            rest = after;
        }
        if self.sent < self.outgoing.len() {
            // Our next fragment is due.
            return if rest.is_empty() {
                Ok(false)
            } else {
                Err(Failure::Malformed)
            };
        }
        if self.incoming.len() + rest.len() > MESSAGE_LEN {
            return Err(Failure::Malformed);
        }
        self.incoming.extend_from_slice(rest);
        if flags & MORE != 0 {
            return Ok(false);
        }
        let message = std::mem::take(&mut self.incoming);
        let mut unread = &message[..];
        let mut outcome = Ok(());
        while !unread.is_empty() && outcome.is_ok() {
            let read = self.tls.read_tls(&mut unread).map_err(|_| Failure::Malformed)?;
            outcome = self.tls.process_new_packets().map(|_| ());
            if read == 0 {
                break;
            }
        }
        // Also after an error: an alert for the server.
        self.collect()?;
        outcome.map_err(|error| failed(&error))?;
        Ok(true)
    }

    /// Takes the messages that TLS wants to send.
    fn collect(&mut self) -> Result<(), Failure> {
        if self.sent == self.outgoing.len() {
            self.outgoing.clear();
            self.sent = 0;
        }
        while self.tls.wants_write() {
            self.tls
                .write_tls(&mut self.outgoing)
                .map_err(|_| Failure::Malformed)?;
        }
        Ok(())
    }

    /// The data of the next Response: a fragment, or an acknowledgement.
    pub(super) fn next_fragment(&mut self) -> Vec<u8> {
        let rest = &self.outgoing[self.sent..];
        let part = &rest[..rest.len().min(FRAGMENT_LEN)];
        let mut flags = 0;
        let mut length = Vec::new();
        if self.sent == 0 && rest.len() > FRAGMENT_LEN {
            flags |= LENGTH;
            length = u32::try_from(rest.len())
                .unwrap_or(u32::MAX)
                .to_be_bytes()
                .to_vec();
        }
        if part.len() < rest.len() {
            flags |= MORE;
        }
        let data = [&[flags], &length[..], part].concat();
        self.sent += part.len();
        data
    }

    /// Whether the tunnel protects data in both directions.
    pub(super) fn is_open(&self) -> bool {
        !self.tls.is_handshaking()
    }

    pub(super) fn is_tls_1_3(&self) -> bool {
        self.tls.protocol_version() == Some(ProtocolVersion::TLSv1_3)
    }

    /// The data that has arrived in the tunnel.
    pub(super) fn read(&mut self) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let mut data = Zeroizing::new(Vec::new());
        let mut part = Zeroizing::new([0; 1024]);
        loop {
            match self.tls.reader().read(&mut *part) {
                Ok(0) => return Ok(data),
                Ok(len) => data.extend_from_slice(&part[..len]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(data),
                Err(_) => return Err(Failure::Malformed),
            }
        }
    }

    /// Sends data in the tunnel.
    pub(super) fn write(&mut self, data: &[u8]) -> Result<(), Failure> {
        self.tls
            .writer()
            .write_all(data)
            .map_err(|_| Failure::Malformed)?;
        self.collect()
    }

    /// Keying material (RFC 5705).
    pub(super) fn export(
        &self,
        label: &[u8],
        context: Option<&[u8]>,
        len: usize,
    ) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let mut out = Zeroizing::new(vec![0; len]);
        self.tls
            .export_keying_material(&mut out[..], label, context)
            .map_err(|error| failed(&error))?;
        Ok(out)
    }

    /// The MSK of a complete method.
    pub(super) fn msk(&self) -> Result<Msk, Failure> {
        let mut material = if self.is_tls_1_3() {
            self.export(LABEL_1_3, Some(&[self.kind]), MATERIAL_LEN)?
        } else if self.kind == kind::TTLS {
            self.export(LABEL_TTLS, None, MATERIAL_LEN)?
        } else {
            self.export(LABEL, None, MATERIAL_LEN)?
        };
        material.truncate(Msk::LEN);
        Ok(Msk::new(material))
    }
}

impl Method {
    /// The label with which EAP-TTLS derives the challenge of MSCHAPv2 (RFC 5281 section 11.1; RFC 9427 section 2.2).
    pub(super) const TTLS_CHALLENGE: &'static [u8] = b"ttls challenge";
}

fn failed(error: &rustls::Error) -> Failure {
    Failure::Tls(error.to_string())
}
