//! The keys that an end of an association uses, and the frames that they seal and open.

use wlan_ciphers::{
    Bip, Cipher, IntegrityKeyId, KeyId, OpenJob, PacketNumber, Priority, ReplayWindow, SealJob, Suite,
};
use wlan_frames::{FrameControl, MacAddr, Role};
use wlan_rsn::Key;

fn cipher(suite: Suite, key: &Key, role: Role) -> Box<Cipher> {
    let cipher = Cipher::new(suite, key.as_octets(), role);
    Box::new(cipher.expect("a handshake yields keys of their suite's length"))
}

/// A key that seals MPDUs.
pub struct Sealing {
    cipher: Box<Cipher>,
    key_id: KeyId,
    pn: PacketNumber,
}

impl Sealing {
    /// A new key of the end with this role.
    pub fn new(suite: Suite, key: &Key, key_id: KeyId, role: Role) -> Self {
        Self {
            cipher: cipher(suite, key, role),
            key_id,
            pn: PacketNumber::ZERO,
        }
    }

    /// The packet number of the last frame.
    pub fn last_pn(&self) -> PacketNumber {
        self.pn
    }

    /// The suite of the key.
    pub fn suite(&self) -> Suite {
        self.cipher.suite()
    }

    /// The sealed MPDU with this header and body.
    pub fn seal(&mut self, header: &[u8], body: &[u8]) -> Vec<u8> {
        self.pn = self.pn.next().expect("2^48 frames outlast any key");
        let (suite, space) = (self.cipher.suite(), |octets| vec![0; octets]);
        let mut mpdu = [header, &space(suite.header_len()), body, &space(suite.mic_len())].concat();
        let job = SealJob {
            mpdu: &mut mpdu,
            header_len: header.len(),
            pn: self.pn,
            key_id: self.key_id,
        };
        let sealed = self.cipher.seal(&mut [job]);
        sealed.expect("frames built here can be sealed");
        mpdu
    }
}

/// A key that opens MPDUs.
pub struct Opening {
    key: Key,
    cipher: Box<Cipher>,
    key_id: KeyId,
    window: ReplayWindow,
}

/// Why a protected frame was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// No key opens it.
    Unopened,
    /// Its packet number is not new.
    Replay,
}

impl Opening {
    /// A key of the end with this role, after frames up to `last`.
    pub fn new(suite: Suite, key: &Key, key_id: KeyId, role: Role, last: PacketNumber) -> Self {
        Self {
            key: key.clone(),
            cipher: cipher(suite, key, role),
            key_id,
            window: ReplayWindow::new(last),
        }
    }

    /// The key.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The packet numbers of the frames that the key has opened.
    pub fn window(&self) -> &ReplayWindow {
        &self.window
    }

    /// Identifier of the key.
    pub fn key_id(&self) -> KeyId {
        self.key_id
    }

    /// The plaintext of the MPDU's body, if the key opens the MPDU. `Err` if it is a replay.
    fn open(&mut self, mpdu: &[u8]) -> Option<Result<Vec<u8>, Dropped>> {
        let mut octets = mpdu.to_vec();
        let mut job = OpenJob::new(&mut octets, self.key_id);
        self.cipher.open_one(&mut job);
        let opened = job.verdict().ok()?.clone();
        Some(match self.window.accept(opened.priority, opened.pn) {
            Ok(()) => Ok(octets[opened.payload].to_vec()),
            Err(_) => Err(Dropped::Replay),
        })
    }
}

/// Opens an MPDU with the first key that fits, the newest first.
pub fn open(keys: &mut [Opening], mpdu: &[u8]) -> Result<Vec<u8>, Dropped> {
    keys.iter_mut()
        .rev()
        .find_map(|key| key.open(mpdu))
        .unwrap_or(Err(Dropped::Unopened))
}

/// A key for group addressed management frames or beacons.
pub struct Integrity {
    bip: Bip,
    /// Identifier of the key.
    pub key_id: IntegrityKeyId,
    ipn: PacketNumber,
}

impl Integrity {
    /// A key, after frames up to `last`.
    pub fn new(suite: Suite, key: &Key, key_id: IntegrityKeyId, last: PacketNumber) -> Self {
        Self {
            bip: Bip::new(suite, key.as_octets()).expect("a handshake yields keys of their suite's length"),
            key_id,
            ipn: last,
        }
    }

    /// The packet number of the last frame.
    pub fn last_ipn(&self) -> PacketNumber {
        self.ipn
    }

    /// Octets of the MME.
    pub fn overhead(&self) -> usize {
        self.bip.suite().overhead()
    }

    /// Protects an MPDU in place. Its last octets are the space for the MME.
    pub fn protect(&mut self, mpdu: &mut [u8]) {
        self.ipn = self.ipn.next().expect("2^48 frames outlast any key");
        self.bip
            .protect(mpdu, self.ipn, self.key_id)
            .expect("frames built here can be protected");
    }

    /// Checks the MME of an MPDU.
    ///
    /// # Errors
    /// [`Dropped`].
    pub fn check(&mut self, mpdu: &[u8]) -> Result<(), Dropped> {
        let checked = self
            .bip
            .check(mpdu)
            .ok()
            .filter(|checked| checked.key_id == self.key_id)
            .ok_or(Dropped::Unopened)?;
        let mut window = ReplayWindow::new(self.ipn);
        window
            .accept(Priority::Management, checked.ipn)
            .map_err(|_| Dropped::Replay)?;
        self.ipn = checked.ipn;
        Ok(())
    }
}

/// Whether an MPDU is protected by a pairwise or group key.
pub fn is_sealed(mpdu: &[u8]) -> bool {
    FrameControl::parse(mpdu).is_ok_and(|control| control.has(FrameControl::PROTECTED))
}

/// Address 1 and Address 2 of a Data or management frame.
pub fn addresses(mpdu: &[u8]) -> Option<[MacAddr; 2]> {
    let address = |at: usize| Some(MacAddr(mpdu.get(at..at + 6)?.try_into().ok()?));
    Some([address(4)?, address(10)?])
}
