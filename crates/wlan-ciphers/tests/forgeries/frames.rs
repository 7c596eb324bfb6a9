//! Frames, and the ciphers that seal and open them.

use wlan_ciphers::study::{Head, PaperLanes, Split};
use wlan_ciphers::{KeyId, Lanes, OpenError, OpenJob, PacketNumber, SealJob, Suite, TemporalKey};

pub const TK: [u8; 16] = *b"a temporal key!!";
pub const PN: u64 = 0x0102_0304_0506;
/// QoS Data to the DS: Frame Control, Duration, three addresses, Sequence Control, QoS Control.
pub const HEADER: [u8; 26] = [
    0x88, 0x01, 0x2c, 0, 2, 0, 0, 0, 0, 0xa1, 2, 0, 0, 0, 0, 0xa2, 2, 0, 0, 0, 0, 0xa3, 0x35, 0x12, 0, 0,
];

pub const QOS_CONTROL: usize = 24;
pub const PAYLOAD: usize = HEADER.len() + 8;
pub const MIC: usize = 8;

pub type Block = [u8; 16];

/// A key of the paper's scheme or of a suite.
#[derive(Debug)]
// Only one exists at a time.
#[allow(clippy::large_enum_variant)]
pub enum Cipher {
    Paper(PaperLanes),
    Suite(TemporalKey),
}

impl Cipher {
    pub fn paper(lanes: Lanes, split: Split, head: Head) -> Cipher {
        Cipher::Paper(PaperLanes::new(&TK, lanes, split, head))
    }

    pub fn suite(suite: Suite) -> Cipher {
        Cipher::Suite(TemporalKey::new(suite, &TK).unwrap())
    }

    pub fn seal(&self, pn: u64, payload: &[u8]) -> Vec<u8> {
        let mut mpdu = [&HEADER, &[0; 8][..], payload, &[0; MIC]].concat();
        let mut job = SealJob {
            mpdu: &mut mpdu,
            header_len: HEADER.len(),
            pn: PacketNumber::new(pn).unwrap(),
            key_id: KeyId::PAIRWISE,
        };
        match self {
            Cipher::Paper(key) => key.seal(&mut job).unwrap(),
            Cipher::Suite(key) => key.seal(&mut [job]).unwrap(),
        }
        mpdu
    }

    pub fn open(&self, mpdu: &[u8]) -> Result<Vec<u8>, OpenError> {
        let mut mpdu = mpdu.to_vec();
        let mut jobs = [OpenJob::new(&mut mpdu, KeyId::PAIRWISE)];
        match self {
            Cipher::Paper(key) => key.open(&mut jobs[0]),
            Cipher::Suite(key) => key.open(&mut jobs),
        }
        jobs[0].payload().map(<[u8]>::to_vec)
    }
}

/// Octets that differ from block to block.
pub fn octets(len: usize) -> Vec<u8> {
    (1..=len as u64)
        .map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8)
        .collect()
}

pub fn xor(a: Block, b: Block) -> Block {
    std::array::from_fn(|i| a[i] ^ b[i])
}

pub fn nonce(pn: u64) -> Vec<u8> {
    [
        &[HEADER[QOS_CONTROL] & 0x0f],
        &HEADER[10..16],
        &pn.to_be_bytes()[2..],
    ]
    .concat()
}

pub fn counter_block(nonce: &[u8], count: u16) -> Block {
    let block = [&[0x01], nonce, &count.to_be_bytes()].concat();
    block.try_into().unwrap()
}
