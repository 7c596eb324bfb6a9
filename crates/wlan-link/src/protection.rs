//! What protects the frames of one end of a link, by any suite: keys, packet numbers, replay check.

use wlan_ciphers::{
    KeyId, OpenJob, Opened, PacketNumber, ReplayWindow, SealJob, Suite, TemporalKey, Tkip, Wep, tkip,
};

use crate::station::Role;

/// The pairwise key, and the only one.
pub const KEY_ID: KeyId = KeyId::PAIRWISE;

/// How many initialisation vectors WEP has (IEEE 802.11-2020 12.3.2.2).
const WEP_IVS: u64 = 1 << 24;

/// The protection of one end.
pub struct Protection {
    suite: Suite,
    key: Key,
    last_pn: PacketNumber,
    window: ReplayWindow,
}

enum Key {
    Wep(Wep),
    Tkip(Box<Tkip>),
    Aes(Box<TemporalKey>),
}

impl Protection {
    /// Takes the key of a suite; `None` if it is not one of the suite's length, or the suite protects no data frames.
    pub fn new(suite: Suite, key: &[u8], role: Role) -> Option<Self> {
        let key = match suite {
            Suite::Wep40 | Suite::Wep104 => Key::Wep(Wep::new(key).ok().filter(|wep| wep.suite() == suite)?),
            Suite::Tkip => {
                let role = match role {
                    Role::Ap => tkip::Role::Authenticator,
                    Role::Sta => tkip::Role::Supplicant,
                };
                Key::Tkip(Box::new(Tkip::new(key.try_into().ok()?, role)))
            }
            suite => Key::Aes(Box::new(TemporalKey::new(suite, key).ok()?)),
        };
        Some(Self {
            suite,
            key,
            last_pn: PacketNumber::ZERO,
            window: ReplayWindow::new(PacketNumber::ZERO),
        })
    }

    /// The cipher suite.
    pub fn suite(&self) -> Suite {
        self.suite
    }

    /// A packet number that no frame of this end had yet; WEP's come round again.
    pub fn next_pn(&mut self) -> PacketNumber {
        self.last_pn = match self.key {
            Key::Wep(_) => PacketNumber::new((self.last_pn.get() + 1) % WEP_IVS).expect("24 bits fit 48"),
            Key::Tkip(_) | Key::Aes(_) => self.last_pn.next().expect("no run lasts for 2^48 frames"),
        };
        self.last_pn
    }

    /// Seals a batch in place.
    pub fn seal(&self, batch: &mut [SealJob<'_>]) {
        match &self.key {
            Key::Wep(key) => key.seal(batch),
            Key::Tkip(key) => key.seal(batch),
            Key::Aes(key) => key.seal(batch),
        }
        .expect("frames built here are whole data frames");
    }

    /// Opens a batch in place.
    pub fn open(&self, batch: &mut [OpenJob<'_>]) {
        match &self.key {
            Key::Wep(key) => key.open(batch),
            Key::Tkip(key) => key.open(batch),
            Key::Aes(key) => key.open(batch),
        }
    }

    /// Whether a frame that opened is none that came before (WEP cannot tell).
    pub fn accept(&mut self, opened: &Opened) -> bool {
        matches!(self.key, Key::Wep(_)) || self.window.accept(opened.priority, opened.pn).is_ok()
    }
}
