//! Parsing an emitted value returns the same value, and parsing never panics on any input.

use proptest::prelude::*;
use wlan_frames::ampdu::Delimiter;
use wlan_frames::beacon::{self, Beacon};
use wlan_frames::control::{Ack, BlockAck, BlockAckReq, Cts, Rts};
use wlan_frames::management::Body;
use wlan_frames::pcap;
use wlan_frames::radiotap::{AmpduStatus, Channel, Mcs, Radiotap, Vht, VhtBandwidth};
use wlan_frames::{
    DataFrame, DataHeader, EtherType, FrameControl, FrameError, LlcSnap, MacAddr, MacHeader, Management,
    QosControl, SequenceControl, fcs,
};

fn addr() -> impl Strategy<Value = MacAddr> {
    any::<[u8; 6]>().prop_map(MacAddr)
}

/// Every header that the standard allows, with consistent fields.
fn data_header() -> impl Strategy<Value = DataHeader> {
    let flags = any::<[bool; 8]>();
    let addresses = (addr(), addr(), addr(), addr());
    let sequence = (0u16..4096, 0u8..16).prop_map(|(number, fragment)| SequenceControl { number, fragment });
    let qos = proptest::option::of((any::<u16>(), proptest::option::of(any::<u32>())));
    (flags, any::<u16>(), addresses, sequence, qos).prop_map(
        |(flags, duration_us, (addr1, addr2, addr3, addr4), sequence, qos)| {
            let [
                to_ds,
                from_ds,
                more_fragments,
                retry,
                power_mgmt,
                more_data,
                protected,
                order,
            ] = flags;
            DataHeader {
                to_ds,
                from_ds,
                more_fragments,
                retry,
                power_mgmt,
                more_data,
                protected,
                order: order && qos.is_none(),
                duration_us,
                addr1,
                addr2,
                addr3,
                addr4: (to_ds && from_ds).then_some(addr4),
                sequence,
                qos: qos.map(|(bits, _)| QosControl(bits)),
                ht_control: qos.and_then(|(_, htc)| htc),
            }
        },
    )
}

fn radiotap() -> impl Strategy<Value = Radiotap> {
    let channel = (any::<u16>(), any::<u16>()).prop_map(|(freq_mhz, flags)| Channel { freq_mhz, flags });
    let mcs = (any::<bool>(), any::<bool>(), any::<u8>()).prop_map(|(forty_mhz, short_gi, index)| Mcs {
        forty_mhz,
        short_gi,
        index,
    });
    let ampdu = (any::<u32>(), any::<Option<bool>>(), any::<Option<bool>>())
        .prop_map(|(reference, last, eof)| AmpduStatus { reference, last, eof });
    let vht = (
        proptest::sample::select(&VhtBandwidth::ALL[..]),
        any::<bool>(),
        0u8..10,
        1u8..=8,
    )
        .prop_map(|(bandwidth, short_gi, mcs, streams)| Vht {
            bandwidth,
            short_gi,
            mcs,
            streams,
        });
    (
        any::<Option<u64>>(),
        any::<Option<u8>>(),
        any::<Option<u8>>(),
        proptest::option::of(channel),
        any::<Option<i8>>(),
        any::<Option<i8>>(),
        proptest::option::of(mcs),
        proptest::option::of(ampdu),
        proptest::option::of(vht),
    )
        .prop_map(
            |(
                tsft_us,
                flags,
                rate_500kbps,
                channel,
                antenna_signal_dbm,
                antenna_noise_dbm,
                mcs,
                ampdu,
                vht,
            )| Radiotap {
                tsft_us,
                flags,
                rate_500kbps,
                channel,
                antenna_signal_dbm,
                antenna_noise_dbm,
                mcs,
                ampdu,
                vht,
            },
        )
}

