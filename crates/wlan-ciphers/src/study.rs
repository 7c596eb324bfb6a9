//! Schemes that are broken as published, kept for measurement and study. Never protect a frame with them.
//!
//! `paper-lanes` is the lane split of Hayajneh, Ullah, Mohd and Balagani, "An Enhanced WLAN Security System With FPGA
//! Implementation for Multimedia Applications" (IEEE Systems Journal), section IV.C. The paper says of its MIC only:
//!
//! > One approach to improve the performance is to break the chain into two or more subchains, where the final output
//! > is the XOR of the output of all the subchains. In our implementation, we considered breaking the CBC chain to two
//! > parts, as shown in Fig. 4.
//!
//! and of CTR, that it "can be also done in parallel over multiple blocks", in "two, four, and eight parallel
//! settings". The text does not define which blocks go to which sub-chain ([`Split`]), nor the start of the sub-chains
//! after the first, given that CCM authenticates B0 and the AAD before the plaintext ([`Head`]). The rest is CCMP-128:
//! layout, AAD, nonce, counter blocks, and a MIC of 8 octets.
//!
//! All readings except one ([`Head::Dealt`] in two interleaved lanes) allow anyone to forge frames: `tests/forgeries`
//! does so, `docs/explanation/enhanced-ccmp.md` explains how, and [Enhanced CCMP](crate::enhanced) repairs the scheme.
//!
//! # Not for a link
//!
//! [`PaperLanes`] is not a [`Suite`], so it has no selector that a station could advertise. It is not a
//! [`TemporalKey`](crate::TemporalKey) either, the only kind of key that batches and links accept:
//!
//! ```
//! use wlan_ciphers::study::{Head, PaperLanes, Split};
//! use wlan_ciphers::{Lanes, Suite, TemporalKey};
//! let paper = PaperLanes::new(&[7; 16], Lanes::Two, Split::Contiguous, Head::EveryLane);
//! let key = TemporalKey::new(Suite::Enhanced(Lanes::Two), &[7; 16]).unwrap();
//! wlan_ciphers::open_each(&mut [(&key, wlan_ciphers::OpenJob::new(&mut [], Default::default()))]);
//! ```
//! ```compile_fail
//! use wlan_ciphers::study::{Head, PaperLanes, Split};
//! use wlan_ciphers::{Lanes, Suite, TemporalKey};
//! let paper = PaperLanes::new(&[7; 16], Lanes::Two, Split::Contiguous, Head::EveryLane);
//! wlan_ciphers::open_each(&mut [(&paper, wlan_ciphers::OpenJob::new(&mut [], Default::default()))]);
//! ```
//! ```compile_fail
//! use wlan_ciphers::study::{Head, PaperLanes, Split};
//! use wlan_ciphers::{Lanes, Suite, TemporalKey};
//! let paper = PaperLanes::new(&[7; 16], Lanes::Two, Split::Contiguous, Head::EveryLane);
//! let key = TemporalKey::new(paper, &[7; 16]).unwrap();
//! ```

use aes::cipher::{BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Block};
use subtle::ConstantTimeEq;

use crate::ccmp;
use crate::engine::Blocks;
use crate::key::b0_flags;
use crate::{Half, KeyId, Lanes, OpenError, OpenJob, Opened, SealFault, SealJob, Suite};

const MIC_LEN: usize = Suite::Ccmp128.mic_len();
const MAX_LANES: usize = 8;
/// Blocks that CCM authenticates before the plaintext: B0 and the AAD.
const HEAD_BLOCKS: usize = 3;

/// Assignment of a frame's blocks to lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Split {
    /// Runs of consecutive blocks, all of the same length except the last ones, which may be shorter.
    Contiguous,
    /// Round robin: block i goes to lane i modulo the number of lanes.
    Interleaved,
}

impl Split {
    /// Both.
    pub const ALL: [Split; 2] = [Split::Contiguous, Split::Interleaved];
}

/// Position of B0 and the AAD, which CCM authenticates before the plaintext (RFC 3610 section 2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Head {
    /// At the start of every lane. The plaintext is split.
    EveryLane,
    /// At the start of the first lane. The plaintext is split, and the other lanes start from zero.
    FirstLane,
    /// B0, AAD and plaintext are one string, and that string is split.
    Dealt,
}

impl Head {
    /// All three.
    pub const ALL: [Head; 3] = [Head::EveryLane, Head::FirstLane, Head::Dealt];
}

/// A key of the paper's scheme. It is wiped when dropped and never printed.
#[derive(Debug, Clone)]
pub struct PaperLanes {
    aes: Aes128,
    lanes: Lanes,
    split: Split,
    head: Head,
}

impl PaperLanes {
    /// Expands a key. With one lane, every reading is CCMP-128.
    #[must_use]
    pub fn new(tk: &[u8; 16], lanes: Lanes, split: Split, head: Head) -> PaperLanes {
        PaperLanes {
            aes: Aes128::new(&(*tk).into()),
            lanes,
            split,
            head,
        }
    }

    /// Seals one MPDU in place, like [`TemporalKey::seal`](crate::TemporalKey::seal) except for the MIC.
    ///
    /// # Errors
    /// The job's fault; the job is then unchanged.
    pub fn seal(&self, job: &mut SealJob<'_>) -> Result<(), SealFault> {
        let (header, payload) = ccmp::to_seal(job, MIC_LEN)?;
        let blocks = header.ccm_blocks(job.pn, b0_flags(Suite::Ccmp128), payload.len(), false);
        emit(job);
        let (payload, mic) = job.mpdu[payload.start..].split_at_mut(payload.len());
        mic.copy_from_slice(&self.mic(&blocks, payload));
        self.ctr(&blocks, payload);
        Ok(())
    }

