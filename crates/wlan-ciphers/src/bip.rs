//! BIP: CMAC or GMAC over group addressed robust management frames and, with separate keys, beacons, IEEE 802.11-2020
//! 12.5.4 and 11.52.
//!
//! ```text
//!  MPDU   MAC header   body   MME (18 or 26)   [FCS, not included]
//!
//!  MME    octet 0  1       2-3                    4-9             10
//!         4C       length  key ID, low bits first IPN0 ... IPN5   MIC (8 in BIP-CMAC-128, else 16)
//! ```
//! BIP authenticates and does not encrypt: the Protected bit stays clear and anyone can read the body. The MIC covers
//! Frame Control (retry, power management and more data masked), the addresses, the body, and the MME with zeros in
//! place of the MIC. A beacon's timestamp, which is inserted at transmission, is replaced by zeros too. The MME contains
//! the key identifier, so the MIC authenticates the identifier.
//!
//! Such frames are rare, so there are no batches here. Each key has its own [`ReplayWindow`], used with
//! [`Priority::Management`], to detect replays (12.5.4.4).
//!
//! [`ReplayWindow`]: crate::ReplayWindow
//! [`Priority::Management`]: crate::Priority::Management

use core::fmt;
use core::ops::Range;

use aes::cipher::{KeyInit, consts::U16};
use aes::{Aes128, Aes256};
use cmac::{Cmac, Mac};
use subtle::ConstantTimeEq;
use wlan_frames::beacon::Beacon;
use wlan_frames::frame_control::SUBTYPE_BEACON;
use wlan_frames::{FrameControl, FrameType};

use crate::aad::{Header, HeaderError};
use crate::engine::{Mode, Schedule, gmac};
use crate::{Backend, KeyError, Method, OpenError, PacketNumber, SealFault, Suite};

const MME: u8 = 0x4c;
/// Octets of the MME before the MIC.
const MME_HEADER_LEN: usize = 10;
/// Element ID and length, which the length field does not count.
const ELEMENT_HEADER_LEN: usize = 2;
const MAX_MIC_LEN: usize = 16;
const AAD_LEN: usize = 20;
const ADDRESSES: Range<usize> = 4..22;
const ADDR2: Range<usize> = 10..16;

/// Identifier of a key for group addressed management frames: 4 and 5 are integrity group temporal keys (IGTK), 6 and 7
/// are beacon integrity group temporal keys (BIGTK) (9.4.2.54).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IntegrityKeyId(u8);

impl IntegrityKeyId {
    /// The key identifier `value`, if it is 4 to 7.
    #[must_use]
    pub const fn new(value: u8) -> Option<IntegrityKeyId> {
        match value {
            4..=7 => Some(IntegrityKeyId(value)),
            _ => None,
        }
    }

    /// The number, 4 to 7.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// Whether the key is a BIGTK, which protects only beacons.
    #[must_use]
    pub const fn is_for_beacons(self) -> bool {
        self.0 >= 6
    }
}

/// The contents of a frame whose MIC is correct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// Packet number, not yet checked for replay.
    pub ipn: PacketNumber,
    /// Identifier of the key that protects the frame.
    pub key_id: IntegrityKeyId,
    /// Range of the body in the MPDU, without the MME.
    pub body: Range<usize>,
}

/// An IGTK or BIGTK. It is wiped when dropped and never printed.
#[derive(Clone)]
pub struct Bip {
    suite: Suite,
    key: Key,
}

#[derive(Clone)]
#[allow(clippy::large_enum_variant)] // few keys, which are not moved often
enum Key {
    Cmac128(Cmac<Aes128>),
    Cmac256(Cmac<Aes256>),
    Gmac(Schedule),
}

impl fmt::Debug for Bip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bip")
            .field("suite", &self.suite)
            .finish_non_exhaustive()
    }
}

impl Bip {
    /// Expands a key of a BIP suite.
    ///
    /// # Errors
    /// [`KeyError::Length`]; [`KeyError::Suite`] for a suite that is not BIP.
    pub fn new(suite: Suite, key: &[u8]) -> Result<Bip, KeyError> {
        let found = key.len();
        let length = |_| KeyError::Length { suite, found };
        let key = match (suite.method(), suite.key_len()) {
            (Method::Cmac, 16) => Key::Cmac128(Cmac::new_from_slice(key).map_err(length)?),
            (Method::Cmac, _) => Key::Cmac256(Cmac::new_from_slice(key).map_err(length)?),
            (Method::Gmac, expected) if found != expected => {
                return Err(KeyError::Length { suite, found });
            }
            (Method::Gmac, _) => {
                let backend = Backend::detect();
                let schedule = Schedule::new(key, Mode::Gcm, backend);
                Key::Gmac(schedule.ok_or(KeyError::Backend(backend))?)
            }
            _ => return Err(KeyError::Suite(suite)),
        };
        Ok(Bip { suite, key })
    }

