//! The engine: CCM and GCM over many frames at a time, with this CPU's instructions.
//!
//! A CBC-MAC chain is serial (RFC 3610 section 2.2), so the latency of AES limits the speed of a single frame. Frames
//! are independent of each other, so the engine processes many in lockstep: one register holds one block of each of
//! several frames, and a group consists of several registers.
//!
//! | module | contents |
//! |---|---|
//! | `schedule` | round keys and powers of the hash key |
//! | `pass` | sealing, opening, and the halves of sealing for measurements |
//! | `order` | the order in which the kernels process the frames of a batch |
//! | `machine` | the operations that kernels require of a machine, and the layout of frames in its registers |
//! | `ccm`, `gcm`, `gcm_pipeline` | the kernels, generic over `machine` |
//! | `gmac` | the hash key of GCM and its powers, and GMAC |
//! | `bitslice`, `polyval` | constant-time AES and GHASH for any CPU |
//! | `portable`, `aesni`, `vaes256`, `vaes512`, `armv8` | the machines, with their intrinsics |
//!
//! The kernels write only inside the frames' own memory and read only inside their MPDUs.

#![allow(unsafe_code)]
// Lanes, blocks and octets of a block are counted in integers that fit: at most 16 lanes, 4096 blocks. Kernels index
// several arrays with one variable, which keeps the arrays in registers.
#![allow(clippy::cast_possible_truncation, clippy::needless_range_loop)]

#[cfg(target_arch = "x86_64")]
mod aesni;
#[cfg(target_arch = "aarch64")]
mod armv8;
mod bitslice;
mod ccm;
mod gcm;
#[cfg(target_arch = "x86_64")]
mod gcm_pipeline;
mod gmac;
// The Enhanced CCMP kernel over lanes. The portable machine does not use it.
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

use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::Range;

use wlan_frames::FrameControl;

#[cfg(target_arch = "aarch64")]
use armv8::Armv8;
pub(crate) use gmac::gmac;
use machine::{Group, Keys, Rows};
pub(crate) use machine::{Machine, Numbers, Permutation};
pub(crate) use order::{MAX_PAYLOAD_LEN, WINDOW, Window};
use pass::{OPEN, Pass, authenticates};
pub(crate) use portable::Portable;
use schedule::MAX_KEYS;
pub(crate) use schedule::{Kind, Mode, Schedule};
#[cfg(target_arch = "x86_64")]
use {aesni::AesNi, gcm_pipeline::Pipelined, vaes256::Vaes256, vaes512::Vaes512};

/// The instructions that protect frames.
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

    /// Whether this CPU has the instructions that the backend requires.
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

/// A detected machine.
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
            // Backends of other CPUs.
            _ => None,
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The blocks that CCM or GCM derives from the nonce and the AAD of a frame. They are little-endian numbers, so that
/// they are built and passed in registers.
pub(crate) struct Blocks {
    /// Counter block with count 0.
    pub(crate) counter: u128,
    /// CCM: B0. GCM: the lengths block.
    pub(crate) first: u128,
    /// The first of the two AAD blocks. For CCM it begins with the AAD's length.
    pub(crate) aad_1: u128,
    /// The second AAD block, padded with zeros.
    pub(crate) aad_2: u128,
}

/// [`Blocks`] in memory order.
#[repr(C)]
pub(crate) struct BlocksInOrder {
    counter: u128,
    first: u128,
    aad_1: u128,
    aad_2: u128,
}

impl From<Blocks> for BlocksInOrder {
    #[inline(always)]
    fn from(blocks: Blocks) -> BlocksInOrder {
        BlocksInOrder {
            counter: blocks.counter.to_le(),
            first: blocks.first.to_le(),
            aad_1: blocks.aad_1.to_le(),
            aad_2: blocks.aad_2.to_le(),
        }
    }
}

