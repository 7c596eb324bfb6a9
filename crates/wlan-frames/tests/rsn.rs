//! Elements and EAPOL-Key frames: published examples, round trips, and invalid octets.

use proptest::prelude::*;
use wlan_frames::eapol::{Descriptor, KeyData, KeyInfo, pad_key_data};
use wlan_frames::rsn::{RsnCapabilities, Selector, WPA_OUI_TYPE};
use wlan_frames::{EapolKey, FrameControl, FrameError, FrameType, MacAddr, RsnElement, WpaElement};

const CCMP: Selector = [0x00, 0x0f, 0xac, 4];

fn hex(digits: &str) -> Vec<u8> {
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

/// The elements with which hostap tests its parser (src/common/common_module_tests.c), and whether hostap accepts
/// each. Elements that hostap rejects for an unknown cipher suite are omitted, because their syntax is valid.
#[test]
fn elements_agree_with_hostap() {
    for (octets, taken) in [
        ("", false),
        ("3000", false),
        ("30020100", true),
        ("30020000", false),
        ("30020200", false),
        ("30020001", false),
        ("3002000000", false),
        ("3003010000", false),
        ("30060100000fac04", true),
        ("30070100000fac0400", false),
        ("30080100000fac040000", false),
        ("30080100000fac040001", false),
        ("300c0100000fac040100000fac04", true),
        ("300c0100000fac040001000fac04", false),
        ("30100100000fac040200000fac04000fac08", true),
        ("300d0100000fac040100000fac0400", false),
        ("300e0100000fac040100000fac040000", false),
        ("300e0100000fac040100000fac040001", false),
        ("30120100000fac040100000fac040100000fac01", true),
        ("30160100000fac040100000fac040200000fac01000fac02", true),
        ("30130100000fac040100000fac040100000fac0100", true),
        ("30140100000fac040100000fac040100000fac010000", true),
        ("30160100000fac040100000fac040100000fac0100000000", true),
        ("30160100000fac040100000fac040100000fac0100000001", false),
        ("301a0100000fac040100000fac040100000fac0100000000000fac06", true),
        (
            "301c0100000fac040100000fac040100000fac0100000000000fac060102",
            true,
        ),
    ] {
        assert_eq!(RsnElement::parse(&hex(octets)).is_ok(), taken, "{octets}");
    }
}

#[test]
fn the_fields_of_an_element_are_parsed() {
    let octets = hex("301a0100000fac040200000fac04000fac080100000fac08cc200000000fac06ff");
    let octets = &octets[..octets.len() - 1];
    let octets = [&[0x30, u8::try_from(octets.len() - 2).unwrap()], &octets[2..]].concat();
    let element = RsnElement::parse(&octets).unwrap();
    assert_eq!(element.group, Some(CCMP));
    assert_eq!(element.pairwise, Some(&[CCMP, [0, 0x0f, 0xac, 8]][..]));
    assert_eq!(element.akms, Some(&[[0, 0x0f, 0xac, 8]][..]));
    let capabilities = element.capabilities.unwrap();
    assert!(
        capabilities.has(RsnCapabilities::MFP_CAPABLE) && capabilities.has(RsnCapabilities::MFP_REQUIRED)
    );
    assert!(capabilities.has(RsnCapabilities::EXTENDED_KEY_ID));
    assert_eq!(capabilities.ptksa_replay_counters(), 16);
    assert_eq!(capabilities.gtksa_replay_counters(), 1);
    assert_eq!(element.pmkids, Some(&[][..]));
    assert_eq!(element.group_management, Some([0, 0x0f, 0xac, 6]));
}

#[test]
fn a_flag_is_set_and_cleared_again() {
    let all = RsnCapabilities(u16::MAX).with(RsnCapabilities::MFP_REQUIRED, false);
    assert_eq!(all, RsnCapabilities(0xffbf));
    assert_eq!(
        all.with(RsnCapabilities::MFP_REQUIRED, true),
        RsnCapabilities(u16::MAX)
    );
    let plain = FrameControl::new(FrameType::Data, 8);
    let retry = plain.with(FrameControl::RETRY, true);
    assert!(retry.has(FrameControl::RETRY));
    assert_eq!(retry.with(FrameControl::RETRY, false), plain);
}

#[test]
fn other_elements_are_refused() {
    let wpa = hex("dd160050f20101000050f20201000050f20201000050f202");
    let element = WpaElement::parse(&wpa).unwrap();
    assert_eq!((element.len(), element.capabilities), (wpa.len(), None));
    assert!(matches!(RsnElement::parse(&wpa), Err(FrameError::Field(_))));
    let mut vendor = wpa.clone();
    vendor[5] = 2;
    assert!(matches!(WpaElement::parse(&vendor), Err(FrameError::Field(_))));
    for len in 0..wpa.len() {
        assert!(matches!(
            WpaElement::parse(&wpa[..len]),
            Err(FrameError::Truncated { .. })
        ));
    }
}

fn selectors() -> impl Strategy<Value = Vec<Selector>> {
    proptest::collection::vec(any::<Selector>(), 1..6)
}

/// The fields of an element, and the number of fields present.
type Fields = (
    Selector,
    Vec<Selector>,
    Vec<Selector>,
    u16,
    Vec<[u8; 16]>,
    Selector,
    usize,
);

fn fields() -> impl Strategy<Value = Fields> {
    let pmkids = proptest::collection::vec(any::<[u8; 16]>(), 0..4);
    (
        any::<Selector>(),
        selectors(),
        selectors(),
        any::<u16>(),
        pmkids,
        any::<Selector>(),
        0usize..=6,
    )
}

fn eapol_data() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..120)
}

