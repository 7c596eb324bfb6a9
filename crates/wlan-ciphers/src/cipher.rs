//! A key of any suite for data frames, as one end of a link uses it.

use core::slice::from_mut;

use wlan_frames::Role;

use crate::engine::Backend;
#[cfg(feature = "study")]
use crate::half::Half;
use crate::key::{KeyError, TemporalKey};
use crate::michael::{MIC_LEN, MichaelHeader};
use crate::tkip::{self, Tkip};
use crate::wep::{self, Wep};
use crate::{KeyId, Method, OpenError, OpenJob, PacketNumber, SealError, SealFault, SealJob, Suite, ccmp};

/// A key of any suite except BIP, as one end of a link uses it. The suite is examined once per batch.
///
/// ```
/// use wlan_ciphers::{Cipher, KeyId, OpenJob, PacketNumber, Role, SealJob, Suite};
/// let [ap, sta] = [Role::Ap, Role::Sta].map(|role| Cipher::new(Suite::Tkip, &[7; 32], role).unwrap());
/// let mut mpdu = *b"\x08\x01\0\0AAAAAABBBBBBCCCCCC\x10\0........to be sealed............";
/// let (pn, key_id) = (PacketNumber::new(1).unwrap(), KeyId::PAIRWISE);
/// sta.seal(&mut [SealJob { mpdu: &mut mpdu, header_len: 24, pn, key_id }]).unwrap();
/// let mut jobs = [OpenJob::new(&mut mpdu, key_id)];
/// ap.open(&mut jobs);
/// assert_eq!(jobs[0].payload(), Ok(&b"to be sealed"[..]));
/// ```
#[derive(Debug, Clone)]
// The keys of a batch are adjacent in memory.
#[allow(clippy::large_enum_variant)]
pub enum Cipher {
    /// WEP-40 or WEP-104.
    Wep(Wep),
    /// TKIP.
    Tkip(Tkip),
    /// CCMP, GCMP or Enhanced CCMP.
    Aes(TemporalKey),
}

impl Cipher {
    /// Expands the key of the end with this role, for the fastest backend of this CPU. Only TKIP has different keys for
    /// the two ends (12.8.1).
    ///
    /// # Errors
    /// [`KeyError::Length`], or [`KeyError::Suite`] for BIP.
    pub fn new(suite: Suite, key: &[u8], role: Role) -> Result<Cipher, KeyError> {
        Cipher::with_backend(suite, key, role, Backend::detect())
    }

    /// Same as [`new`](Cipher::new) with a backend, which WEP and TKIP ignore.
    ///
    /// # Errors
    /// Each kind of [`KeyError`].
    pub fn with_backend(suite: Suite, key: &[u8], role: Role, backend: Backend) -> Result<Cipher, KeyError> {
        let length = KeyError::Length {
            suite,
            found: key.len(),
        };
        Ok(match suite.method() {
            Method::Wep => {
                let wep = Wep::new(key).ok().filter(|wep| wep.suite() == suite);
                Cipher::Wep(wep.ok_or(length)?)
            }
            Method::Tkip => Cipher::Tkip(Tkip::new(key.try_into().map_err(|_| length)?, role)),
            _ => Cipher::Aes(TemporalKey::with_backend(suite, key, backend)?),
        })
    }

    /// Turns SPP A-MSDU protection on or off, like [`TemporalKey::with_spp_amsdu`]. WEP and TKIP do not protect the
    /// header and ignore it.
    #[must_use]
    pub fn with_spp_amsdu(self, on: bool) -> Cipher {
        match self {
            Cipher::Aes(key) => Cipher::Aes(key.with_spp_amsdu(on)),
            other => other,
        }
    }

    /// The suite of the key.
    #[must_use]
    #[inline]
    pub fn suite(&self) -> Suite {
        match self {
            Cipher::Wep(key) => key.suite(),
            Cipher::Tkip(_) => Suite::Tkip,
            Cipher::Aes(key) => key.suite(),
        }
    }

    /// The backend, if the suite has a choice of backends.
    #[must_use]
    pub fn backend(&self) -> Option<Backend> {
        match self {
            Cipher::Aes(key) => Some(key.backend()),
            Cipher::Wep(_) | Cipher::Tkip(_) => None,
        }
    }

