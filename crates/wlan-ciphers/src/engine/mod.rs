//! The engine: CCM and GCM over many frames at once, on what this CPU has.
//!
//! A chain of CBC-MAC is serial, so one frame cannot go faster than the latency of AES (RFC 3610 section 2.2 gives no
//! way round). Frames are independent of each other, so the engine runs many in lock step: one register holds a block
//! of each of a few frames, a group is a few registers.
//!
//! | module | what |
//! |---|---|
//! | `schedule` | round keys and powers of the hash key |
//! | `pass` | sealing, opening, and halves of sealing, to be measured |
//! | `order` | the order in which the kernels take the frames of a batch |
//! | `machine` | what the kernels ask of a machine, and how frames are laid over its registers |
//! | `ccm`, `gcm` | the kernels, written once over `machine` |
//! | `bitslice`, `polyval` | AES and GHASH in constant time on any CPU |
//! | `portable`, `aesni`, `vaes256`, `vaes512`, `armv8` | the machines, with their intrinsics |
//!
//! Memory outside the frames is never written and the frames' own is read only within their MPDU.

#![allow(unsafe_code)]
// Lanes, blocks and octets of a block are counted in integers that fit: at most 16 lanes, 4096 blocks. Kernels walk
// several arrays with one index, which is how they are kept in registers.
#![allow(clippy::cast_possible_truncation, clippy::needless_range_loop)]

#[cfg(target_arch = "x86_64")]
mod aesni;
#[cfg(target_arch = "aarch64")]
mod armv8;
mod bitslice;
mod ccm;
mod gcm;
// The kernel of Enhanced CCMP over lanes, which the portable machine does not use.
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), allow(dead_code))]
mod lanes;
mod machine;
mod order;
pub(crate) mod pass;
mod polyval;
mod portable;
mod schedule;
#[cfg(target_arch = "x86_64")]
mod vaes256;
#[cfg(target_arch = "x86_64")]
mod vaes512;

use std::fmt;
use std::ops::Range;

#[cfg(target_arch = "aarch64")]
use armv8::Armv8;
use machine::{Group, Keys, Machine, Rows};
pub(crate) use order::{MAX_PAYLOAD_LEN, WINDOW, protect};
use pass::Pass;
use portable::Portable;
pub(crate) use schedule::{Kind, Mode, Schedule};
#[cfg(target_arch = "x86_64")]
use {aesni::AesNi, vaes256::Vaes256, vaes512::Vaes512};

/// Which instructions frames are protected with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Backend {
    /// Any CPU: bit-sliced AES, eight frames at a time.
    Portable,
    /// AES-NI and PCLMULQDQ: eight frames at a time.
    AesNi,
    /// AVX2 with VAES and VPCLMULQDQ: sixteen frames at a time.
    Vaes256,
    /// AVX-512 with VAES and VPCLMULQDQ: sixteen frames at a time.
    Vaes512,
    /// AES and PMULL of 64-bit Arm: eight frames at a time.
    Armv8,
}

impl Backend {
    /// All backends, the slowest first.
    const ALL: [Backend; 5] = [
        Backend::Portable,
        Backend::AesNi,
        Backend::Vaes256,
        Backend::Vaes512,
        Backend::Armv8,
    ];

    /// The fastest backend of this CPU.
    #[must_use]
    pub fn detect() -> Backend {
        Backend::available().last().unwrap_or(Backend::Portable)
    }

    /// The backends of this CPU, the slowest first.
    pub fn available() -> impl Iterator<Item = Backend> {
        Backend::ALL.into_iter().filter(|backend| backend.is_available())
    }

    /// True if this CPU has what the backend needs.
    #[must_use]
    pub fn is_available(self) -> bool {
        AnyMachine::detect(self).is_some()
    }

    /// A short name: `portable`, `aesni`, `vaes256`, `vaes512`, `armv8`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Backend::Portable => "portable",
            Backend::AesNi => "aesni",
            Backend::Vaes256 => "vaes256",
            Backend::Vaes512 => "vaes512",
            Backend::Armv8 => "armv8",
        }
    }
}

/// A machine that was detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnyMachine {
    Portable(Portable),
    #[cfg(target_arch = "x86_64")]
    AesNi(AesNi),
    #[cfg(target_arch = "x86_64")]
    Vaes256(Vaes256),
    #[cfg(target_arch = "x86_64")]
    Vaes512(Vaes512),
    #[cfg(target_arch = "aarch64")]
    Armv8(Armv8),
}

