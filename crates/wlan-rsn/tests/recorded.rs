//! Recorded handshakes with wpa_supplicant: its message 2, and the keys that it derived and extracted from our
//! message 3.

use wlan_ciphers::Suite;
use wlan_frames::MacAddr;
use wlan_frames::eapol::{EapolKey, KeyData};
use wlan_rsn::{Akm, Learned, Observer, Pmk, Policy, Protocol, psk::psk};

const RECORDED: &str = include_str!("recorded/wpa_supplicant.txt");
const AP: MacAddr = MacAddr([0x01, 0x80, 0xc2, 0, 0, 3]);
const STA: MacAddr = MacAddr([0x02, 0, 0, 0, 0, 2]);

fn hex(digits: &str) -> Vec<u8> {
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

#[test]
fn wpa_supplicant_derives_the_same_keys_and_sends_the_same_elements() {
    let mut handshakes = 0;
    for line in RECORDED.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(' ').collect();
        let [protocol, akm, suite, messages @ .., tk, gtk] = &fields[..] else {
            panic!("{line}");
        };
        let protocol = if *protocol == "wpa" {
            Protocol::Wpa
        } else {
            Protocol::Rsn
        };
        let suite = Suite::from_name(suite).unwrap();
        let policy = Policy::of(protocol, Akm::from_name(akm).unwrap(), suite);
        let mut observer = Observer::new();
        observer.add_pmk(None, Pmk::of_psk(psk(b"a toll on the air", b"airtoll").unwrap()));
        let mut learned = Vec::new();
        for message in messages {
            learned.extend(observer.packet(AP, STA, &hex(message)).unwrap());
        }
        let pairwise =
            |key: &Learned| matches!(key, Learned::Pairwise { key, .. } if key.as_octets() == hex(tk));
        assert!(pairwise(&learned[0]), "{line}");
        match learned.get(1) {
            Some(Learned::Group { key, .. }) => assert_eq!(key.as_octets(), hex(gtk)),
            _ => assert_eq!(*gtk, "-", "{line}"),
        }

        let message_2 = hex(messages[1]);
        let (key, _) = EapolKey::parse(&message_2, 16).unwrap();
        let items: Vec<_> = KeyData::each(key.data).map(Result::unwrap).collect();
        let element = policy.element();
        let expected = match protocol {
            Protocol::Rsn => KeyData::Rsn(&element),
            Protocol::Wpa => KeyData::Wpa(&element),
        };
        assert_eq!(items, [expected], "{line}");
        handshakes += 1;
    }
    assert_eq!(handshakes, 8);
}
