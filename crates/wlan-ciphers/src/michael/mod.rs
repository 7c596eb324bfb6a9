//! Michael, the message integrity code of TKIP, IEEE 802.11-2020 12.5.2.3.
//!
//! ```text
//!  covered   DA (6)   SA (6)   priority (1)   0 0 0   MSDU   5A   at least 4 zeros, up to a multiple of 4
//! ```
//! Michael covers MSDUs, not MPDUs: the MIC is added before fragmentation and checked after reassembly.
//!
//! Each step takes four octets and depends on the previous step, so a single MSDU is limited by latency. The MSDUs of a
//! batch are independent: AVX-512 processes sixteen in parallel, AVX2 eight (`x86`).
//!
//! Michael is weak by design: its strength against forgery is about 29 bits. 12.5.2.4 therefore requires an access
//! point to stop TKIP for 60 seconds after two forgeries within 60 seconds. These countermeasures are not part of this
//! crate.

#[cfg(target_arch = "x86_64")]
mod x86;

use core::fmt;

use wlan_frames::{DataFrame, MacAddr};
use zeroize::{Zeroize, ZeroizeOnDrop};

#[cfg(target_arch = "x86_64")]
use crate::lanes::ByLength;
use crate::lanes::WINDOW;

/// Octets of a MIC.
pub const MIC_LEN: usize = 8;
/// Octets of a key.
pub const KEY_LEN: usize = 8;
const HEADER_LEN: usize = 16;

/// A Michael key, for one direction between two stations. It is wiped when dropped and never printed.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct MichaelKey([u8; KEY_LEN]);

impl fmt::Debug for MichaelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MichaelKey").finish_non_exhaustive()
    }
}

impl From<[u8; KEY_LEN]> for MichaelKey {
    fn from(key: [u8; KEY_LEN]) -> MichaelKey {
        MichaelKey(key)
    }
}

/// The fields that the MIC covers before the MSDU.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct MichaelHeader {
    /// Destination of the MSDU.
    pub da: MacAddr,
    /// Source of the MSDU.
    pub sa: MacAddr,
    /// TID of the MSDU, 0 without QoS.
    pub priority: u8,
}

impl From<&DataFrame<'_>> for MichaelHeader {
    fn from(frame: &DataFrame<'_>) -> MichaelHeader {
        MichaelHeader {
            da: frame.da(),
            sa: frame.sa(),
            priority: frame.tid(),
        }
    }
}

impl MichaelHeader {
    fn octets(self) -> [u8; HEADER_LEN] {
        let mut octets = [0; HEADER_LEN];
        octets[..6].copy_from_slice(&self.da.0);
        octets[6..12].copy_from_slice(&self.sa.0);
        octets[12] = self.priority;
        octets
    }
}

/// An MSDU and the other inputs of its MIC.
#[derive(Debug)]
pub struct Message<'a> {
    /// Key of the MSDU's direction.
    pub key: &'a MichaelKey,
    /// The covered fields before the MSDU.
    pub header: MichaelHeader,
    /// The MSDU: LLC header and payload.
    pub msdu: &'a [u8],
}

/// The MIC of one MSDU.
#[must_use]
pub fn mic(message: &Message<'_>) -> [u8; MIC_LEN] {
    let mut state = State::new(&message.key.0);
    let words = message.header.octets();
    words.as_chunks().0.iter().for_each(|&word| state.step(word));
    let (words, rest) = message.msdu.as_chunks();
    words.iter().for_each(|&word| state.step(word));
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] = PAD;
    state.step(last);
    state.step([0; 4]);
    state.mic()
}

/// The MICs of a batch of MSDUs, computed by the fastest backend of this CPU.
///
/// # Panics
/// If the slices differ in length.
pub fn mics(messages: &[Message<'_>], mics: &mut [[u8; MIC_LEN]]) {
    mics_with(Backend::detect(), messages, mics);
}

/// An implementation of Michael.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    /// One MSDU at a time.
    Portable,
    /// Eight MSDUs in parallel.
    #[cfg(target_arch = "x86_64")]
    Avx2(x86::Avx2),
    /// Sixteen MSDUs in parallel.
    #[cfg(target_arch = "x86_64")]
    Avx512(x86::Avx512),
}

impl Backend {
    /// All backends that this CPU supports, the fastest last.
    pub(crate) fn available() -> impl Iterator<Item = Backend> {
        let backends = [
            Some(Backend::Portable),
            #[cfg(target_arch = "x86_64")]
            x86::Avx2::detect().map(Backend::Avx2),
            #[cfg(target_arch = "x86_64")]
            x86::Avx512::detect().map(Backend::Avx512),
        ];
        backends.into_iter().flatten()
    }

    fn detect() -> Backend {
        Self::available().last().unwrap_or(Backend::Portable)
    }
}