impl AnyMachine {
    fn detect(backend: Backend) -> Option<AnyMachine> {
        match backend {
            Backend::Portable => Some(AnyMachine::Portable(Portable)),
            #[cfg(target_arch = "x86_64")]
            Backend::AesNi => AesNi::detect().map(AnyMachine::AesNi),
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes256 => Vaes256::detect().map(AnyMachine::Vaes256),
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes512 => Vaes512::detect().map(AnyMachine::Vaes512),
            #[cfg(target_arch = "aarch64")]
            Backend::Armv8 => Armv8::detect().map(AnyMachine::Armv8),
            // Those of other CPUs.
            _ => None,
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What the nonce and the AAD of a frame become before they are enciphered: blocks as little-endian numbers, so that
/// they are built and handed on in registers.
pub(crate) struct Blocks {
    /// Counter block with count 0.
    pub(crate) counter: u128,
    /// CCM: B0. GCM: the lengths block.
    pub(crate) first: u128,
    /// The AAD, the first of two blocks; CCM: after its length.
    pub(crate) aad_1: u128,
    /// The second, padded with zeros.
    pub(crate) aad_2: u128,
}

/// [`Blocks`] as they lie in memory.
#[repr(C)]
struct BlocksInOrder {
    counter: u128,
    first: u128,
    aad_1: u128,
    aad_2: u128,
}

impl BlocksInOrder {
    /// The four blocks, in the order of the fields.
    #[inline(always)]
    fn as_octets(&self) -> &[[u8; 16]; 4] {
        const { assert!(size_of::<BlocksInOrder>() == 64) };
        // SAFETY: four numbers without padding are 64 readable octets, which need no alignment.
        unsafe { &*std::ptr::from_ref(self).cast() }
    }
}

/// One frame, as a kernel takes it.
#[repr(align(64))]
pub(crate) struct Frame<'a, 'k> {
    /// The kernel leaves the MIC where the first block was; CCM with a MIC of 8 octets uses the first 8.
    blocks: BlocksInOrder,
    mpdu: &'a mut [u8],
    /// Where the payload starts in `mpdu`, [`MIN_HEADER`] or more.
    start: usize,
    /// Octets of the payload.
    len: usize,
    key: &'k Schedule,
}

/// Octets in front of a payload that kernels may read: they load the last block by its end, and what is in front of the
/// payload where other blocks come first.
const MIN_HEADER: usize = 32;

impl<'a, 'k> Frame<'a, 'k> {
    /// A frame whose payload, enciphered or deciphered in place, is `payload` of `mpdu`.
    ///
    /// # Panics
    /// If the payload does not lie within, or starts before octet 32.
    #[inline(always)]
    pub(crate) fn new(
        mpdu: &'a mut [u8],
        payload: Range<usize>,
        key: &'k Schedule,
        blocks: Blocks,
    ) -> Frame<'a, 'k> {
        assert!(MIN_HEADER <= payload.start && payload.start <= payload.end && payload.end <= mpdu.len());
        Frame {
            blocks: BlocksInOrder {
                counter: blocks.counter.to_le(),
                first: blocks.first.to_le(),
                aad_1: blocks.aad_1.to_le(),
                aad_2: blocks.aad_2.to_le(),
            },
            start: payload.start,
            len: payload.len(),
            mpdu,
            key,
        }
    }

    /// The computed MIC, the payload and what follows it in the MPDU.
    #[inline]
    pub(crate) fn parts(&mut self) -> ([u8; 16], &mut [u8], &mut [u8]) {
        let (payload, rest) = self.mpdu[self.start..].split_at_mut(self.len);
        (self.blocks.first.to_ne_bytes(), payload, rest)
    }

    /// What it is protected with.
    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        self.key.kind
    }

    /// True if both are of one kind and length.
    #[inline]
    pub(crate) fn is_like(&self, other: &Frame<'_, '_>) -> bool {
        self.len == other.len && (std::ptr::eq(self.key, other.key) || self.kind() == other.kind())
    }

    /// Octets of the payload.
    #[inline]
    pub(crate) fn payload_len(&self) -> usize {
        self.len
    }
}

/// Calls `$call` with the machine of a kind as `$m`.
macro_rules! with_machine {
    ($kind:expr, $m:ident => $call:expr) => {
        match $kind.machine {
            AnyMachine::Portable($m) => $call,
            #[cfg(target_arch = "x86_64")]
            AnyMachine::AesNi($m) => $call,
            #[cfg(target_arch = "x86_64")]
            AnyMachine::Vaes256($m) => $call,
            #[cfg(target_arch = "x86_64")]
            AnyMachine::Vaes512($m) => $call,
            #[cfg(target_arch = "aarch64")]
            AnyMachine::Armv8($m) => $call,
        }
    };
}

/// Does to one frame what the pass says.
pub(crate) fn protect_one<const PASS: Pass>(frame: &mut Frame<'_, '_>) {
    let kind = frame.kind();
    let frames = std::slice::from_mut(frame);
    // SAFETY: one frame is in order.
    with_machine!(kind, m => unsafe { group::<_, PASS, true>(m, kind, frames, &[0]) });
}

/// Makes a pass over the frames that `order` names, which are of one kind.
///
/// # Safety
/// `order` names no frame twice. Each payload is at most as long as the one before it.
unsafe fn protect_ordered<const PASS: Pass>(frames: &mut [Frame<'_, '_>], order: &[u8]) {
    let kind = frames[usize::from(order[0])].kind();
    // SAFETY: the caller promises what `groups` requires.
    with_machine!(kind, m => unsafe { groups::<_, PASS>(m, kind, frames, order) });
}

/// # Safety
/// As for [`protect_ordered`].
unsafe fn groups<M: Entries, const PASS: Pass>(m: M, kind: Kind, frames: &mut [Frame<'_, '_>], order: &[u8]) {
    let most = match kind.mode {
        Mode::Ccm => M::CCM_REGISTERS * M::LANES,
        Mode::Gcm => M::GCM_FRAMES,
        Mode::Lanes(lanes) => M::LANES_FRAMES[lanes.ilog2() as usize - 1],
    };
    for order in order.chunks(most) {
        let of = |&member: &u8| &frames[usize::from(member)];
        let Frame { key, len, .. } = of(&order[0]);
        let shared = order.iter().all(|member| std::ptr::eq(of(member).key, *key));
        // Frames in lanes go together only if they are as many and have as many whole chunks.
        let alone = match kind.mode {
            Mode::Lanes(lanes) => {
                let chunks = |len| lanes::whole_chunks(lanes, len);
                order.len() < most || order.iter().any(|member| chunks(of(member).len) != chunks(*len))
            }
            _ => false,
        };
        for order in order.chunks(if alone { 1 } else { most }) {
            // SAFETY: part of an order is an order. Frames in lanes are a whole group with as many whole chunks each, or
            // one frame.
            unsafe {
                if shared || alone {
                    group::<_, PASS, true>(m, kind, frames, order);
                } else {
                    group::<_, PASS, false>(m, kind, frames, order);
                }
            }
        }
    }
}

/// # Safety
/// As for the method of [`Entries`] for the mode of `kind`.
#[inline(always)]
unsafe fn group<M: Entries, const PASS: Pass, const SHARED: bool>(
    m: M,
    kind: Kind,
    frames: &mut [Frame<'_, '_>],
    order: &[u8],
) {
    // SAFETY: the caller promises what the method of this mode requires.
    unsafe {
        match (kind.mode, kind.keys) {
            (Mode::Ccm, 11) => m.ccm::<11, PASS, SHARED>(frames, order),
            (Mode::Ccm, _) => m.ccm::<15, PASS, SHARED>(frames, order),
            (Mode::Gcm, 11) => m.gcm::<11, PASS, SHARED>(frames, order),
            (Mode::Gcm, _) => m.gcm::<15, PASS, SHARED>(frames, order),
            (Mode::Lanes(lanes), _) => m.enhanced::<PASS, SHARED>(lanes, frames, order),
        }
    }
}

/// The kernels of a machine, as functions that enable its instructions. Each takes the frames of one group.
trait Entries: Machine {
    /// Registers of a group of CCM.
    const CCM_REGISTERS: usize;
    /// Frames of a group of GCM.
    const GCM_FRAMES: usize;
    /// Frames of a group with 2, 4 and 8 lanes.
    const LANES_FRAMES: [usize; 3];

    /// # Safety
    /// As for [`protect_ordered`].
    unsafe fn ccm<const KEYS: usize, const PASS: Pass, const SHARED: bool>(
        self,
        frames: &mut [Frame<'_, '_>],
        order: &[u8],
    );
    /// # Safety
    /// As for [`protect_ordered`].
    unsafe fn gcm<const KEYS: usize, const PASS: Pass, const SHARED: bool>(
        self,
        frames: &mut [Frame<'_, '_>],
        order: &[u8],
    );
    /// # Safety
    /// As for [`protect_ordered`]. `order` is one frame, or a whole group with as many whole chunks each.
    unsafe fn enhanced<const PASS: Pass, const SHARED: bool>(
        self,
        lanes: usize,
        frames: &mut [Frame<'_, '_>],
        order: &[u8],
    );
}

impl Entries for Portable {
    const CCM_REGISTERS: usize = 1;
    const GCM_FRAMES: usize = 2;
    const LANES_FRAMES: [usize; 3] = [1; 3];

    unsafe fn ccm<const KEYS: usize, const PASS: Pass, const SHARED: bool>(
        self,
        frames: &mut [Frame<'_, '_>],
        order: &[u8],
    ) {
        // SAFETY: the caller promises what the group requires.
        unsafe { ccm_group::<Portable, KEYS, 1, 1, PASS, SHARED>(self, frames, order) };
    }

    unsafe fn gcm<const KEYS: usize, const PASS: Pass, const SHARED: bool>(
        self,
        frames: &mut [Frame<'_, '_>],
        order: &[u8],
    ) {
        // SAFETY: the caller promises what the group requires.
        unsafe { gcm_group::<Portable, KEYS, 2, 1, PASS, SHARED>(self, frames, order) };
    }

    unsafe fn enhanced<const PASS: Pass, const SHARED: bool>(
        self,
        lanes: usize,
        frames: &mut [Frame<'_, '_>],
        order: &[u8],
    ) {
        for &member in order {
            lanes::lanes_portable::<PASS>(&mut frames[usize::from(member)], lanes);
        }
    }
}

/// Implements [`Entries`] for a machine of these target features: registers of a CCM group; frames of a GCM group and
/// chunks that each of its steps takes, and such chunks for a frame on its own; for 2, 4 and 8 lanes the machine, the
/// registers of a frame and those of a group. CCM of a frame on its own goes through the narrow machine that `$narrow` makes
/// of this one.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! entries {
    (
        $machine:ty, $features:literal,
        ccm $ccm:literal or 1 by $narrow:expr,
        gcm $gcm:literal x $chunks:literal or 1 x $alone:literal,
        lanes $(($lanes:literal by $by:expr, $registers:literal in $all:literal))*
    ) => {
        impl super::Entries for $machine {
            const CCM_REGISTERS: usize = $ccm;
            const GCM_FRAMES: usize = $gcm;
            const LANES_FRAMES: [usize; 3] = [$($all / $registers),*];

            super::entry!($machine, $features, ccm, ccm_group, $ccm x 1, $narrow, 1 x 1);
            super::entry!($machine, $features, gcm, gcm_group, $gcm x $chunks, |m| m, 1 x $alone);

            unsafe fn enhanced<const PASS: super::Pass, const SHARED: bool>(
                self,
                lanes: usize,
                frames: &mut [super::Frame<'_, '_>],
                order: &[u8],
            ) {
                /// # Safety
                /// As for the method.
                #[target_feature(enable = $features)]
                unsafe fn featured<const PASS: super::Pass, const SHARED: bool>(
                    m: $machine,
                    lanes: usize,
                    frames: &mut [super::Frame<'_, '_>],
                    order: &[u8],
                ) {
                    // SAFETY: the caller promises what the group requires.
                    unsafe {
                        match (lanes, order.len()) {
                            $(
                                ($lanes, 1) => super::lanes_group::<_, $registers, $registers, PASS, true>(
                                    $by(m), frames, order,
                                ),
                                ($lanes, _) => super::lanes_group::<_, $registers, $all, PASS, SHARED>(
                                    $by(m), frames, order,
                                ),
                            )*
                            _ => unreachable!("there are 2, 4 or 8 lanes"),
                        }
                    }
                }
                // SAFETY: a value of this type shows that the CPU has these features. The caller promises the rest.
                unsafe { featured::<PASS, SHARED>(self, lanes, frames, order) }
            }
        }
    };
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! entry {
    (
        $machine:ty, $features:literal, $name:ident, $group:ident, $many:literal x $chunks:literal,
        $narrow:expr, 1 x $alone:literal
    ) => {
        unsafe fn $name<const KEYS: usize, const PASS: super::Pass, const SHARED: bool>(
            self,
            frames: &mut [super::Frame<'_, '_>],
            order: &[u8],
        ) {
            /// # Safety
            /// As for the method.
            #[target_feature(enable = $features)]
            unsafe fn many<const KEYS: usize, const PASS: super::Pass, const SHARED: bool>(
                m: $machine,
                frames: &mut [super::Frame<'_, '_>],
                order: &[u8],
            ) {
                // SAFETY: the caller promises what the group requires.
                unsafe { super::$group::<_, KEYS, $many, $chunks, PASS, SHARED>(m, frames, order) };
            }
            /// # Safety
            /// As for the method.
            #[target_feature(enable = $features)]
            unsafe fn one<const KEYS: usize, const PASS: super::Pass>(
                m: $machine,
                frames: &mut [super::Frame<'_, '_>],
                order: &[u8],
            ) {
                // SAFETY: the caller promises what the group requires.
                unsafe { super::$group::<_, KEYS, 1, $alone, PASS, true>($narrow(m), frames, order) };
            }
            // SAFETY: a value of this type shows that the CPU has these features. The caller promises the rest.
            unsafe {
                if order.len() == 1 {
                    one::<KEYS, PASS>(self, frames, order);
                } else {
                    many::<KEYS, PASS, SHARED>(self, frames, order);
                }
            }
        }
    };
}
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use {entries, entry};

/// # Safety
/// As for [`protect_ordered`].
#[inline(always)]
unsafe fn ccm_group<
    M: Machine,
    const KEYS: usize,
    const G: usize,
    const U: usize,
    const PASS: Pass,
    const SHARED: bool,
>(
    m: M,
    frames: &mut [Frame<'_, '_>],
    order: &[u8],
) {
    // SAFETY: the caller promises what the group requires.
    let mut group = unsafe { Group::<G>::new(frames, order, M::LANES) };
    let mics = if SHARED {
        let keys = M::Keys::<KEYS, 1>::one(m, group.keys[0][0]);
        ccm::ccm::<M, _, G, PASS, true>(m, &keys, &mut group)
    } else {
        let keys = M::Keys::<KEYS, G>::each(m, &group.keys[..group.registers]);
        ccm::ccm::<M, _, G, PASS, false>(m, &keys, &mut group)
    };
    for (&mic, members) in mics.iter().zip(order.chunks(M::LANES)) {
        hand_out(&m.lanes(mic), frames, members);
    }
}

/// # Safety
/// As for [`protect_ordered`].
#[inline(always)]
unsafe fn gcm_group<
    M: Machine,
    const KEYS: usize,
    const G: usize,
    const U: usize,
    const PASS: Pass,
    const SHARED: bool,
>(
    m: M,
    frames: &mut [Frame<'_, '_>],
    order: &[u8],
) {
    // SAFETY: the caller promises what the rows require.
    let mut group = unsafe { Rows::<G>::new(frames, order) };
    let mics = if SHARED {
        let keys = M::Keys::<KEYS, 1>::one(m, group.rows[0].key);
        gcm::gcm::<M, _, G, U, PASS>(m, &keys, &mut group)
    } else {
        let keys = M::Keys::<KEYS, G>::of(m, |g| group.rows[g].key);
        gcm::gcm::<M, _, G, U, PASS>(m, &keys, &mut group)
    };
    hand_out(&mics, frames, order);
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
/// # Safety
/// As for [`protect_ordered`]. `order` names at most `N / R` frames, which have as many whole chunks each.
#[inline(always)]
unsafe fn lanes_group<M: Machine, const R: usize, const N: usize, const PASS: Pass, const SHARED: bool>(
    m: M,
    frames: &mut [Frame<'_, '_>],
    order: &[u8],
) {
    let mut mics = [[0; 16]; N];
    // One register or more for each frame.
    // SAFETY: the caller promises what the rows require.
    let mut group = unsafe { Rows::<N>::new(frames, order) };
    let rows = &mut group.rows[..group.count];
    if SHARED {
        let keys = M::Keys::<11, 1>::of(m, |_| rows[0].key);
        // SAFETY: the caller promises as many whole chunks in each row.
        unsafe { lanes::lanes::<M, _, R, N, PASS>(m, &keys, rows, &mut mics) };
    } else {
        let keys = M::Keys::<11, N>::of(m, |register| rows[register / R].key);
        // SAFETY: the caller promises as many whole chunks in each row.
        unsafe { lanes::lanes::<M, _, R, N, PASS>(m, &keys, rows, &mut mics) };
    }
    hand_out(&mics, frames, order);
}

/// Gives each frame its MIC.
#[inline(always)]
fn hand_out(mics: &[[u8; 16]], frames: &mut [Frame<'_, '_>], order: &[u8]) {
    for (mic, &member) in mics.iter().zip(order) {
        frames[usize::from(member)].blocks.first = u128::from_ne_bytes(*mic);
    }
}
