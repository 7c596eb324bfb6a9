//! The method inside the tunnel.
//!
//! | method | messages | complete |
//! |---|---|---|
//! | EAP-TLS | none | TLS 1.2: the server's Finished; TLS 1.3: an octet of zero (RFC 9190 section 2.1.1) |
//! | EAP-TTLS, PAP | User-Name and User-Password, as AVPs (RFC 5281 section 11.2.5) | once they are sent |
//! | EAP-TTLS, MSCHAPv2 | AVPs of RFC 2548 (RFC 5281 section 11.2.4) | the server has proved the password |
//! | PEAP, MSCHAPv2 | EAP packets without header, then a result TLV | the server has proved the password, and the result |

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::tunnel::Tunnel;
use super::{Failure, Method, Settings};
use crate::Secret;
use crate::mschapv2::{self, Answer, CHALLENGE_LEN};
use crate::packet::kind;
use crate::radius::printable;

/// AVPs of EAP-TTLS: code and vendor.
const USER_NAME: (u32, u32) = (1, 0);
const USER_PASSWORD: (u32, u32) = (2, 0);
const MICROSOFT: u32 = 311;
const MS_CHAP_ERROR: (u32, u32) = (2, MICROSOFT);
const MS_CHAP_CHALLENGE: (u32, u32) = (11, MICROSOFT);
const MS_CHAP2_RESPONSE: (u32, u32) = (25, MICROSOFT);
const MS_CHAP2_SUCCESS: (u32, u32) = (26, MICROSOFT);
const AVP_VENDOR: u8 = 0x80;
const AVP_MANDATORY: u8 = 0x40;

/// Opcodes of MSCHAPv2 in EAP (draft-kamath-pppext-eap-mschapv2).
const CHALLENGE: u8 = 1;
const RESPONSE: u8 = 2;
const SUCCESS: u8 = 3;
const FAILURE: u8 = 4;

/// The result TLV of PEAP: type 3, mandatory, two octets: 1 success, 2 failure.
const RESULT_TLV: [u8; 5] = [0x80, 3, 0, 2, 0];
const RESULT_SUCCESS: u8 = 1;
const RESULT_FAILURE: u8 = 2;

/// The state of the method.
#[derive(Default)]
pub(super) struct Inner {
    began: bool,
    answer: Option<Answer>,
    /// The server has proved that it knows the password.
    is_proved: bool,
    is_complete: bool,
}

impl Inner {
    /// Whether the tunnel was open, so that the method inside has begun.
    pub(super) fn has_begun(&self) -> bool {
        self.began
    }

