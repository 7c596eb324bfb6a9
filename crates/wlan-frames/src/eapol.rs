//! EAPOL-Key frames and their key data, IEEE 802.11-2020 12.7.2.
//!
//! ```text
//!  octet 0 EAPOL version   1 packet type 3   2 packet body length (2)
//!        4 descriptor type   5 key information (2)   7 key length (2)   9 key replay counter (8)   17 key nonce (32)
//!       49 EAPOL-Key IV (16)   65 key RSC (8)   73 reserved (8)   81 key MIC (16, 24 or 32, as the AKM says)
//!       97, 105 or 113 key data length (2)   key data
//!
//!  key information, bit  0-2             3         4-5             6        7    8    9       10     11
//!                        descriptor      pairwise  key ID of a     install  ack  MIC  secure  error  request
//!                        version                   group key, WPA
//!                       12              13
//!                        key data is    SMK
//!                        enciphered     message
//!
//!  KDE, octet            0 ID 221   1 length   2 00-0F-AC   5 data type   6 data
//! ```
//! Numbers are big-endian, except in KDEs and in the RSC, which is a packet number.

use alloc::vec::Vec;
use core::fmt;

use crate::beacon::elements;
use crate::bytes::{array, get_u16, put};
use crate::error::need;
use crate::rsn::{ID_RSN, ID_RSNX, ID_VENDOR, WPA_OUI_TYPE};
use crate::{FrameError, MacAddr};

const BODY: usize = 4;
const INFO: usize = 5;
const KEY_LEN: usize = 7;
const REPLAY_COUNTER: usize = 9;
const NONCE: usize = 17;
const IV: usize = 49;
const RSC: usize = 65;
const RESERVED: usize = 73;
const MIC: usize = 81;

/// Packet type of EAPOL-Key (IEEE 802.1X-2020 Table 11-3).
const PACKET_TYPE_KEY: u8 = 3;
/// Descriptor types of RSN and of WPA.
const DESCRIPTOR_RSN: u8 = 2;
const DESCRIPTOR_WPA: u8 = 254;
/// OUI of the suites and KDEs of the standard.
const OUI: [u8; 3] = [0x00, 0x0f, 0xac];

const KDE_GTK: u8 = 1;
const KDE_MAC: u8 = 3;
const KDE_PMKID: u8 = 4;
const KDE_IGTK: u8 = 9;
const KDE_KEY_ID: u8 = 10;
const KDE_BIGTK: u8 = 14;

/// The key descriptor type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Descriptor {
    /// RSN, as in the standard.
    Rsn,
    /// WPA, which preceded the standard.
    Wpa,
}

/// Key Information (12.7.2 b) as a 16-bit number.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct KeyInfo(pub u16);

impl KeyInfo {
    /// The key is pairwise; a clear bit means a group key.
    pub const PAIRWISE: u16 = 1 << 3;
    /// The receiver must install the key.
    pub const INSTALL: u16 = 1 << 6;
    /// A response is required: the frame is from the authenticator.
    pub const ACK: u16 = 1 << 7;
    /// A MIC is present.
    pub const MIC: u16 = 1 << 8;
    /// The initial key exchange is complete.
    pub const SECURE: u16 = 1 << 9;
    /// A TKIP receiver detected a MIC failure.
    pub const ERROR: u16 = 1 << 10;
    /// The supplicant requests a handshake.
    pub const REQUEST: u16 = 1 << 11;
    /// The key data is encrypted.
    pub const ENCRYPTED: u16 = 1 << 12;

    /// True if any bit of `mask` (one of the constants of this type) is set.
    #[must_use]
    pub const fn has(self, mask: u16) -> bool {
        self.0 & mask != 0
    }

    /// Key descriptor version, 0 to 7: the algorithms of the MIC and of key data encryption (Table 12-8).
    #[must_use]
    pub const fn version(self) -> u8 {
        (self.0 & 7) as u8
    }

    /// Key ID of the group key in a WPA frame, 0 to 3; reserved in RSN.
    #[must_use]
    pub const fn wpa_key_id(self) -> u8 {
        (self.0 >> 4 & 3) as u8
    }
}

impl fmt::Debug for KeyInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyInfo({:#06x})", self.0)
    }
}