impl BlocksInOrder {
    /// The four blocks, in the order of the fields.
    #[inline(always)]
    pub(crate) fn as_octets(&self) -> &[[u8; 16]; 4] {
        const { assert!(size_of::<BlocksInOrder>() == 64) };
        // SAFETY: four numbers without padding are 64 readable octets, and octets need no alignment.
        unsafe { &*core::ptr::from_ref(self).cast() }
    }
}

/// One frame in the form that the kernels process.
///
/// It borrows its MPDU mutably, so that no other code reads or writes the MPDU while the kernels do.
#[repr(align(64))]
pub(crate) struct Frame<'a, 'k> {
    /// When a frame is opened, the kernel writes the MIC into `first`. CCM with a MIC of 8 octets uses the first 8.
    blocks: BlocksInOrder,
    /// Start of the payload in the MPDU. The [`MIN_HEADER`] octets before it are in the MPDU too.
    payload: *mut u8,
    /// Octets of the payload.
    len: usize,
    /// Octets of the MPDU after the payload.
    rest_len: usize,
    key: &'k Schedule,
    /// The offset of the payload in the MPDU.
    start: usize,
    /// The cipher header that [`write_header`](Frame::write_header) writes.
    cipher_header: [u8; CIPHER_HEADER_LEN],
    _mpdu: PhantomData<&'a mut [u8]>,
}

/// Octets of a cipher header: that of CCMP or GCMP (IEEE 802.11-2020 12.5.3.2, 12.5.5.2).
pub(crate) const CIPHER_HEADER_LEN: usize = 8;

/// The Protected bit, bit 14 of Frame Control, in the second octet (9.2.4.1.9).
pub(crate) const PROTECTED_IN_OCTET_1: u8 = FrameControl::PROTECTED.to_le_bytes()[1];

/// Octets before a payload that kernels may read. They load the last block by its end, and where other blocks precede
/// the payload, they load the octets before it.
const MIN_HEADER: usize = 32;

impl<'a, 'k> Frame<'a, 'k> {
    /// Creates a frame whose payload, encrypted or decrypted in place, is `payload` of `mpdu`.
    ///
    /// # Panics
    /// If the payload is not inside `mpdu`, or starts before octet 32.
    #[inline(always)]
    pub(crate) fn new(
        mpdu: &'a mut [u8],
        payload: Range<usize>,
        key: &'k Schedule,
        blocks: impl Into<BlocksInOrder>,
    ) -> Frame<'a, 'k> {
        assert!(MIN_HEADER <= payload.start && payload.start <= payload.end && payload.end <= mpdu.len());
        Frame {
            blocks: blocks.into(),
            len: payload.len(),
            rest_len: mpdu.len() - payload.end,
            payload: mpdu.as_mut_ptr().wrapping_add(payload.start),
            key,
            start: payload.start,
            cipher_header: [0; CIPHER_HEADER_LEN],
            _mpdu: PhantomData,
        }
    }

    /// Sets the cipher header of an MPDU that is not sealed yet.
    #[inline(always)]
    pub(crate) fn with_cipher_header(mut self, header: [u8; CIPHER_HEADER_LEN]) -> Frame<'a, 'k> {
        self.cipher_header = header;
        self
    }

    /// Sets the Protected bit and writes the cipher header, which ends where the payload starts.
    #[inline(always)]
    pub(crate) fn write_header(&mut self) {
        const { assert!(MIN_HEADER >= 2 + CIPHER_HEADER_LEN) };
        // SAFETY: `new` checked that the payload starts `start` octets after the start of the MPDU, which this frame
        // borrows mutably, and that these are at least `MIN_HEADER` octets.
        unsafe {
            let octet_1 = self.payload.sub(self.start).add(1);
            // Most callers have set it, and the branch takes less time than the store.
            if *octet_1 & PROTECTED_IN_OCTET_1 == 0 {
                *octet_1 |= PROTECTED_IN_OCTET_1;
            }
            *self.payload.sub(CIPHER_HEADER_LEN).cast() = self.cipher_header;
        }
    }

