//! The elements that describe the protection of a network: RSN (IEEE 802.11-2020 9.4.2.24) and its predecessor WPA.
//!
//! ```text
//!  RSN, octet 0 ID 48   1 length   2 version (2)    then, each field only if all fields before it are present:
//!       group cipher (4)   pairwise count (2), list (4 each)   AKM count (2), list (4 each)   capabilities (2)
//!       PMKID count (2), list (16 each)   group management cipher (4)
//!
//!  WPA, octet 0 ID 221  1 length   2 00-50-F2   5 type 1   6 version (2)   then group cipher, pairwise list, AKM list and
//!       capabilities as above, with selectors of the OUI 00-50-F2
//! ```
//! Numbers are little-endian, lengths are in octets. Both elements are read and written with their ID and length,
//! because the 4-way handshake compares complete elements octet for octet (12.7.6.3, 12.7.6.4).

use core::fmt;

use crate::FrameError;
use crate::bytes::{array, get_u16, put};
use crate::error::need;

/// Element ID of the RSN element (9.4.2.1).
pub const ID_RSN: u8 = 48;
/// Element ID of vendor specific elements, including WPA elements and KDEs (9.4.2.25, 12.7.2).
pub const ID_VENDOR: u8 = 221;
/// Element ID of the RSN Extension element (9.4.2.241).
pub const ID_RSNX: u8 = 244;
/// SAE hash-to-element: a bit of the first octet of the RSN Extension element (9.4.2.241).
pub const RSNX_SAE_HASH_TO_ELEMENT: u8 = 1 << 5;

/// OUI of this project's vendor specific suites, elements and Action frames. It is locally administered (bit 1 of the
/// first octet), so it cannot belong to a manufacturer.
pub const OUI_LOCAL: [u8; 3] = [0x02, 0x41, 0x54];

/// OUI and type of the WPA element.
pub const WPA_OUI_TYPE: [u8; 4] = [0x00, 0x50, 0xf2, 1];

/// The only defined version of both elements.
const VERSION: u16 = 1;
const SELECTOR_LEN: usize = 4;
const PMKID_LEN: usize = 16;

/// OUI and type of a cipher suite or AKM (9.4.2.24.2, 9.4.2.24.3).
pub type Selector = [u8; SELECTOR_LEN];

/// RSN Capabilities (9.4.2.24.4) as a 16-bit number.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct RsnCapabilities(pub u16);

impl RsnCapabilities {
    /// Pre-authentication is supported.
    pub const PREAUTHENTICATION: u16 = 1 << 0;
    /// The station cannot use a WEP default key together with a pairwise key.
    pub const NO_PAIRWISE: u16 = 1 << 1;
    /// Both bits of the PTKSA Replay Counter field: 16 replay counters per pairwise key (Table 9-152).
    pub const PTKSA_REPLAY_COUNTERS_16: u16 = 3 << 2;
    /// Management frame protection is required (MFPR).
    pub const MFP_REQUIRED: u16 = 1 << 6;
    /// Management frame protection is supported (MFPC).
    pub const MFP_CAPABLE: u16 = 1 << 7;
    /// Signalling and payload protected (SPP) A-MSDUs are supported: the MIC covers A-MSDU Present of QoS Control.
    pub const SPP_AMSDU_CAPABLE: u16 = 1 << 10;
    /// Key IDs 0 and 1 are supported for pairwise keys.
    pub const EXTENDED_KEY_ID: u16 = 1 << 13;
    /// Operating channel validation is supported.
    pub const OCV_CAPABLE: u16 = 1 << 14;

    /// True if any bit of `mask` (one of the constants of this type) is set.
    #[must_use]
    pub const fn has(self, mask: u16) -> bool {
        self.0 & mask != 0
    }

    /// This field with the bits of `mask` set if `on`, and cleared otherwise.
    #[must_use]
    pub const fn with(self, mask: u16, on: bool) -> RsnCapabilities {
        RsnCapabilities(if on { self.0 | mask } else { self.0 & !mask })
    }

    /// Replay counters per pairwise key: 1, 2, 4 or 16 (Table 9-152).
    #[must_use]
    pub const fn ptksa_replay_counters(self) -> u8 {
        [1, 2, 4, 16][(self.0 >> 2 & 3) as usize]
    }

    /// Replay counters per group key: 1, 2, 4 or 16.
    #[must_use]
    pub const fn gtksa_replay_counters(self) -> u8 {
        [1, 2, 4, 16][(self.0 >> 4 & 3) as usize]
    }
}

impl fmt::Debug for RsnCapabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RsnCapabilities({:#06x})", self.0)
    }
}

/// An RSN element. If the element ends before a field, this field and all fields after it are `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RsnElement<'a> {
    /// Group data cipher suite.
    pub group: Option<Selector>,
    /// Pairwise cipher suites; at least one.
    pub pairwise: Option<&'a [Selector]>,
    /// Authentication and key management suites; at least one.
    pub akms: Option<&'a [Selector]>,
    /// RSN Capabilities.
    pub capabilities: Option<RsnCapabilities>,
    /// PMKIDs of PMKs that the sender offers to reuse; may be empty.
    pub pmkids: Option<&'a [[u8; PMKID_LEN]]>,
    /// Group management cipher suite.
    pub group_management: Option<Selector>,
}