#[test]
fn each_item_of_key_data_has_its_own_octets() {
    let rsn = [48, 2, 1, 0];
    let rsnx = [244, 1, 0x20];
    let wpa = [221, 6, 0x00, 0x50, 0xf2, 1, 1, 0];
    let wmm = [221, 7, 0x00, 0x50, 0xf2, 2, 0, 1, 0];
    let of_a_vendor = [221, 6, 0x00, 0x10, 0x18, 1, 2, 3];
    let ssid = [0, 3, b'n', b'e', b't'];
    let unknown_kde = [221, 5, 0x00, 0x0f, 0xac, 99, 7];
    let key_id = [221, 6, 0x00, 0x0f, 0xac, 10, 2, 0];
    let padding = [0xdd, 0, 0, 0];
    let data = [
        &rsn[..],
        &rsnx,
        &wpa,
        &wmm,
        &of_a_vendor,
        &ssid,
        &unknown_kde,
        &key_id,
        &padding,
    ]
    .concat();
    let read: Result<Vec<_>, _> = KeyData::each(&data).collect();
    let expected = [
        KeyData::Rsn(&rsn),
        KeyData::Rsnx(&rsnx),
        KeyData::Wpa(&wpa),
        KeyData::Other(&wmm),
        KeyData::Other(&of_a_vendor),
        KeyData::Other(&ssid),
        KeyData::Other(&unknown_kde),
        KeyData::KeyId(2),
    ];
    assert_eq!(read.as_deref(), Ok(&expected[..]));
    let mut written = Vec::new();
    expected.iter().for_each(|item| item.push(&mut written));
    assert_eq!(written, data[..data.len() - padding.len()]);
}

/// 12.7.2 j): before AES key wrap, key data is padded to at least 16 octets and a multiple of 8.
#[test]
fn key_data_is_padded_with_dd_and_zeros() {
    for len in 0..40 {
        let unpadded = vec![7; len];
        let mut padded = unpadded.clone();
        pad_key_data(&mut padded);
        let needed = len.next_multiple_of(8).max(16);
        let padding: Vec<_> = std::iter::once(0xdd)
            .chain(std::iter::repeat(0))
            .take(needed - len)
            .collect();
        assert_eq!(padded, [unpadded, padding].concat());
    }
}

