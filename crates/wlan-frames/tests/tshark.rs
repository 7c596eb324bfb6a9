//! tshark reads the emitted values from the frames.

use test_support::{capture, tshark};
use wlan_frames::beacon::{self, Beacon, CAPABILITY_ESS, CAPABILITY_SHORT_PREAMBLE};
use wlan_frames::control::{Ack, BlockAck, BlockAckReq, Cts, Rts};
use wlan_frames::management::Body;
use wlan_frames::pcap::LINKTYPE_IEEE802_11_RADIOTAP;
use wlan_frames::radiotap::{
    AmpduStatus, CHANNEL_2GHZ, CHANNEL_CCK, Channel, FLAG_DATA_PAD, FLAG_FCS, FLAG_SHORT_PREAMBLE, Mcs,
    Radiotap, Vht, VhtBandwidth,
};
use wlan_frames::{
    AckPolicy, DataHeader, EtherType, LlcSnap, MacAddr, Management, QosControl, SequenceControl, captured,
    fcs,
};

const AP: MacAddr = MacAddr([0x02, 0, 0, 0, 0, 0x01]);
const STA: MacAddr = MacAddr([0x02, 0, 0, 0, 0, 0x02]);
const FAR: MacAddr = MacAddr([0x02, 0, 0, 0, 0, 0x03]);

fn framed(radiotap: &Radiotap, emit: impl Fn(&mut [u8]) -> usize) -> Vec<u8> {
    let mut frame = vec![0; radiotap.len()];
    assert_eq!(radiotap.emit(&mut frame), radiotap.len());
    let mut mpdu = vec![0; 256];
    let len = emit(&mut mpdu);
    mpdu.truncate(len);
    fcs::append(&mut mpdu);
    frame.extend(mpdu);
    frame
}

#[test]
fn radiotap_of_a_legacy_frame() {
    let radiotap = Radiotap {
        tsft_us: Some(0x0102_0304_0506_0708),
        flags: Some(FLAG_FCS),
        rate_500kbps: Some(108),
        channel: Some(Channel::ofdm_5ghz(5180)),
        antenna_signal_dbm: Some(-42),
        antenna_noise_dbm: Some(-94),
        ..Radiotap::default()
    };
    let ack = framed(&radiotap, |buf| {
        Ack {
            duration_us: 0,
            ra: STA,
        }
        .emit(buf)
    });
    let fields = [
        "radiotap.mactime",
        "radiotap.datarate",
        "radiotap.channel.freq",
        "radiotap.channel.flags",
        "radiotap.dbm_antsignal",
        "radiotap.dbm_antnoise",
        "wlan.fcs.status",
        "wlan.fc.type_subtype",
        "wlan.ra",
    ];
    let Some(seen) = tshark(
        &capture(&[ack]),
        &["-o", "wlan.check_fcs:TRUE", "-o", "wlan.check_checksum:TRUE"],
        &fields,
    ) else {
        return;
    };
    assert_eq!(
        seen,
        [[
            "72623859790382856",
            "54",
            "5180",
            "0x0140",
            "-42",
            "-94",
            "1",
            "0x001d",
            "02:00:00:00:00:02"
        ]]
    );
}

#[test]
fn radiotap_of_an_ht_frame_in_an_ampdu() {
    let radiotap = Radiotap {
        // Without TSFT and rate, channel and A-MPDU status require alignment padding.
        flags: Some(FLAG_FCS),
        channel: Some(Channel::ofdm_5ghz(5180)),
        antenna_signal_dbm: Some(-42),
        mcs: Some(Mcs {
            forty_mhz: true,
            short_gi: true,
            index: 15,
        }),
        ampdu: Some(AmpduStatus {
            reference: 0x0a0b_0c0d,
            last: Some(true),
            eof: None,
        }),
        ..Radiotap::default()
    };
    let header = DataHeader {
        qos: Some(QosControl::default()),
        ..DataHeader::default()
    };
    let frame = framed(&radiotap, |buf| header.emit(buf));
    let fields = [
        "radiotap.channel.freq",
        "radiotap.dbm_antsignal",
        "radiotap.mcs.index",
        "radiotap.mcs.bw",
        "radiotap.mcs.gi",
        "radiotap.ampdu.reference",
        "radiotap.ampdu.flags.last",
        "wlan_radio.data_rate",
    ];
    let Some(seen) = tshark(&capture(&[frame]), &[], &fields) else {
        return;
    };
    assert_eq!(seen, [["5180", "-42", "15", "1", "1", "168496141", "1", "300"]]);
}