    /// The suite of the key.
    #[must_use]
    pub fn suite(&self) -> Suite {
        self.suite
    }

    /// Protects an MPDU in place. The last `suite().overhead()` octets of `mpdu` are overwritten with the MME.
    ///
    /// # Errors
    /// [`SealFault::NotProtectable`] unless the frame is a group addressed robust management frame with the Protected
    /// bit clear, or a beacon and `key_id` identifies a BIGTK; [`SealFault::Short`].
    pub fn protect(
        &self,
        mpdu: &mut [u8],
        ipn: PacketNumber,
        key_id: IntegrityKeyId,
    ) -> Result<(), SealFault> {
        let Range { start, end } = match self.body(mpdu) {
            Ok(body) if is_beacon(mpdu) == key_id.is_for_beacons() => body,
            Err(OpenError::Short) => return Err(SealFault::Short),
            _ => return Err(SealFault::NotProtectable),
        };
        let [ipn5, ipn4, ipn3, ipn2, ipn1, ipn0] = ipn.be_octets();
        let header = [
            MME,
            self.mme_len(),
            key_id.get(),
            0,
            ipn0,
            ipn1,
            ipn2,
            ipn3,
            ipn4,
            ipn5,
        ];
        let mic_at = end + MME_HEADER_LEN;
        mpdu[end..mic_at].copy_from_slice(&header);
        let mic = self.mic(mpdu, start..mic_at, ipn);
        let mic_len = mpdu.len() - mic_at;
        mpdu[mic_at..].copy_from_slice(&mic[..mic_len]);
        Ok(())
    }

    /// The unverified IPN and key identifier of a received MPDU, for selecting the key.
    ///
    /// # Errors
    /// [`OpenError::Short`]; [`OpenError::BadHeader`] unless the frame is a beacon or a group addressed robust
    /// management frame with the Protected bit clear; [`OpenError::NotProtected`] if the frame does not end with an MME
    /// of this suite and a key for this kind of frame.
    pub fn peek(&self, mpdu: &[u8]) -> Result<(PacketNumber, IntegrityKeyId), OpenError> {
        self.parse(mpdu).map(|checked| (checked.ipn, checked.key_id))
    }

    /// Checks the MIC of an MPDU.
    ///
    /// # Errors
    /// The errors of [`peek`](Self::peek); [`OpenError::Mic`].
    pub fn check(&self, mpdu: &[u8]) -> Result<Checked, OpenError> {
        let checked = self.parse(mpdu)?;
        let mic_at = checked.body.end + MME_HEADER_LEN;
        let expected = self.mic(mpdu, checked.body.start..mic_at, checked.ipn);
        let mic = &mpdu[mic_at..];
        if mic.ct_eq(&expected[..mic.len()]).into() {
            Ok(checked)
        } else {
            Err(OpenError::Mic)
        }
    }

    /// The value of the MME's length field.
    fn mme_len(&self) -> u8 {
        u8::try_from(self.suite.overhead() - ELEMENT_HEADER_LEN).expect("at most 24")
    }

    fn parse(&self, mpdu: &[u8]) -> Result<Checked, OpenError> {
        let body = self.body(mpdu)?;
        let Some(&[id, len, key_low, key_high, ipn0, ipn1, ipn2, ipn3, ipn4, ipn5]) =
            mpdu[body.end..].first_chunk()
        else {
            return Err(OpenError::Short);
        };
        let key_id = IntegrityKeyId::new(key_low)
            .filter(|key_id| key_high == 0 && key_id.is_for_beacons() == is_beacon(mpdu));
        match key_id {
            Some(key_id) if id == MME && len == self.mme_len() => Ok(Checked {
                ipn: PacketNumber::from_be_octets([ipn5, ipn4, ipn3, ipn2, ipn1, ipn0]),
                key_id,
                body,
            }),
            _ => Err(OpenError::NotProtected),
        }
    }

    /// The body between the MAC header and the MME, if BIP protects this kind of frame.
    fn body(&self, mpdu: &[u8]) -> Result<Range<usize>, OpenError> {
        let start = body_offset(mpdu)?;
        let least = if is_beacon(mpdu) { Beacon::TIMESTAMP_LEN } else { 0 };
        let end = mpdu.len().checked_sub(self.suite.overhead());
        let end = end.filter(|&end| end >= start + least).ok_or(OpenError::Short)?;
        Ok(start..end)
    }