fn mics_with(backend: Backend, messages: &[Message<'_>], mics: &mut [[u8; MIC_LEN]]) {
    assert_eq!(messages.len(), mics.len(), "one MIC per message");
    // A single message needs no sorting.
    if let ([message], [out]) = (messages, &mut *mics) {
        *out = mic(message);
        return;
    }
    for (messages, mics) in messages.chunks(WINDOW).zip(mics.chunks_mut(WINDOW)) {
        match backend {
            Backend::Portable => messages
                .iter()
                .zip(mics)
                .for_each(|(message, out)| *out = mic(message)),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2(avx2) => by_lanes(messages, mics, |group| avx2.mics(group)),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512(avx512) => by_lanes(messages, mics, |group| avx512.mics(group)),
        }
    }
}

/// Processes a window with a kernel of `L` lanes.
#[cfg(target_arch = "x86_64")]
fn by_lanes<const L: usize>(
    messages: &[Message<'_>],
    mics: &mut [[u8; MIC_LEN]],
    kernel: impl Fn(&[&Message<'_>; L]) -> [[u8; MIC_LEN]; L],
) {
    // Empty MSDUs have a MIC too. The length of the covered fields keeps `ByLength` from leaving them out.
    let order = ByLength::new(messages.iter().map(|message| HEADER_LEN + message.msdu.len()));
    for group in order.groups(L) {
        // A single message finishes before the lanes would be filled.
        if let &[index] = group {
            mics[usize::from(index)] = mic(&messages[usize::from(index)]);
            continue;
        }
        // Unused lanes repeat the first message.
        let mut lanes = [&messages[usize::from(group[0])]; L];
        for (lane, &index) in lanes.iter_mut().zip(group) {
            *lane = &messages[usize::from(index)];
        }
        for (&index, mic) in group.iter().zip(kernel(&lanes)) {
            mics[usize::from(index)] = mic;
        }
    }
}

/// Octet after the message, before the zeros.
const PAD: u8 = 0x5a;

/// Both halves of the state.
#[derive(ZeroizeOnDrop)]
struct State {
    l: u32,
    r: u32,
}

impl State {
    fn new(key: &[u8; KEY_LEN]) -> State {
        let [a, b, c, d, e, f, g, h] = *key;
        State {
            l: u32::from_le_bytes([a, b, c, d]),
            r: u32::from_le_bytes([e, f, g, h]),
        }
    }

    fn step(&mut self, word: [u8; 4]) {
        self.l ^= u32::from_le_bytes(word);
        self.r ^= self.l.rotate_left(17);
        self.l = self.l.wrapping_add(self.r);
        // Swap the octets of each 16-bit half.
        self.r ^= self.l.swap_bytes().rotate_left(16);
        self.l = self.l.wrapping_add(self.r);
        self.r ^= self.l.rotate_left(3);
        self.l = self.l.wrapping_add(self.r);
        self.r ^= self.l.rotate_right(2);
        self.l = self.l.wrapping_add(self.r);
    }

    fn mic(&self) -> [u8; MIC_LEN] {
        let ([a, b, c, d], [e, f, g, h]) = (self.l.to_le_bytes(), self.r.to_le_bytes());
        [a, b, c, d, e, f, g, h]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::{Octets, load};
    use proptest::prelude::*;
    use serde::Deserialize;

    #[derive(Deserialize)]
    struct Vector {
        name: String,
        key: Octets,
        message: Octets,
        mic: Octets,
    }

    #[test]
    fn michael_agrees_with_the_vectors_of_the_standard() {
        let vectors: Vec<Vector> = load("michael/ieee80211i.json");
        assert_eq!(vectors.len(), 6);
        for v in vectors {
            // These vectors test the function alone, without addresses before the message.
            let mut state = State::new(&v.key.0[..].try_into().unwrap());
            let mut padded = v.message.0.clone();
            padded.push(PAD);
            padded.resize((padded.len() + 4).next_multiple_of(4), 0);
            padded.as_chunks().0.iter().for_each(|&word| state.step(word));
            assert_eq!(state.mic()[..], v.mic.0, "{}", v.name);
        }
    }

    #[test]
    fn every_octet_and_the_priority_change_the_mic() {
        let key = MichaelKey::from(*b"michael!");
        let header = MichaelHeader {
            da: MacAddr([2, 0, 0, 0, 0, 1]),
            sa: MacAddr([2, 0, 0, 0, 0, 2]),
            priority: 0,
        };
        let of = |header, msdu: &[u8]| {
            mic(&Message {
                key: &key,
                header,
                msdu,
            })
        };
        let right = of(header, b"msdu");
        assert_ne!(
            right,
            of(
                MichaelHeader {
                    priority: 1,
                    ..header
                },
                b"msdu"
            )
        );
        assert_ne!(
            right,
            of(
                MichaelHeader {
                    da: header.sa,
                    sa: header.da,
                    ..header
                },
                b"msdu"
            )
        );
        assert_ne!(
            right,
            of(header, b"msdu\0"),
            "the MIC depends on the length of the MSDU"
        );
    }

    #[test]
    fn the_portable_backend_is_always_available() {
        assert!(matches!(Backend::available().next(), Some(Backend::Portable)));
        #[cfg(target_arch = "x86_64")]
        assert_eq!(
            Backend::available().any(|backend| matches!(backend, Backend::Avx2(_))),
            std::is_x86_feature_detected!("avx2")
        );
    }

    proptest! {
        #[test]
        fn every_backend_agrees_with_the_portable_one(
            batch in proptest::collection::vec(
                (any::<[u8; 8]>(), any::<[u8; 6]>(), any::<[u8; 6]>(), 0u8..16,
                 proptest::collection::vec(any::<u8>(), 0..400)),
                0..80,
            ),
        ) {
            let keys: Vec<_> = batch.iter().map(|(key, ..)| MichaelKey::from(*key)).collect();
            let messages: Vec<_> = batch
                .iter()
                .zip(&keys)
                .map(|(&(_, da, sa, priority, ref msdu), key)| Message {
                    key,
                    header: MichaelHeader { da: MacAddr(da), sa: MacAddr(sa), priority },
                    msdu,
                })
                .collect();
            let expected: Vec<_> = messages.iter().map(mic).collect();
            for backend in Backend::available() {
                let mut found = vec![[0; MIC_LEN]; messages.len()];
                mics_with(backend, &messages, &mut found);
                prop_assert_eq!(&found, &expected, "{:?}", backend);
            }
        }
    }
}