    /// Seals every MPDU of the batch in place. Each MPDU must hold a complete MSDU if the suite is TKIP.
    ///
    /// # Errors
    /// [`SealError`] for the first job that is malformed or, with TKIP, a fragment; the batch is then unchanged.
    #[inline]
    pub fn seal(&self, batch: &mut [SealJob<'_>]) -> Result<(), SealError> {
        match self {
            Cipher::Wep(key) => key.seal(batch),
            Cipher::Tkip(key) => key.seal(batch),
            Cipher::Aes(key) => key.seal(batch),
        }
    }

    /// Seals every MPDU of the batch in place, each a fragment. With TKIP, the MSDU ends with
    /// [its MIC](Cipher::msdu_mic).
    ///
    /// # Errors
    /// [`SealError`] for the first malformed job; the batch is then unchanged.
    pub fn seal_fragments(&self, batch: &mut [SealJob<'_>]) -> Result<(), SealError> {
        match self {
            Cipher::Tkip(key) => key.seal_fragments(batch),
            Cipher::Wep(_) | Cipher::Aes(_) => self.seal(batch),
        }
    }

    /// Opens every MPDU of the batch in place and sets the verdict of each job.
    #[inline]
    pub fn open(&self, batch: &mut [OpenJob<'_>]) {
        match self {
            Cipher::Wep(key) => key.open(batch),
            Cipher::Tkip(key) => key.open(batch),
            Cipher::Aes(key) => key.open(batch),
        }
    }

    /// Seals one MPDU in place, like [`seal`](Cipher::seal).
    ///
    /// # Errors
    /// The job's fault; the job is then unchanged.
    #[inline]
    pub fn seal_one(&self, job: &mut SealJob<'_>) -> Result<(), SealFault> {
        match self {
            Cipher::Wep(key) => key.seal(from_mut(job)).map_err(|error| error.fault),
            Cipher::Tkip(key) => key.seal(from_mut(job)).map_err(|error| error.fault),
            Cipher::Aes(key) => key.seal_one(job),
        }
    }

    /// Opens one MPDU in place and sets the verdict of the job, like [`open`](Cipher::open).
    #[inline]
    pub fn open_one(&self, job: &mut OpenJob<'_>) {
        match self {
            Cipher::Wep(key) => key.open(from_mut(job)),
            Cipher::Tkip(key) => key.open(from_mut(job)),
            Cipher::Aes(key) => key.open_one(job),
        }
    }

    /// Runs one half of sealing an MPDU in place. For measurements only: do not transmit a frame after one half.
    ///
    /// # Errors
    /// The job's fault; the job is then unchanged.
    #[cfg(feature = "study")]
    #[inline]
    pub fn seal_half(&self, half: Half, job: &mut SealJob<'_>) -> Result<(), SealFault> {
        match self {
            Cipher::Wep(key) => key.seal_half(half, job),
            Cipher::Tkip(key) => key.seal_half(half, job),
            Cipher::Aes(key) => key.seal_half(half, job),
        }
    }

    /// The MIC to append to an MSDU before fragmentation, which only TKIP has (12.5.2.1.2).
    #[must_use]
    pub fn msdu_mic(&self, header: MichaelHeader, msdu: &[u8]) -> Option<[u8; MIC_LEN]> {
        match self {
            Cipher::Tkip(key) => Some(key.msdu_mic(header, msdu)),
            Cipher::Wep(_) | Cipher::Aes(_) => None,
        }
    }

    /// Verifies the MIC of a reassembled MSDU, if the suite has one, and returns the MSDU without it.
    ///
    /// # Errors
    /// The errors of [`Tkip::verify_msdu`].
    pub fn verify_msdu<'m>(
        &self,
        header: MichaelHeader,
        octets: &'m mut [u8],
    ) -> Result<&'m [u8], OpenError> {
        match self {
            Cipher::Tkip(key) => key.verify_msdu(header, octets),
            Cipher::Wep(_) | Cipher::Aes(_) => Ok(octets),
        }
    }

    /// The unverified packet number and key identifier of a received MPDU of the suite.
    ///
    /// # Errors
    /// Each kind of [`OpenError`] except `Pending`, `KeyMismatch`, `Icv` and `Mic`.
    #[inline]
    pub fn peek(&self, mpdu: &[u8]) -> Result<(PacketNumber, KeyId), OpenError> {
        match self {
            Cipher::Wep(_) => wep::peek(mpdu),
            Cipher::Tkip(_) => tkip::peek(mpdu),
            Cipher::Aes(_) => ccmp::peek(mpdu),
        }
    }
}