impl<'a> RsnElement<'a> {
    /// Length in octets, including ID and length.
    #[allow(clippy::len_without_is_empty)]
    #[must_use]
    pub fn len(&self) -> usize {
        4 + suites_len(self.group, self.pairwise, self.akms, self.capabilities)
            + self.pmkids.map_or(0, |list| 2 + list.len() * PMKID_LEN)
            + self.group_management.map_or(0, |_| SELECTOR_LEN)
    }

    /// Writes the element at the start of `buf` and returns its length in octets.
    ///
    /// # Panics
    /// If `buf` is shorter than [`len`](Self::len), the length is over 257, a list of suites is empty, or a field is
    /// present after an absent field.
    pub fn emit(&self, buf: &mut [u8]) -> usize {
        let there = [
            self.group.is_some(),
            self.pairwise.is_some(),
            self.akms.is_some(),
            self.capabilities.is_some(),
            self.pmkids.is_some(),
            self.group_management.is_some(),
        ];
        assert!(
            there.is_sorted_by(|before, after| before >= after),
            "a field is present after an absent field"
        );
        let mut writer = Writer::new(buf, ID_RSN, self.len());
        writer.put(VERSION.to_le_bytes());
        writer.suites(self.group, self.pairwise, self.akms, self.capabilities);
        if let Some(pmkids) = self.pmkids {
            writer.list(pmkids);
        }
        if let Some(selector) = self.group_management {
            writer.put(selector);
        }
        writer.at
    }

    /// Reads the element at the start of `bytes`: ID, length, body. Octets after the last field are ignored (9.4.3).
    /// From the capabilities on, an incomplete field counts as absent, because implementations end the element at
    /// different fields.
    ///
    /// # Errors
    /// [`FrameError::Truncated`], also if a list extends past the end; [`FrameError::Field`] for another element, a
    /// version other than 1, or an empty list of suites.
    pub fn parse(bytes: &'a [u8]) -> Result<RsnElement<'a>, FrameError> {
        let body = body("an RSN element", bytes, ID_RSN)?;
        need("an RSN element", body, 2)?;
        let mut reader = Reader::after_version("an RSN element", body, 0)?;
        let suites = reader.suites()?;
        let pmkids = match suites.capabilities {
            Some(_) if reader.left.len() >= 2 => Some(reader.list()?),
            _ => None,
        };
        let group_management = match pmkids {
            Some(_) if reader.left.len() >= SELECTOR_LEN => Some(array(reader.left, 0)),
            _ => None,
        };
        Ok(RsnElement {
            group: suites.group,
            pairwise: suites.pairwise,
            akms: suites.akms,
            capabilities: suites.capabilities,
            pmkids,
            group_management,
        })
    }

    /// RSN Capabilities; all zero if the element has none (9.4.2.24.1).
    #[must_use]
    pub fn capabilities_or_default(&self) -> RsnCapabilities {
        self.capabilities.unwrap_or_default()
    }
}

/// A WPA element, which preceded the standard. A field is `None` if the element ends before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WpaElement<'a> {
    /// Group cipher suite.
    pub group: Option<Selector>,
    /// Pairwise cipher suites; at least one.
    pub pairwise: Option<&'a [Selector]>,
    /// Authentication and key management suites; at least one.
    pub akms: Option<&'a [Selector]>,
    /// Capabilities with the layout of [`RsnCapabilities`]; usually absent.
    pub capabilities: Option<RsnCapabilities>,
}

impl<'a> WpaElement<'a> {
    /// Length in octets, including ID and length.
    #[allow(clippy::len_without_is_empty)]
    #[must_use]
    pub fn len(&self) -> usize {
        8 + suites_len(self.group, self.pairwise, self.akms, self.capabilities)
    }

    /// Writes the element at the start of `buf` and returns its length in octets.
    ///
    /// # Panics
    /// Like [`RsnElement::emit`].
    pub fn emit(&self, buf: &mut [u8]) -> usize {
        let there = [
            self.group.is_some(),
            self.pairwise.is_some(),
            self.akms.is_some(),
            self.capabilities.is_some(),
        ];
        assert!(
            there.is_sorted_by(|before, after| before >= after),
            "a field is present after an absent field"
        );
        let mut writer = Writer::new(buf, ID_VENDOR, self.len());
        writer.put(WPA_OUI_TYPE);
        writer.put(VERSION.to_le_bytes());
        writer.suites(self.group, self.pairwise, self.akms, self.capabilities);
        writer.at
    }