    /// The MIC of an MPDU whose body and MME header are at `covered`.
    fn mic(&self, mpdu: &[u8], covered: Range<usize>, ipn: PacketNumber) -> [u8; MAX_MIC_LEN] {
        let mut aad = [0; AAD_LEN];
        let masked = FrameControl::RETRY | FrameControl::POWER_MGMT | FrameControl::MORE_DATA;
        let fc = u16::from_le_bytes([mpdu[0], mpdu[1]]) & !masked;
        aad[..2].copy_from_slice(&fc.to_le_bytes());
        aad[2..].copy_from_slice(&mpdu[ADDRESSES]);
        let mic_len = mpdu.len() - covered.end;
        let masked = if is_beacon(mpdu) { Beacon::TIMESTAMP_LEN } else { 0 };
        let parts = [
            &aad,
            &[0; Beacon::TIMESTAMP_LEN][..masked],
            &mpdu[covered.start + masked..covered.end],
            &[0; MAX_MIC_LEN][..mic_len],
        ];
        match &self.key {
            Key::Cmac128(key) => cmac(key.clone(), parts),
            Key::Cmac256(key) => cmac(key.clone(), parts),
            Key::Gmac(key) => gmac(key, &gmac_nonce(mpdu, ipn), &parts),
        }
    }
}

/// Offset of the body, if BIP protects this kind of frame.
fn body_offset(mpdu: &[u8]) -> Result<usize, OpenError> {
    if is_beacon(mpdu) {
        let fc = FrameControl::parse(mpdu).map_err(|_| OpenError::BadHeader)?;
        let body_at = fc.header_len().filter(|_| !fc.has(FrameControl::PROTECTED));
        return body_at.ok_or(OpenError::BadHeader);
    }
    let header = Header::parse(mpdu).map_err(|error| match error {
        HeaderError::Short => OpenError::Short,
        HeaderError::NotProtectable => OpenError::BadHeader,
    })?;
    let management = FrameControl::parse(mpdu).is_ok_and(|fc| fc.frame_type() == FrameType::Management);
    let group = mpdu[ADDRESSES.start] & 1 == 1;
    if !management || !group || header.is_protected() {
        return Err(OpenError::BadHeader);
    }
    Ok(header.len())
}

fn is_beacon(mpdu: &[u8]) -> bool {
    FrameControl::parse(mpdu)
        .is_ok_and(|fc| fc.frame_type() == FrameType::Management && fc.subtype() == SUBTYPE_BEACON)
}