#[test]
fn radiotap_of_vht_frames() {
    let header = DataHeader {
        qos: Some(QosControl::default()),
        ..DataHeader::default()
    };
    // Rates in Mbit/s from IEEE Std 802.11-2020, Tables 21-29 and following.
    let of_modes = [
        (VhtBandwidth::Mhz20, false, 8, 1, "0", "78"),
        (VhtBandwidth::Mhz40, true, 9, 1, "1", "200"),
        (VhtBandwidth::Mhz80, true, 9, 2, "4", "866.667"),
        (VhtBandwidth::Mhz160, false, 9, 8, "11", "6240"),
    ];
    let frames = of_modes.map(|(bandwidth, short_gi, mcs, streams, ..)| {
        let number = u32::from(16 * mcs + streams);
        let radiotap = Radiotap {
            // tshark assumes one rate for all frames of an A-MPDU, which it recognises by their time.
            tsft_us: Some(u64::from(number)),
            flags: Some(FLAG_FCS),
            channel: Some(Channel::ofdm_5ghz(5180)),
            ampdu: Some(AmpduStatus {
                reference: number,
                last: Some(true),
                eof: Some(true),
            }),
            vht: Some(Vht {
                bandwidth,
                short_gi,
                mcs,
                streams,
            }),
            ..Radiotap::default()
        };
        framed(&radiotap, |buf| {
            let at = header.emit(buf);
            at + LlcSnap {
                ethertype: EtherType(0x88b5),
            }
            .emit(&mut buf[at..])
        })
    });
    let fields = [
        "radiotap.vht.bw",
        "wlan_radio.data_rate",
        "radiotap.vht.mcs.0",
        "radiotap.vht.nss.0",
        "radiotap.vht.gi",
        "radiotap.vht.coding.0",
        "radiotap.vht.nss.1",
        "radiotap.ampdu.flags.last",
        "radiotap.ampdu.flags.eof",
        "wlan_radio.phy",
        "_ws.malformed",
    ];
    let Some(seen) = tshark(&capture(&frames), &[], &fields) else {
        return;
    };
    for (seen, (_, short_gi, mcs, streams, number, mbps)) in seen.iter().zip(&of_modes) {
        let [mcs, streams, gi] = [*mcs, *streams, u8::from(*short_gi)].map(|number| number.to_string());
        let expected = [*number, *mbps, &mcs, &streams, &gi, "0", "", "1", "1", "8", ""];
        assert_eq!(seen[..], expected);
    }
    assert_eq!(seen.len(), of_modes.len());
}

#[test]
fn radiotap_of_cck_frames() {
    let radiotap = Radiotap {
        flags: Some(FLAG_FCS | FLAG_SHORT_PREAMBLE),
        rate_500kbps: Some(11),
        channel: Some(Channel {
            freq_mhz: 2437,
            flags: CHANNEL_CCK | CHANNEL_2GHZ,
        }),
        ..Radiotap::default()
    };
    let cts = framed(&radiotap, |buf| {
        Cts {
            duration_us: 300,
            ra: STA,
        }
        .emit(buf)
    });
    let fields = [
        "radiotap.datarate",
        "radiotap.flags.preamble",
        "radiotap.channel.freq",
        "radiotap.channel.flags.cck",
        "radiotap.channel.flags.ofdm",
        "radiotap.channel.flags.2ghz",
        "wlan_radio.channel",
        "wlan_radio.phy",
        "wlan_radio.short_preamble",
    ];
    let Some(seen) = tshark(&capture(&[cts]), &[], &fields) else {
        return;
    };
    assert_eq!(seen, [["5.5", "1", "2437", "1", "0", "1", "6", "4", "1"]]);
}