    /// The MIC computed by opening, the payload and the rest of the MPDU.
    #[inline]
    pub(crate) fn parts(&mut self) -> ([u8; 16], &mut [u8], &mut [u8]) {
        // SAFETY: both slices are parts of the MPDU, which this frame borrows mutably, and do not overlap.
        let (payload, rest) = unsafe {
            (
                core::slice::from_raw_parts_mut(self.payload, self.len),
                core::slice::from_raw_parts_mut(self.payload.add(self.len), self.rest_len),
            )
        };
        (self.blocks.first.to_ne_bytes(), payload, rest)
    }

    /// The kind of the frame's key.
    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        self.key.kind
    }

    /// Writes the MIC into the MPDU or, if the frame is opened, keeps it for the comparison.
    #[inline(always)]
    fn take_mic<const PASS: Pass>(&mut self, mic: [u8; 16]) {
        if PASS == OPEN {
            self.blocks.first = u128::from_ne_bytes(mic);
            return;
        }
        let (_, _, rest) = self.parts();
        // A copy of constant size is faster for so few octets.
        match rest.first_chunk_mut::<16>() {
            Some(field) => *field = mic,
            None => rest.copy_from_slice(&mic[..8]),
        }
    }
}

/// Evaluates `$call` with the machine of a kind as `$m`.
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

/// Repeats the body for some rounds. LLVM does not unroll a loop that contains `asm!`.
#[cfg(not(debug_assertions))]
macro_rules! rounds {
    ($round:ident in $($number:literal)+ => $body:block) => {
        $({
            const $round: usize = $number;
            $body
        })+
    };
}

/// Performs the body for some rounds. Compiling the repeated body takes longer than all tests.
#[cfg(debug_assertions)]
macro_rules! rounds {
    ($round:ident in $($number:literal)+ => $body:block) => {
        #[allow(non_snake_case)]
        for $round in [$($number),+] $body
    };
}
use rounds;

/// Makes a pass over one frame. It refers to no kernel for several frames, so that a program that only calls this contains
/// none. Sealing writes the MIC, of 8 or 16 octets, into the rest of the MPDU.
pub(crate) fn protect_one<const PASS: Pass>(frame: &mut Frame<'_, '_>) {
    let kind = frame.kind();
    let frames = core::slice::from_mut(frame);
    // SAFETY: a single frame satisfies the order.
    with_machine!(kind, m => unsafe { one::<_, PASS>(m, kind, frames, &[0]) });
}

/// Makes a pass over the frames in `order`, which have the same kind. `one_key`: all of them are known to have the same
/// key.
///
/// # Safety
/// `order` contains no frame twice. Each payload is at most as long as the previous one.
unsafe fn protect_ordered<const PASS: Pass>(frames: &mut [Frame<'_, '_>], order: &[u8], one_key: bool) {
    let kind = frames[usize::from(order[0])].kind();
    // SAFETY: the caller promises what `groups` requires.
    with_machine!(kind, m => unsafe { groups::<_, PASS>(m, kind, frames, order, one_key) });
}

/// # Safety
/// As for [`protect_ordered`].
unsafe fn groups<M: Entries, const PASS: Pass>(
    m: M,
    kind: Kind,
    frames: &mut [Frame<'_, '_>],
    order: &[u8],
    one_key: bool,
) {
    let most = match kind.mode {
        Mode::Ccm => M::CCM_FRAMES,
        Mode::Gcm => M::GCM_FRAMES,
        Mode::Lanes(lanes) => M::LANES_FRAMES[lanes.ilog2() as usize - 1],
    };
    for order in order.chunks(most) {
        let of = |&member: &u8| &frames[usize::from(member)];
        let Frame { key, len, .. } = of(&order[0]);
        let shared = one_key || order.iter().all(|member| core::ptr::eq(of(member).key, *key));
        // Frames with lanes share a group only if it is full and all have the same number of whole chunks.
        let alone = match kind.mode {
            Mode::Lanes(lanes) => {
                let chunks = |len| lanes::whole_chunks(lanes, len);
                order.len() < most || order.iter().any(|member| chunks(of(member).len) != chunks(*len))
            }
            _ => false,
        };
        // SAFETY: a part of an order is an order. Frames with lanes are a full group with equal numbers of whole chunks,
        // or a single frame.
        unsafe {
            if alone || order.len() == 1 {
                for order in order.chunks(1) {
                    one::<_, PASS>(m, kind, frames, order);
                }
            } else if shared {
                several::<_, PASS, true>(m, kind, frames, order);
            } else {
                several::<_, PASS, false>(m, kind, frames, order);
            }
        }
    }
}