    /// Whether the method is complete, so that Success is accepted.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Processes what has arrived in the tunnel.
    ///
    /// # Errors
    /// [`Failure`].
    pub(super) fn proceed(
        &mut self,
        tunnel: &mut Tunnel,
        settings: &Settings,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Failure> {
        if !tunnel.is_open() {
            return Ok(());
        }
        let data = tunnel.read()?;
        let began = std::mem::replace(&mut self.began, true);
        match &settings.method {
            Method::Tls => {
                // Only the octet of zero shows that the server of TLS 1.3 has accepted the station's certificate.
                self.is_complete |= !tunnel.is_tls_1_3() || data[..] == [0];
                Ok(())
            }
            Method::TtlsPap(password) if !began => {
                let avps = [
                    avp(USER_NAME, &settings.identity),
                    avp(USER_PASSWORD, &padded(password)),
                ];
                self.is_complete = true;
                // Allocated once, because reallocation would leave copies of the password in memory.
                let mut message = Zeroizing::new(Vec::with_capacity(avps.iter().map(|avp| avp.len()).sum()));
                avps.iter().for_each(|avp| message.extend_from_slice(avp));
                tunnel.write(&message)
            }
            Method::TtlsPap(_) => Ok(()),
            Method::TtlsMsChapV2(password) if !began => self.send_mschapv2(tunnel, settings, password, rng),
            Method::TtlsMsChapV2(_) => self.mschapv2_answered(&data),
            Method::PeapMsChapV2(password) if !data.is_empty() => {
                self.eap(tunnel, &data, settings, password, rng)
            }
            Method::PeapMsChapV2(_) => Ok(()),
        }
    }

    /// EAP-TTLS: both challenges come from TLS, so the exchange takes one message.
    fn send_mschapv2(
        &mut self,
        tunnel: &mut Tunnel,
        settings: &Settings,
        password: &Secret,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Failure> {
        let material = tunnel.export(Method::TTLS_CHALLENGE, None, CHALLENGE_LEN + 1)?;
        let (challenge, ident) = material
            .split_first_chunk::<CHALLENGE_LEN>()
            .ok_or(Failure::Malformed)?;
        let user = mschapv2::without_domain(&settings.identity);
        let answer = mschapv2::answer(challenge, drawn(rng), user, password);
        let response = [
            &ident[..1],
            &[0],
            &answer.peer_challenge,
            &[0; 8],
            &answer.response,
        ]
        .concat();
        let avps = [
            avp(USER_NAME, &settings.identity),
            avp(MS_CHAP_CHALLENGE, challenge),
            avp(MS_CHAP2_RESPONSE, &response),
        ];
        self.answer = Some(answer);
        tunnel.write(&avps.iter().flat_map(|avp| avp.to_vec()).collect::<Vec<_>>())
    }

    fn mschapv2_answered(&mut self, data: &[u8]) -> Result<(), Failure> {
        for (code, value) in avps(data) {
            match code {
                MS_CHAP2_SUCCESS => {
                    // An identifier comes first.
                    let message = value.get(1..).unwrap_or_default();
                    if !self
                        .answer
                        .as_ref()
                        .is_some_and(|answer| answer.is_answered_by(message))
                    {
                        return Err(Failure::WrongServer);
                    }
                    self.is_proved = true;
                    self.is_complete = true;
                }
                MS_CHAP_ERROR => {
                    return Err(Failure::WrongPassword(printable(
                        value.get(1..).unwrap_or_default(),
                    )));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// PEAP: an EAP packet without its header, except for results, which have one.
    fn eap(
        &mut self,
        tunnel: &mut Tunnel,
        data: &[u8],
        settings: &Settings,
        password: &Secret,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Failure> {
        let reply = match *data {
            [1, identifier, high, low, kind::TLV, ref tlvs @ ..]
                if usize::from(u16::from_be_bytes([high, low])) == data.len() =>
            {
                return self.result(tunnel, identifier, tlvs);
            }
            [kind::IDENTITY, ..] => [&[kind::IDENTITY], &settings.identity[..]].concat(),
            [kind::MSCHAPV2, CHALLENGE, id, _, _, 16, ref rest @ ..] => {
                let challenge = rest.first_chunk().ok_or(Failure::Malformed)?;
                let user = mschapv2::without_domain(&settings.identity);
                let answer = mschapv2::answer(challenge, drawn(rng), user, password);
                let length =
                    u16::try_from(4 + 1 + 49 + settings.identity.len()).map_err(|_| Failure::Malformed)?;
                let [high, low] = length.to_be_bytes();
                let reply = [
                    &[kind::MSCHAPV2, RESPONSE, id, high, low, 49][..],
                    &answer.peer_challenge,
                    &[0; 8],
                    &answer.response,
                    &[0],
                    &settings.identity,
                ]
                .concat();
                self.answer = Some(answer);
                reply
            }
            [kind::MSCHAPV2, SUCCESS, _, _, _, ref message @ ..] => {
                if !self
                    .answer
                    .as_ref()
                    .is_some_and(|answer| answer.is_answered_by(message))
                {
                    return Err(Failure::WrongServer);
                }
                self.is_proved = true;
                vec![kind::MSCHAPV2, SUCCESS]
            }
            [kind::MSCHAPV2, FAILURE, _, _, _, ref message @ ..] => {
                tunnel.write(&[kind::MSCHAPV2, FAILURE])?;
                return Err(Failure::WrongPassword(printable(message)));
            }
            [_, ..] => vec![kind::NAK, kind::MSCHAPV2],
            [] => return Ok(()),
        };
        tunnel.write(&reply)
    }

    /// The result TLV, which the peer repeats.
    fn result(&mut self, tunnel: &mut Tunnel, identifier: u8, tlvs: &[u8]) -> Result<(), Failure> {
        let succeeded = tlvs
            .windows(RESULT_TLV.len() + 1)
            .next()
            .is_some_and(|first| first[..5] == RESULT_TLV && first[5] == RESULT_SUCCESS);
        let result = if succeeded && self.is_proved {
            RESULT_SUCCESS
        } else {
            RESULT_FAILURE
        };
        let reply = [&[2, identifier, 0, 11, kind::TLV][..], &RESULT_TLV, &[result]].concat();
        tunnel.write(&reply)?;
        if result == RESULT_FAILURE {
            return Err(if self.is_proved {
                Failure::Refused
            } else {
                Failure::WrongPassword("the result of the tunnel is a failure".to_owned())
            });
        }
        self.is_complete = true;
        Ok(())
    }
}

fn drawn(rng: &mut dyn CryptoRng) -> [u8; CHALLENGE_LEN] {
    let mut challenge = [0; CHALLENGE_LEN];
    rng.fill_bytes(&mut challenge);
    challenge
}

/// The password of PAP, padded so that its length is hidden (RFC 5281 section 11.2.5).
fn padded(password: &Secret) -> Zeroizing<Vec<u8>> {
    let octets = password.as_octets();
    let len = octets.len().max(1).next_multiple_of(16);
    let mut padded = Zeroizing::new(Vec::with_capacity(len));
    padded.extend_from_slice(octets);
    padded.resize(len, 0);
    padded
}

/// An AVP, padded to a multiple of four octets (RFC 5281 section 10.1).
fn avp((code, vendor): (u32, u32), value: &[u8]) -> Zeroizing<Vec<u8>> {
    let header_len = if vendor == 0 { 8 } else { 12 };
    let mut octets = Zeroizing::new(Vec::with_capacity(header_len + value.len() + 3));
    octets.extend(code.to_be_bytes());
    let flags = AVP_MANDATORY | if vendor == 0 { 0 } else { AVP_VENDOR };
    let length = u32::try_from(header_len + value.len()).unwrap_or(u32::MAX);
    octets.extend((u32::from(flags) << 24 | length & 0x00ff_ffff).to_be_bytes());
    if vendor != 0 {
        octets.extend(vendor.to_be_bytes());
    }
    octets.extend_from_slice(value);
    let len = octets.len().next_multiple_of(4);
    octets.resize(len, 0);
    octets
}

/// The AVPs up to the first malformed one: codes with vendors, and values.
fn avps(mut octets: &[u8]) -> impl Iterator<Item = ((u32, u32), &[u8])> {
    std::iter::from_fn(move || {
        let (header, rest) = octets.split_first_chunk::<8>()?;
        let [a, b, c, d, flags, x, y, z] = *header;
        let length = usize::try_from(u32::from_be_bytes([0, x, y, z])).ok()?;
        let (vendor, head) = if flags & AVP_VENDOR != 0 {
            (u32::from_be_bytes(*rest.first_chunk()?), 12)
        } else {
            (0, 8)
        };
        let value = octets.get(head..length)?;
        octets = octets.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(((u32::from_be_bytes([a, b, c, d]), vendor), value))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn avps_have_the_layout_of_the_rfc() {
        assert_eq!(
            avp(USER_NAME, b"me")[..],
            [0, 0, 0, 1, 0x40, 0, 0, 10, b'm', b'e', 0, 0]
        );
        assert_eq!(
            avp(MS_CHAP_CHALLENGE, &[7])[..],
            [0, 0, 0, 11, 0xc0, 0, 0, 13, 0, 0, 1, 55, 7, 0, 0, 0]
        );
        let secret = |text: &str| Secret::new(Zeroizing::new(text.as_bytes().to_vec()));
        assert_eq!(padded(&secret("0123456789abcdef")).len(), 16);
        assert_eq!(padded(&secret("0123456789abcdefg")).len(), 32);
    }

    proptest! {
        #[test]
        fn parse_after_build_is_the_identity(code: u32, vendor: u32, value in prop::collection::vec(any::<u8>(), 0..99)) {
            let two = [avp((code, vendor), &value).to_vec(), avp((1, 0), b"x").to_vec()].concat();
            let found: Vec<_> = avps(&two).collect();
            prop_assert_eq!(found, vec![((code, vendor), &value[..]), ((1, 0), &b"x"[..])]);
        }

        #[test]
        fn any_octets_are_parsed(octets: Vec<u8>) {
            let total: usize = avps(&octets).map(|(_, value)| value.len()).sum();
            prop_assert!(total <= octets.len());
        }
    }
}
