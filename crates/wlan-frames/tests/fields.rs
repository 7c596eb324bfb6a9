//! Bit positions within individual fields (IEEE 802.11-2020).

use wlan_frames::beacon::{
    CAPABILITY_ESS, CAPABILITY_PRIVACY, CAPABILITY_QOS, CAPABILITY_SHORT_PREAMBLE, CAPABILITY_SHORT_SLOT,
};
use wlan_frames::eapol::KeyInfo;
use wlan_frames::rsn::{RSNX_SAE_HASH_TO_ELEMENT, RsnCapabilities};
use wlan_frames::{
    AckPolicy, DataHeader, EtherType, FrameControl, FrameType, MacAddr, QosControl, RsnElement,
};

fn bit(position: u32) -> u16 {
    1 << position
}

/// 9.2.4.1.
#[test]
fn frame_control() {
    let flags = [
        FrameControl::TO_DS,
        FrameControl::FROM_DS,
        FrameControl::MORE_FRAGMENTS,
        FrameControl::RETRY,
        FrameControl::POWER_MGMT,
        FrameControl::MORE_DATA,
        FrameControl::PROTECTED,
        FrameControl::HTC_ORDER,
    ];
    for (position, flag) in (8..).zip(flags) {
        assert_eq!(flag, bit(position));
        assert!(FrameControl(bit(position)).has(flag));
        assert!(!FrameControl(!bit(position)).has(flag));
    }
}

/// Table 9-1, 9.3.2.1, 9.3.3.2.
#[test]
fn frame_control_determines_the_kind_of_a_frame_and_the_length_of_its_header() {
    for subtype in 0..16 {
        for flags in 0..=u8::MAX {
            let [to_ds, from_ds, htc] = [0, 1, 7].map(|position| flags >> position & 1 == 1);
            let of =
                |frame_type| FrameControl(FrameControl::new(frame_type, subtype).0 | u16::from(flags) << 8);
            let data = of(FrameType::Data);
            let (has_qos, has_body) = (subtype >= 8, matches!(subtype, 0..4 | 8..12));
            let has_addr4 = to_ds && from_ds;
            assert_eq!(
                (data.is_qos_data(), data.is_data_with_body(), data.has_addr4()),
                (has_qos, has_body, has_addr4)
            );
            let addresses_len = if has_addr4 { 30 } else { 24 };
            let htc_len = if htc { 4 } else { 0 };
            assert_eq!(data.qos_offset(), has_qos.then_some(addresses_len));
            let qos_len = if has_qos { 2 + htc_len } else { 0 };
            assert_eq!(data.header_len(), Some(addresses_len + qos_len));
            for frame_type in [FrameType::Management, FrameType::Control, FrameType::Extension] {
                let frame = of(frame_type);
                assert_eq!((frame.frame_type(), frame.subtype()), (frame_type, subtype));
                assert!(!frame.is_qos_data() && !frame.is_data_with_body() && !frame.has_addr4());
                let is_management = frame_type == FrameType::Management;
                assert_eq!(frame.header_len(), is_management.then_some(24 + htc_len));
            }
        }
    }
}

#[test]
fn frame_types_and_ethertypes_have_a_text_form() {
    let types = [
        FrameType::Management,
        FrameType::Control,
        FrameType::Data,
        FrameType::Extension,
    ];
    assert_eq!(
        types.map(|frame_type| frame_type.to_string()),
        ["management", "control", "data", "extension"]
    );
    assert_eq!(EtherType::ARP.to_string(), "0x0806");
}

/// 9.2.4.5.
#[test]
fn qos_control() {
    let policies = [
        AckPolicy::Normal,
        AckPolicy::NoAck,
        AckPolicy::NoExplicit,
        AckPolicy::BlockAck,
    ];
    for tid in 0..16 {
        for (number, policy) in (0..).zip(policies) {
            let qos = QosControl::new(tid, policy);
            assert_eq!(qos.0, u16::from(tid) | number << 5);
            // The second octet is the TXOP limit or the queue size.
            for others in [0, 0xff00] {
                for amsdu in [false, true] {
                    let qos = QosControl(qos.0 | others).with_amsdu(amsdu);
                    assert_eq!(
                        qos.0,
                        u16::from(tid) | number << 5 | u16::from(amsdu) << 7 | others
                    );
                    assert_eq!(
                        (qos.tid(), qos.ack_policy(), qos.amsdu_present()),
                        (tid, policy, amsdu)
                    );
                    assert_eq!(qos.with_amsdu(!amsdu).amsdu_present(), !amsdu);
                }
            }
        }
    }
    let with_qos = DataHeader {
        qos: Some(QosControl::new(6, AckPolicy::Normal)),
        ..DataHeader::default()
    };
    assert_eq!(
        [with_qos, DataHeader::default()].map(|header| header.tid()),
        [6, 0]
    );
}

