//! Both state machines of a link, driven by the fuzzer's octets.

use std::time::Duration;

use wlan_ciphers::Suite;
use wlan_frames::MacAddr;
use wlan_link::phases::{
    AccessPoint, Action, Addressing, ApSettings, Credentials, Machine as _, Settings, StaSettings, Station,
};
use wlan_link::plane::{ControlBody, ControlFrame, Endpoint, Kind};
use wlan_rsn::{Direction, Key, Pmk};

use crate::handshake::{AP, Counter, STATION};

/// A frame in transit: whether to the station, whether sealed, body.
type Flight = (bool, bool, ControlBody);

#[derive(Default)]
struct World {
    air: Vec<Flight>,
    /// All transmit keys that each end installed.
    used: [Vec<Key>; 2],
    /// All group keys that each end installed: the access point ever, the station during its session.
    groups: [Vec<Key>; 2],
    admitted: [bool; 2],
}

impl World {
    fn take(&mut self, side: usize, action: Action) {
        match action {
            Action::Management { protected, frame, .. } => {
                self.air
                    .push((side == 0, protected, ControlBody::Management(frame)));
            }
            Action::Eapol { protected, pdu, .. } => {
                self.air.push((side == 0, protected, ControlBody::Eapol(pdu)));
            }
            Action::Admit { .. } => {
                assert!(!self.admitted[side], "admitted twice");
                self.admitted[side] = true;
            }
            Action::Remove { .. } => {
                assert!(self.admitted[side], "removed without being admitted");
                self.admitted[side] = false;
                // A station that returns gets the group key again, with its packet number.
                self.groups[1].clear();
            }
            Action::Install { key, .. } => {
                assert!(self.admitted[side], "a key of an unknown peer");
                if key.direction == Direction::Transmit {
                    let used = &mut self.used[side];
                    assert!(!used.contains(&key.key), "a transmit key was reused");
                    used.push(key.key);
                }
            }
            Action::InstallGroup { peer, key } => {
                let key = key.key;
                assert!(side == 0 || self.admitted[side], "a group key of an unknown peer");
                assert_eq!(peer, AP);
                assert!(
                    !self.groups[side].contains(&key),
                    "a group key was installed twice"
                );
                self.groups[side].push(key);
            }
            Action::Retire { .. } | Action::RetireGroup { .. } => {
                assert!(self.admitted[side], "a key of an unknown peer");
            }
            Action::Assign(_) | Action::Radius(_) | Action::Tell(_) => {}
        }
        // Drop excess frames, which would only take time.
        self.air.truncate(64);
    }
}

fn settings(address: MacAddr, akm: u8) -> Settings {
    Settings {
        ssid: b"fuzz".to_vec(),
        address,
        kind: Kind::Ip,
        ciphers: vec![Suite::Ccmp128],
        credentials: match akm % 3 {
            0 => Credentials::Psk(Pmk::of_psk(Key::new(&[7; 32]))),
            1 => Credentials::Owe,
            _ => Credentials::Sae(crate::sae::password()),
        },
        rekey_after: Duration::from_secs(60),
        rekey_packets: 1 << 40,
        keep_alive: Duration::from_secs(5),
    }
}

/// Both ends of a link: no panic, no key is reused or belongs to an unknown peer, and the state is bounded. The octets
/// select which frame arrives and whether it is modified, which frames are forged, and how the clock changes.
///
/// # Panics
/// If a guarantee does not hold.
pub fn phases(data: &[u8]) {
    let Some((&first, mut data)) = data.split_first() else {
        return;
    };
    let rng = &mut Counter(0);
    let broadcast = Endpoint::Ethernet(MacAddr::BROADCAST);
    let prefix = "192.0.2.1/24".parse().expect("a prefix");
    let ap = ApSettings {
        common: settings(AP, first),
        beacons_to: Some(broadcast),
        addressing: Addressing::new(&[prefix], true),
        stations: 4,
        rekey_group_after: Duration::from_secs(90),
        radius: None,
    };
    let mut ap = AccessPoint::new(ap, rng).expect("the ciphers are valid for RSN");
    let mut station = Station::new(StaSettings {
        common: settings(STATION, first),
        probes_to: broadcast,
        bssid: None,
        eap: None,
    });
    let (mut world, mut now) = (World::default(), Duration::ZERO);
    while let Some((&what, rest)) = data.split_first() {
        data = rest;
        let octet = data.first().copied().unwrap_or_default();
        let mut arrives = |down: bool, protected: bool, body: ControlBody| {
            let transmitter = if down { AP } else { STATION };
            let endpoint = Endpoint::Ethernet(transmitter);
            let frame = ControlFrame {
                transmitter,
                endpoint,
                protected,
                body,
            };
            if down {
                station.receive(&frame, now, rng);
            } else if protected && !world.admitted[0] {
                ap.stranger(transmitter, endpoint, now);
            } else {
                ap.receive(&frame, now, rng);
            }
        };
        match what % 8 {
            // The clock may jump in either direction.
            0 => now = Duration::from_millis(u64::from(octet) << (what >> 4)),
            1 => now += Duration::from_millis(u64::from(octet)),
            2 => {
                ap.timeout(now, rng);
                station.timeout(now, rng);
            }
            3 => {
                let len = data.len().min(usize::from(octet) + 1);
                let (octets, rest) = data.split_at(len);
                data = rest;
                let body = match what & 0x10 {
                    0 => ControlBody::Management(octets.to_vec()),
                    _ => ControlBody::Eapol(octets.to_vec()),
                };
                arrives(what & 0x20 != 0, false, body);
            }
            _ if world.air.is_empty() => {}
            _ => {
                let n = usize::from(octet) % world.air.len();
                let (down, protected, mut body) = world.air[n].clone();
                if what & 0x10 == 0 {
                    world.air.remove(n);
                }
                let (ControlBody::Management(octets) | ControlBody::Eapol(octets)) = &mut body;
                // A modified sealed frame would not open.
                if what & 0x20 != 0 && !protected {
                    let at = usize::from(what ^ octet) % octets.len();
                    octets[at] ^= octet | 1;
                }
                arrives(down, protected, body);
            }
        }
        while let Some(action) = ap.poll_action() {
            world.take(0, action);
        }
        while let Some(action) = station.poll_action() {
            world.take(1, action);
        }
        assert!(ap.kept().iter().all(|&kept| kept <= 4));
    }
}

/// All phases with each kind of key management, and a timeout.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let arrive = [4, 0];
    let seed = |akm: u8| [&[akm, 2][..], &arrive.repeat(20), &[1, 250, 2], &arrive.repeat(4)].concat();
    (0..3).map(seed).collect()
}