/// # Safety
/// As for [`Entries::one`].
#[inline(always)]
unsafe fn one<M: Entries, const PASS: Pass>(m: M, kind: Kind, frames: &mut [Frame<'_, '_>], order: &[u8]) {
    // SAFETY: the caller promises what the method requires.
    unsafe {
        match kind.keys {
            11 => m.one::<11, PASS>(kind.mode, frames, order),
            _ => m.one::<15, PASS>(kind.mode, frames, order),
        }
    }
}

/// # Safety
/// As for [`Entries::several`].
#[inline(always)]
unsafe fn several<M: Entries, const PASS: Pass, const SHARED: bool>(
    m: M,
    kind: Kind,
    frames: &mut [Frame<'_, '_>],
    order: &[u8],
) {
    // SAFETY: the caller promises what the method requires.
    unsafe {
        match kind.keys {
            11 => m.several::<11, PASS, SHARED>(kind.mode, frames, order),
            _ => m.several::<15, PASS, SHARED>(kind.mode, frames, order),
        }
    }
}

/// An array of `item(0)`, `item(1)`, ... Unlike `core::array::from_fn`, it is inlined in every build. In vector code, a loop
/// takes its place: a closure lacks the target features of the kernel, so that the compiler may not inline it.
#[inline(always)]
fn array<T: Copy, const N: usize>(item: impl Fn(usize) -> T) -> [T; N] {
    let mut items = [item(0); N];
    for i in 1..N {
        items[i] = item(i);
    }
    items
}

/// A kernel: makes a pass over the frames of one group.
trait Kernel<M: Machine> {
    /// # Safety
    /// As for [`protect_ordered`]. `order` has at most as many frames as a group of this kernel.
    unsafe fn run(m: M, frames: &mut [Frame<'_, '_>], order: &[u8]);
}

/// Work that is compiled with the instructions of each machine.
pub(crate) trait Task {
    type Output;

    fn run<M: Machine>(self, m: M) -> Self::Output;
}

/// Performs a task with the machine of `kind`.
pub(crate) fn perform<T: Task>(kind: Kind, task: T) -> T::Output {
    with_machine!(kind, m => m.perform(task))
}

/// The kernels of a machine, with the sizes of their groups and compiled with the machine's instructions.
trait Entries: Machine {
    /// Frames of a group of CCM.
    const CCM_FRAMES: usize;
    /// Frames of a group of GCM.
    const GCM_FRAMES: usize;
    /// Frames of a group with 2, 4 and 8 lanes.
    const LANES_FRAMES: [usize; 3];

    /// Performs a task.
    fn perform<T: Task>(self, task: T) -> T::Output;
    /// Makes a pass over the frame whose index is `order`, with `KEYS` round keys.
    ///
    /// # Safety
    /// As for [`protect_ordered`].
    unsafe fn one<const KEYS: usize, const PASS: Pass>(
        self,
        mode: Mode,
        frames: &mut [Frame<'_, '_>],
        order: &[u8],
    );
    /// Makes a pass over at least two frames, at most a group. If `SHARED`, they have the same key.
    ///
    /// # Safety
    /// As for [`protect_ordered`]. Frames with lanes are a full group with equal numbers of whole chunks.
    unsafe fn several<const KEYS: usize, const PASS: Pass, const SHARED: bool>(
        self,
        mode: Mode,
        frames: &mut [Frame<'_, '_>],
        order: &[u8],
    );
}