/// 9.4.1.4.
#[test]
fn capability_information() {
    let bits = [
        (CAPABILITY_ESS, 0),
        (CAPABILITY_PRIVACY, 4),
        (CAPABILITY_SHORT_PREAMBLE, 5),
        (CAPABILITY_QOS, 9),
        (CAPABILITY_SHORT_SLOT, 10),
    ];
    for (capability, position) in bits {
        assert_eq!(capability, bit(position));
    }
}

/// 12.7.2 b). RSN reserves bits 4 and 5, which hold the Key ID in WPA.
#[test]
fn key_information() {
    let flags = [
        (KeyInfo::PAIRWISE, 3),
        (KeyInfo::INSTALL, 6),
        (KeyInfo::ACK, 7),
        (KeyInfo::MIC, 8),
        (KeyInfo::SECURE, 9),
        (KeyInfo::ERROR, 10),
        (KeyInfo::REQUEST, 11),
        (KeyInfo::ENCRYPTED, 12),
    ];
    for (flag, position) in flags {
        assert_eq!(flag, bit(position));
        assert!(KeyInfo(bit(position)).has(flag));
        assert!(!KeyInfo(!bit(position)).has(flag));
    }
    for version in 0..8 {
        for key_id in 0..4 {
            for others in [0, 0xffc8] {
                let info = KeyInfo(u16::from(version) | u16::from(key_id) << 4 | others);
                assert_eq!((info.version(), info.wpa_key_id()), (version, key_id));
            }
        }
    }
}

/// 9.4.2.24.4.
#[test]
fn rsn_capabilities() {
    let flags = [
        (RsnCapabilities::PREAUTHENTICATION, 0),
        (RsnCapabilities::NO_PAIRWISE, 1),
        (RsnCapabilities::MFP_REQUIRED, 6),
        (RsnCapabilities::MFP_CAPABLE, 7),
        (RsnCapabilities::SPP_AMSDU_CAPABLE, 10),
        (RsnCapabilities::EXTENDED_KEY_ID, 13),
        (RsnCapabilities::OCV_CAPABLE, 14),
    ];
    for (flag, position) in flags {
        assert_eq!(flag, bit(position));
        let all = RsnCapabilities(u16::MAX);
        assert_eq!(all.with(flag, false).0, !bit(position));
        assert_eq!(RsnCapabilities(0).with(flag, true).0, bit(position));
        assert!(all.has(flag) && !all.with(flag, false).has(flag));
    }
    for (number, counters) in (0..).zip([1, 2, 4, 16]) {
        for others in [0, 0xffc3] {
            assert_eq!(
                RsnCapabilities(number << 2 | others).ptksa_replay_counters(),
                counters
            );
            assert_eq!(
                RsnCapabilities(number << 4 | others).gtksa_replay_counters(),
                counters
            );
        }
    }
    assert_eq!(
        RsnCapabilities(RsnCapabilities::PTKSA_REPLAY_COUNTERS_16).ptksa_replay_counters(),
        16
    );
}

/// 9.4.2.24.1: a station whose RSN element ends before the capabilities has none of the capabilities.
#[test]
fn rsn_elements_without_capabilities() {
    let with = RsnElement {
        capabilities: Some(RsnCapabilities(0x00c0)),
        ..RsnElement::default()
    };
    assert_eq!(with.capabilities_or_default().0, 0x00c0);
    assert_eq!(RsnElement::default().capabilities_or_default().0, 0);
    assert_eq!(RSNX_SAE_HASH_TO_ELEMENT, 0x20);
}

/// 9.2.4.3: bit 0 of the first octet is Individual/Group, bit 1 is Universal/Local.
#[test]
fn mac_addresses() {
    for (first, is_group, is_local) in [
        (0x00, false, false),
        (0x01, true, false),
        (0x02, false, true),
        (0xfc, false, false),
        (0xff, true, true),
    ] {
        let address = MacAddr([first, 0, 0, 0, 0, 0]);
        assert_eq!((address.is_group(), address.is_local()), (is_group, is_local));
    }
}
