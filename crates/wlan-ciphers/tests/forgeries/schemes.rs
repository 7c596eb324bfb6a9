//! The schemes computed block by block from their documentation, compared with the crate.

use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use proptest::prelude::*;
use wlan_ciphers::study::{Head, PaperLanes, Split};
use wlan_ciphers::{KeyId, Lanes, OpenError, OpenJob, PacketNumber, SealFault, SealJob, Suite, TemporalKey};

use crate::frames::{
    Block, Cipher, HEADER, MIC, PAYLOAD, PN, QOS_CONTROL, TK, counter_block, nonce, octets, xor,
};

/// The first block that CCM authenticates (RFC 3610 section 2.2), with any flags.
fn b0(flags: u8, pn: u64, payload: &[u8]) -> Block {
    let block = [&[flags], &nonce(pn)[..], &(payload.len() as u16).to_be_bytes()].concat();
    block.try_into().unwrap()
}

fn padded(octets: &[u8]) -> Vec<Block> {
    let mut octets = octets.to_vec();
    octets.resize(octets.len().next_multiple_of(16), 0);
    octets.chunks(16).map(|chunk| chunk.try_into().unwrap()).collect()
}

fn aad() -> Vec<Block> {
    padded(
        &[
            &[0, 22 + 2, 0x88, 0x41],
            &HEADER[4..22],
            &[0x05, 0, HEADER[QOS_CONTROL] & 0x0f, 0],
        ]
        .concat(),
    )
}

/// The inputs of a frame's CBC-MACs in the paper's scheme.
fn paper_chains(lanes: Lanes, split: Split, head: Head, pn: u64, payload: &[u8]) -> Vec<Vec<Block>> {
    let head_blocks = [vec![b0(0x59, pn, payload)], aad()].concat();
    let text = padded(payload);
    let string = match head {
        Head::Dealt => [&head_blocks[..], &text].concat(),
        _ => text,
    };
    let mut chains: Vec<Vec<Block>> = match split {
        Split::Contiguous => string
            .chunks(string.len().div_ceil(lanes.count()).max(1))
            .map(<[_]>::to_vec)
            .collect(),
        Split::Interleaved => (0..lanes.count())
            .map(|lane| string.iter().copied().skip(lane).step_by(lanes.count()).collect())
            .collect(),
    };
    chains.resize(lanes.count(), Vec::new());
    let headed = match head {
        Head::EveryLane => lanes.count(),
        Head::FirstLane => 1,
        Head::Dealt => 0,
    };
    for chain in &mut chains[..headed] {
        chain.splice(..0, head_blocks.iter().copied());
    }
    chains
}

/// The same for Enhanced CCMP: each lane has its own B0, then AAD and payload blocks in turn.
fn enhanced_chains(lanes: Lanes, pn: u64, payload: &[u8]) -> Vec<Vec<Block>> {
    let string = [aad(), padded(payload)].concat();
    let count = lanes.count();
    let chain = |lane| {
        let flags = 0x81 | (count.ilog2() as u8) << 5 | (lane as u8) << 2;
        let share = string.iter().copied().skip(lane).step_by(count);
        std::iter::once(b0(flags, pn, payload)).chain(share).collect()
    };
    (0..count).map(chain).collect()
}

/// The XOR of the chains' CBC-MACs and E(A0).
fn mic(chains: &[Vec<Block>], pn: u64) -> [u8; MIC] {
    let aes = Aes128::new(&TK.into());
    let encrypt = |block: Block| {
        let mut block = block.into();
        aes.encrypt_block(&mut block);
        <Block>::from(block)
    };
    let macs = chains
        .iter()
        .map(|chain| chain.iter().fold([0; 16], |mac, &block| encrypt(xor(mac, block))));
    let sum = macs.fold(encrypt(counter_block(&nonce(pn), 0)), xor);
    sum[..MIC].try_into().unwrap()
}

fn lanes() -> impl Strategy<Value = Lanes> {
    proptest::sample::select(&Lanes::ALL[..])
}

