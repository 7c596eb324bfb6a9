//! Building and reading EAPOL-Key frames under the keys of an association.

use wlan_ciphers::{IntegrityKeyId, PacketNumber, Suite};
use wlan_frames::eapol::{EapolKey, KeyData, KeyInfo};

use crate::output::Discard;
use crate::protection::{MAX_MIC_LEN, Protection, Ptk};
use crate::{Association, Protocol};

/// The EAPOL protocol version sent: IEEE Std 802.1X-2004. Any received version is accepted (12.7.2 a).
const EAPOL_VERSION: u8 = 2;

/// A frame to build. Fields left at their default are zero on the air.
#[derive(Default, Clone, Copy)]
pub(crate) struct Message<'a> {
    /// Key Information without the version and the MIC bit.
    pub(crate) info: u16,
    pub(crate) key_len: usize,
    pub(crate) replay_counter: u64,
    pub(crate) nonce: [u8; 32],
    pub(crate) iv: [u8; 16],
    pub(crate) rsc: u64,
    pub(crate) data: &'a [u8],
}

impl Message<'_> {
    /// Builds the packet, with a MIC if there is a key for it.
    pub(crate) fn build(self, protection: Protection, ptk: Option<&Ptk>) -> Vec<u8> {
        let mic = if ptk.is_some() { KeyInfo::MIC } else { 0 };
        let key = EapolKey {
            version: EAPOL_VERSION,
            descriptor: protection.descriptor,
            info: KeyInfo(self.info | mic | u16::from(protection.version)),
            key_len: u16::try_from(self.key_len).expect("keys are short"),
            replay_counter: self.replay_counter,
            nonce: self.nonce,
            iv: self.iv,
            rsc: self.rsc.to_le_bytes(),
            mic: &[0; MAX_MIC_LEN][..protection.mic_len],
            data: self.data,
        };
        let mut packet = vec![0; key.len()];
        key.emit(&mut packet);
        if let Some(ptk) = ptk {
            protection.sign(ptk, &mut packet);
        }
        packet
    }
}

/// A received frame with the descriptor of the association, and the octets that its MIC covers.
pub(crate) struct Received<'a> {
    pub(crate) key: EapolKey<'a>,
    pub(crate) packet: &'a [u8],
    protection: Protection,
}

