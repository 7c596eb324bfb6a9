//! Forgeries without the key: the paper's lane split opens the forged frames, Enhanced CCMP and CCMP-128 reject them.
//! `docs/explanation/enhanced-ccmp.md` has the equation of each forgery.
//!
//! An attack only has an [`Oracle`], which seals plaintexts on request. This also models a datagram that the attacker
//! sent or knows. The attack must not return a frame that the oracle sealed.

// Lengths, lanes and counts fit their fields.
#![allow(clippy::cast_possible_truncation)]

mod frames;
mod schemes;

use wlan_ciphers::study::{Head, Split};
use wlan_ciphers::{Lanes, OpenError, Suite};
use wlan_frames::{DataHeader, EtherType, LlcSnap};

use frames::{Block, Cipher, MIC, PAYLOAD, PN, QOS_CONTROL, counter_block, nonce, octets, xor};

const ADDR3: std::ops::Range<usize> = 16..22;
/// The splits into more than one lane.
const SPLITS: [Lanes; 3] = [Lanes::Two, Lanes::Four, Lanes::Eight];

impl Cipher {
    /// Opens the forgery that an attack returns.
    fn attacked(&self, attack: impl FnOnce(&mut Oracle<'_>) -> Vec<u8>) -> Result<Vec<u8>, OpenError> {
        let mut oracle = Oracle {
            cipher: self,
            sealed: Vec::new(),
        };
        let forged = attack(&mut oracle);
        assert!(
            !oracle.sealed.contains(&forged),
            "not a forgery: the oracle sealed this frame"
        );
        self.open(&forged)
    }
}

/// Seals plaintexts for the attacker.
struct Oracle<'a> {
    cipher: &'a Cipher,
    sealed: Vec<Vec<u8>>,
}

impl Oracle<'_> {
    fn seal(&mut self, pn: u64, payload: &[u8]) -> Vec<u8> {
        let mpdu = self.cipher.seal(pn, payload);
        self.sealed.push(mpdu.clone());
        mpdu
    }
}

