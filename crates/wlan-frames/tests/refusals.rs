//! Invalid octets are rejected, each fault with its own error; and test vectors from external sources.

use wlan_frames::ampdu::{self, Delimiter};
use wlan_frames::beacon::{self, Beacon};
use wlan_frames::control::{BlockAck, BlockAckReq};
use wlan_frames::pcap::{self, PcapError, Record};
use wlan_frames::radiotap::{Channel, Mcs, Radiotap};
use wlan_frames::{DataHeader, FrameError, FrameType, LlcSnap, MacAddr, MacHeader, QosControl, fcs};

#[test]
fn other_frames_are_refused_as_data_frames() {
    let beacon = [0x80, 0x00];
    let ack = [0xd4, 0x00];
    let null = [0x48, 0x01];
    let version_1 = [0x09, 0x00];
    assert_eq!(
        DataHeader::parse(&beacon),
        Err(FrameError::Type {
            expected: FrameType::Data,
            found: FrameType::Management
        })
    );
    assert_eq!(
        DataHeader::parse(&ack),
        Err(FrameError::Type {
            expected: FrameType::Data,
            found: FrameType::Control
        })
    );
    assert_eq!(
        DataHeader::parse(&null),
        Err(FrameError::Subtype {
            frame_type: FrameType::Data,
            subtype: 4
        })
    );
    assert_eq!(DataHeader::parse(&version_1), Err(FrameError::Version(1)));
    let cut = DataHeader::parse(&[0x88, 0x01, 0, 0]).unwrap_err();
    assert_eq!(
        cut.to_string(),
        "the header of a data frame requires 26 octets, got 4"
    );
}

#[test]
fn only_data_and_management_frames_have_a_mac_header_with_three_addresses() {
    let of = |first: [u8; 2]| {
        let mut octets = [0; MacHeader::LEN];
        octets[..2].copy_from_slice(&first);
        MacHeader::parse(&octets).map(|header| header.frame_control().frame_type())
    };
    assert_eq!(of([0x88, 0x01]), Ok(FrameType::Data));
    assert_eq!(of([0x80, 0x00]), Ok(FrameType::Management));
    for other in [[0xd4, 0x00], [0x0c, 0x00]] {
        assert!(matches!(of(other), Err(FrameError::Field(_))), "{other:02x?}");
    }
    for version in 1..=3 {
        assert_eq!(of([0x88 | version, 0x01]), Err(FrameError::Version(version)));
    }
    let cut = MacHeader::parse(&[0x88; 23]).unwrap_err();
    assert_eq!(cut.to_string(), "a MAC header requires 24 octets, got 23");
}

#[test]
fn a_fourth_address_requires_to_ds_and_from_ds() {
    let header = DataHeader {
        to_ds: true,
        addr4: Some(wlan_frames::MacAddr::default()),
        ..DataHeader::default()
    };
    assert!(std::panic::catch_unwind(|| header.emit(&mut [0; 36])).is_err());
}

#[test]
fn header_lengths_agree_with_the_standard() {
    let plain = DataHeader::default();
    let qos = DataHeader {
        qos: Some(QosControl::default()),
        ..plain
    };
    let addr4 = Some(wlan_frames::MacAddr::BROADCAST);
    let four = DataHeader {
        to_ds: true,
        from_ds: true,
        addr4,
        ..plain
    };
    let both = DataHeader { qos: qos.qos, ..four };
    let htc = DataHeader {
        ht_control: Some(0),
        ..both
    };
    assert_eq!(
        [plain, qos, four, both, htc].map(|header| header.len()),
        [24, 26, 30, 32, 36]
    );
}

#[test]
fn other_llc_headers_and_block_ack_variants_are_refused() {
    let netbeui = [0xf0, 0xf0, 0x03, 0, 0, 0, 0, 0];
    assert!(matches!(LlcSnap::parse(&netbeui), Err(FrameError::Field(_))));
    let mut basic = [0; BlockAck::LEN];
    basic[0] = 0x94;
    assert_eq!(
        BlockAck::parse(&basic),
        Err(FrameError::Field(
            "unsupported BlockAck variant (expected compressed)"
        ))
    );
    basic[16] = 0x04;
    assert!(BlockAck::parse(&basic).is_ok());
    basic[18] = 0x04;
    assert_eq!(
        BlockAck::parse(&basic),
        Err(FrameError::Field(
            "unsupported BlockAck bitmap length (expected 8 octets)"
        ))
    );
    let mut multi_tid = [0; BlockAckReq::LEN];
    multi_tid[0] = 0x84;
    multi_tid[16] = 0x06;
    assert_eq!(
        BlockAckReq::parse(&multi_tid),
        Err(FrameError::Field(
            "unsupported BlockAckReq variant (expected compressed)"
        ))
    );
    multi_tid[16] = 0x04;
    assert!(BlockAckReq::parse(&multi_tid).is_ok());
    multi_tid[18] = 0x01;
    assert_eq!(
        BlockAckReq::parse(&multi_tid),
        Err(FrameError::Field(
            "the fragment number of the BlockAckReq is not 0"
        ))
    );
}