impl Entries for Portable {
    const CCM_FRAMES: usize = Portable::LANES;
    const GCM_FRAMES: usize = 2;
    const LANES_FRAMES: [usize; 3] = [1; 3];

    fn perform<T: Task>(self, task: T) -> T::Output {
        task.run(self)
    }

    unsafe fn one<const KEYS: usize, const PASS: Pass>(
        self,
        mode: Mode,
        frames: &mut [Frame<'_, '_>],
        order: &[u8],
    ) {
        // SAFETY: the caller promises what the kernels require.
        unsafe {
            match mode {
                Mode::Ccm => portable::run::<Ccm<MAX_KEYS, 1, PASS, true>>(frames, order),
                Mode::Gcm => portable::run::<Gcm<MAX_KEYS, 2, 1, PASS, true>>(frames, order),
                Mode::Lanes(lanes) => {
                    lanes::lanes_portable::<PASS>(&mut frames[usize::from(order[0])], lanes);
                }
            }
        }
    }

    unsafe fn several<const KEYS: usize, const PASS: Pass, const SHARED: bool>(
        self,
        mode: Mode,
        frames: &mut [Frame<'_, '_>],
        order: &[u8],
    ) {
        // SAFETY: the caller promises what the kernels require.
        unsafe {
            match mode {
                Mode::Ccm => portable::run::<Ccm<MAX_KEYS, 1, PASS, SHARED>>(frames, order),
                Mode::Gcm => portable::run::<Gcm<MAX_KEYS, 2, 1, PASS, SHARED>>(frames, order),
                Mode::Lanes(_) => unreachable!("a group of frames with lanes is one frame"),
            }
        }
    }
}

/// Implements [`Entries`] for a machine with these target features. Arguments:
///
/// - `ccm`: registers of a group, and `$narrow`, which converts the machine to the one that processes a single frame;
/// - `gcm`: the arguments of [`gcm_entry`];
/// - `lanes`, for 2, 4 and 8 lanes: the machine, the registers of a frame and the registers of a group.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! entries {
    (
        $machine:ty, $features:literal,
        ccm $ccm:literal or 1 by $narrow:expr,
        gcm ($($gcm:tt)*),
        lanes $(($lanes:literal by $by:expr, $registers:literal in $all:literal))*
    ) => {
        impl $machine {
            /// Runs a kernel, which is inlined here and so compiled with the machine's instructions.
            ///
            /// # Safety
            /// As for [`Kernel::run`](super::Kernel::run). The CPU has the features.
            #[target_feature(enable = $features)]
            unsafe fn run<K: super::Kernel<M>, M: super::Machine>(
                m: M,
                frames: &mut [super::Frame<'_, '_>],
                order: &[u8],
            ) {
                // SAFETY: the caller promises what the kernel requires.
                unsafe { K::run(m, frames, order) };
            }

            /// Performs a task, which is inlined here and so compiled with the machine's instructions.
            ///
            /// # Safety
            /// The CPU has the features.
            #[target_feature(enable = $features)]
            unsafe fn run_task<T: super::Task>(self, task: T) -> T::Output {
                task.run(self)
            }

            super::gcm_entry!($($gcm)*);
        }

        // SAFETY of all calls: a value of this type proves that the CPU has the features. The caller promises the rest.
        impl super::Entries for $machine {
            const CCM_FRAMES: usize = $ccm * <$machine as super::Machine>::LANES;
            const GCM_FRAMES: usize = <$machine>::FRAMES_OF_GCM;
            const LANES_FRAMES: [usize; 3] = [$($all / $registers),*];

            fn perform<T: super::Task>(self, task: T) -> T::Output {
                // SAFETY: as above.
                unsafe { self.run_task(task) }
            }

            #[inline(always)]
            unsafe fn one<const KEYS: usize, const PASS: super::Pass>(
                self,
                mode: super::Mode,
                frames: &mut [super::Frame<'_, '_>],
                order: &[u8],
            ) {
                // SAFETY: as above.
                unsafe {
                    match mode {
                        super::Mode::Ccm => {
                            Self::run::<super::Ccm<KEYS, 1, PASS, true>, _>($narrow(self), frames, order);
                        }
                        super::Mode::Gcm => self.gcm_one::<KEYS, PASS>(frames, order),
                        $(super::Mode::Lanes($lanes) => {
                            Self::run::<super::Lanes<$registers, $registers, PASS, true>, _>(
                                $by(self), frames, order,
                            );
                        })*
                        super::Mode::Lanes(_) => unreachable!("there are 2, 4 or 8 lanes"),
                    }
                }
            }

            #[inline(always)]
            unsafe fn several<const KEYS: usize, const PASS: super::Pass, const SHARED: bool>(
                self,
                mode: super::Mode,
                frames: &mut [super::Frame<'_, '_>],
                order: &[u8],
            ) {
                // SAFETY: as above.
                unsafe {
                    match mode {
                        super::Mode::Ccm => Self::run::<super::Ccm<KEYS, $ccm, PASS, SHARED>, _>(self, frames, order),
                        super::Mode::Gcm => self.gcm_several::<KEYS, PASS, SHARED>(frames, order),
                        // A group that is one frame never has several.
                        $(super::Mode::Lanes($lanes) if $registers < $all => {
                            Self::run::<super::Lanes<$registers, $all, PASS, SHARED>, _>($by(self), frames, order);
                        })*
                        super::Mode::Lanes(_) => unreachable!("a group has one frame, or 2, 4 or 8 lanes"),
                    }
                }
            }
        }
    };
}
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use entries;