proptest! {
    #[test]
    fn data_header_roundtrip(header in data_header()) {
        let mut buf = [0xee; 36];
        let len = header.emit(&mut buf);
        prop_assert_eq!(len, header.len());
        prop_assert_eq!(Some(len), header.frame_control().header_len());
        prop_assert_eq!(DataHeader::parse(&buf), Ok(header));
        prop_assert!(buf[len..].iter().all(|&octet| octet == 0xee), "nothing is written past the header");
        for short in 0..len {
            let cut = DataHeader::parse(&buf[..short]);
            prop_assert!(matches!(cut, Err(FrameError::Truncated { .. })), "{} octets: {:?}", short, cut);
        }
    }

    /// Table 9-30 of IEEE 802.11-2020 defines the addresses by ToDS and FromDS.
    #[test]
    fn a_data_frame_read_in_place_agrees_with_its_parsed_header(header in data_header()) {
        let mut buf = [0; 36];
        let len = header.emit(&mut buf);
        let frame = DataFrame::parse(&buf).unwrap();
        prop_assert_eq!(frame.header_len(), len);
        prop_assert_eq!(frame.has(FrameControl::RETRY), header.retry);
        prop_assert_eq!(frame.is_fragment(), header.more_fragments || header.sequence.fragment != 0);
        prop_assert_eq!(frame.tid(), header.tid());
        prop_assert_eq!(frame.is_amsdu(), header.qos.is_some_and(QosControl::amsdu_present));
        let (da, sa) = match (header.to_ds, header.from_ds) {
            (false, false) => (header.addr1, header.addr2),
            (false, true) => (header.addr1, header.addr3),
            (true, false) => (header.addr3, header.addr2),
            (true, true) => (header.addr3, header.addr4.unwrap()),
        };
        prop_assert_eq!((frame.da(), frame.sa()), (da, sa));
        let shared = MacHeader::parse(&buf).unwrap();
        prop_assert_eq!(shared.frame_control(), header.frame_control());
        let addresses = (shared.receiver(), shared.transmitter(), shared.addr3());
        prop_assert_eq!(addresses, (header.addr1, header.addr2, header.addr3));
    }

    #[test]
    fn addresses_parse_from_their_text_form(addr in addr()) {
        prop_assert_eq!(addr.to_string().parse::<MacAddr>(), Ok(addr));
    }

    #[test]
    fn llc_roundtrip(ethertype in any::<u16>()) {
        let header = LlcSnap { ethertype: EtherType(ethertype) };
        let mut buf = [0; LlcSnap::LEN];
        header.emit(&mut buf);
        prop_assert_eq!(LlcSnap::parse(&buf), Ok(header));
    }

    #[test]
    fn ack_roundtrip(duration_us in any::<u16>(), ra in addr()) {
        let ack = Ack { duration_us, ra };
        let mut buf = [0; Ack::LEN];
        ack.emit(&mut buf);
        prop_assert_eq!(Ack::parse(&buf), Ok(ack));
        prop_assert!(BlockAck::parse(&buf).is_err());
    }

    #[test]
    fn rts_and_cts_roundtrip(duration_us in any::<u16>(), ra in addr(), ta in addr()) {
        let (rts, cts) = (Rts { duration_us, ra, ta }, Cts { duration_us, ra });
        let mut buf = [0; Rts::LEN];
        prop_assert_eq!(rts.emit(&mut buf), Rts::LEN);
        prop_assert_eq!(Rts::parse(&buf), Ok(rts));
        prop_assert!(Cts::parse(&buf).is_err());
        prop_assert!(Rts::parse(&buf[..Rts::LEN - 1]).is_err());
        prop_assert_eq!(cts.emit(&mut buf), Cts::LEN);
        prop_assert_eq!(Cts::parse(&buf), Ok(cts));
        prop_assert!(Rts::parse(&buf).is_err() && Ack::parse(&buf).is_err());
    }

    #[test]
    fn block_ack_req_roundtrip(
        duration_us in any::<u16>(), ra in addr(), ta in addr(), tid in 0u8..16, starting_sequence in 0u16..4096,
    ) {
        let request = BlockAckReq { duration_us, ra, ta, tid, starting_sequence };
        let mut buf = [0; BlockAckReq::LEN];
        prop_assert_eq!(request.emit(&mut buf), BlockAckReq::LEN);
        prop_assert_eq!(BlockAckReq::parse(&buf), Ok(request));
        prop_assert!(BlockAck::parse(&buf).is_err());
    }

    #[test]
    fn beacon_roundtrip(
        bssid in addr(), sequence in 0u16..4096, timestamp_us in any::<u64>(), interval_tu in any::<u16>(),
        capability in any::<u16>(),
        elements in proptest::collection::vec((any::<u8>(), proptest::collection::vec(any::<u8>(), 0..=255)), 0..6),
    ) {
        let mut octets = Vec::new();
        for (id, body) in &elements {
            beacon::push_element(&mut octets, *id, body);
        }
        let read: Result<Vec<_>, _> = beacon::elements(&octets).collect();
        let expected: Vec<_> = elements.iter().map(|(id, body)| (*id, &body[..])).collect();
        prop_assert_eq!(read, Ok(expected));
        let beacon = Beacon { bssid, sequence, timestamp_us, interval_tu, capability, elements: &octets };
        let mut buf = vec![0xee; beacon.len()];
        prop_assert_eq!(beacon.emit(&mut buf), beacon.len());
        prop_assert_eq!(Beacon::parse(&buf), Ok(beacon));
        if let Some((_, body)) = elements.last() {
            for cut in 1..body.len() + 2 {
                let short = Beacon::parse(&buf[..buf.len() - cut]);
                prop_assert!(matches!(short, Err(FrameError::Truncated { .. })), "{} octets cut off", cut);
            }
        }
    }

    #[test]
    fn management_roundtrip(
        (da, sa, bssid) in (addr(), addr(), addr()), sequence in 0u16..4096, (retry, protected) in any::<(bool, bool)>(),
        (a, b, c, timestamp_us) in any::<(u16, u16, u16, u64)>(), kind in 0usize..8,
        elements in proptest::collection::vec((any::<u8>(), proptest::collection::vec(any::<u8>(), 0..=255)), 0..4),
    ) {
        let mut octets = Vec::new();
        for (id, body) in &elements {
            beacon::push_element(&mut octets, *id, body);
        }
        let elements = &octets[..];
        let bodies = [
            Body::ProbeRequest { elements },
            Body::ProbeResponse { timestamp_us, interval_tu: a, capability: b, elements },
            Body::Authentication { algorithm: a, transaction: b, status: c, rest: elements },
            Body::AssociationRequest { capability: a, listen_interval: b, elements },
            Body::AssociationResponse { capability: a, status: b, aid: c, elements },
            Body::Deauthentication { reason: a, elements },
            Body::Disassociation { reason: a, elements },
            Body::Action { category: timestamp_us.to_le_bytes()[0], rest: elements },
        ];
        let frame = Management { da, sa, bssid, sequence, retry, protected, body: bodies[kind] };
        let mut buf = vec![0xee; frame.len()];
        prop_assert_eq!(frame.emit(&mut buf), frame.len());
        prop_assert_eq!(Management::parse(&buf), Ok(frame));
        for short in 0..frame.len() - octets.len() {
            let cut = Management::parse(&buf[..short]);
            prop_assert!(matches!(cut, Err(FrameError::Truncated { .. })), "{} octets: {:?}", short, cut);
        }
        // Power Management of a dozing station, More Data of its access point (IEEE 802.11-2020 9.2.4.1.7, 9.2.4.1.8).
        for power_saving in [0x10, 0x20, 0x30] {
            let mut saving = buf.clone();
            saving[1] |= power_saving;
            prop_assert_eq!(Management::parse(&saving), Ok(frame));
        }
        // ToDS, FromDS, More Fragments, +HTC.
        for flag in [0x01, 0x02, 0x04, 0x80] {
            let mut foreign = buf.clone();
            foreign[1] |= flag;
            prop_assert!(matches!(Management::parse(&foreign), Err(FrameError::Field(_))), "flag {:#x}", flag);
        }
    }

    #[test]
    fn block_ack_roundtrip(
        duration_us in any::<u16>(), ra in addr(), ta in addr(), tid in 0u8..16,
        starting_sequence in 0u16..4096, bitmap in any::<u64>(),
    ) {
        let block_ack = BlockAck { duration_us, ra, ta, tid, starting_sequence, bitmap };
        let mut buf = [0; BlockAck::LEN];
        block_ack.emit(&mut buf);
        prop_assert_eq!(BlockAck::parse(&buf), Ok(block_ack));
        prop_assert!(Ack::parse(&buf).is_err());
    }

    #[test]
    fn delimiter_roundtrip_and_every_flipped_bit_is_detected(eof in any::<bool>(), mpdu_len in 0u16..=0x3fff) {
        let delimiter = Delimiter { eof, mpdu_len };
        let mut buf = [0; Delimiter::LEN];
        delimiter.emit(&mut buf);
        prop_assert_eq!(Delimiter::parse(&buf), Ok(delimiter));
        for bit in 0..32 {
            let mut damaged = buf;
            damaged[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Delimiter::parse(&damaged).is_err(), "bit {}", bit);
        }
    }

    #[test]
    fn fcs_roundtrip_and_every_flipped_bit_is_detected(mpdu in proptest::collection::vec(any::<u8>(), 0..64)) {
        let mut frame = mpdu.clone();
        fcs::append(&mut frame);
        prop_assert_eq!(fcs::check(&frame), Ok(&mpdu[..]));
        let mut filled = [&mpdu[..], &[0xee; 4]].concat();
        fcs::fill(&mut filled);
        prop_assert_eq!(&filled, &frame);
        for bit in 0..frame.len() * 8 {
            frame[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(fcs::check(&frame).is_err(), "bit {}", bit);
            frame[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn radiotap_roundtrip(header in radiotap()) {
        let mut buf = [0xee; Radiotap::MAX_LEN];
        let len = header.emit(&mut buf);
        prop_assert_eq!(len, header.len());
        prop_assert_eq!(Radiotap::parse(&buf), Ok((header, len)));
        for short in 0..len {
            prop_assert!(Radiotap::parse(&buf[..short]).is_err());
        }
    }

    #[test]
    fn written_captures_are_read_unchanged(
        records in proptest::collection::vec(
            (0u64..u64::from(u32::MAX) * 1_000_000_000, proptest::collection::vec(any::<u8>(), 0..40)), 0..8),
    ) {
        let mut file = pcap::file_header().to_vec();
        for (ts_ns, data) in &records {
            file.extend(pcap::record_header(*ts_ns, data.len()));
            file.extend(data);
        }
        let read: Vec<_> = pcap::records(&file)
            .map(|record| record.map(|(link_type, r)| (link_type, r.ts_ns, r.data.to_vec())))
            .collect();
        let link_type = pcap::LINKTYPE_IEEE802_11_RADIOTAP;
        let expected: Vec<_> = records.into_iter().map(|(ts_ns, data)| Ok((link_type, ts_ns, data))).collect();
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn arbitrary_octets_never_make_a_parser_panic(mut octets in proptest::collection::vec(any::<u8>(), 0..120), kind in 0usize..5) {
        // Half of the cases begin with valid octets, to pass the first check.
        let starts: [&[u8]; 5] = [&[], &[0x88], &[0x80, 0], &[0, 0, 40, 0], &pcap::file_header()];
        octets.splice(0..0, starts[kind].iter().copied());
        let _ = DataHeader::parse(&octets);
        let _ = Ack::parse(&octets);
        let _ = BlockAck::parse(&octets);
        let _ = BlockAckReq::parse(&octets);
        let _ = Rts::parse(&octets);
        let _ = Cts::parse(&octets);
        let _ = Beacon::parse(&octets);
        let _ = Management::parse(&octets);
        prop_assert!(beacon::elements(&octets).count() <= octets.len() / 2 + 1);
        let _ = LlcSnap::parse(&octets);
        let _ = Delimiter::parse(&octets);
        let _ = fcs::check(&octets);
        let _ = Radiotap::parse(&octets);
        prop_assert!(pcap::records(&octets).flatten().count() <= octets.len() / 16);
    }
}