/// A card that pads the MAC header to a multiple of four octets reports the padding, which the FCS does not cover.
/// tshark and `captured::mpdu` find the same MSDU with and without padding, and both accept the FCS.
#[test]
fn padding_after_the_mac_header_is_removed() {
    // The FCS is either present and flagged, or absent.
    for (flags, status) in [(FLAG_FCS, "1"), (0, "")] {
        let mut frames = Vec::new();
        let header = |qos, addr4| DataHeader {
            addr1: STA,
            addr2: AP,
            addr3: FAR,
            addr4,
            to_ds: addr4.is_some(),
            from_ds: true,
            qos,
            ..DataHeader::default()
        };
        let qos = Some(QosControl(5));
        // Headers of 26 and 30 octets take two octets of padding; headers of 24 and 32 octets take none.
        for header in [
            header(qos, None),
            header(None, Some(FAR)),
            header(None, None),
            header(qos, Some(FAR)),
        ] {
            let mut mpdu = vec![0; 64];
            let header_len = header.emit(&mut mpdu);
            mpdu.truncate(header_len);
            mpdu.extend([0xaa, 0xaa, 3, 0, 0, 0, 0x88, 0xb5]);
            mpdu.extend(*b"what the frame says");
            let mut frame = mpdu.clone();
            if flags & FLAG_FCS != 0 {
                fcs::append(&mut frame);
            }
            frame.splice(
                header_len..header_len,
                vec![0x5a; header_len.next_multiple_of(4) - header_len],
            );
            let radiotap = Radiotap {
                flags: Some(flags | FLAG_DATA_PAD),
                ..Radiotap::default()
            };
            let mut record = vec![0; radiotap.len()];
            radiotap.emit(&mut record);
            record.extend(frame);
            assert_eq!(
                captured::mpdu(LINKTYPE_IEEE802_11_RADIOTAP, &record).as_deref(),
                Ok(&mpdu[..]),
                "{header_len} octets"
            );
            frames.push(record);
        }
        let Some(seen) = tshark(
            &capture(&frames),
            &["-o", "wlan.check_fcs:TRUE", "-o", "wlan.check_checksum:TRUE"],
            &["wlan.fcs.status", "llc.type", "data.data"],
        ) else {
            return;
        };
        let said: String = b"what the frame says"
            .iter()
            .map(|octet| format!("{octet:02x}"))
            .collect();
        assert_eq!(seen, vec![[status, "0x88b5", &said]; frames.len()]);
    }
}

#[test]
fn rts_cts_and_block_ack_req() {
    let radiotap = Radiotap {
        flags: Some(FLAG_FCS),
        ..Radiotap::default()
    };
    let frames = [
        framed(&radiotap, |buf| {
            Rts {
                duration_us: 1234,
                ra: AP,
                ta: STA,
            }
            .emit(buf)
        }),
        framed(&radiotap, |buf| {
            Cts {
                duration_us: 1186,
                ra: STA,
            }
            .emit(buf)
        }),
        framed(&radiotap, |buf| {
            BlockAckReq {
                duration_us: 48,
                ra: AP,
                ta: STA,
                tid: 6,
                starting_sequence: 4095,
            }
            .emit(buf)
        }),
    ];
    let fields = [
        "wlan.fc.type_subtype",
        "wlan.duration",
        "wlan.ra",
        "wlan.ta",
        "wlan.ba.control.ba_type",
        "wlan.ba.basic.tidinfo",
        "wlan.fixed.ssc.sequence",
        "_ws.malformed",
    ];
    let Some(seen) = tshark(&capture(&frames), &[], &fields) else {
        return;
    };
    let (ap, sta) = (AP.to_string(), STA.to_string());
    assert_eq!(
        seen,
        [
            ["0x001b", "1234", &ap, &sta, "", "", "", ""],
            ["0x001c", "1186", &sta, "", "", "", "", ""],
            ["0x0018", "48", &ap, &sta, "0x0002", "0x0006", "4095", ""],
        ]
    );
}