fn cmac<M: Mac<OutputSize = U16>>(mut mac: M, parts: [&[u8]; 4]) -> [u8; MAX_MIC_LEN] {
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

/// A2, then the IPN, most significant octet first (12.5.4.5).
fn gmac_nonce(mpdu: &[u8], ipn: PacketNumber) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[..6].copy_from_slice(&mpdu[ADDR2]);
    nonce[6..].copy_from_slice(&ipn.be_octets());
    nonce
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::{Octets, load};
    use crate::{Priority, ReplayWindow};
    use aes_gcm::aead::AeadInOut;
    use serde::Deserialize;

    #[derive(Deserialize)]
    struct Vector {
        name: String,
        suite: String,
        igtk: Octets,
        ipn: Octets,
        key_id: u8,
        header: Octets,
        body: Octets,
        mme: Octets,
    }

    impl Vector {
        fn all() -> Vec<Vector> {
            let all: Vec<Vector> = load("bip/ieee80211.json");
            assert_eq!(all.len(), 4);
            all
        }

        fn bip(&self) -> Bip {
            let suite = match &self.suite[..] {
                "BIP-CMAC-128" => Suite::BipCmac128,
                "BIP-CMAC-256" => Suite::BipCmac256,
                "BIP-GMAC-128" => Suite::BipGmac128,
                "BIP-GMAC-256" => Suite::BipGmac256,
                other => panic!("{other}"),
            };
            Bip::new(suite, &self.igtk.0).unwrap()
        }

        fn ipn(&self) -> PacketNumber {
            PacketNumber::from_be_octets(self.ipn.0[..].try_into().unwrap())
        }

        fn protected(&self) -> Vec<u8> {
            [&self.header, &self.body, &self.mme]
                .map(|part| &part.0[..])
                .concat()
        }
    }

    #[test]
    fn protected_frames_equal_the_printed_mpdu_and_verify() {
        for v in Vector::all() {
            let mut mpdu = v.protected();
            let mme_at = mpdu.len() - v.mme.0.len();
            mpdu[mme_at..].fill(0xee);
            v.bip()
                .protect(&mut mpdu, v.ipn(), IntegrityKeyId::new(v.key_id).unwrap())
                .unwrap();
            assert_eq!(mpdu, v.protected(), "{}", v.name);
            let checked = v.bip().check(&mpdu).unwrap();
            assert_eq!(
                (checked.ipn, checked.key_id.get()),
                (v.ipn(), v.key_id),
                "{}",
                v.name
            );
            assert_eq!(mpdu[checked.body], v.body.0, "{}", v.name);
        }
    }

    #[test]
    fn every_flipped_bit_is_detected_except_retry_bits() {
        for v in Vector::all() {
            let protected = v.protected();
            for bit in 0..protected.len() * 8 {
                let mut mpdu = protected.clone();
                mpdu[bit / 8] ^= 1 << (bit % 8);
                let place = format!("{}, octet {} bit {}", v.name, bit / 8, bit % 8);
                match (bit / 8, bit % 8) {
                    // Retry, power management, more data; Duration; Sequence Control.
                    (1, 3..=5) | (2 | 3, _) | (22 | 23, _) => {
                        assert!(v.bip().check(&mpdu).is_ok(), "{place}");
                    }
                    (0, _) | (1, 6 | 7) => {
                        assert!(v.bip().check(&mpdu).is_err(), "{place}");
                    }
                    (4, 0) => assert_eq!(v.bip().check(&mpdu), Err(OpenError::BadHeader), "{place}"),
                    // Element ID, length, and key identifiers other than an IGTK's.
                    (26 | 27 | 29, _) | (28, 1..) => {
                        assert_eq!(v.bip().check(&mpdu), Err(OpenError::NotProtected), "{place}");
                    }
                    _ => assert_eq!(v.bip().check(&mpdu), Err(OpenError::Mic), "{place}"),
                }
            }
        }
    }

    #[test]
    fn only_group_addressed_robust_management_frames_are_protected() {
        let v = &Vector::all()[0];
        let refused = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut mpdu = v.protected();
            change(&mut mpdu);
            v.bip()
                .protect(&mut mpdu, v.ipn(), IntegrityKeyId::new(4).unwrap())
        };
        assert_eq!(
            refused(&|mpdu| mpdu[4] = 0x02),
            Err(SealFault::NotProtectable),
            "individually addressed"
        );
        assert_eq!(
            refused(&|mpdu| mpdu[0] = 0x08),
            Err(SealFault::NotProtectable),
            "data"
        );
        assert_eq!(
            refused(&|mpdu| mpdu[1] = 0x40),
            Err(SealFault::NotProtectable),
            "the Protected bit is set"
        );
        assert_eq!(refused(&|mpdu| mpdu.truncate(24 + 17)), Err(SealFault::Short));
        assert_eq!(v.bip().check(&v.protected()[..24 + 17]), Err(OpenError::Short));
    }

    /// The expected MIC follows 12.5.4.3 to 12.5.4.5 literally, with CMAC alone.
    #[test]
    fn a_beacon_is_protected_whatever_its_timestamp() {
        let key = [0x3c; 16];
        let header = [
            &[0x80, 0, 0, 0][..],
            &[0xff; 6],
            &[2, 0, 0, 0, 0, 1],
            &[2, 0, 0, 0, 0, 1],
            &[0x70, 0x12],
        ]
        .concat();
        let after_timestamp = [&[100, 0, 0x11, 0, 0, 4][..], b"toll"].concat();
        let mme = [0x4c, 16, 6, 0, 9, 0, 0, 0, 0, 0];
        let covered = [
            &[0x80, 0][..],
            &header[4..22],
            &[0; 8],
            &after_timestamp,
            &mme,
            &[0; 8],
        ]
        .concat();
        let mut cmac = <Cmac<Aes128> as KeyInit>::new_from_slice(&key).unwrap();
        cmac.update(&covered);
        let mic: [u8; 16] = cmac.finalize().into_bytes().into();

        let bip = Bip::new(Suite::BipCmac128, &key).unwrap();
        let (ipn, bigtk) = (PacketNumber::new(9).unwrap(), IntegrityKeyId::new(6).unwrap());
        for timestamp in [[0; 8], [7; 8]] {
            let mut beacon = [&header[..], &timestamp, &after_timestamp, &[0xee; 18]].concat();
            bip.protect(&mut beacon, ipn, bigtk).unwrap();
            assert_eq!(beacon[42..], [&mme[..], &mic[..8]].concat());
            assert_eq!(bip.check(&beacon).unwrap().ipn, ipn);
            beacon[24] ^= 1;
            assert!(bip.check(&beacon).is_ok(), "the timestamp may change");
            beacon[32] ^= 1;
            assert_eq!(bip.check(&beacon), Err(OpenError::Mic));
        }
        let igtk = IntegrityKeyId::new(4).unwrap();
        let mut beacon = [&header[..], &[0; 26]].concat();
        assert_eq!(
            bip.protect(&mut beacon, ipn, igtk),
            Err(SealFault::NotProtectable)
        );
        // A MIC over a shorter body would exclude octets of the MME instead of the timestamp.
        let short = &mut beacon[..24 + 7 + 18];
        assert_eq!(bip.protect(short, ipn, bigtk), Err(SealFault::Short));
        assert_eq!(bip.check(short), Err(OpenError::Short));
        assert!(bip.protect(&mut beacon[..24 + 8 + 18], ipn, bigtk).is_ok());
    }

    /// GMAC of bodies shorter and longer than a run of GHASH, with RustCrypto's GCM over the same octets as AAD.
    #[test]
    fn gmac_agrees_with_gcm_over_aad_alone() {
        let key: [u8; 32] = core::array::from_fn(|i| 3 * i.to_le_bytes()[0]);
        let ipn = PacketNumber::new(0x0102_0304_0506).unwrap();
        let header = [&[0xd0, 0, 0, 0][..], &[0xff; 6], &[2; 6], &[4; 6], &[0x70, 0x12]].concat();
        for len in (0..70).chain([970, 971, 972, 1000, 2000, 2304]) {
            let body: Vec<u8> = (0..len).map(|i: usize| (i * 7 % 251).to_le_bytes()[0]).collect();
            let mme = [0x4c, 24, 4, 0, 6, 5, 4, 3, 2, 1];
            let aad = [&[0xd0, 0][..], &header[4..22], &body, &mme, &[0; 16]].concat();
            let nonce = [2, 2, 2, 2, 2, 2, 1, 2, 3, 4, 5, 6].into();
            let aead = |key: &[u8]| -> [u8; 16] {
                let tag = match key.len() {
                    16 => aes_gcm::Aes128Gcm::new_from_slice(key)
                        .unwrap()
                        .encrypt_inout_detached(&nonce, &aad, (&mut [][..]).into()),
                    _ => aes_gcm::Aes256Gcm::new_from_slice(key)
                        .unwrap()
                        .encrypt_inout_detached(&nonce, &aad, (&mut [][..]).into()),
                };
                tag.unwrap().into()
            };
            for suite in [Suite::BipGmac128, Suite::BipGmac256] {
                let key = &key[..suite.key_len()];
                let bip = Bip::new(suite, key).unwrap();
                let mut mpdu = [&header[..], &body, &[0xee; 26]].concat();
                bip.protect(&mut mpdu, ipn, IntegrityKeyId::new(4).unwrap())
                    .unwrap();
                assert_eq!(
                    mpdu[24 + len..],
                    [&mme[..], &aead(key)].concat(),
                    "{suite:?}, {len}"
                );
                assert!(bip.check(&mpdu).is_ok());
            }
        }
    }

    #[test]
    fn only_bip_suites_and_their_key_lengths_are_accepted() {
        let (suite, found) = (Suite::BipGmac256, 16);
        assert_eq!(
            Bip::new(suite, &[0; 16]).unwrap_err(),
            KeyError::Length { suite, found }
        );
        assert_eq!(
            Bip::new(Suite::Ccmp128, &[0; 16]).unwrap_err(),
            KeyError::Suite(Suite::Ccmp128)
        );
        assert_eq!(IntegrityKeyId::new(3), None);
        let bip = Bip::new(Suite::BipCmac128, &[7; 16]).unwrap();
        assert_eq!(format!("{bip:?}"), "Bip { suite: BipCmac128, .. }");
    }

    #[test]
    fn a_replayed_frame_has_a_valid_mic_and_an_old_packet_number() {
        let v = &Vector::all()[0];
        let mut window = ReplayWindow::new(PacketNumber::ZERO);
        let mut receive = || {
            let checked = v.bip().check(&v.protected()).unwrap();
            window.accept(Priority::Management, checked.ipn)
        };
        assert!(receive().is_ok());
        assert!(receive().is_err());
    }
}
