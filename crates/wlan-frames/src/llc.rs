//! LLC/SNAP encapsulation: the 8 octets between the 802.11 or cipher header and an IP packet.
//!
//! ```text
//!  octet  0     1     2        3-5         6-7
//!         DSAP  SSAP  control  OUI         EtherType, most significant octet first
//!         AA    AA    03       00 00 00
//! ```
//! RFC 1042. IEEE 802.11-2020 5.1.4 requires this encapsulation for EtherType protocols.

use core::fmt;

use crate::FrameError;
use crate::bytes::{array, put};
use crate::error::need;

const SNAP_RFC1042: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];

/// The protocol of an MSDU, as registered with the IEEE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EtherType(pub u16);

impl EtherType {
    /// IP version 4.
    pub const IPV4: EtherType = EtherType(0x0800);
    /// Address Resolution Protocol.
    pub const ARP: EtherType = EtherType(0x0806);
    /// IP version 6.
    pub const IPV6: EtherType = EtherType(0x86dd);
    /// EAP over LANs: the 4-way handshake (IEEE 802.1X-2020).
    pub const EAPOL: EtherType = EtherType(0x888e);
}

impl fmt::Display for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:04x}", self.0)
    }
}

/// An LLC/SNAP header with OUI 00-00-00.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LlcSnap {
    /// The protocol of the payload.
    pub ethertype: EtherType,
}

impl LlcSnap {
    /// Length in octets.
    pub const LEN: usize = 8;

    /// Writes the header at the start of `buf` and returns its length in octets.
    ///
    /// # Panics
    /// If `buf` is shorter than [`LEN`](Self::LEN).
    pub fn emit(&self, buf: &mut [u8]) -> usize {
        put(buf, 0, SNAP_RFC1042);
        put(buf, 6, self.ethertype.0.to_be_bytes());
        Self::LEN
    }

    /// Reads the header at the start of `bytes` and ignores the rest.
    ///
    /// # Errors
    /// [`FrameError::Truncated`]; [`FrameError::Field`] for another LLC header or OUI.
    pub fn parse(bytes: &[u8]) -> Result<LlcSnap, FrameError> {
        need("an LLC/SNAP header", bytes, Self::LEN)?;
        if bytes[..6] != SNAP_RFC1042 {
            return Err(FrameError::Field(
                "the LLC header is not SNAP with OUI 00-00-00 (RFC 1042)",
            ));
        }
        Ok(LlcSnap {
            ethertype: EtherType(u16::from_be_bytes(array(bytes, 6))),
        })
    }
}
