//! Frame protection at one end of a link, for every cipher suite: key, packet numbers, replay check.

use wlan_ciphers::michael::{MIC_LEN, MichaelHeader};
use wlan_ciphers::{Cipher, KeyId, OpenJob, Opened, PacketNumber, ReplayWindow, SealJob, Suite};
use wlan_frames::Role;

/// The key ID of the pairwise key, which is the only key.
pub const KEY_ID: KeyId = KeyId::PAIRWISE;

/// Number of initialisation vectors of WEP (IEEE 802.11-2020 12.3.2.2).
const WEP_IVS: u64 = 1 << 24;

/// The protection of one end.
pub struct Protection {
    cipher: Box<Cipher>,
    last_pn: PacketNumber,
    window: ReplayWindow,
}

impl Protection {
    /// Creates the protection for a suite; `None` if the key has the wrong length or the suite does not protect data
    /// frames.
    pub fn new(suite: Suite, key: &[u8], role: Role) -> Option<Self> {
        Some(Self {
            cipher: Box::new(Cipher::new(suite, key, role).ok()?),
            last_pn: PacketNumber::ZERO,
            window: ReplayWindow::new(PacketNumber::ZERO),
        })
    }

    /// This protection after the packet number `last_pn` was sent, and those in `window` were received.
    pub fn after(self, last_pn: PacketNumber, window: ReplayWindow) -> Self {
        Self {
            last_pn,
            window,
            ..self
        }
    }

    /// The cipher suite.
    pub fn suite(&self) -> Suite {
        self.cipher.suite()
    }

    /// The next unused packet number. The initialisation vectors of WEP wrap around.
    pub fn next_pn(&mut self) -> PacketNumber {
        self.last_pn = if self.suite().is_wep() {
            PacketNumber::new((self.last_pn.get() + 1) % WEP_IVS).expect("24 bits fit 48")
        } else {
            self.last_pn.next().expect("no run lasts for 2^48 frames")
        };
        self.last_pn
    }

    /// Seals (encrypts) a batch of MPDUs in place.
    pub fn seal(&self, batch: &mut [SealJob<'_>]) {
        self.cipher
            .seal(batch)
            .expect("frames built here are complete data frames");
    }

    /// Octets of the MIC or ICV of each fragment, excluding the TKIP MIC, which is part of the MSDU.
    pub fn mpdu_mic_b(&self) -> usize {
        let of_msdu_b = if self.suite() == Suite::Tkip { MIC_LEN } else { 0 };
        self.suite().mic_len() - of_msdu_b
    }

    /// The MIC to append to an MSDU before fragmentation, if the suite has one (12.5.2.1.2).
    pub fn msdu_mic(&self, header: MichaelHeader, msdu: &[u8]) -> Option<[u8; MIC_LEN]> {
        self.cipher.msdu_mic(header, msdu)
    }

    /// Seals a fragment in place.
    pub fn seal_fragment(&self, job: SealJob<'_>) {
        self.cipher
            .seal_fragments(&mut [job])
            .expect("fragments built here are data frames");
    }

    /// Checks and removes the MIC of a reassembled MSDU, if the suite has one. `None` if the MIC is wrong.
    pub fn verify_msdu<'m>(&self, header: MichaelHeader, octets: &'m mut [u8]) -> Option<&'m [u8]> {
        self.cipher.verify_msdu(header, octets).ok()
    }

    /// Whether packet numbers reveal replays; those of WEP do not.
    pub fn has_replay_check(&self) -> bool {
        !self.suite().is_wep()
    }

    /// Opens (decrypts and verifies) a batch of MPDUs in place.
    pub fn open(&self, batch: &mut [OpenJob<'_>]) {
        self.cipher.open(batch);
    }

    /// Whether an opened frame is not a replay. WEP cannot detect replays.
    pub fn accept(&mut self, opened: &Opened) -> bool {
        !self.has_replay_check() || self.window.accept(opened.priority, opened.pn).is_ok()
    }
}
