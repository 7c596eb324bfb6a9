//! Reading capture files in pieces, and pcapng: the result does not depend on the pieces. `editcap` is the
//! independent reference.

use std::io::Write;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use wlan_frames::pcap::{self, Decoder, PcapError, Step};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE: u32 = 3;
const NAMES: u32 = 4;
const ENHANCED: u32 = 6;

/// Link type, time in nanoseconds, octets, length on the air.
type Owned = (u32, u64, Vec<u8>, u32);

/// Reads a file that arrives in pieces of `piece` octets.
fn read(file: &[u8], piece: usize) -> (Vec<Owned>, Result<(), PcapError>) {
    let mut decoder = Decoder::default();
    let (mut at, mut end, mut records) = (0, 0, Vec::new());
    loop {
        match decoder.step(&file[at..end]) {
            Err(error) => return (records, Err(error)),
            Ok(Step::Skip(len)) => at += len,
            Ok(Step::Record(link_type, record, len)) => {
                at += len;
                records.push((link_type, record.ts_ns, record.data.to_vec(), record.original_len));
            }
            Ok(Step::Need(len)) => {
                assert!(len > end - at, "requested octets that are available");
                if end == file.len() {
                    return (records, decoder.finish(end - at));
                }
                end = file.len().min(end + piece);
            }
        }
    }
}

/// Writes blocks in the given byte order.
struct Order {
    big: bool,
}