#[test]
fn only_broadcast_beacons_of_an_access_point_are_accepted() {
    let mut elements = Vec::new();
    beacon::push_element(&mut elements, 0, b"airtoll");
    let beacon = Beacon {
        bssid: MacAddr([2, 0, 0, 0, 0, 1]),
        sequence: 7,
        timestamp_us: 1,
        interval_tu: 100,
        capability: 1,
        elements: &elements,
    };
    let mut octets = vec![0; beacon.len()];
    beacon.emit(&mut octets);
    for (at, why) in [
        (1, "a Frame Control flag of the beacon is set (expected none)"),
        (2, "the Duration field of the beacon is not 0"),
        (4, "the beacon is not a broadcast from its BSSID"),
        (10, "the beacon is not a broadcast from its BSSID"),
        (22, "the beacon is a fragment"),
    ] {
        let mut changed = octets.clone();
        changed[at] ^= 1;
        assert_eq!(Beacon::parse(&changed), Err(FrameError::Field(why)));
    }
    octets[0] = 0x50;
    let probe_response = FrameError::Subtype {
        frame_type: FrameType::Management,
        subtype: 5,
    };
    assert_eq!(Beacon::parse(&octets), Err(probe_response));
    let cut = [221, 3, 0, 0x50];
    let read: Vec<_> = beacon::elements(&cut).collect();
    assert_eq!(
        read,
        [Err(FrameError::Truncated {
            what: "an element",
            needed: 5,
            have: 4
        })]
    );
}

#[test]
fn radiotap_vht_fields_of_several_users_or_ldpc_are_dropped() {
    // Guard interval and bandwidth are known; MCS 9, 2 streams, 80 MHz.
    let usual = [0x44, 0, 0x04, 4, 0x92, 0, 0, 0, 0, 0, 0, 0];
    let read = |field: [u8; 12]| {
        let header = [&[0, 0, 20, 0, 0, 0, 0x20, 0], &field[..]].concat();
        Radiotap::parse(&header).unwrap().0.vht
    };
    let vht = read(usual).unwrap();
    assert_eq!((vht.mcs, vht.streams, vht.short_gi), (9, 2, true));
    for (at, octet) in [
        (0, 0x40), // the guard interval is unknown
        (3, 2),    // the lower 20 MHz of 40 MHz
        (4, 0x90), // zero streams
        (5, 0x11), // a second user
        (8, 1),    // LDPC
    ] {
        let mut other = usual;
        other[at] = octet;
        assert_eq!(read(other), None, "octet {at}");
    }
}

/// The MCS field of radiotap: mask of known values, flags (bandwidth 0 to 3, guard interval in bit 2), index.
#[test]
fn a_radiotap_mcs_field_counts_only_if_bandwidth_index_and_guard_interval_are_known() {
    let read = |known, flags, index| {
        let header = [0, 0, 11, 0, 0, 0, 0x08, 0, known, flags, index];
        Radiotap::parse(&header).unwrap().0.mcs
    };
    for known in 0..8 {
        assert_eq!(read(known, 0, 7).is_some(), known == 7, "{known:#x}");
    }
    for (flags, forty_mhz, short_gi) in [
        (0, false, false),
        (1, true, false),
        // One half of a 40 MHz channel.
        (2, false, false),
        (3, false, false),
        (5, true, true),
    ] {
        let mcs = Mcs {
            forty_mhz,
            short_gi,
            index: 7,
        };
        assert_eq!(read(0x7f, flags, 7), Some(mcs), "{flags:#x}");
    }
}

#[test]
fn empty_delimiters_equal_those_of_hardware() {
    let mut octets = [0; 4];
    Delimiter {
        eof: false,
        mpdu_len: 0,
    }
    .emit(&mut octets);
    // The padding delimiter of the openwifi driver.
    assert_eq!(u32::from_le_bytes(octets), 0x4e14_0000);
    Delimiter {
        eof: true,
        mpdu_len: 0,
    }
    .emit(&mut octets);
    // The end-of-frame padding delimiter that Linux's rtw89 driver configures in hardware.
    assert_eq!(u32::from_le_bytes(octets), 0x4e79_0001);
}

#[test]
fn subframes_are_padded_to_four_octets() {
    assert_eq!([0, 1, 4, 1538].map(ampdu::subframe_len), [4, 8, 8, 1544]);
    assert_eq!(ampdu::unpadded_subframe_len(1538), 1542);
}

