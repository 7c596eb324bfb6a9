//! EAP packets (RFC 3748 section 4).
//!
//! ```text
//!  octet 0 code   1 identifier   2 length (2)   4 type, of a Request or a Response   5 data of the type
//! ```

const HEADER_LEN: usize = 4;

/// Types of Requests and Responses (RFC 3748 section 5, and the RFCs of the methods).
pub mod kind {
    /// The identity.
    pub const IDENTITY: u8 = 1;
    /// A message for the operator.
    pub const NOTIFICATION: u8 = 2;
    /// The peer wants another method; only in a Response.
    pub const NAK: u8 = 3;
    /// EAP-TLS (RFC 5216).
    pub const TLS: u8 = 13;
    /// EAP-TTLS (RFC 5281).
    pub const TTLS: u8 = 21;
    /// PEAP.
    pub const PEAP: u8 = 25;
    /// MSCHAPv2, inside PEAP.
    pub const MSCHAPV2: u8 = 26;
    /// Results, inside PEAP.
    pub const TLV: u8 = 33;
}

/// The code of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// From the authenticator.
    Request,
    /// From the peer.
    Response,
    /// The end of a successful conversation.
    Success,
    /// The end of a failed conversation.
    Failure,
}

impl Code {
    const ALL: [(u8, Code); 4] = [
        (1, Code::Request),
        (2, Code::Response),
        (3, Code::Success),
        (4, Code::Failure),
    ];

    fn number(self) -> u8 {
        let found = Self::ALL.iter().find(|(_, code)| *code == self);
        found.map_or(0, |&(number, _)| number)
    }
}

/// A parsed packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Its code.
    pub code: Code,
    /// Matches a Response to its Request.
    pub identifier: u8,
    /// The type, and the data of the type. Empty for Success and Failure.
    pub data: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Parses a packet. Octets after its length are padding. `None` if it is truncated, has an unknown code, or is a
    /// Request or a Response without a type.
    #[must_use]
    pub fn parse(octets: &'a [u8]) -> Option<Packet<'a>> {
        let &[code, identifier, high, low] = octets.first_chunk::<HEADER_LEN>()?;
        let data = octets
            .get(..usize::from(u16::from_be_bytes([high, low])))?
            .get(HEADER_LEN..)?;
        let (_, code) = *Code::ALL.iter().find(|(number, _)| *number == code)?;
        match code {
            Code::Request | Code::Response if data.is_empty() => None,
            Code::Request | Code::Response => Some(Packet {
                code,
                identifier,
                data,
            }),
            Code::Success | Code::Failure => Some(Packet {
                code,
                identifier,
                data: &[],
            }),
        }
    }

    /// Builds the packet.
    ///
    /// # Panics
    /// If the packet is longer than 65535 octets.
    #[must_use]
    pub fn build(&self) -> Vec<u8> {
        let length = u16::try_from(HEADER_LEN + self.data.len()).expect("a packet is shorter than 64 KiB");
        let [high, low] = length.to_be_bytes();
        [&[self.code.number(), self.identifier, high, low], self.data].concat()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn packets_have_the_layout_of_the_rfc() {
        let identity = Packet {
            code: Code::Response,
            identifier: 9,
            data: b"\x01me",
        };
        assert_eq!(identity.build(), [2, 9, 0, 7, 1, b'm', b'e']);
        for wrong in [
            &[1, 9, 0, 5][..],
            &[1, 9, 0, 4],
            &[1, 9, 0, 3, 1],
            &[5, 9, 0, 5, 1],
            &[3, 9, 0],
        ] {
            assert_eq!(Packet::parse(wrong), None, "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn parse_after_build_is_the_identity(code in 0_usize..2, identifier: u8, data in prop::collection::vec(any::<u8>(), 1..99)) {
            let packet = Packet { code: Code::ALL[code].1, identifier, data: &data };
            let padded = [packet.build(), vec![0; 3]].concat();
            prop_assert_eq!(Packet::parse(&padded), Some(packet));
        }

        #[test]
        fn any_octets_are_parsed_or_refused(octets: Vec<u8>) {
            if let Some(packet) = Packet::parse(&octets) {
                prop_assert!(packet.data.len() + HEADER_LEN <= octets.len());
            }
        }
    }
}
