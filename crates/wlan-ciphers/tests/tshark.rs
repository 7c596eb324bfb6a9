//! tshark decrypts sealed frames, and only with the right key.

use test_support::{capture, tshark};
use wlan_ciphers::{Ccmp, KeyId, PacketNumber, SealJob, Suite};
use wlan_frames::radiotap::{FLAG_FCS, Radiotap};
use wlan_frames::{AckPolicy, DataHeader, EtherType, LlcSnap, MacAddr, QosControl, SequenceControl, fcs};

const AP: MacAddr = MacAddr([0x02, 0, 0, 0, 0, 0x01]);
const STA: MacAddr = MacAddr([0x02, 0, 0, 0, 0, 0x02]);
const TK: [u8; 16] = *b"0123456789abcdef";
const TK_HEX: &str = "30313233343536373839616263646566";
const WRONG_TK_HEX: &str = "30313233343536373839616263646567";
const MESSAGE: &[u8] = b"the toll";
const MESSAGE_HEX: &str = "74686520746f6c6c";

/// An IPv4 packet with a UDP datagram. Both checksums are zero: UDP permits that, and nothing checks the IPv4 checksum
/// here.
fn ip_packet() -> Vec<u8> {
    let udp_len = u8::try_from(8 + MESSAGE.len()).unwrap();
    let mut packet = vec![
        0x45,
        0,
        0,
        20 + udp_len,
        0,
        0,
        0x40,
        0,
        64,
        17,
        0,
        0,
        10,
        0,
        0,
        1,
        10,
        0,
        0,
        2,
    ];
    packet.extend([0x14, 0x51, 0x14, 0x52, 0, udp_len, 0, 0]);
    packet.extend(MESSAGE);
    packet
}

fn headers() -> [DataHeader; 4] {
    let qos = Some(QosControl::new(6, AckPolicy::BlockAck));
    let down = DataHeader {
        from_ds: true,
        addr1: STA,
        addr2: AP,
        addr3: AP,
        duration_us: 44,
        sequence: SequenceControl {
            number: 77,
            fragment: 0,
        },
        ..DataHeader::default()
    };
    let up = DataHeader {
        to_ds: true,
        from_ds: false,
        retry: true,
        addr1: AP,
        addr2: STA,
        ..down
    };
    let between = DataHeader {
        to_ds: true,
        addr4: Some(AP),
        ..down
    };
    [
        down,
        DataHeader { qos, ..up },
        between,
        DataHeader {
            qos,
            power_mgmt: true,
            more_data: true,
            ..between
        },
    ]
}

/// All frames, sealed as one batch, with a radiotap header and the FCS.
fn sealed_frames() -> Vec<Vec<u8>> {
    let plain: Vec<_> = headers()
        .iter()
        .map(|header| {
            let packet = ip_packet();
            let mut mpdu = vec![0; header.len() + LlcSnap::LEN + packet.len() + Suite::Ccmp128.overhead()];
            let at = header.emit(&mut mpdu) + Suite::Ccmp128.header_len();
            let at = at
                + LlcSnap {
                    ethertype: EtherType::IPV4,
                }
                .emit(&mut mpdu[at..]);
            mpdu[at..][..packet.len()].copy_from_slice(&packet);
            (header.len(), mpdu)
        })
        .collect();
    let mut sealed = plain;
    let mut pn = PacketNumber::new(0x0102_0304_0506).unwrap();
    let mut batch = Vec::new();
    for (header_len, mpdu) in &mut sealed {
        pn = pn.next().unwrap();
        batch.push(SealJob {
            mpdu,
            header_len: *header_len,
            pn,
            key_id: KeyId::PAIRWISE,
        });
    }
    Ccmp::new(&TK).seal(&mut batch).unwrap();
    let radiotap = Radiotap {
        flags: Some(FLAG_FCS),
        rate_500kbps: Some(108),
        ..Radiotap::default()
    };
    sealed
        .into_iter()
        .map(|(_, mut mpdu)| {
            fcs::append(&mut mpdu);
            let mut frame = vec![0; radiotap.len()];
            radiotap.emit(&mut frame);
            frame.extend(mpdu);
            frame
        })
        .collect()
}

fn read_with_key(tk_hex: &str, fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let key = format!("uat:80211_keys:\"tk\",\"{tk_hex}\"");
    tshark(
        &capture(&sealed_frames()),
        &["-o", "wlan.enable_decryption:TRUE", "-o", &key],
        fields,
    )
}

#[test]
fn tshark_decrypts_sealed_ip_packets_with_the_right_key() {
    let fields = [
        "wlan.fc.protected",
        "wlan.analysis.tk",
        "ip.src",
        "ip.dst",
        "udp.srcport",
        "data.data",
    ];
    let Some(seen) = read_with_key(TK_HEX, &fields) else {
        return;
    };
    assert_eq!(seen.len(), headers().len());
    for frame in seen {
        assert_eq!(frame, ["1", TK_HEX, "10.0.0.1", "10.0.0.2", "5201", MESSAGE_HEX]);
    }
}

#[test]
fn tshark_decrypts_nothing_with_a_wrong_key() {
    let fields = [
        "wlan.fc.protected",
        "wlan.ccmp.extiv",
        "wlan.analysis.tk",
        "ip.src",
        "udp.srcport",
    ];
    let Some(seen) = read_with_key(WRONG_TK_HEX, &fields) else {
        return;
    };
    assert_eq!(seen.len(), headers().len());
    for (frame, pn) in seen
        .iter()
        .zip(["010203040507", "010203040508", "010203040509", "01020304050A"])
    {
        assert_eq!(frame[..], ["1", &format!("0x{pn}"), "", "", ""]);
    }
}