/// An EAPOL-Key frame, without an Ethernet or LLC header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EapolKey<'a> {
    /// EAPOL protocol version: 1, 2 or 3 in practice.
    pub version: u8,
    /// RSN or WPA.
    pub descriptor: Descriptor,
    /// Key Information.
    pub info: KeyInfo,
    /// Length of the pairwise temporal key in octets, in messages that state it; otherwise 0.
    pub key_len: u16,
    /// Key Replay Counter.
    pub replay_counter: u64,
    /// ANonce or SNonce.
    pub nonce: [u8; 32],
    /// EAPOL-Key IV, used with RC4.
    pub iv: [u8; 16],
    /// The last packet number sent under the group key (48 bits, least significant octet first, then zeros).
    pub rsc: [u8; 8],
    /// Key MIC; its length is one of [`MIC_LENS`](Self::MIC_LENS).
    pub mic: &'a [u8],
    /// Key data as sent, encrypted or not.
    pub data: &'a [u8],
}

impl<'a> EapolKey<'a> {
    /// Offset of the MIC, in octets.
    pub const MIC_AT: usize = MIC;
    /// Valid MIC lengths in octets: 16, 24 with SHA-384 (Table 12-8), and 32 with SHA-512, as hostapd uses with OWE.
    pub const MIC_LENS: [usize; 3] = [16, 24, 32];

    /// Length in octets.
    #[allow(clippy::len_without_is_empty)]
    #[must_use]
    pub fn len(&self) -> usize {
        MIC + self.mic.len() + 2 + self.data.len()
    }

    /// Writes the frame at the start of `buf` and returns its length in octets.
    ///
    /// # Panics
    /// If `buf` is shorter than [`len`](Self::len), or the length is over 65539.
    pub fn emit(&self, buf: &mut [u8]) -> usize {
        let len = self.len();
        let field = |len: usize| {
            u16::try_from(len)
                .expect("an EAPOL-Key body has at most 65535 octets")
                .to_be_bytes()
        };
        let descriptor = match self.descriptor {
            Descriptor::Rsn => DESCRIPTOR_RSN,
            Descriptor::Wpa => DESCRIPTOR_WPA,
        };
        put(buf, 0, [self.version, PACKET_TYPE_KEY]);
        put(buf, 2, field(len - BODY));
        put(buf, BODY, [descriptor]);
        put(buf, INFO, self.info.0.to_be_bytes());
        put(buf, KEY_LEN, self.key_len.to_be_bytes());
        put(buf, REPLAY_COUNTER, self.replay_counter.to_be_bytes());
        put(buf, NONCE, self.nonce);
        put(buf, IV, self.iv);
        put(buf, RSC, self.rsc);
        put(buf, RESERVED, [0; 8]);
        let after_mic = MIC + self.mic.len();
        buf[MIC..after_mic].copy_from_slice(self.mic);
        put(buf, after_mic, field(self.data.len()));
        buf[after_mic + 2..len].copy_from_slice(self.data);
        len
    }

    /// Reads the frame like [`parse`](Self::parse), inferring the MIC length from the other lengths in the frame.
    ///
    /// # Errors
    /// The errors of [`parse`](Self::parse).
    pub fn parse_any(bytes: &'a [u8]) -> Result<(EapolKey<'a>, usize), FrameError> {
        let [shortest, longer @ ..] = Self::MIC_LENS;
        longer
            .iter()
            .fold(Self::parse(bytes, shortest), |parsed, &mic_len| {
                parsed.or_else(|error| Self::parse(bytes, mic_len).map_err(|_| error))
            })
    }

