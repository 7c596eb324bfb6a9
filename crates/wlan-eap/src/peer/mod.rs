//! The station's side of EAP (RFC 3748): one method, configured in advance, inside or as TLS.
//!
//! ```text
//!  Request/Identity ──► Response/Identity: the anonymous identity
//!  Request of the method ──► tunnel: fragments, TLS ──► inner: nothing (TLS), PAP or MSCHAPv2 (TTLS), EAP (PEAP)
//!  Success, once the method is complete ──► MSK
//! ```
//! - Only the configured method is used. The peer answers a Request of another method with a Nak.
//! - Success is accepted only after the method is complete, because it is not authenticated. The MSK is available
//!   before: a Success can be lost, and a handshake message under the PMK proves it as well (RFC 3748 section 7.12).
//! - Failure is not authenticated either, so it does not end a conversation: [`Peer::failed`] returns it as the likely
//!   reason of a timeout. A failure inside the tunnel or of TLS does end the conversation.

mod inner;
mod settings;
mod tunnel;

use std::fmt;
use std::sync::Arc;

use rand_core::CryptoRng;

use crate::packet::{Code, Packet, kind};
use crate::radius::printable;
use crate::{Msk, Secret};
use inner::Inner;
use tunnel::Tunnel;

pub use settings::{SettingsError, Tls};

/// The method.
#[derive(Debug, Clone)]
pub enum Method {
    /// EAP-TLS: a certificate of the station.
    Tls,
    /// EAP-TTLS with the password in the tunnel (PAP).
    TtlsPap(Secret),
    /// EAP-TTLS with MSCHAPv2 in the tunnel.
    TtlsMsChapV2(Secret),
    /// PEAP with MSCHAPv2 in the tunnel.
    PeapMsChapV2(Secret),
}

impl Method {
    /// The EAP type.
    const fn kind(&self) -> u8 {
        match self {
            Method::Tls => kind::TLS,
            Method::TtlsPap(_) | Method::TtlsMsChapV2(_) => kind::TTLS,
            Method::PeapMsChapV2(_) => kind::PEAP,
        }
    }

    /// The method's name for the log.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Method::Tls => "EAP-TLS",
            Method::TtlsPap(_) => "EAP-TTLS with PAP",
            Method::TtlsMsChapV2(_) => "EAP-TTLS with MSCHAPv2",
            Method::PeapMsChapV2(_) => "PEAP with MSCHAPv2",
        }
    }
}

/// Settings of a station.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The method and its password.
    pub method: Method,
    /// The station's identity. With EAP-TTLS and PEAP and an anonymous identity, only the tunnel carries it.
    pub identity: Vec<u8>,
    /// The identity outside the tunnel, for the routing of requests.
    pub anonymous_identity: Option<Vec<u8>>,
    /// How to verify the server, and the station's certificate.
    pub tls: Tls,
}

/// Why a conversation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// TLS failed: the certificate of the server is not trusted, has another name, or the server sent an alert.
    #[error("TLS with the authentication server failed: {0}")]
    Tls(String),
    /// The server refuses the user name or the password.
    #[error("wrong user name or password: {0}")]
    WrongPassword(String),
    /// The server did not prove that it knows the password.
    #[error("the authentication server does not know the password (RFC 2759 section 5)")]
    WrongServer,
    /// A message of the method is malformed.
    #[error("a message of the authentication server is malformed")]
    Malformed,
    /// The server ended the conversation, or offers other methods.
    #[error("the authentication server refuses the station")]
    Refused,
}

/// The answer to a packet.
#[derive(Debug, Default)]
pub struct Reply {
    /// An EAP packet for the access point.
    pub response: Option<Vec<u8>>,
    /// The end of the conversation.
    pub end: Option<Result<(), Failure>>,
    /// A message of the server for the operator.
    pub notice: Option<String>,
}

/// The state of one conversation.
pub struct Peer {
    settings: Arc<Settings>,
    /// The last Request, and its Response: a repetition gets the same Response (RFC 3748 section 4.1).
    last: Option<(Vec<u8>, Vec<u8>)>,
    method: Option<(Tunnel, Inner)>,
    msk: Option<Msk>,
    failed: Option<Failure>,
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer")
            .field("complete", &self.msk.is_some())
            .finish_non_exhaustive()
    }
}