/// The part of [`Entries`] for GCM. Arguments:
///
/// - `gcm` in groups: frames of a group, and chunks per step of a single frame;
/// - `gcm_pipeline`: rows per step of a long frame, if it shares its key with other frames or not; and how many short
///   frames of a number of rows are processed at a time. A frame without others beside it has as many rows per step as
///   one with its own key.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! gcm_entry {
    (groups of $gcm:literal or 1 x $chunks:literal) => {
        const FRAMES_OF_GCM: usize = $gcm;

        #[inline(always)]
        unsafe fn gcm_one<const KEYS: usize, const PASS: super::Pass>(
            self,
            frames: &mut [super::Frame<'_, '_>],
            order: &[u8],
        ) {
            // SAFETY: as above.
            unsafe { Self::run::<super::Gcm<KEYS, 1, $chunks, PASS, true>, _>(self, frames, order) };
        }

        #[inline(always)]
        unsafe fn gcm_several<const KEYS: usize, const PASS: super::Pass, const SHARED: bool>(
            self,
            frames: &mut [super::Frame<'_, '_>],
            order: &[u8],
        ) {
            // SAFETY: as above.
            unsafe { Self::run::<super::Gcm<KEYS, $gcm, 1, PASS, SHARED>, _>(self, frames, order) };
        }
    };
    (
        pipeline of $step:literal rows or $own:literal with a key each,
        short frames $($together:literal of $rows:literal rows),+
    ) => {
        const FRAMES_OF_GCM: usize = super::WINDOW;

        #[inline(always)]
        unsafe fn gcm_one<const KEYS: usize, const PASS: super::Pass>(
            self,
            frames: &mut [super::Frame<'_, '_>],
            order: &[u8],
        ) {
            // SAFETY: as above.
            unsafe { Self::run::<super::GcmAlone<PASS, $own>, _>(self, frames, order) };
        }

        #[inline(always)]
        unsafe fn gcm_several<const KEYS: usize, const PASS: super::Pass, const SHARED: bool>(
            self,
            frames: &mut [super::Frame<'_, '_>],
            order: &[u8],
        ) {
            const SHORT: usize = *[$($rows),+].last().unwrap();
            const { assert!($step <= SHORT && $own <= SHORT) };
            let mut rest = order;
            while let [longest, ..] = rest {
                let lanes = <Self as super::Machine>::LANES;
                let rows = super::gcm_pipeline::rows_of(lanes, frames[usize::from(*longest)].len);
                let (alike, others) = rest.split_at(super::gcm_pipeline::alike(frames, rest, lanes, SHORT));
                // SAFETY: as above. These frames have `rows` rows each, or more than `SHORT` rows.
                unsafe {
                    match (rows, alike.len()) {
                        (_, 1) => self.gcm_one::<KEYS, PASS>(frames, alike),
                        $(($rows, _) => {
                            let (together, left) = alike.split_at(alike.len() / lanes * lanes);
                            Self::run::<super::ShortGcm<PASS, SHARED, $rows, $together>, _>(self, frames, together);
                            self.gcm_one::<KEYS, PASS>(frames, left);
                        })+
                        _ if SHARED => Self::run::<super::LongGcm<PASS, true, $step>, _>(self, frames, alike),
                        _ => Self::run::<super::LongGcm<PASS, false, $own>, _>(self, frames, alike),
                    }
                }
                rest = others;
            }
        }
    };
}
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use gcm_entry;