    /// Runs one half of sealing, like [`TemporalKey::seal_half`](crate::TemporalKey::seal_half).
    ///
    /// # Errors
    /// The job's fault; the job is then unchanged.
    pub fn seal_half(&self, half: Half, job: &mut SealJob<'_>) -> Result<(), SealFault> {
        let (header, payload) = ccmp::to_seal(job, MIC_LEN)?;
        let blocks = header.ccm_blocks(job.pn, b0_flags(Suite::Ccmp128), payload.len(), false);
        emit(job);
        let (payload, mic) = job.mpdu[payload.start..].split_at_mut(payload.len());
        match half {
            Half::Mic => mic.copy_from_slice(&self.mic(&blocks, payload)),
            Half::Cipher => self.ctr(&blocks, payload),
        }
        Ok(())
    }

    /// Opens one MPDU in place and sets its verdict, like [`TemporalKey::open`](crate::TemporalKey::open).
    pub fn open(&self, job: &mut OpenJob<'_>) {
        let (mpdu, expected, verdict) = job.parts();
        *verdict = self.open_mpdu(mpdu, expected);
    }

    fn open_mpdu(&self, mpdu: &mut [u8], expected: KeyId) -> Result<Opened, OpenError> {
        let header = ccmp::header_to_open(mpdu)?;
        let opened = ccmp::to_open(&header, mpdu, expected, MIC_LEN)?;
        let blocks = header.ccm_blocks(opened.pn, b0_flags(Suite::Ccmp128), opened.payload.len(), false);
        let (payload, mic) = mpdu[opened.payload.start..].split_at_mut(opened.payload.len());
        self.ctr(&blocks, payload);
        if !bool::from(self.mic(&blocks, payload).ct_eq(mic)) {
            payload.fill(0);
            return Err(OpenError::Mic);
        }
        Ok(opened)
    }

    /// Encrypts or decrypts, one block per lane in parallel.
    fn ctr(&self, blocks: &Blocks, payload: &mut [u8]) {
        let lanes = self.lanes.count();
        let mut counts = 1..;
        for chunk in payload.chunks_mut(16 * lanes) {
            let mut stream = [Block::default(); MAX_LANES];
            for (stream, count) in stream[..lanes].iter_mut().zip(&mut counts) {
                *stream = counter_block(blocks, count);
            }
            self.aes.encrypt_blocks(&mut stream[..lanes]);
            for (octet, stream) in chunk.iter_mut().zip(stream.iter().flatten()) {
                *octet ^= stream;
            }
        }
    }

    /// The MIC. Each step advances all lanes by one block.
    fn mic(&self, blocks: &Blocks, plaintext: &[u8]) -> [u8; MIC_LEN] {
        let head = [blocks.first, blocks.aad_1, blocks.aad_2].map(u128::to_le_bytes);
        let total = HEAD_BLOCKS + plaintext.len().div_ceil(16);
        let mut lanes = [Block::default(); MAX_LANES];
        for step in 0.. {
            let mut due = 0;
            // No lane has more blocks than an earlier lane.
            for (lane, chain) in lanes[..self.lanes.count()].iter_mut().enumerate() {
                match self.place(total, lane, step) {
                    Some(place) if place < HEAD_BLOCKS => add(chain, &head[place]),
                    Some(place) => add(chain, &plaintext[16 * (place - HEAD_BLOCKS)..]),
                    None => break,
                }
                due += 1;
            }
            if due == 0 {
                break;
            }
            self.aes.encrypt_blocks(&mut lanes[..due]);
        }
        let mut sum = counter_block(blocks, 0);
        self.aes.encrypt_block(&mut sum);
        for lane in &lanes {
            add(&mut sum, lane);
        }
        core::array::from_fn(|octet| sum[octet])
    }

    /// Index, among `total` blocks beginning with B0, of the block that a lane processes at a step.
    fn place(&self, total: usize, lane: usize, step: usize) -> Option<usize> {
        // `own`: blocks at the lane's start that are not split. `apart`: blocks that are excluded from the split.
        let (own, apart) = match self.head {
            Head::EveryLane => (HEAD_BLOCKS, HEAD_BLOCKS),
            Head::FirstLane if lane == 0 => (HEAD_BLOCKS, HEAD_BLOCKS),
            Head::FirstLane => (0, HEAD_BLOCKS),
            Head::Dealt => (0, 0),
        };
        let Some(step) = step.checked_sub(own) else {
            return Some(step);
        };
        let lanes = self.lanes.count();
        let (place, end) = match self.split {
            Split::Contiguous => {
                let share = (total - apart).div_ceil(lanes);
                (lane * share + step, (lane + 1) * share)
            }
            Split::Interleaved => (step * lanes + lane, total),
        };
        Some(apart + place).filter(|&place| place < total.min(apart + end))
    }
}

/// Sets the Protected bit and writes the CCMP header.
fn emit(job: &mut SealJob<'_>) {
    job.mpdu[1] |= ccmp::PROTECTED_IN_OCTET_1;
    let header = ccmp::header(job.pn, job.key_id);
    job.mpdu[job.header_len..][..ccmp::HEADER_LEN].copy_from_slice(&header);
}

/// A_i of CCM (RFC 3610 section 2.3).
fn counter_block(blocks: &Blocks, count: u16) -> Block {
    let mut block = blocks.counter.to_le_bytes();
    block[14..].copy_from_slice(&count.to_be_bytes());
    block.into()
}

/// XORs a block into `sum`. A partial block is padded with zeros.
fn add(sum: &mut Block, block: &[u8]) {
    for (sum, octet) in sum.iter_mut().zip(block) {
        *sum ^= octet;
    }
}