/// The same attack fails against the repaired suite and CCMP-128.
fn refused_by_the_others(lanes: Lanes, attack: impl Fn(&mut Oracle<'_>) -> Vec<u8>) {
    for suite in [Suite::Enhanced(lanes), Suite::Ccmp128] {
        assert_eq!(
            Cipher::suite(suite).attacked(&attack),
            Err(OpenError::Mic),
            "{suite:?}"
        );
    }
}

fn block(payload: &[u8], place: usize) -> Block {
    payload[16 * place..][..16].try_into().unwrap()
}

fn set(payload: &mut [u8], place: usize, block: Block) {
    payload[16 * place..][..16].copy_from_slice(&block);
}

/// Changes a sealed `from` to `to`: the keystream of CTR is the XOR of ciphertext and plaintext.
fn maul(sealed: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut mpdu = sealed.to_vec();
    for ((octet, from), to) in mpdu[PAYLOAD..].iter_mut().zip(from).zip(to) {
        *octet ^= from ^ to;
    }
    mpdu
}

fn swapped(payload: &[u8], a: &[usize], b: &[usize]) -> Vec<u8> {
    let mut text = payload.to_vec();
    for (&a, &b) in a.iter().zip(b) {
        set(&mut text, a, block(payload, b));
        set(&mut text, b, block(payload, a));
    }
    text
}

/// The indices of each lane's blocks among `total`.
fn shares(lanes: Lanes, split: Split, total: usize) -> Vec<Vec<usize>> {
    let (lanes, all): (_, Vec<usize>) = (lanes.count(), (0..total).collect());
    match split {
        Split::Contiguous => all.chunks(total.div_ceil(lanes)).map(<[_]>::to_vec).collect(),
        Split::Interleaved => (0..lanes)
            .map(|lane| all.iter().copied().skip(lane).step_by(lanes).collect())
            .collect(),
    }
}

/// A number of payload blocks that makes all lanes equally long.
fn even(head: Head) -> usize {
    if head == Head::Dealt { 48 - 3 } else { 48 }
}

/// The payload blocks of the lanes that start with neither B0 nor the AAD.
fn headless(lanes: Lanes, split: Split, head: Head) -> Vec<Vec<usize>> {
    match head {
        Head::EveryLane => Vec::new(),
        Head::FirstLane => shares(lanes, split, even(head)).split_off(1),
        Head::Dealt => shares(lanes, split, 3 + even(head))
            .into_iter()
            .filter(|share| share[0] >= 3)
            .map(|share| share.iter().map(|place| place - 3).collect())
            .collect(),
    }
}

fn pairs(shares: &[Vec<usize>]) -> impl Iterator<Item = (&[usize], &[usize])> {
    let pair = move |(n, a)| shares[..n].iter().map(move |b: &Vec<usize>| (&b[..], a));
    shares.iter().map(Vec::as_slice).enumerate().flat_map(pair)
}

/// Swaps the blocks of two lanes.
fn swap(payload: &[u8], a: &[usize], b: &[usize]) -> impl Fn(&mut Oracle<'_>) -> Vec<u8> {
    move |oracle| maul(&oracle.seal(PN, payload), payload, &swapped(payload, a, b))
}

fn check_swaps(lanes: Lanes, split: Split, head: Head, shares: &[Vec<usize>]) -> usize {
    let payload = octets(16 * even(head));
    let cipher = Cipher::paper(lanes, split, head);
    for (a, b) in pairs(shares) {
        let attack = swap(&payload, a, b);
        assert_eq!(
            cipher.attacked(&attack),
            Ok(swapped(&payload, a, b)),
            "{cipher:?}"
        );
        refused_by_the_others(lanes, &attack);
    }
    pairs(shares).count()
}

/// F(X) + F(Y) = F(Y) + F(X).
#[test]
fn lanes_that_all_start_from_b0_can_be_swapped() {
    for (lanes, expected) in SPLITS.into_iter().zip([1, 6, 28]) {
        for split in Split::ALL {
            let shares = shares(lanes, split, even(Head::EveryLane));
            assert_eq!(check_swaps(lanes, split, Head::EveryLane, &shares), expected);
        }
    }
}

/// The same for the lanes that start from zero.
#[test]
fn lanes_without_b0_can_be_swapped() {
    for head in [Head::FirstLane, Head::Dealt] {
        for (lanes, expected) in [(Lanes::Four, 3), (Lanes::Eight, 21)] {
            let swaps = check_swaps(
                lanes,
                Split::Contiguous,
                head,
                &headless(lanes, Split::Contiguous, head),
            );
            assert_eq!(swaps, expected);
        }
    }
    for (head, lanes, expected) in [
        (Head::FirstLane, Lanes::Four, 3),
        (Head::FirstLane, Lanes::Eight, 21),
        (Head::Dealt, Lanes::Eight, 10),
    ] {
        let shares = headless(lanes, Split::Interleaved, head);
        assert_eq!(check_swaps(lanes, Split::Interleaved, head, &shares), expected);
    }
}

/// F(X) + F(X) = 0 = F(Y) + F(Y). The attacker only has to know that two lanes are equal, not their content.
#[test]
fn equal_lanes_cancel_and_can_be_replaced() {
    for (lanes, split, head) in readings() {
        let alike = match head {
            Head::EveryLane => shares(lanes, split, even(head)),
            _ => headless(lanes, split, head),
        };
        for (a, b) in pairs(&alike) {
            let mut payload = octets(16 * even(head));
            for (&a, &b) in a.iter().zip(b) {
                let copied = block(&payload, a);
                set(&mut payload, b, copied);
            }
            let mut difference = vec![0; payload.len()];
            set(&mut difference, a[0], *b"any 16 octets...");
            set(&mut difference, b[0], *b"any 16 octets...");
            let attack = |oracle: &mut Oracle<'_>| {
                maul(&oracle.seal(PN, &payload), &vec![0; payload.len()], &difference)
            };
            let expected: Vec<u8> = payload.iter().zip(&difference).map(|(a, b)| a ^ b).collect();
            let cipher = Cipher::paper(lanes, split, head);
            assert_eq!(cipher.attacked(attack), Ok(expected), "{cipher:?}");
            refused_by_the_others(lanes, attack);
        }
    }
}

fn readings() -> impl Iterator<Item = (Lanes, Split, Head)> {
    let heads = |(lanes, split)| Head::ALL.map(|head| (lanes, split, head));
    SPLITS
        .into_iter()
        .flat_map(|lanes| Split::ALL.map(|split| (lanes, split)))
        .flat_map(heads)
}

