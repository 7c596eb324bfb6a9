//! EAPOL PDUs (IEEE Std 802.1X-2020 11.3).
//!
//! ```text
//!  octet 0 protocol version   1 packet type   2 length of the body (2)   4 body
//! ```

/// The protocol version sent: IEEE Std 802.1X-2004. Every received version is accepted (11.3.1).
const VERSION: u8 = 2;
const HEADER_LEN: usize = 4;

const EAP_PACKET: u8 = 0;
const START: u8 = 1;
const LOGOFF: u8 = 2;
const KEY: u8 = 3;

/// A received PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pdu<'a> {
    /// An EAP packet.
    Eap(&'a [u8]),
    /// The station wants to authenticate.
    Start,
    /// The station leaves.
    Logoff,
    /// A message of a key handshake.
    Key,
}

impl<'a> Pdu<'a> {
    /// Parses a PDU, which Ethernet padding may follow. `None` if it is truncated or of another type.
    #[must_use]
    pub fn parse(octets: &'a [u8]) -> Option<Pdu<'a>> {
        let (&[_, packet_type, high, low], rest) = octets.split_first_chunk::<HEADER_LEN>()?;
        let body = rest.get(..usize::from(u16::from_be_bytes([high, low])))?;
        match packet_type {
            EAP_PACKET => Some(Pdu::Eap(body)),
            START => Some(Pdu::Start),
            LOGOFF => Some(Pdu::Logoff),
            KEY => Some(Pdu::Key),
            _ => None,
        }
    }
}

/// The PDU of an EAP packet.
///
/// # Panics
/// If the packet is longer than 65535 octets.
#[must_use]
pub fn of_eap(packet: &[u8]) -> Vec<u8> {
    build(EAP_PACKET, packet)
}

/// The PDU with which a station asks for an EAP request.
#[must_use]
pub fn start() -> Vec<u8> {
    build(START, &[])
}

fn build(packet_type: u8, body: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(body.len())
        .expect("a body is shorter than 64 KiB")
        .to_be_bytes();
    [&[VERSION, packet_type, high, low], body].concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pdus_have_the_layout_of_the_standard() {
        assert_eq!(of_eap(&[3, 7, 0, 4]), [2, 0, 0, 4, 3, 7, 0, 4]);
        assert_eq!(start(), [2, 1, 0, 0]);
        assert_eq!(Pdu::parse(&[1, 2, 0, 0]), Some(Pdu::Logoff));
        assert_eq!(Pdu::parse(&[3, 3, 0, 1, 2]), Some(Pdu::Key));
        assert_eq!(Pdu::parse(&[2, 0, 0, 5, 3, 7, 0, 4]), None, "truncated");
        assert_eq!(Pdu::parse(&[2, 4, 0, 0]), None, "ASF alert");
    }

    proptest! {
        #[test]
        fn padding_does_not_change_a_pdu(packet: Vec<u8>, padding: [u8; 3]) {
            let padded = [of_eap(&packet), padding.to_vec()].concat();
            prop_assert_eq!(Pdu::parse(&padded), Some(Pdu::Eap(&packet)));
        }
    }
}