    /// Reads the frame at the start of `bytes`, whose MIC has `mic_len` octets, and returns it with its length in
    /// octets. Octets after the frame, such as the padding of a short Ethernet frame, are ignored; the MIC does not
    /// cover them.
    ///
    /// # Errors
    /// [`FrameError::Truncated`]; [`FrameError::Field`] for other EAPOL packets, an unknown descriptor, or key data
    /// that does not end with the packet.
    pub fn parse(bytes: &'a [u8], mic_len: usize) -> Result<(EapolKey<'a>, usize), FrameError> {
        const WHAT: &str = "an EAPOL-Key frame";
        need(WHAT, bytes, BODY)?;
        if bytes[1] != PACKET_TYPE_KEY {
            return Err(FrameError::Field("the EAPOL packet is not EAPOL-Key"));
        }
        let len = BODY + usize::from(u16::from_be_bytes(array(bytes, 2)));
        need(WHAT, bytes, len)?;
        let data_at = MIC + mic_len + 2;
        let bytes = &bytes[..len];
        need(WHAT, bytes, data_at)?;
        let descriptor = match bytes[BODY] {
            DESCRIPTOR_RSN => Descriptor::Rsn,
            DESCRIPTOR_WPA => Descriptor::Wpa,
            _ => {
                return Err(FrameError::Field(
                    "unknown EAPOL-Key descriptor type (expected RSN or WPA)",
                ));
            }
        };
        if usize::from(u16::from_be_bytes(array(bytes, data_at - 2))) != len - data_at {
            return Err(FrameError::Field(
                "the key data length does not match the EAPOL-Key frame length",
            ));
        }
        let key = EapolKey {
            version: bytes[0],
            descriptor,
            info: KeyInfo(u16::from_be_bytes(array(bytes, INFO))),
            key_len: u16::from_be_bytes(array(bytes, KEY_LEN)),
            replay_counter: u64::from_be_bytes(array(bytes, REPLAY_COUNTER)),
            nonce: array(bytes, NONCE),
            iv: array(bytes, IV),
            rsc: array(bytes, RSC),
            mic: &bytes[MIC..MIC + mic_len],
            data: &bytes[data_at..],
        };
        Ok((key, len))
    }
}

/// One item of key data: an element or a KDE (12.7.2, Table 12-9).
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum KeyData<'a> {
    /// An RSN element, including its ID and length.
    Rsn(&'a [u8]),
    /// An RSN Extension element, including its ID and length.
    Rsnx(&'a [u8]),
    /// A WPA element, including its ID and length.
    Wpa(&'a [u8]),
    /// A group key.
    Gtk {
        /// Key ID, 0 to 3.
        key_id: u8,
        /// The receiver may transmit with this key.
        transmit: bool,
        /// The key.
        key: &'a [u8],
    },
    /// An integrity group key, which protects management frames.
    Igtk {
        /// Key ID, 4 or 5.
        key_id: u16,
        /// The last packet number sent (IPN), least significant octet first.
        ipn: [u8; 6],
        /// The key.
        key: &'a [u8],
    },
    /// A beacon integrity group key, with the layout of an [integrity group key](KeyData::Igtk).
    Bigtk {
        /// Key ID, 6 or 7.
        key_id: u16,
        /// The last packet number sent (BIPN), least significant octet first.
        ipn: [u8; 6],
        /// The key.
        key: &'a [u8],
    },
    /// A MAC address.
    Mac(MacAddr),
    /// A PMKID: the identifier of a PMK.
    Pmkid([u8; 16]),
    /// The Key ID of the new pairwise key, 0 to 3.
    KeyId(u8),
    /// Any other element or KDE, including its ID and length.
    Other(&'a [u8]),
}

impl fmt::Debug for KeyData<'_> {
    /// Omits the keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyData::Rsn(octets) => write!(f, "Rsn({octets:02x?})"),
            KeyData::Rsnx(octets) => write!(f, "Rsnx({octets:02x?})"),
            KeyData::Wpa(octets) => write!(f, "Wpa({octets:02x?})"),
            KeyData::Gtk { key_id, key, .. } => write!(f, "Gtk {key_id} of {} octets", key.len()),
            KeyData::Igtk { key_id, key, .. } => write!(f, "Igtk {key_id} of {} octets", key.len()),
            KeyData::Bigtk { key_id, key, .. } => write!(f, "Bigtk {key_id} of {} octets", key.len()),
            KeyData::Mac(addr) => write!(f, "Mac({addr})"),
            KeyData::Pmkid(pmkid) => write!(f, "Pmkid({pmkid:02x?})"),
            KeyData::KeyId(key_id) => write!(f, "KeyId({key_id})"),
            KeyData::Other(octets) => write!(f, "Other of {} octets", octets.len()),
        }
    }
}