    /// Reads the element at the start of `bytes`: ID, length, body. Octets after the last field are ignored.
    ///
    /// # Errors
    /// Like [`RsnElement::parse`]; [`FrameError::Field`] also for other vendor specific elements.
    pub fn parse(bytes: &'a [u8]) -> Result<WpaElement<'a>, FrameError> {
        let body = body("a WPA element", bytes, ID_VENDOR)?;
        need("a WPA element", body, 6)?;
        if body[..4] != WPA_OUI_TYPE {
            return Err(FrameError::Field(
                "the vendor specific element is not a WPA element",
            ));
        }
        let suites = Reader::after_version("a WPA element", body, 4)?.suites()?;
        Ok(WpaElement {
            group: suites.group,
            pairwise: suites.pairwise,
            akms: suites.akms,
            capabilities: suites.capabilities,
        })
    }
}

/// Returns the body of the element at the start of `bytes`, after checking its ID.
fn body<'a>(what: &'static str, bytes: &'a [u8], id: u8) -> Result<&'a [u8], FrameError> {
    need(what, bytes, 2)?;
    if bytes[0] != id {
        return Err(FrameError::Field("unexpected element ID"));
    }
    let len = 2 + usize::from(bytes[1]);
    need(what, bytes, len)?;
    Ok(&bytes[2..len])
}

fn suites_len(
    group: Option<Selector>,
    pairwise: Option<&[Selector]>,
    akms: Option<&[Selector]>,
    capabilities: Option<RsnCapabilities>,
) -> usize {
    let list_len = |list: Option<&[Selector]>| list.map_or(0, |list| 2 + list.len() * SELECTOR_LEN);
    group.map_or(0, |_| SELECTOR_LEN) + list_len(pairwise) + list_len(akms) + capabilities.map_or(0, |_| 2)
}

/// The fields common to both elements.
struct Suites<'a> {
    group: Option<Selector>,
    pairwise: Option<&'a [Selector]>,
    akms: Option<&'a [Selector]>,
    capabilities: Option<RsnCapabilities>,
}

/// The unread part of an element.
struct Reader<'a> {
    what: &'static str,
    left: &'a [u8],
}

impl<'a> Reader<'a> {
    fn after_version(what: &'static str, body: &'a [u8], at: usize) -> Result<Reader<'a>, FrameError> {
        if get_u16(body, at) != VERSION {
            return Err(FrameError::Field("unsupported element version (expected 1)"));
        }
        let left = &body[at + 2..];
        Ok(Reader { what, left })
    }

    fn suites(&mut self) -> Result<Suites<'a>, FrameError> {
        let group = if self.left.is_empty() {
            None
        } else {
            need(self.what, self.left, SELECTOR_LEN)?;
            let (group, left) = self.left.split_at(SELECTOR_LEN);
            self.left = left;
            Some(array(group, 0))
        };
        let pairwise = self.selectors()?;
        let akms = self.selectors()?;
        let capabilities = if akms.is_some() && self.left.len() >= 2 {
            let bits = get_u16(self.left, 0);
            self.left = &self.left[2..];
            Some(RsnCapabilities(bits))
        } else {
            None
        };
        Ok(Suites {
            group,
            pairwise,
            akms,
            capabilities,
        })
    }

    fn selectors(&mut self) -> Result<Option<&'a [Selector]>, FrameError> {
        if self.left.is_empty() {
            return Ok(None);
        }
        let list = self.list()?;
        if list.is_empty() {
            return Err(FrameError::Field("a list of suites is empty"));
        }
        Ok(Some(list))
    }

    fn list<const N: usize>(&mut self) -> Result<&'a [[u8; N]], FrameError> {
        need(self.what, self.left, 2)?;
        let len = 2 + usize::from(get_u16(self.left, 0)) * N;
        need(self.what, self.left, len)?;
        let (list, left) = self.left.split_at(len);
        self.left = left;
        Ok(list[2..].as_chunks().0)
    }
}

struct Writer<'b> {
    buf: &'b mut [u8],
    at: usize,
}

impl<'b> Writer<'b> {
    /// Writes the ID and length of an element whose total length is `len` octets.
    fn new(buf: &'b mut [u8], id: u8, len: usize) -> Writer<'b> {
        let body = u8::try_from(len - 2).expect("the body of an element has at most 255 octets");
        put(buf, 0, [id, body]);
        Writer { buf, at: 2 }
    }

    fn put<const N: usize>(&mut self, octets: [u8; N]) {
        put(self.buf, self.at, octets);
        self.at += N;
    }

    fn list<const N: usize>(&mut self, list: &[[u8; N]]) {
        let count = u16::try_from(list.len()).expect("a list has fewer than 65536 entries");
        self.put(count.to_le_bytes());
        list.iter().for_each(|&entry| self.put(entry));
    }

    fn suites(
        &mut self,
        group: Option<Selector>,
        pairwise: Option<&[Selector]>,
        akms: Option<&[Selector]>,
        capabilities: Option<RsnCapabilities>,
    ) {
        if let Some(group) = group {
            self.put(group);
        }
        for list in [pairwise, akms].into_iter().flatten() {
            assert!(!list.is_empty(), "a list of suites is empty");
            self.list(list);
        }
        if let Some(capabilities) = capabilities {
            self.put(capabilities.0.to_le_bytes());
        }
    }
}