#[test]
fn beacon_with_elements() {
    let mut elements = Vec::new();
    beacon::push_element(&mut elements, 0, b"airtoll");
    beacon::push_element(&mut elements, 5, &[2, 3, 0, 0]);
    let beacon = Beacon {
        bssid: AP,
        sequence: 4095,
        timestamp_us: 0x0102_0304_0506_0708,
        interval_tu: 100,
        capability: CAPABILITY_ESS | CAPABILITY_SHORT_PREAMBLE,
        elements: &elements,
    };
    let radiotap = Radiotap {
        flags: Some(FLAG_FCS),
        ..Radiotap::default()
    };
    let frame = framed(&radiotap, |buf| beacon.emit(buf));
    let fields = [
        "wlan.fc.type_subtype",
        "wlan.duration",
        "wlan.ra",
        "wlan.ta",
        "wlan.bssid",
        "wlan.seq",
        "wlan.fixed.timestamp",
        "wlan.fixed.beacon",
        "wlan.fixed.capabilities",
        "wlan.tim.dtim_count",
        "wlan.tim.dtim_period",
        "wlan.tag.number",
        "_ws.malformed",
    ];
    let Some(seen) = tshark(&capture(&[frame]), &[], &fields) else {
        return;
    };
    let ap = AP.to_string();
    assert_eq!(
        seen,
        [[
            "0x0008",
            "0",
            "ff:ff:ff:ff:ff:ff",
            &ap,
            &ap,
            "4095",
            "72623859790382856",
            "100",
            "0x0021",
            "2",
            "3",
            "0",
            ""
        ]]
    );
}

#[test]
fn data_header_with_all_fields() {
    let header = DataHeader {
        to_ds: true,
        from_ds: true,
        retry: true,
        power_mgmt: true,
        more_data: true,
        duration_us: 44,
        addr1: AP,
        addr2: STA,
        addr3: FAR,
        addr4: Some(STA),
        sequence: SequenceControl {
            number: 4095,
            fragment: 0,
        },
        qos: Some(QosControl::new(6, AckPolicy::BlockAck)),
        ..DataHeader::default()
    };
    let frame = framed(
        &Radiotap {
            flags: Some(FLAG_FCS),
            ..Radiotap::default()
        },
        |buf| {
            let at = header.emit(buf);
            at + LlcSnap {
                ethertype: EtherType::IPV6,
            }
            .emit(&mut buf[at..])
        },
    );
    let fields = [
        "wlan.fc.type_subtype",
        "wlan.fc.ds",
        "wlan.fc.retry",
        "wlan.fc.pwrmgt",
        "wlan.fc.moredata",
        "wlan.fc.protected",
        "wlan.duration",
        "wlan.ra",
        "wlan.ta",
        "wlan.da",
        "wlan.sa",
        "wlan.seq",
        "wlan.qos.tid",
        "wlan.qos.ack",
        "llc.type",
    ];
    let Some(seen) = tshark(&capture(&[frame]), &[], &fields) else {
        return;
    };
    let sta = STA.to_string();
    assert_eq!(
        seen,
        [[
            "0x0028",
            "0x03",
            "1",
            "1",
            "1",
            "0",
            "44",
            &AP.to_string(),
            &sta,
            &FAR.to_string(),
            &sta,
            "4095",
            "6",
            "0x0003",
            "0x86dd"
        ]]
    );
}