impl Order {
    fn word(&self, value: u32) -> [u8; 4] {
        if self.big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    fn half(&self, value: u16) -> [u8; 2] {
        if self.big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    fn block(&self, kind: u32, body: &[u8]) -> Vec<u8> {
        let padded = body.len().next_multiple_of(4);
        let len = self.word(u32::try_from(padded + 12).unwrap());
        let mut block = [&self.word(kind)[..], &len, body].concat();
        block.resize(8 + padded, 0);
        block.extend(len);
        block
    }

    fn section(&self) -> Vec<u8> {
        let body = [
            &self.word(0x1a2b_3c4d)[..],
            &self.half(1),
            &self.half(0),
            &[0xff; 8],
        ]
        .concat();
        self.block(SECTION, &body)
    }

    fn interface(&self, link_type: u16, snap_len: u32, options: &[(u16, &[u8])]) -> Vec<u8> {
        let mut body = [&self.half(link_type)[..], &[0; 2], &self.word(snap_len)].concat();
        for (code, value) in options {
            body.extend(self.half(*code));
            body.extend(self.half(u16::try_from(value.len()).unwrap()));
            body.extend(*value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        self.block(INTERFACE, &body)
    }

    fn enhanced(&self, interface: u32, ticks: u64, data: &[u8], original_len: u32) -> Vec<u8> {
        let words = [
            interface,
            u32::try_from(ticks >> 32).unwrap(),
            u32::try_from(ticks & 0xffff_ffff).unwrap(),
            u32::try_from(data.len()).unwrap(),
            original_len,
        ];
        let mut body = words.map(|value| self.word(value)).concat();
        body.extend(data);
        body.resize(body.len().next_multiple_of(4), 0);
        // A comment option.
        body.extend([&self.half(1)[..], &self.half(2), b"hi\0\0"].concat());
        self.block(ENHANCED, &body)
    }

    fn simple(&self, data: &[u8], original_len: u32) -> Vec<u8> {
        self.block(SIMPLE, &[&self.word(original_len)[..], data].concat())
    }

    fn packet(&self, interface: u16, ticks: u32, data: &[u8]) -> Vec<u8> {
        let len = self.word(u32::try_from(data.len()).unwrap());
        let body = [
            &self.half(interface)[..],
            // Number of packets that the interface dropped.
            &self.half(7),
            &[0; 4],
            &self.word(ticks),
            &len,
            &len,
            data,
        ]
        .concat();
        self.block(PACKET, &body)
    }
}

const LITTLE: Order = Order { big: false };
const BIG: Order = Order { big: true };

/// A file with every supported feature: two sections, one per byte order, three interfaces, all kinds of packets.
fn everything() -> (Vec<u8>, Vec<Owned>) {
    let offset_s = (-100i64).to_be_bytes();
    let file = [
        LITTLE.section(),
        LITTLE.interface(105, 3, &[(2, b"wlan0"), (9, &[9])]),
        LITTLE.block(NAMES, &[7; 50]),
        LITTLE.enhanced(0, 5_000_000_007, b"abcde", 9),
        LITTLE.simple(b"xyz", 8),
        LITTLE.interface(1, 0, &[]),
        LITTLE.packet(1, 4, b"odd"),
        BIG.section(),
        BIG.interface(127, 0, &[(14, &offset_s), (9, &[0x80 | 10]), (0, &[])]),
        BIG.block(0xbad, &[]),
        BIG.enhanced(0, 200 << 10, b"", 0),
        BIG.simple(b"whole", 5),
        // A valid time offset has 8 octets.
        BIG.interface(105, 0, &[(14, &offset_s[4..])]),
        BIG.packet(1, 6, b"old"),
    ]
    .concat();
    let records = vec![
        (105, 5_000_000_007, b"abcde".to_vec(), 9),
        (105, 0, b"xyz".to_vec(), 8),
        (1, 4_000, b"odd".to_vec(), 3),
        (127, 100_000_000_000, vec![], 0),
        (127, 0, b"whole".to_vec(), 5),
        (105, 6_000, b"old".to_vec(), 3),
    ];
    (file, records)
}

#[test]
fn sections_interfaces_and_packets_of_every_kind_are_read() {
    let (file, records) = everything();
    for piece in [1, 2, 3, 7, 64, file.len()] {
        assert_eq!(read(&file, piece), (records.clone(), Ok(())), "pieces of {piece}");
    }
    let mut decoder = Decoder::default();
    assert_eq!(decoder.step(&file), Ok(Step::Skip(28)));
    assert!(decoder.link_types().is_empty());
    decoder.step(&file[28..]).unwrap();
    assert_eq!(decoder.link_types().iter().copied().collect::<Vec<_>>(), [105]);
}

#[test]
fn a_file_cut_anywhere_gives_its_complete_records_and_the_offset() {
    let (file, records) = everything();
    let mut classic = pcap::file_header().to_vec();
    for data in [&b"abc"[..], b"", b"defgh"] {
        classic.extend(pcap::record_header(7, data.len()));
        classic.extend(data);
    }
    let classic_records = read(&classic, 10).0;
    assert_eq!(classic_records.len(), 3);
    for (file, records) in [(&file, &records), (&classic, &classic_records)] {
        let mut whole = 0;
        for len in 0..file.len() {
            let (found, outcome) = read(&file[..len], 5);
            assert_eq!(found, records[..found.len()]);
            match outcome {
                Ok(()) => whole += 1,
                Err(PcapError::NoHeader { have }) => assert_eq!(have, len),
                Err(PcapError::Truncated {
                    offset, needed, have, ..
                }) => {
                    assert_eq!(offset + have as u64, len as u64);
                    assert!(needed > have);
                }
                Err(PcapError::TruncatedBlock { offset, needed, have }) => {
                    assert_eq!(offset + have, len as u64);
                    assert!(needed > have);
                }
                Err(other) => panic!("{len}: {other}"),
            }
        }
        // A file may end between blocks or records.
        assert_eq!(whole, if records.len() == 3 { 3 } else { 13 });
    }
}

#[test]
fn damaged_blocks_are_reported_with_their_offset() {
    let interface = LITTLE.interface(105, 0, &[]);
    let good = [LITTLE.section(), interface].concat();
    let at = good.len() as u64;
    let fault = |block: &[u8]| match read(&[&good, block].concat(), 1000).1 {
        Err(PcapError::Block { offset, fault }) if offset == at => fault,
        other => panic!("{other:?}"),
    };
    let changed = |place: usize, value: u8| {
        let mut block = LITTLE.enhanced(0, 0, b"abc", 3);
        block[place] = value;
        block
    };
    assert!(fault(&changed(4, 3)).contains("invalid length"));
    assert!(fault(&changed(4, 8)).contains("invalid length"));
    assert!(fault(&changed(7, 9)).contains("16 MiB"));
    assert!(fault(&changed(8, 1)).contains("interface"));
    assert!(fault(&changed(20, 200)).contains("its packet"));
    let len = changed(0, 6).len();
    assert!(fault(&changed(len - 4, 0)).contains("different lengths"));
    assert!(fault(&LITTLE.block(ENHANCED, &[0; 16])).contains("fields"));
    assert!(fault(&LITTLE.block(SECTION, &[0; 16])).contains("byte order"));
    let mut later = LITTLE.section();
    later[12] = 2;
    assert!(fault(&later).contains("version"));
    let longest = LITTLE.enhanced(0, 0, &vec![0; 262_144], 262_144);
    assert_eq!(read(&[&good[..], &longest].concat(), 1 << 20).1, Ok(()));
    let huge = LITTLE.enhanced(0, 0, &vec![0; 262_145], 262_145);
    assert_eq!(
        read(&[&good[..], &huge].concat(), 1 << 20).1,
        Err(PcapError::Length {
            record: 1,
            offset: at,
            len: 262_145
        })
    );
}

#[test]
fn a_block_of_packets_has_at_most_16_mib() {
    for (len, is_possible) in [(16 << 20, true), ((16 << 20) + 4, false)] {
        let mut decoder = Decoder::default();
        let section = LITTLE.section();
        assert_eq!(decoder.step(&section), Ok(Step::Skip(section.len())));
        let mut start = LITTLE.enhanced(0, 0, b"", 0);
        start[4..8].copy_from_slice(&LITTLE.word(len));
        let step = decoder.step(&start);
        let need = Ok(Step::Need(len as usize));
        assert_eq!(step == need, is_possible, "{len}: {step:?}");
    }
}

#[test]
fn a_section_has_at_most_65536_interfaces() {
    let interface = LITTLE.interface(105, 0, &[]);
    let section = [LITTLE.section(), interface.repeat(1 << 16)].concat();
    let last = LITTLE.enhanced(0xffff, 0, b"abc", 3);
    let file = [&section[..], &last, &section, &last].concat();
    let (records, end) = read(&file, 1 << 20);
    assert_eq!((records.len(), end), (2, Ok(())));

    let (_, end) = read(&[&section[..], &interface].concat(), 1 << 20);
    let offset = section.len() as u64;
    let fault = "defines more than 65536 interfaces in its section";
    assert_eq!(end, Err(PcapError::Block { offset, fault }));
}

#[test]
fn undecoded_octets_count_as_present_in_a_truncated_file() {
    let file = [LITTLE.section(), LITTLE.block(NAMES, &[1; 100])].concat();
    let mut decoder = Decoder::default();
    assert_eq!(decoder.step(&file), Ok(Step::Skip(28)));
    assert_eq!(decoder.step(&file[28..68]), Ok(Step::Skip(40)));
    let cut = PcapError::TruncatedBlock {
        offset: 28,
        needed: 112,
        have: 45,
    };
    assert_eq!(decoder.finish(5), Err(cut));
}

#[test]
fn a_long_skipped_block_is_not_kept_in_memory() {
    let mut file = [LITTLE.section(), LITTLE.block(NAMES, &vec![1; 40 << 20])].concat();
    assert_eq!(read(&file, 4096), (vec![], Ok(())));
    file.truncate(1000);
    let cut = PcapError::TruncatedBlock {
        offset: 28,
        needed: (40 << 20) + 12,
        have: 972,
    };
    assert_eq!(read(&file, 4096), (vec![], Err(cut)));
    assert_eq!(
        cut.to_string(),
        "capture cut short: the block at octet 28 requires 41943052 octets, 972 are left"
    );
}

#[test]
fn editcap_writes_the_same_records_as_pcapng() {
    let mut classic = pcap::file_header_of(pcap::LINKTYPE_IEEE802_11).to_vec();
    for n in 0..9u8 {
        classic.extend(pcap::record_header(
            1_700_000_000_000_000_001 + u64::from(n),
            usize::from(n),
        ));
        classic.extend(vec![n; usize::from(n)]);
    }
    let mut command = Command::new("editcap");
    command.args(["-F", "pcapng", "-", "-"]);
    let started = test_support::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
    let Some(mut editcap) = started else { return };
    let mut input = editcap.stdin.take().expect("it was asked for");
    input.write_all(&classic).expect("editcap reads");
    drop(input);
    let output = editcap.wait_with_output().expect("editcap ends");
    assert!(output.stdout.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]));
    assert_eq!(read(&output.stdout, 100), read(&classic, 100));
}

proptest! {
    #[test]
    fn no_octets_make_the_decoder_panic_and_pieces_do_not_change_the_result(
        mut octets in proptest::collection::vec(any::<u8>(), 0..200), kind in 0usize..4, piece in 1usize..40,
    ) {
        let ng = [LITTLE.section(), LITTLE.interface(105, 0, &[])].concat();
        let starts: [&[u8]; 4] = [&[], &pcap::file_header(), &ng, &BIG.section()];
        octets.splice(0..0, starts[kind].iter().copied());
        prop_assert_eq!(read(&octets, piece), read(&octets, octets.len().max(1)));
    }

    #[test]
    fn one_wrong_octet_never_panics(place in any::<prop::sample::Index>(), value: u8, piece in 1usize..40) {
        let mut file = everything().0;
        let place = place.index(file.len());
        file[place] = value;
        prop_assert_eq!(read(&file, piece), read(&file, 1000));
    }
}