proptest! {
    #[test]
    fn elements_roundtrip((group, pairwise, akms, capabilities, pmkids, management, there) in fields()) {
        let element = RsnElement {
            group: (there > 0).then_some(group),
            pairwise: (there > 1).then_some(&pairwise),
            akms: (there > 2).then_some(&akms),
            capabilities: (there > 3).then_some(RsnCapabilities(capabilities)),
            pmkids: (there > 4).then_some(&pmkids),
            group_management: (there > 5).then_some(management),
        };
        let mut octets = [0xee; 300];
        let len = element.emit(&mut octets);
        prop_assert_eq!(len, element.len());
        prop_assert_eq!(RsnElement::parse(&octets), Ok(element));
        for short in 0..len {
            prop_assert!(RsnElement::parse(&octets[..short]).is_err());
        }

        let element = WpaElement {
            group: element.group,
            pairwise: element.pairwise,
            akms: element.akms,
            capabilities: element.capabilities,
        };
        let len = element.emit(&mut octets);
        prop_assert_eq!(len, element.len());
        prop_assert_eq!(&octets[2..6], &WPA_OUI_TYPE[..]);
        prop_assert_eq!(WpaElement::parse(&octets), Ok(element));
    }

    #[test]
    fn eapol_key_roundtrip(
        version in any::<u8>(),
        wpa in any::<bool>(),
        info in any::<u16>(),
        key_len in any::<u16>(),
        replay_counter in any::<u64>(),
        nonce in any::<[u8; 32]>(),
        iv in any::<[u8; 16]>(),
        rsc in any::<[u8; 8]>(),
        mic in any::<[u8; 32]>(),
        mic_len in proptest::sample::select(&EapolKey::MIC_LENS[..]),
        data in eapol_data(),
    ) {
        let mic = &mic[..mic_len];
        let key = EapolKey {
            version,
            descriptor: if wpa { Descriptor::Wpa } else { Descriptor::Rsn },
            info: KeyInfo(info),
            key_len,
            replay_counter,
            nonce,
            iv,
            rsc,
            mic,
            data: &data,
        };
        let mut octets = vec![0xee; key.len() + 9];
        let len = key.emit(&mut octets);
        prop_assert_eq!(len, key.len());
        // Padding after the packet is ignored.
        prop_assert_eq!(EapolKey::parse(&octets, mic.len()), Ok((key, len)));
        // Two octets of a longer MIC may by chance equal the length field that a shorter MIC implies.
        let is_shorter = |&&other: &&usize| other < mic_len && EapolKey::parse(&octets, other).is_ok();
        if EapolKey::MIC_LENS.iter().find(is_shorter).is_none() {
            prop_assert_eq!(EapolKey::parse_any(&octets), Ok((key, len)));
        }
        for short in 0..len {
            let cut = EapolKey::parse(&octets[..short], mic.len());
            let is_truncated = matches!(cut, Err(FrameError::Truncated { .. }));
            prop_assert!(is_truncated);
        }
        // Another descriptor, packet type or length.
        for at in [1, 4, 82 + mic.len()] {
            let mut other = octets.clone();
            other[at] ^= 0x55;
            prop_assert!(EapolKey::parse(&other[..len], mic.len()).is_err());
        }
    }

    #[test]
    fn key_data_roundtrip(
        gtk in proptest::collection::vec(any::<u8>(), 0..33),
        igtk in any::<[u8; 16]>(),
        ipn in any::<[u8; 6]>(),
        key_id in 0u8..4,
        transmit in any::<bool>(),
        addr in any::<[u8; 6]>(),
        pmkid in any::<[u8; 16]>(),
        element in proptest::collection::vec(any::<u8>(), 0..20),
    ) {
        let rsn = [&[48, u8::try_from(element.len()).unwrap()], &element[..]].concat();
        let items = [
            KeyData::Rsn(&rsn),
            KeyData::Gtk { key_id, transmit, key: &gtk },
            KeyData::Igtk { key_id: 4, ipn, key: &igtk },
            KeyData::Bigtk { key_id: 6, ipn, key: &igtk },
            KeyData::Mac(MacAddr(addr)),
            KeyData::Pmkid(pmkid),
            KeyData::KeyId(key_id),
        ];
        let mut data = Vec::new();
        items.iter().for_each(|item| item.push(&mut data));
        let plain = data.clone();
        pad_key_data(&mut data);
        prop_assert!(data.len() >= 16 && data.len() % 8 == 0 && data.len() < plain.len() + 8 + 16);
        for data in [&plain, &data] {
            let read: Result<Vec<_>, _> = KeyData::each(data).collect();
            prop_assert_eq!(read, Ok(items.to_vec()));
        }
        // The debug output omits keys.
        let printed = format!("{:?}", &items[2..4]);
        prop_assert_eq!(printed, "[Igtk 4 of 16 octets, Bigtk 6 of 16 octets]");
    }

    #[test]
    fn arbitrary_octets_never_panic(octets in proptest::collection::vec(any::<u8>(), 0..160)) {
        let _ = RsnElement::parse(&octets);
        let _ = WpaElement::parse(&octets);
        for mic_len in EapolKey::MIC_LENS {
            let _ = EapolKey::parse(&octets, mic_len);
        }
        let items = KeyData::each(&octets).take_while(Result::is_ok).count();
        prop_assert!(items <= octets.len() / 2);
    }
}