/// CCM with `KEYS` round keys over up to `G` registers.
struct Ccm<const KEYS: usize, const G: usize, const PASS: Pass, const SHARED: bool>;

impl<M: Machine, const KEYS: usize, const G: usize, const PASS: Pass, const SHARED: bool> Kernel<M>
    for Ccm<KEYS, G, PASS, SHARED>
{
    #[inline(always)]
    unsafe fn run(m: M, frames: &mut [Frame<'_, '_>], order: &[u8]) {
        let key = |place: usize| frames[usize::from(order[place])].key;
        let mut group = Group::<G>::new();
        let mics = if SHARED {
            let keys = M::Keys::<KEYS, 1>::one(m, key(0));
            // SAFETY: the caller promises what the group requires.
            unsafe { group.place(frames, order, M::LANES) };
            ccm::ccm::<M, _, G, PASS, true>(m, &keys, &mut group)
        } else {
            let mut place = MaybeUninit::<M::Keys<KEYS, G>>::uninit();
            let keys = M::Keys::set_each(&mut place, m, order.len().div_ceil(M::LANES), |register, lane| {
                key((M::LANES * register + lane).min(order.len() - 1))
            });
            // SAFETY: as above.
            unsafe { group.place(frames, order, M::LANES) };
            ccm::ccm::<M, _, G, PASS, false>(m, keys, &mut group)
        };
        for (register, members) in order.chunks(M::LANES).enumerate() {
            hand_out::<PASS>(&m.lanes(mics[register]), frames, members);
        }
    }
}

/// GCM with `KEYS` round keys over up to `G` frames, `U` chunks of each frame per step.
struct Gcm<const KEYS: usize, const G: usize, const U: usize, const PASS: Pass, const SHARED: bool>;

impl<M: Machine, const KEYS: usize, const G: usize, const U: usize, const PASS: Pass, const SHARED: bool>
    Kernel<M> for Gcm<KEYS, G, U, PASS, SHARED>
{
    #[inline(always)]
    unsafe fn run(m: M, frames: &mut [Frame<'_, '_>], order: &[u8]) {
        // SAFETY: the caller promises what the rows require.
        let mut group = unsafe { Rows::<G>::new(frames, order) };
        let mics = if SHARED {
            let keys = M::Keys::<KEYS, 1>::one(m, group.rows[0].key);
            gcm::gcm::<M, _, G, U, PASS>(m, &keys, &mut group)
        } else {
            let keys = M::Keys::<KEYS, G>::of(m, |g| group.rows[g].key);
            gcm::gcm::<M, _, G, U, PASS>(m, &keys, &mut group)
        };
        hand_out::<PASS>(&mics, frames, order);
    }
}