impl<'a> KeyData<'a> {
    /// Appends this item to key data.
    ///
    /// # Panics
    /// If a key or element exceeds the maximum length of an element.
    pub fn push(&self, data: &mut Vec<u8>) {
        let mut kde = |kind: u8, body: &[&[u8]]| {
            let head = [OUI[0], OUI[1], OUI[2], kind];
            let len = head.len() + body.iter().map(|part| part.len()).sum::<usize>();
            let len = u8::try_from(len).expect("the body of a KDE has at most 255 octets");
            // Extends `data` directly, not through push_element, so that no copy of a key stays in memory.
            data.extend_from_slice(&[ID_VENDOR, len]);
            data.extend_from_slice(&head);
            body.iter().for_each(|part| data.extend_from_slice(part));
        };
        match *self {
            KeyData::Rsn(element)
            | KeyData::Rsnx(element)
            | KeyData::Wpa(element)
            | KeyData::Other(element) => data.extend_from_slice(element),
            KeyData::Gtk {
                key_id,
                transmit,
                key,
            } => {
                kde(KDE_GTK, &[&[key_id & 3 | u8::from(transmit) << 2, 0], key]);
            }
            KeyData::Igtk { key_id, ipn, key } => kde(KDE_IGTK, &[&key_id.to_le_bytes(), &ipn, key]),
            KeyData::Bigtk { key_id, ipn, key } => kde(KDE_BIGTK, &[&key_id.to_le_bytes(), &ipn, key]),
            KeyData::Mac(addr) => kde(KDE_MAC, &[&addr.0]),
            KeyData::Pmkid(pmkid) => kde(KDE_PMKID, &[&pmkid]),
            KeyData::KeyId(key_id) => kde(KDE_KEY_ID, &[&[key_id & 3, 0]]),
        }
    }

    /// Iterates over the items of key data, up to the padding.
    pub fn each(data: &'a [u8]) -> impl Iterator<Item = Result<KeyData<'a>, FrameError>> {
        // Padding is an octet DD followed by zeros (12.7.2 j): it reads as a KDE of length 0, or ends the data.
        let mut at = 0;
        while at < data.len() {
            match data[at..] {
                [ID_VENDOR] | [ID_VENDOR, 0, ..] => break,
                [_, len, ..] => at += 2 + usize::from(len),
                _ => at = data.len(),
            }
        }
        let data = &data[..at.min(data.len())];
        let mut at = 0;
        elements(data).map(move |element| {
            let (id, body) = element?;
            let whole = &data[at..at + 2 + body.len()];
            at += whole.len();
            KeyData::of(id, body, whole)
        })
    }

    fn of(id: u8, body: &'a [u8], whole: &'a [u8]) -> Result<KeyData<'a>, FrameError> {
        Ok(match (id, body) {
            (ID_RSN, _) => KeyData::Rsn(whole),
            (ID_RSNX, _) => KeyData::Rsnx(whole),
            (ID_VENDOR, [a, b, c, kind, data @ ..]) if [*a, *b, *c] == OUI => match *kind {
                KDE_GTK => {
                    need("a GTK KDE", data, 2)?;
                    KeyData::Gtk {
                        key_id: data[0] & 3,
                        transmit: data[0] & 4 != 0,
                        key: &data[2..],
                    }
                }
                KDE_IGTK => {
                    need("an IGTK KDE", data, 8)?;
                    KeyData::Igtk {
                        key_id: get_u16(data, 0),
                        ipn: array(data, 2),
                        key: &data[8..],
                    }
                }
                KDE_BIGTK => {
                    need("a BIGTK KDE", data, 8)?;
                    KeyData::Bigtk {
                        key_id: get_u16(data, 0),
                        ipn: array(data, 2),
                        key: &data[8..],
                    }
                }
                KDE_MAC => {
                    need("a MAC address KDE", data, 6)?;
                    KeyData::Mac(MacAddr(array(data, 0)))
                }
                KDE_PMKID => {
                    need("a PMKID KDE", data, 16)?;
                    KeyData::Pmkid(array(data, 0))
                }
                KDE_KEY_ID => {
                    need("a Key ID KDE", data, 1)?;
                    KeyData::KeyId(data[0] & 3)
                }
                _ => KeyData::Other(whole),
            },
            (ID_VENDOR, _) if body.starts_with(&WPA_OUI_TYPE) => KeyData::Wpa(whole),
            _ => KeyData::Other(whole),
        })
    }
}

/// Appends the padding that AES key wrap requires: at least 16 octets, a multiple of 8 (12.7.2 j).
pub fn pad_key_data(data: &mut Vec<u8>) {
    if data.len() >= 16 && data.len().is_multiple_of(8) {
        return;
    }
    data.push(ID_VENDOR);
    data.resize(data.len().next_multiple_of(8).max(16), 0);
}