impl Peer {
    /// Starts a conversation.
    #[must_use]
    pub fn new(settings: Arc<Settings>) -> Self {
        Self {
            settings,
            last: None,
            method: None,
            msk: None,
            failed: None,
        }
    }

    /// The MSK, once the method is complete.
    #[must_use]
    pub fn msk(&self) -> Option<&Msk> {
        self.msk.as_ref()
    }

    /// The reason of an unauthenticated Failure since the last Request, if there was one.
    #[must_use]
    pub fn failed(&self) -> Option<&Failure> {
        self.failed.as_ref()
    }

    /// Processes an EAP packet. A malformed or unexpected packet has no effect.
    pub fn receive(&mut self, octets: &[u8], rng: &mut dyn CryptoRng) -> Reply {
        let Some(packet) = Packet::parse(octets) else {
            return Reply::default();
        };
        match packet.code {
            Code::Request => self.request(&packet, rng),
            Code::Success if self.msk.is_some() => Reply {
                end: Some(Ok(())),
                ..Reply::default()
            },
            Code::Failure => {
                let has_password = !matches!(self.settings.method, Method::Tls);
                let has_sent_it = self.method.as_ref().is_some_and(|(_, inner)| inner.has_begun());
                self.failed = Some(if has_password && has_sent_it {
                    Failure::WrongPassword(Failure::Refused.to_string())
                } else {
                    Failure::Refused
                });
                Reply::default()
            }
            Code::Success | Code::Response => Reply::default(),
        }
    }

    fn request(&mut self, packet: &Packet<'_>, rng: &mut dyn CryptoRng) -> Reply {
        let whole = packet.build();
        if let Some((request, response)) = &self.last
            && *request == whole
        {
            return Reply {
                response: Some(response.clone()),
                ..Reply::default()
            };
        }
        self.failed = None;
        let &[found, ref rest @ ..] = packet.data else {
            return Reply::default();
        };
        let mut notice = None;
        let mut end = None;
        let data = match found {
            kind::IDENTITY => {
                let settings = &self.settings;
                let identity = settings.anonymous_identity.as_ref().unwrap_or(&settings.identity);
                [&[kind::IDENTITY], &identity[..]].concat()
            }
            kind::NOTIFICATION => {
                notice = Some(printable(rest));
                vec![kind::NOTIFICATION]
            }
            _ if found == self.settings.method.kind() => match self.continue_method(rest, rng) {
                Ok(data) => [&[found], &data[..]].concat(),
                Err(failure) => {
                    end = Some(Err(failure));
                    // An alert, or an acknowledgement, so that the server ends the conversation too (RFC 5216 2.1.3).
                    let last = self.method.as_mut().map(|(tunnel, _)| tunnel.next_fragment());
                    [&[found], &last.unwrap_or_else(|| vec![0])[..]].concat()
                }
            },
            _ => vec![kind::NAK, self.settings.method.kind()],
        };
        let response = Packet {
            code: Code::Response,
            identifier: packet.identifier,
            data: &data,
        }
        .build();
        self.last = Some((whole, response.clone()));
        Reply {
            response: Some(response),
            end,
            notice,
        }
    }

    /// Passes the data of a Request to the tunnel, and then lets the method inside proceed.
    ///
    /// # Errors
    /// [`Failure`]. The tunnel may have a last message for the server.
    fn continue_method(&mut self, data: &[u8], rng: &mut dyn CryptoRng) -> Result<Vec<u8>, Failure> {
        if Tunnel::is_start(data) {
            // The server starts anew.
            self.msk = None;
            self.method = Some((Tunnel::new(&self.settings)?, Inner::default()));
        }
        let (tunnel, inner) = self.method.as_mut().ok_or(Failure::Malformed)?;
        if tunnel.receive(data)? {
            inner.proceed(tunnel, &self.settings, rng)?;
            if inner.is_complete() && self.msk.is_none() {
                self.msk = Some(tunnel.msk()?);
            }
        }
        Ok(tunnel.next_fragment())
    }
}