/// GCM over frames, one after another, `U` rows per step.
#[cfg(target_arch = "x86_64")]
struct GcmAlone<const PASS: Pass, const U: usize>;

#[cfg(target_arch = "x86_64")]
impl<M: Pipelined, const PASS: Pass, const U: usize> Kernel<M> for GcmAlone<PASS, U> {
    #[inline(always)]
    unsafe fn run(m: M, frames: &mut [Frame<'_, '_>], order: &[u8]) {
        // SAFETY: the caller promises that `order` contains no frame twice.
        unsafe { gcm_pipeline::alone::<M, PASS, U>(m, frames, order) };
    }
}

/// GCM over frames of `R` rows, `G` at a time.
#[cfg(target_arch = "x86_64")]
struct ShortGcm<const PASS: Pass, const SHARED: bool, const R: usize, const G: usize>;

#[cfg(target_arch = "x86_64")]
impl<M: Pipelined, const PASS: Pass, const SHARED: bool, const R: usize, const G: usize> Kernel<M>
    for ShortGcm<PASS, SHARED, R, G>
{
    #[inline(always)]
    unsafe fn run(m: M, frames: &mut [Frame<'_, '_>], order: &[u8]) {
        // SAFETY: the caller promises frames of R rows.
        unsafe { gcm_pipeline::short::<M, PASS, SHARED, R, G>(m, frames, order) };
    }
}

/// GCM over frames of more than `U` rows, `U` rows per step.
#[cfg(target_arch = "x86_64")]
struct LongGcm<const PASS: Pass, const SHARED: bool, const U: usize>;

#[cfg(target_arch = "x86_64")]
impl<M: Pipelined, const PASS: Pass, const SHARED: bool, const U: usize> Kernel<M>
    for LongGcm<PASS, SHARED, U>
{
    #[inline(always)]
    unsafe fn run(m: M, frames: &mut [Frame<'_, '_>], order: &[u8]) {
        // SAFETY: the caller promises frames of more than U rows.
        unsafe { gcm_pipeline::long::<M, PASS, SHARED, U>(m, frames, order) };
    }
}

/// Enhanced CCMP over up to `N / R` frames of `R` registers each, with equal numbers of whole chunks.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
struct Lanes<const R: usize, const N: usize, const PASS: Pass, const SHARED: bool>;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
impl<M: Machine, const R: usize, const N: usize, const PASS: Pass, const SHARED: bool> Kernel<M>
    for Lanes<R, N, PASS, SHARED>
{
    #[inline(always)]
    unsafe fn run(m: M, frames: &mut [Frame<'_, '_>], order: &[u8]) {
        let mut mics = [[0; 16]; N];
        // Each frame has at least one register.
        // SAFETY: the caller promises what the rows require.
        let mut group = unsafe { Rows::<N>::new(frames, order) };
        let rows = &mut group.rows[..group.count];
        if SHARED {
            let keys = M::Keys::<11, 1>::of(m, |_| rows[0].key);
            // SAFETY: the caller promises equal numbers of whole chunks in all rows.
            unsafe { lanes::lanes::<M, _, R, N, PASS>(m, &keys, rows, &mut mics) };
        } else {
            let keys = M::Keys::<11, N>::of(m, |register| rows[register / R].key);
            // SAFETY: the caller promises equal numbers of whole chunks in all rows.
            unsafe { lanes::lanes::<M, _, R, N, PASS>(m, &keys, rows, &mut mics) };
        }
        hand_out::<PASS>(&mics, frames, order);
    }
}

/// Hands each frame its MIC.
#[inline(always)]
fn hand_out<const PASS: Pass>(mics: &[[u8; 16]], frames: &mut [Frame<'_, '_>], order: &[u8]) {
    if !authenticates(PASS) {
        return;
    }
    for (place, &member) in order.iter().enumerate() {
        frames[usize::from(member)].take_mic::<PASS>(mics[place]);
    }
}