/// If all lanes are equal, they cancel, including B0 and the AAD. The MIC is then E(A0), which depends only on the
/// frame's nonce. One such frame therefore authenticates any addresses, any text of equal lanes and any length. Without
/// a payload, all lanes are equal.
#[test]
fn a_frame_of_equal_lanes_vouches_for_any_header_text_and_length() {
    for lanes in SPLITS {
        for split in Split::ALL {
            let of_equal_lanes = |blocks: usize, first: u8| {
                let mut payload = vec![0; 16 * blocks * lanes.count()];
                for share in shares(lanes, split, blocks * lanes.count()) {
                    for (step, place) in share.into_iter().enumerate() {
                        set(&mut payload, place, [first + step as u8; 16]);
                    }
                }
                payload
            };
            let sealed = of_equal_lanes(6, 0x10);
            for forged in [
                of_equal_lanes(6, 0x80),
                of_equal_lanes(1, 0x90),
                of_equal_lanes(5, 0xa0),
                vec![],
            ] {
                let attack = |oracle: &mut Oracle<'_>| {
                    let mpdu = oracle.seal(PN, &sealed);
                    let mic = &mpdu[mpdu.len() - MIC..];
                    let mut mpdu = [&maul(&mpdu, &sealed, &forged)[..PAYLOAD + forged.len()], mic].concat();
                    mpdu[ADDR3].copy_from_slice(b"mallet");
                    mpdu
                };
                let cipher = Cipher::paper(lanes, split, Head::EveryLane);
                assert_eq!(cipher.attacked(attack), Ok(forged.clone()), "{cipher:?}");
                refused_by_the_others(lanes, attack);
            }
        }
    }
}

/// Two known blocks of keystream, E(A1) and E(A2) of any earlier frame, allow collisions in a lane that starts from
/// zero: E(E(A1) + Y) = E(E(A2) + Y') for Y' = Y + E(A1) + E(A2).
fn collide(payload: &[u8], lane: &[usize]) -> impl Fn(&mut Oracle<'_>) -> (Vec<u8>, Vec<u8>) {
    move |oracle| {
        let earlier = PN - 1;
        let known = oracle.seal(earlier, &[0; 32]);
        let stream = [block(&known[PAYLOAD..], 0), block(&known[PAYLOAD..], 1)];
        let counters = [1, 2].map(|count| counter_block(&nonce(earlier), count));
        let mut chosen = payload.to_vec();
        set(&mut chosen, lane[0], counters[0]);
        let mut forged = chosen.clone();
        set(&mut forged, lane[0], counters[1]);
        let y = xor(block(&chosen, lane[1]), xor(stream[0], stream[1]));
        set(&mut forged, lane[1], y);
        (maul(&oracle.seal(PN, &chosen), &chosen, &forged), forged)
    }
}

#[test]
fn known_keystream_makes_a_lane_without_b0_collide() {
    let mut forged = 0;
    for (lanes, split, head) in readings() {
        for lane in headless(lanes, split, head) {
            let payload = octets(16 * even(head));
            let attack = collide(&payload, &lane);
            let mut expected = Vec::new();
            let cipher = Cipher::paper(lanes, split, head);
            let opened = cipher.attacked(|oracle| {
                let (mpdu, text) = attack(oracle);
                expected = text;
                mpdu
            });
            assert_eq!(opened, Ok(expected), "{cipher:?}");
            refused_by_the_others(lanes, |oracle| attack(oracle).0);
            forged += 1;
        }
    }
    // FirstLane: 1 + 3 + 7 lanes for each split. Dealt: the same if contiguous, else the 0, 1 and 5 lanes after B0 and
    // AAD.
    assert_eq!(forged, 11 + 11 + 11 + 6);
}

/// The only reading that resists: one lane starts with B0, the other with the AAD's length, A1 and A2.
#[test]
fn two_lanes_with_interleaved_b0_and_aad_resist_these_forgeries() {
    let (lanes, split) = (Lanes::Two, Split::Interleaved);
    let cipher = Cipher::paper(lanes, split, Head::Dealt);
    let payload = octets(16 * 48);
    let shares = shares(lanes, split, 48);
    assert!(headless(lanes, split, Head::Dealt).is_empty());
    let attack = swap(&payload, &shares[0], &shares[1]);
    assert_eq!(cipher.attacked(attack), Err(OpenError::Mic));
    for lane in &shares {
        let attack = collide(&payload, lane);
        assert_eq!(cipher.attacked(|oracle| attack(oracle).0), Err(OpenError::Mic));
    }
}

/// An LLC/SNAP header and an ARP reply that binds an address to the attacker's station.
fn arp() -> Vec<u8> {
    let mut packet = vec![0; LlcSnap::LEN];
    let ethertype = EtherType::ARP;
    LlcSnap { ethertype }.emit(&mut packet);
    packet.extend([0, 1, 8, 0, 6, 4, 0, 2]);
    packet.extend(*b"mallet\xc0\x00\x02\x01victim\xc0\x00\x02\x02");
    packet
}

