//! What protects the frames of one end of a link, by any suite: keys, packet numbers, replay check.

use wlan_ciphers::michael::{MIC_LEN, MichaelHeader};
use wlan_ciphers::{
    KeyId, OpenJob, Opened, PacketNumber, ReplayWindow, SealJob, Suite, TemporalKey, Tkip, Wep, tkip,
};
use wlan_frames::Role;

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

    /// Octets behind each MPDU of an MSDU that is sent in fragments: the MIC of TKIP is not among them.
    pub fn mpdu_mic_b(&self) -> usize {
        let of_msdu_b = if self.suite == Suite::Tkip { MIC_LEN } else { 0 };
        self.suite.mic_len() - of_msdu_b
    }

    /// The MIC to put behind an MSDU before it is cut into fragments, where there is one (12.5.2.1.2).
    pub fn msdu_mic(&self, header: MichaelHeader, msdu: &[u8]) -> Option<[u8; MIC_LEN]> {
        match &self.key {
            Key::Tkip(key) => Some(key.msdu_mic(header, msdu)),
            Key::Wep(_) | Key::Aes(_) => None,
        }
    }

    /// Seals a fragment in place.
    pub fn seal_fragment(&self, job: SealJob<'_>) {
        match &self.key {
            Key::Wep(key) => key.seal(&mut [job]),
            Key::Tkip(key) => key.seal_fragments(&mut [job]),
            Key::Aes(key) => key.seal(&mut [job]),
        }
        .expect("fragments built here are data frames");
    }

    /// The MSDU in what its fragments make, without its MIC where it has one; `None` if that is wrong.
    pub fn verify_msdu<'m>(&self, header: MichaelHeader, octets: &'m mut [u8]) -> Option<&'m [u8]> {
        match &self.key {
            Key::Tkip(key) => key.verify_msdu(header, octets).ok(),
            Key::Wep(_) | Key::Aes(_) => Some(octets),
        }
    }

    /// Whether packet numbers tell a frame that came before: not those of WEP.
    pub fn has_replay_check(&self) -> bool {
        !matches!(self.key, Key::Wep(_))
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
        !self.has_replay_check() || self.window.accept(opened.priority, opened.pn).is_ok()
    }
}
