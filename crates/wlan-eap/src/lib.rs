//! 802.1X of a protected WLAN without I/O: a station proves its identity to an authentication server, and the access
//! point only forwards.
//!
//! # Architecture
//!
//! ```text
//!  station                       access point                    authentication server
//!  peer ◄── EAP in EAPOL ──► pass_through ── radius ◄── EAP in RADIUS ──► FreeRADIUS, hostapd, ...
//!    │                             │
//!    └─ MSK ── first 32 octets: the PMK of the 4-way handshake ── MS-MPPE keys of Access-Accept
//! ```
//! State machines take packets and times and return packets and results. The access point's randomness is an argument.
//! TLS draws its randomness from the provider in its [`ClientConfig`](rustls::ClientConfig).
//!
//! | module | contents | source |
//! |---|---|---|
//! | [`eapol`] | EAPOL PDUs | IEEE Std 802.1X-2020 11.3 |
//! | [`packet`] | EAP packets | RFC 3748 section 4 |
//! | [`radius`] | RADIUS packets with EAP, keys, retransmission | RFC 2865, RFC 3579, RFC 2548 |
//! | [`pass_through`] | the access point's side, for many stations | RFC 3748, RFC 3579 section 2 |
//! | [`peer`] | the station's side: EAP-TLS, EAP-TTLS, PEAP | RFC 5216, RFC 9190, RFC 5281, RFC 9427 |
//!
//! A private module computes MSCHAPv2 (RFC 2759).
//!
//! # Security
//!
//! A [`peer`] always verifies the certificate and the name of the server. No setting disables either check.
//! MSCHAPv2 and PAP run only inside the TLS tunnel. Secrets are wiped when dropped and never printed.

#![forbid(unsafe_code)]

pub mod eapol;
mod mschapv2;
pub mod packet;
pub mod pass_through;
pub mod peer;
pub mod radius;
mod secret;

pub use pass_through::PassThrough;
pub use peer::Peer;
pub use secret::{Msk, Secret};