/// Octets with few values, so that blocks and lanes are often equal.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..=600),
        proptest::collection::vec(0u8..2, 0..=18),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_paper_s_scheme_opens_its_own_frames_and_detects_flipped_bits(
        lanes in lanes(), split in proptest::sample::select(&Split::ALL[..]),
        head in proptest::sample::select(&Head::ALL[..]), payload in payload(), bit: proptest::sample::Index,
    ) {
        let cipher = Cipher::paper(lanes, split, head);
        let mut mpdu = cipher.seal(PN, &payload);
        prop_assert_eq!(cipher.open(&mpdu), Ok(payload.clone()));
        let standard = Cipher::suite(Suite::Ccmp128).seal(PN, &payload);
        prop_assert_eq!(mpdu.len(), standard.len());
        prop_assert_eq!(&mpdu[..mpdu.len() - MIC], &standard[..mpdu.len() - MIC], "only the MIC differs from CCMP's");
        if lanes == Lanes::One {
            prop_assert_eq!(&mpdu, &standard, "one lane is CCMP");
        }
        let bit = bit.index(8 * (payload.len() + MIC));
        mpdu[PAYLOAD + bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(cipher.open(&mpdu), Err(OpenError::Mic));
    }

    #[test]
    fn the_paper_s_mic_is_the_sum_of_its_sub_chains(
        lanes in lanes(), split in proptest::sample::select(&Split::ALL[..]),
        head in proptest::sample::select(&Head::ALL[..]), payload in payload(), pn in 0..1u64 << 48,
    ) {
        let mpdu = Cipher::paper(lanes, split, head).seal(pn, &payload);
        prop_assert_eq!(&mpdu[mpdu.len() - MIC..], &mic(&paper_chains(lanes, split, head, pn, &payload), pn));
    }

    /// The premise of the security argument for Enhanced CCMP. Over all frames, the inputs of lanes are prefix-free. No
    /// two lanes of a frame, and no lanes with different numbers, have the same input. Different frames differ in at
    /// least one lane.
    #[test]
    fn the_inputs_of_enhanced_lanes_are_prefix_free_and_never_another_lane_s(
        frames in proptest::array::uniform2((lanes(), PN..PN + 2, payload())),
    ) {
        let chains = frames.clone().map(|(lanes, pn, payload)| enhanced_chains(lanes, pn, &payload));
        for ((lanes, pn, payload), chains) in frames.iter().zip(&chains) {
            let mpdu = Cipher::suite(Suite::Enhanced(*lanes)).seal(*pn, payload);
            prop_assert_eq!(&mpdu[mpdu.len() - MIC..], &mic(chains, *pn));
        }
        let named = |frame: usize| chains[frame].iter().enumerate().map(move |(lane, chain)| (frame, lane, chain));
        for (frame, lane, chain) in named(0).chain(named(1)) {
            prop_assert!(chain[0][0] & 0x80 != 0, "must not be a B0 or counter block of CCM");
            for (other_frame, other_lane, other) in named(0).chain(named(1)) {
                if (frame, lane) != (other_frame, other_lane) && other.starts_with(chain) {
                    prop_assert_eq!(chain, other);
                    prop_assert_eq!((frames[frame].0, lane), (frames[other_frame].0, other_lane));
                    prop_assert!(frame != other_frame);
                }
            }
        }
        prop_assert_eq!(chains[0] == chains[1], frames[0] == frames[1]);
    }
}

#[test]
fn the_paper_s_scheme_has_the_errors_of_ccmp() {
    let paper = PaperLanes::new(&TK, Lanes::Four, Split::Interleaved, Head::FirstLane);
    let ccmp = TemporalKey::new(Suite::Ccmp128, &TK).unwrap();
    let sealed = Cipher::suite(Suite::Ccmp128).seal(PN, &octets(100));
    let changes: [fn(&mut Vec<u8>); 6] = [
        |mpdu| mpdu.truncate(PAYLOAD + MIC - 1),
        |mpdu| mpdu.truncate(1),
        |mpdu| mpdu.resize(PAYLOAD + MIC + 0x1_0000, 0),
        |mpdu| mpdu[0] = 0x80,
        |mpdu| mpdu[1] &= !0x40,
        |mpdu| mpdu[29] |= 0x80,
    ];
    for change in changes {
        let mut mpdu = sealed.clone();
        change(&mut mpdu);
        let [mut ours, mut theirs, before] = [mpdu.clone(), mpdu.clone(), mpdu];
        let job = |mpdu| SealJob {
            mpdu,
            header_len: HEADER.len(),
            pn: PacketNumber::new(PN).unwrap(),
            key_id: KeyId::PAIRWISE,
        };
        let fault = ccmp.seal(&mut [job(&mut theirs)]).map_err(|error| error.fault);
        assert_eq!(paper.seal(&mut job(&mut ours)), fault);
        [ours, theirs] = [before.clone(), before];
        let mut jobs = [OpenJob::new(&mut ours, KeyId::PAIRWISE)];
        paper.open(&mut jobs[0]);
        let found = jobs[0].verdict().cloned();
        let mut jobs = [OpenJob::new(&mut theirs, KeyId::PAIRWISE)];
        ccmp.open(&mut jobs);
        assert_eq!(found, jobs[0].verdict().cloned());
        assert!(found.is_err());
    }
    let mut mpdu = sealed;
    let mut job = SealJob {
        mpdu: &mut mpdu,
        header_len: 24,
        pn: PacketNumber::ZERO,
        key_id: KeyId::PAIRWISE,
    };
    let fault = SealFault::HeaderLen {
        given: 24,
        implied: 26,
    };
    assert_eq!(paper.seal(&mut job), Err(fault));
}

#[test]
fn the_key_is_never_printed() {
    let paper = PaperLanes::new(&TK, Lanes::Four, Split::Interleaved, Head::FirstLane);
    assert_eq!(
        format!("{paper:?}"),
        "PaperLanes { aes: Aes128 { .. }, lanes: Four, split: Interleaved, head: FirstLane }"
    );
}
