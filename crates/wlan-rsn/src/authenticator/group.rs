//! The group keys of an access point (IEEE 802.11-2020 12.7.1.4, 12.7.1.5, 12.7.7).

use std::collections::VecDeque;

use rand_core::CryptoRng;
use wlan_ciphers::{IntegrityKeyId, KeyId, PacketNumber, Suite};
use wlan_frames::MacAddr;
use wlan_frames::eapol::KeyData;

use crate::Key;
use crate::output::{GroupKey, Output};

/// A group key with its integrity group key.
pub(super) struct GroupKeys {
    /// Generation of the keys, counted from 0.
    pub(super) generation: u64,
    cipher: Suite,
    pub(super) key_id: KeyId,
    pub(super) gtk: Key,
    integrity: Option<Integrity>,
    /// Last packet number used.
    pub(super) rsc: u64,
}

struct Integrity {
    suite: Suite,
    key_id: IntegrityKeyId,
    igtk: Key,
    ipn: u64,
}

impl GroupKeys {
    /// Draws new keys. The standard allows an access point to derive a GTK from a master key and a nonce (12.7.1.4);
    /// a good random generator is equivalent.
    fn draw(generation: u64, cipher: Suite, integrity: Option<Suite>, rng: &mut dyn CryptoRng) -> GroupKeys {
        let mut key = |suite: Suite| Key::filled(suite.key_len(), |out| rng.fill_bytes(out));
        let second = u8::from(generation % 2 == 1);
        GroupKeys {
            generation,
            cipher,
            // Key IDs alternate: 1 and 2, 4 and 5 (12.7.7.1). 0 is left to the pairwise key, for cards that require
            // that.
            key_id: KeyId::new(1 + second).expect("1 or 2"),
            gtk: key(cipher),
            integrity: integrity.map(|suite| Integrity {
                suite,
                key_id: IntegrityKeyId::new(4 + second).expect("4 or 5"),
                igtk: key(suite),
                ipn: 0,
            }),
            rsc: 0,
        }
    }

    /// Appends the KDEs of these keys (Table 12-9).
    fn push(&self, with_integrity: bool, data: &mut Vec<u8>) {
        KeyData::Gtk {
            key_id: self.key_id.get(),
            transmit: false,
            key: self.gtk.as_octets(),
        }
        .push(data);
        if let Some(integrity) = self.integrity.as_ref().filter(|_| with_integrity) {
            KeyData::Igtk {
                key_id: integrity.key_id.get().into(),
                ipn: ipn_octets(integrity.ipn),
                key: integrity.igtk.as_octets(),
            }
            .push(data);
        }
    }
}

/// The group keys of an access point: the current keys, the next keys during a rekey, and the key of its beacons,
/// which a rekey does not replace.
pub(super) struct Group {
    present: GroupKeys,
    next: Option<GroupKeys>,
    beacons: Option<BeaconKey>,
}

struct BeaconKey {
    key_id: IntegrityKeyId,
    bigtk: Key,
    /// Last packet number used.
    ipn: u64,
}

impl Group {
    pub(super) fn new(cipher: Suite, integrity: Option<Suite>, rng: &mut dyn CryptoRng) -> Group {
        Group {
            present: GroupKeys::draw(0, cipher, integrity, rng),
            next: None,
            beacons: None,
        }
    }

    /// Appends the KDEs of `keys` and of the beacon key, in the order of message 3 (12.7.6.4). `with_integrity`
    /// states that the station protects management frames.
    pub(super) fn push(&self, keys: &GroupKeys, with_integrity: bool, data: &mut Vec<u8>) {
        keys.push(with_integrity, data);
        if let Some(beacons) = self.beacons.as_ref().filter(|_| with_integrity) {
            KeyData::Bigtk {
                key_id: beacons.key_id.get().into(),
                ipn: ipn_octets(beacons.ipn),
                key: beacons.bigtk.as_octets(),
            }
            .push(data);
        }
    }

    /// The keys to distribute to stations: the newest.
    pub(super) fn told(&self) -> &GroupKeys {
        self.next.as_ref().unwrap_or(&self.present)
    }

    /// The keys of a generation that may still be distributed. Keys are dropped only after every station with a
    /// session has the next generation.
    pub(super) fn of(&self, generation: u64) -> Option<&GroupKeys> {
        std::iter::once(&self.present)
            .chain(&self.next)
            .find(|keys| keys.generation == generation)
    }

    /// Draws the next keys. Returns false if a rekey is already in progress.
    pub(super) fn begin_rekey(&mut self, rng: &mut dyn CryptoRng) -> bool {
        if self.next.is_some() {
            return false;
        }
        let integrity = self.present.integrity.as_ref().map(|integrity| integrity.suite);
        let generation = self.present.generation + 1;
        self.next = Some(GroupKeys::draw(generation, self.present.cipher, integrity, rng));
        true
    }

    pub(super) fn note_numbers(&mut self, group: u64, integrity: u64) {
        let limit = |number: u64| number.min(PacketNumber::MAX.get());
        self.present.rsc = limit(group);
        if let Some(present) = &mut self.present.integrity {
            present.ipn = limit(integrity);
        }
    }

    /// Sets the beacon key, which is distributed from now on. Returns false unless the key and its Key ID are valid
    /// for the cipher of group addressed management frames.
    pub(super) fn set_beacon_key(&mut self, key_id: IntegrityKeyId, bigtk: Key) -> bool {
        let suite = self.present.integrity.as_ref().map(|integrity| integrity.suite);
        let is_one = key_id.is_for_beacons() && suite.map(Suite::key_len) == Some(bigtk.as_octets().len());
        if is_one {
            self.beacons = Some(BeaconKey {
                key_id,
                bigtk,
                ipn: 0,
            });
        }
        is_one
    }

    pub(super) fn note_beacon_number(&mut self, ipn: u64) {
        if let Some(beacons) = &mut self.beacons {
            beacons.ipn = ipn.min(PacketNumber::MAX.get());
        }
    }

    /// The generation of the next keys, during a rekey.
    pub(super) fn coming(&self) -> Option<u64> {
        self.next.as_ref().map(|next| next.generation)
    }

    /// Replaces the current keys by the next keys.
    pub(super) fn settle<P>(&mut self, address: MacAddr, outputs: &mut VecDeque<Output<P>>) {
        if let Some(next) = self.next.take() {
            self.present = next;
            self.install(address, outputs);
        }
    }

    /// Installs the current keys.
    pub(super) fn install<P>(&self, peer: MacAddr, outputs: &mut VecDeque<Output<P>>) {
        let key = GroupKey {
            key_id: self.present.key_id,
            suite: self.present.cipher,
            key: self.present.gtk.clone(),
            rsc: PacketNumber::ZERO,
        };
        outputs.push_back(Output::InstallGroup { peer, key });
        if let Some(integrity) = &self.present.integrity {
            outputs.push_back(Output::InstallIntegrity {
                peer,
                key_id: integrity.key_id,
                suite: integrity.suite,
                key: integrity.igtk.clone(),
                ipn: PacketNumber::ZERO,
            });
        }
    }
}

/// Encodes a 48-bit packet number, least significant octet first.
fn ipn_octets(ipn: u64) -> [u8; 6] {
    let [a, b, c, d, e, f, ..] = ipn.to_le_bytes();
    [a, b, c, d, e, f]
}
