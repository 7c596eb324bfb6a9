//! MS-MPPE-Send-Key and MS-MPPE-Recv-Key, which carry the MSK (RFC 2548 sections 2.4.2 and 2.4.3).

use md5::{Digest, Md5};
use zeroize::{Zeroize, Zeroizing};

use super::{Response, attribute, each};
use crate::{Msk, Secret};

/// Vendor number of Microsoft.
const MICROSOFT: [u8; 4] = 311_u32.to_be_bytes();
const SEND_KEY: u8 = 16;
const RECV_KEY: u8 = 17;

/// The MSK in a response: MS-MPPE-Recv-Key and then MS-MPPE-Send-Key (RFC 5216 section 2.3). `None` if a key is absent,
/// appears twice, or cannot be decrypted.
pub(super) fn msk(response: &Response<'_>, request: &[u8; 16], secret: &Secret) -> Option<Msk> {
    let key = |wanted: u8| -> Option<Zeroizing<Vec<u8>>> {
        let mut found = response
            .all(attribute::VENDOR)
            .filter_map(|value| value.strip_prefix(&MICROSOFT))
            .flat_map(|vendor| each(vendor).flatten())
            .filter(|&(kind, _)| kind == wanted)
            .map(|(_, value)| value);
        let only = found.next().filter(|_| found.next().is_none())?;
        decrypted(only, request, secret).filter(|key| key.len() >= Msk::PMK_LEN)
    };
    let (receive, send) = (key(RECV_KEY)?, key(SEND_KEY)?);
    let mut octets = Zeroizing::new(Vec::with_capacity(Msk::LEN));
    octets.extend_from_slice(&receive[..Msk::PMK_LEN]);
    octets.extend_from_slice(&send[..Msk::LEN - Msk::PMK_LEN]);
    Some(Msk::new(octets))
}

/// Decrypts a key: salt (2), then blocks of 16 octets: the length of the key, the key, padding.
fn decrypted(value: &[u8], request: &[u8; 16], secret: &Secret) -> Option<Zeroizing<Vec<u8>>> {
    let (salt, sealed) = value.split_first_chunk::<2>()?;
    let (blocks, rest) = sealed.as_chunks::<16>();
    if blocks.is_empty() || !rest.is_empty() {
        return None;
    }
    let mut open = Zeroizing::new(Vec::with_capacity(sealed.len()));
    let mut before = [&request[..], salt].concat();
    for block in blocks {
        let mut pad: [u8; 16] = Md5::new()
            .chain_update(secret.as_octets())
            .chain_update(&before)
            .finalize()
            .into();
        open.extend(block.iter().zip(pad).map(|(octet, pad)| octet ^ pad));
        pad.zeroize();
        before = block.to_vec();
    }
    let length = usize::from(open[0]);
    Some(Zeroizing::new(open.get(1..=length)?.to_vec()))
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::tests::{answer, secret};
    use super::*;

    /// Encrypts a key as RFC 2548 section 2.4.2 describes.
    pub(in super::super) fn sealed(
        kind: u8,
        key: &[u8],
        salt: [u8; 2],
        request: &[u8; 16],
        secret: &Secret,
    ) -> Vec<u8> {
        let mut plain = vec![u8::try_from(key.len()).unwrap()];
        plain.extend_from_slice(key);
        plain.resize(plain.len().next_multiple_of(16), 0);
        let (mut out, mut before) = (Vec::new(), [&request[..], &salt].concat());
        for block in plain.chunks(16) {
            let pad = Md5::new()
                .chain_update(secret.as_octets())
                .chain_update(&before)
                .finalize();
            before = block.iter().zip(pad).map(|(octet, pad)| octet ^ pad).collect();
            out.extend_from_slice(&before);
        }
        let length = u8::try_from(2 + 2 + out.len()).unwrap();
        [&MICROSOFT[..], &[kind, length], &salt, &out].concat()
    }

    #[test]
    fn the_msk_is_the_receive_key_and_then_the_send_key() {
        let (request, key) = ([9; 16], secret("shared"));
        let receive = sealed(RECV_KEY, &[1; 32], [0x80, 1], &request, &key);
        let send = sealed(SEND_KEY, &[2; 32], [0x80, 2], &request, &key);
        let both: [(u8, &[u8]); 2] = [(attribute::VENDOR, &send), (attribute::VENDOR, &receive)];
        let packet = answer(2, 0, &request, &both, &key);
        let response = Response::parse(&packet, &request, &key).unwrap();
        assert_eq!(msk(&response, &request, &key).unwrap().pmk(), [1; 32]);
        for attributes in [&both[..1], &[both[0], both[1], both[1]][..]] {
            let packet = answer(2, 0, &request, attributes, &key);
            let response = Response::parse(&packet, &request, &key).unwrap();
            assert!(msk(&response, &request, &key).is_none());
        }
    }

    #[test]
    fn keys_of_a_wrong_length_are_refused() {
        let (request, key) = ([9; 16], secret("shared"));
        assert!(decrypted(&[0; 17], &request, &key).is_none(), "not whole blocks");
        assert!(decrypted(&[0; 2], &request, &key).is_none());
        let one = sealed(RECV_KEY, &[1; 15], [0x80, 1], &request, &key);
        let value = &one[6..];
        assert_eq!(decrypted(value, &request, &key).unwrap()[..], [1; 15]);
        // The length is inside the encrypted octets: 15 becomes 255.
        let mut longer = value.to_vec();
        longer[2] ^= 15 ^ 255;
        assert!(decrypted(&longer, &request, &key).is_none());
    }
}