impl<'a> Received<'a> {
    pub(crate) fn parse(protection: Protection, packet: &'a [u8]) -> Result<Received<'a>, Discard> {
        let (key, len) = EapolKey::parse(packet, protection.mic_len)?;
        if key.descriptor != protection.descriptor || key.info.version() != protection.version {
            return Err(Discard::Descriptor);
        }
        Ok(Received {
            key,
            packet: &packet[..len],
            protection,
        })
    }

    /// Whether any bit of `mask` is set in Key Information.
    pub(crate) fn has(&self, mask: u16) -> bool {
        self.key.info.has(mask)
    }

    /// Checks the MIC.
    pub(crate) fn verify(&self, ptk: &Ptk) -> Result<(), Discard> {
        if self.has(KeyInfo::MIC) && self.protection.verify(ptk, self.packet) {
            Ok(())
        } else {
            Err(Discard::Mic)
        }
    }

    /// Reads the group keys and elements in the key data of message 3 or of a group message. The MIC has been
    /// verified.
    pub(crate) fn contents(&self, ptk: &Ptk, association: &Association) -> Result<Contents, Discard> {
        let mut contents = Contents::default();
        let rsn = association.protocol == Protocol::Rsn;
        let pairwise = self.has(KeyInfo::PAIRWISE);
        // WPA's message 3 carries its element in plaintext; WPA's group message carries only the key, always
        // encrypted.
        if rsn && !self.has(KeyInfo::ENCRYPTED) {
            return Err(Discard::KeyData);
        }
        let plain;
        let data = if rsn || !pairwise {
            plain = self
                .protection
                .unwrap(ptk, &self.key.iv, self.key.data)
                .ok_or(Discard::KeyData)?;
            &plain[..]
        } else {
            self.key.data
        };
        if !rsn && !pairwise {
            contents.gtk = Some(GroupKey::new(
                self.key.info.wpa_key_id().into(),
                data,
                association.group,
            )?);
        } else {
            contents.read(data, association)?;
        }
        if let Some(gtk) = &mut contents.gtk {
            gtk.rsc = packet_number(&self.key.rsc);
        }
        Ok(contents)
    }
}

/// A group key received in a message.
pub(crate) struct GroupKey {
    pub(crate) key_id: u16,
    pub(crate) key: crate::Key,
    pub(crate) rsc: PacketNumber,
}

impl GroupKey {
    fn new(key_id: u16, octets: &[u8], suite: Suite) -> Result<GroupKey, Discard> {
        if octets.len() != suite.key_len() {
            return Err(Discard::KeyData);
        }
        Ok(GroupKey {
            key_id,
            key: crate::Key::new(octets),
            rsc: PacketNumber::ZERO,
        })
    }
}

/// The contents of key data.
#[derive(Default)]
pub(crate) struct Contents {
    pub(crate) rsn: Option<Vec<u8>>,
    pub(crate) rsnx: Option<Vec<u8>>,
    pub(crate) wpa: Option<Vec<u8>>,
    pub(crate) gtk: Option<GroupKey>,
    pub(crate) igtk: Option<GroupKey>,
    pub(crate) bigtk: Option<GroupKey>,
    pub(crate) key_id: Option<u8>,
}

impl Contents {
    fn read(&mut self, data: &[u8], association: &Association) -> Result<(), Discard> {
        for item in KeyData::each(data) {
            match item.map_err(|_| Discard::KeyData)? {
                // A second RSN element would belong to a fast transition or a second choice of suites (12.7.6.4):
                // unsupported.
                KeyData::Rsn(element) => _ = self.rsn.get_or_insert_with(|| element.to_vec()),
                KeyData::Rsnx(element) => _ = self.rsnx.get_or_insert_with(|| element.to_vec()),
                KeyData::Wpa(element) => _ = self.wpa.get_or_insert_with(|| element.to_vec()),
                KeyData::Gtk { key_id, key, .. } => {
                    self.gtk = Some(GroupKey::new(key_id.into(), key, association.group)?);
                }
                KeyData::Igtk { key_id, ipn, key } => {
                    self.igtk = integrity_key(association, key_id, ipn, key)?;
                }
                KeyData::Bigtk { key_id, ipn, key } => {
                    self.bigtk = integrity_key(association, key_id, ipn, key)?;
                }
                KeyData::KeyId(key_id) => self.key_id = Some(key_id),
                KeyData::Mac(_) | KeyData::Pmkid(_) | KeyData::Other(_) => {}
            }
        }
        Ok(())
    }
}

/// Returns the received IGTK and BIGTK with their Key IDs. A key with an invalid Key ID is dropped: an IGTK has Key
/// ID 4 or 5, a BIGTK 6 or 7.
pub(crate) fn integrity_keys(
    igtk: Option<GroupKey>,
    bigtk: Option<GroupKey>,
) -> impl Iterator<Item = (IntegrityKeyId, GroupKey)> {
    let keys = [(igtk, false), (bigtk, true)];
    keys.into_iter().filter_map(|(key, is_for_beacons)| {
        let key = key?;
        let key_id = IntegrityKeyId::new(u8::try_from(key.key_id).ok()?)?;
        (key_id.is_for_beacons() == is_for_beacons).then_some((key_id, key))
    })
}

/// Reads an IGTK or BIGTK. Both use the cipher for group addressed management frames (9.4.2.24.2). Without negotiated
/// protection, the key is ignored.
fn integrity_key(
    association: &Association,
    key_id: u16,
    ipn: [u8; 6],
    key: &[u8],
) -> Result<Option<GroupKey>, Discard> {
    let Some(suite) = association.group_management else {
        return Ok(None);
    };
    let mut key = GroupKey::new(key_id, key, suite)?;
    key.rsc = packet_number(&ipn);
    Ok(Some(key))
}

/// Reads the elements in the unencrypted key data of message 2.
pub(crate) fn elements(data: &[u8]) -> Result<crate::Elements, Discard> {
    let mut elements = crate::Elements::default();
    for item in KeyData::each(data) {
        match item.map_err(|_| Discard::KeyData)? {
            KeyData::Rsn(element) => elements.rsn = element.to_vec(),
            KeyData::Rsnx(element) => elements.rsnx = element.to_vec(),
            KeyData::Wpa(element) => elements.wpa = element.to_vec(),
            _ => {}
        }
    }
    Ok(elements)
}

/// Reads a Key RSC or IPN: six significant octets, least significant first (12.7.2 f).
fn packet_number(octets: &[u8]) -> PacketNumber {
    let mut number = [0; 8];
    number[..6].copy_from_slice(&octets[..6]);
    PacketNumber::new(u64::from_le_bytes(number)).expect("48 bits")
}