/// LLC/SNAP, IPv4 and UDP headers, followed by octets that the datagram's sender chooses.
fn datagram(len: usize) -> Vec<u8> {
    let mut payload = vec![0x55; len];
    let ethertype = EtherType::IPV4;
    LlcSnap { ethertype }.emit(&mut payload);
    payload[8..36].copy_from_slice(&octets(28));
    payload
}

/// Offset of the UDP payload of a datagram.
const CHOSEN: usize = 36;

#[test]
fn a_packet_hidden_in_a_datagram_comes_out_in_front() {
    for lanes in SPLITS {
        let mut payload = datagram(16 * 48);
        let shares = shares(lanes, Split::Contiguous, 48);
        let at = 16 * shares[1][0];
        assert!(at >= CHOSEN);
        payload[at..at + arp().len()].copy_from_slice(&arp());
        let attack = swap(&payload, &shares[0], &shares[1]);
        let opened = Cipher::paper(lanes, Split::Contiguous, Head::EveryLane).attacked(&attack);
        let opened = opened.unwrap();
        assert_eq!(opened[..arp().len()], arp());
        assert_eq!(LlcSnap::parse(&opened).unwrap().ethertype, EtherType::ARP);
        refused_by_the_others(lanes, attack);
    }
}

/// With interleaved lanes, a lane is not a run of octets. The AAD masks A-MSDU Present unless both stations advertise
/// SPP A-MSDU support, so the frame can be turned into an A-MSDU whose first subframe absorbs the datagram's own
/// headers.
#[test]
fn an_a_msdu_subframe_hidden_in_a_datagram_comes_out_in_front() {
    for lanes in [Lanes::Four, Lanes::Eight] {
        let shares = shares(lanes, Split::Interleaved, 48);
        let subframe = |addresses: &[u8; 12], len: u16| [&addresses[..], &len.to_be_bytes()].concat();
        // The datagram's headers are in blocks 0 to 2. Block 0 moves to index 3.
        let swallow = subframe(b"nobodymallet", 64 - 14);
        let hidden = [subframe(b"victimmallet", arp().len() as u16), arp()].concat();
        let mut wanted = swapped(&datagram(16 * 48), &shares[0], &shares[3]);
        wanted[..14].copy_from_slice(&swallow);
        wanted[64..64 + hidden.len()].copy_from_slice(&hidden);
        let payload = swapped(&wanted, &shares[0], &shares[3]);
        assert_eq!(payload[..CHOSEN], datagram(16 * 48)[..CHOSEN]);
        let attack = |oracle: &mut Oracle<'_>| {
            let mut mpdu = swap(&payload, &shares[0], &shares[3])(oracle);
            mpdu[QOS_CONTROL] |= 0x80;
            assert!(DataHeader::parse(&mpdu).unwrap().qos.unwrap().amsdu_present());
            mpdu
        };
        let opened = Cipher::paper(lanes, Split::Interleaved, Head::EveryLane).attacked(attack);
        assert_eq!(opened, Ok(wanted));
        refused_by_the_others(lanes, attack);
    }
}

/// The cost of lanes, even of the repaired ones: F0(X) + F1(Y) = (F0(X) + F1(y)) + (F0(x) + F1(Y)) + (F0(x) + F1(y))
/// for four frames that share a nonce. A CBC-MAC with a single chain does not have this property.
#[test]
fn enhanced_ccmp_frames_with_a_repeated_packet_number_can_be_combined() {
    let forge = |oracle: &mut Oracle<'_>| {
        // One block in each of two lanes, whatever the number of lanes.
        let [first, second] = [octets(16 * 8), octets(16 * 16).split_off(16 * 8)];
        let mixed = |from_second: &[usize]| {
            let mut payload = first.clone();
            for &place in from_second {
                set(&mut payload, place, block(&second, place));
            }
            payload
        };
        let [neither, a, b] = [&[][..], &[0], &[1]].map(|places| oracle.seal(PN, &mixed(places)));
        let mut mpdu = maul(&neither, &mixed(&[]), &mixed(&[0, 1]));
        let mic = mpdu.len() - MIC;
        for (octet, (a, b)) in mpdu[mic..].iter_mut().zip(a[mic..].iter().zip(&b[mic..])) {
            *octet ^= a ^ b;
        }
        mpdu
    };
    for lanes in SPLITS {
        assert!(Cipher::suite(Suite::Enhanced(lanes)).attacked(forge).is_ok());
    }
    for suite in [Suite::Enhanced(Lanes::One), Suite::Ccmp128] {
        assert_eq!(Cipher::suite(suite).attacked(forge), Err(OpenError::Mic));
    }
}