#[test]
fn the_fcs_of_the_ccmp_mpdu_in_the_standard_is_correct() {
    // IEEE Std 802.11-2012 M.6.4, MPDU and FCS as printed.
    let mpdu = [
        0x08, 0x48, 0xc3, 0x2c, 0x0f, 0xd2, 0xe1, 0x28, 0xa5, 0x7c, 0x50, 0x30, 0xf1, 0x84, 0x44, 0x08, 0xab,
        0xae, 0xa5, 0xb8, 0xfc, 0xba, 0x80, 0x33, 0x0c, 0xe7, 0x00, 0x20, 0x76, 0x97, 0x03, 0xb5, 0xf3, 0xd0,
        0xa2, 0xfe, 0x9a, 0x3d, 0xbf, 0x23, 0x42, 0xa6, 0x43, 0xe4, 0x32, 0x46, 0xe8, 0x0c, 0x3c, 0x04, 0xd0,
        0x19, 0x78, 0x45, 0xce, 0x0b, 0x16, 0xf9, 0x76, 0x23,
    ];
    let frame = [&mpdu[..], &[0x1d, 0x99, 0xf0, 0x66]].concat();
    assert_eq!(fcs::check(&frame), Ok(&mpdu[..]));
}

#[test]
fn unsupported_radiotap_fields_are_skipped() {
    // As written by mac80211: two more present words, and the unsupported fields antenna and receive flags.
    let present: u32 = 1 << 1 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 11 | 1 << 14 | 1 << 29 | 1 << 31;
    let mut header = vec![0, 0, 28, 0];
    header.extend(present.to_le_bytes());
    header.extend((1u32 << 5 | 1 << 31).to_le_bytes());
    header.extend((1u32 << 5).to_le_bytes());
    header.push(0x10);
    header.push(0);
    header.extend(5180u16.to_le_bytes());
    header.extend(0x0140u16.to_le_bytes());
    header.extend([0xd6, 0xa1, 0, 0, 0, 0]);
    let (read, len) = Radiotap::parse(&header).unwrap();
    assert_eq!(len, 28);
    let expected = Radiotap {
        flags: Some(0x10),
        channel: Some(Channel::ofdm_5ghz(5180)),
        antenna_signal_dbm: Some(-42),
        antenna_noise_dbm: Some(-95),
        ..Radiotap::default()
    };
    assert_eq!(read, expected);
    header[2] = 20;
    assert!(
        matches!(Radiotap::parse(&header), Err(FrameError::Field(_))),
        "fields beyond the length"
    );
}

#[test]
fn captures_of_both_byte_orders_and_resolutions_are_read() {
    for (magic, fraction, ts_ns) in [
        (0xa1b2_3c4d_u32, 5_u32, 7_000_000_005_u64),
        (0xa1b2_c3d4, 5, 7_000_005_000),
    ] {
        let mut big = Vec::new();
        let mut little = Vec::new();
        for word in [magic, 0x0002_0004, 0, 0, 65535, 105, 7, fraction, 2, 9] {
            big.extend(word.to_be_bytes());
            little.extend(word.to_le_bytes());
        }
        for mut file in [big, little] {
            file.extend(b"ab");
            let record = Record {
                ts_ns,
                data: b"ab",
                original_len: 9,
            };
            let read: Vec<_> = pcap::records(&file).collect();
            assert_eq!(read, [Ok((pcap::LINKTYPE_IEEE802_11, record))]);
        }
    }
}

#[test]
fn files_that_are_not_captures_are_refused() {
    for (file, error) in [
        (&b""[..], PcapError::NoHeader { have: 0 }),
        (&pcap::file_header()[..23], PcapError::NoHeader { have: 23 }),
        (b"<!DOCTYPE html>", PcapError::NotACapture(*b"<!DO")),
    ] {
        assert_eq!(pcap::records(file).collect::<Vec<_>>(), [Err(error)]);
    }
}

#[test]
fn a_truncated_capture_gives_its_complete_records_and_then_the_offset() {
    let mut file = pcap::file_header().to_vec();
    for _ in 0..2 {
        file.extend(pcap::record_header(0, 10));
        file.extend([0; 10]);
    }
    let read: Vec<_> = pcap::records(&file[..file.len() - 1]).collect();
    assert!(read[0].is_ok());
    let cut = PcapError::Truncated {
        record: 2,
        offset: 50,
        needed: 26,
        have: 25,
    };
    assert_eq!(read[1..], [Err(cut)], "and nothing after the error");
    assert_eq!(
        cut.to_string(),
        "capture cut short: record 2 at octet 50 requires 26 octets, 25 are left"
    );

    let read: Vec<_> = pcap::records(&file[..50 + 7]).collect();
    assert_eq!(
        read[1],
        Err(PcapError::Truncated {
            record: 2,
            offset: 50,
            needed: 16,
            have: 7
        })
    );

    let longest = 262_144_u32;
    for (len, is_possible) in [(longest, true), (longest + 1, false), (u32::MAX, false)] {
        file[24 + 8..][..4].copy_from_slice(&len.to_le_bytes());
        let read: Vec<_> = pcap::records(&file).collect();
        let [Err(error)] = read[..] else {
            panic!("{read:?}")
        };
        let impossible = PcapError::Length {
            record: 1,
            offset: 24,
            len,
        };
        assert_eq!(error == impossible, !is_possible, "{len}: {error}");
    }
}