#[test]
fn compressed_block_ack() {
    let block_ack = BlockAck {
        duration_us: 0,
        ra: STA,
        ta: AP,
        tid: 5,
        starting_sequence: 2345,
        bitmap: 0x8000_0000_0000_0003,
    };
    let radiotap = Radiotap {
        flags: Some(FLAG_FCS),
        ..Radiotap::default()
    };
    let frame = framed(&radiotap, |buf| block_ack.emit(buf));
    let fields = [
        "wlan.fc.type_subtype",
        "wlan.ba.control.ba_type",
        "wlan.ba.basic.tidinfo",
        "wlan.fixed.ssc.sequence",
        "wlan.ba.bm",
        "wlan.ra",
        "wlan.ta",
    ];
    let Some(seen) = tshark(&capture(&[frame]), &[], &fields) else {
        return;
    };
    assert_eq!(
        seen,
        [[
            "0x0019",
            "0x0002",
            "0x0005",
            "2345",
            "0300000000000080",
            "02:00:00:00:00:02",
            "02:00:00:00:00:01"
        ]]
    );
}

#[test]
fn management_frames_around_an_association() {
    let mut ssid = Vec::new();
    beacon::push_element(&mut ssid, 0, b"office");
    let elements = &ssid[..];
    let bodies = [
        Body::ProbeRequest { elements },
        Body::ProbeResponse {
            timestamp_us: 9,
            interval_tu: 1000,
            capability: CAPABILITY_ESS,
            elements,
        },
        Body::Authentication {
            algorithm: 0,
            transaction: 2,
            status: 13,
            rest: &[],
        },
        Body::AssociationRequest {
            capability: CAPABILITY_ESS,
            listen_interval: 1,
            elements,
        },
        Body::AssociationResponse {
            capability: CAPABILITY_ESS,
            status: 30,
            aid: 0xc007,
            elements: &[],
        },
        Body::Deauthentication {
            reason: 7,
            elements: &[],
        },
        Body::Disassociation {
            reason: 8,
            elements: &[],
        },
        // An SA Query Request of transaction 0x0201.
        Body::Action {
            category: 8,
            rest: &[0, 1, 2],
        },
    ];
    let radiotap = Radiotap {
        flags: Some(FLAG_FCS),
        ..Radiotap::default()
    };
    let frames = bodies.map(|body| {
        let frame = Management {
            da: AP,
            sa: STA,
            bssid: AP,
            sequence: 5,
            retry: false,
            protected: false,
            body,
        };
        framed(&radiotap, |buf| frame.emit(buf))
    });
    let fields = [
        "wlan.fc.type_subtype",
        "wlan.bssid",
        "wlan.seq",
        "wlan.ssid",
        "wlan.fixed.status_code",
        "wlan.fixed.reason_code",
        "wlan.fixed.aid",
        "wlan.fixed.auth_seq",
        "wlan.fixed.category_code",
    ];
    let Some(seen) = tshark(&capture(&frames), &[], &fields) else {
        return;
    };
    let subtypes: Vec<&str> = seen.iter().map(|line| &line[0][..]).collect();
    assert_eq!(
        subtypes,
        [
            "0x0004", "0x0005", "0x000b", "0x0000", "0x0001", "0x000c", "0x000a", "0x000d"
        ]
    );
    assert!(
        seen.iter()
            .all(|line| line[1] == AP.to_string() && line[2] == "5")
    );
    assert_eq!((&seen[2][4][..], &seen[2][7][..]), ("0x000d", "0x0002"));
    assert_eq!((&seen[4][4][..], &seen[4][6][..]), ("0x001e", "0x0007"));
    assert_eq!((&seen[5][5][..], &seen[6][5][..]), ("0x0007", "0x0008"));
    assert_eq!(seen[7][8], "8");
}
