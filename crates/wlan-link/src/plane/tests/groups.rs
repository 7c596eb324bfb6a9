//! Group addressed frames: one sealed frame for all stations, and group keys that are replaced.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use proptest::prelude::*;
use wlan_ciphers::{SealJob, TemporalKey};

use super::*;

pub const MULTICAST: MacAddr = MacAddr([1, 0, 0x5e, 0, 0, 251]);
/// Offset of the octet with the key identifier.
const KEY_ID_AT: usize = 29;

fn address(host: u8) -> MacAddr {
    match host {
        1 => AP,
        station => STATIONS[usize::from(station) - 2],
    }
}

/// A packet or frame of a host to a multicast group.
pub fn to_group(kind: Kind, from: u8, tag: u32) -> Vec<u8> {
    let mut inner = packet(from, 1, tag, 100);
    inner[16..20].copy_from_slice(&[224, 0, 0, 251]);
    match kind {
        Kind::Ip => inner,
        Kind::Ethernet => ethernet(address(from), MULTICAST, &inner),
    }
}

/// A frame that a station with this group key seals in the access point's name, with packet number `pn`.
pub fn forged(header: &[u8], body: &[u8], key_id: u8, pn: u64) -> Vec<u8> {
    let sealer = TemporalKey::new(Suite::Ccmp128, &GROUP_KEY[..16]).unwrap();
    let mut mpdu = [header, &[0; 8], body, &[0; 8]].concat();
    let job = SealJob {
        mpdu: &mut mpdu,
        header_len: header.len(),
        pn: PacketNumber::new(pn).unwrap(),
        key_id: KeyId::new(key_id).unwrap(),
    };
    sealer.seal(&mut [job]).unwrap();
    mpdu
}

#[test]
fn a_group_addressed_frame_is_sealed_once_and_sent_to_every_station() {
    for kind in [Kind::Ip, Kind::Ethernet] {
        for broadcasts in [false, true] {
            let (mut ap, mut stations) = bss(kind, Suite::Ccmp128, true);
            ap.sent.broadcasts = broadcasts;
            let octets = to_group(kind, 1, 1);
            ap.transmit(plain(), &octets);
            let (to, frames): (Vec<Endpoint>, Vec<Vec<u8>>) = ap.sent.frames.take().into_iter().unzip();
            match broadcasts {
                true => assert_eq!(to, [endpoint(MacAddr::BROADCAST)]),
                false => assert_eq!(to, STATIONS.map(endpoint)),
            }
            assert!(frames.iter().all(|frame| *frame == frames[0]));
            let header = DataHeader::parse(&frames[0]).unwrap();
            let group = match kind {
                Kind::Ip => MacAddr::BROADCAST,
                Kind::Ethernet => MULTICAST,
            };
            assert_eq!((header.addr1, header.addr2, header.addr3), (group, AP, AP));
            assert!(header.from_ds && header.protected && !header.qos.unwrap().amsdu_present());
            assert_eq!(
                frames[0][KEY_ID_AT] >> 6,
                1,
                "the key identifier of the group key"
            );
            assert_eq!(ap.counters.read().outbound.sealed, 1);
            for station in &mut stations {
                station.receive(&mut [frames[0].clone()]);
                assert_eq!(station.got(), std::slice::from_ref(&octets));
            }
        }
    }
}

#[test]
fn only_stations_with_a_key_receive_group_addressed_frames() {
    let mut ap = Pipeline::new(Role::Ap, AP, Kind::Ip, true);
    let octets = to_group(Kind::Ip, 1, 1);
    for station in STATIONS {
        ap.published.admit(station, endpoint(station), &[]).unwrap();
    }
    assert_eq!(ap.send(plain(), &octets).len(), 0);
    assert_eq!(ap.counters.read().outbound.unroutable, 1);
    ap.install(STATIONS[1], Direction::Transmit, 0, Suite::Ccmp128, &KEY);
    assert_eq!(ap.send(plain(), &octets).len(), 0);
    assert_eq!(ap.counters.read().outbound.no_key, 1);
    ap.install_group(1, Suite::Ccmp128, &GROUP_KEY, 0);
    ap.transmit(plain(), &octets);
    let to: Vec<Endpoint> = ap.sent.frames.take().into_iter().map(|(to, _)| to).collect();
    assert_eq!(to, [endpoint(STATIONS[1])]);
    let table = ap.published.table();
    let sent = table
        .stations()
        .iter()
        .map(|one| one.traffic.sent.load(Ordering::Relaxed));
    assert_eq!(sent.collect::<Vec<u64>>(), [0, 1, 0]);
}

#[test]
fn a_station_cannot_use_the_group_key_against_the_access_point_or_as_a_pairwise_key() {
    let (mut ap, [mut a, ..]) = bss(Kind::Ip, Suite::Ccmp128, true);
    let body = [&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0][..], &to_group(Kind::Ip, 2, 1)].concat();
    // To the access point: group addressed, and individually addressed.
    let to_ap = a.end.header(AP);
    let mut to_all = to_ap;
    to_all[4..10].copy_from_slice(&MacAddr::BROADCAST.0);
    ap.receive(&mut [forged(&to_all, &body, 1, 1), forged(&to_ap, &body, 1, 1)]);
    let counted = ap.counters.read().inbound;
    assert_eq!((counted.not_for_us, counted.no_key, counted.opened), (1, 1, 0));
    // To another station, in the access point's name: individually addressed data.
    a.receive(&mut [forged(&ap.end.header(STATIONS[0]), &body, 1, 1)]);
    assert_eq!(a.counters.read().inbound.no_key, 1);
    // The pairwise key of another station does not open group addressed frames.
    let group = ap.end.group_header(MacAddr::BROADCAST, STATIONS[1]);
    a.receive(&mut [forged(&group, &body, 0, 1)]);
    assert_eq!(a.counters.read().inbound.no_key, 2);
    // Management frames and handshake messages under the group key.
    let mut management = ap.end.header(MacAddr::BROADCAST)[..24].to_vec();
    management[..2].copy_from_slice(&[0xc0, 0x40]);
    a.receive(&mut [forged(&management, &[7, 0], 1, 1)]);
    let eapol = [0xaa, 0xaa, 3, 0, 0, 0, 0x88, 0x8e, 2, 3, 0, 0];
    let mut open = group;
    open[1] &= !0x40;
    a.receive(&mut [forged(&group, &eapol, 1, 1), [&open[..], &eapol].concat()]);
    let counted = a.counters.read().inbound;
    assert_eq!(
        (counted.bad_header, counted.bad_body, counted.unprotected),
        (1, 1, 1)
    );
    assert_eq!(counted.control, 0);
    // A packet to an individual address, and an A-MSDU.
    let individual = [&body[..8], &packet(3, 2, 1, 100)].concat();
    let mut amsdu = forged(&group, &body, 1, 3);
    amsdu[24] |= 0x80;
    a.receive(&mut [forged(&group, &individual, 1, 2), amsdu]);
    assert_eq!((a.counters.read().inbound.bad_body, a.got().len()), (3, 0));
}

#[test]
fn group_addressed_frames_neither_move_the_endpoint_nor_show_that_the_access_point_is_present() {
    let (mut ap, [mut a, ..]) = bss(Kind::Ip, Suite::Ccmp128, true);
    let mut frames = ap.send(plain(), &to_group(Kind::Ip, 1, 1));
    a.receive_from(endpoint(STATIONS[2]), &mut frames[..1]);
    assert_eq!(a.got().len(), 1);
    let table = a.published.table();
    assert_eq!(table.stations()[0].endpoint(), endpoint(AP));
    assert_eq!(table.stations()[0].traffic.received.load(Ordering::Relaxed), 0);
}

#[test]
fn a_group_key_starts_after_the_frames_that_were_sent_before_the_station_joined() {
    let (mut ap, [mut a, ..]) = bss(Kind::Ip, Suite::Gcmp128, true);
    let mut frames: Vec<Vec<u8>> = (0..5)
        .map(|tag| ap.send(plain(), &to_group(Kind::Ip, 1, tag)).remove(0))
        .collect();
    let late = Pipeline::new(Role::Sta, STATIONS[0], Kind::Ip, true);
    late.admit(AP, Suite::Gcmp128, &[]);
    late.install_group(1, Suite::Gcmp128, &GROUP_KEY, 3);
    a.receive(&mut frames.clone());
    let mut late = late;
    late.receive(&mut frames);
    assert_eq!((a.got().len(), late.got().len()), (5, 2));
    assert_eq!(late.counters.read().inbound.replayed, 3);
    // Installing the key again does not bring back the old frames.
    late.install_group(1, Suite::Gcmp128, &GROUP_KEY, 0);
    late.receive(&mut ap.send(plain(), &to_group(Kind::Ip, 1, 9)));
    assert_eq!(late.got().len(), 1, "two of three copies are replays");
}

#[test]
fn batches_of_group_addressed_frames_to_many_stations_allocate_nothing() {
    let (mut ap, mut stations) = bss(Kind::Ip, Suite::Enhanced(wlan_ciphers::Lanes::Four), true);
    /// Counts the frames to each station.
    #[derive(Default)]
    struct Counts(RefCell<[usize; 3]>);
    impl Outlet for Counts {
        fn splits(&self) -> bool {
            false
        }
        fn broadcast(&self) -> Option<Endpoint> {
            None
        }
        fn send(&self, _: &[u8], messages: &[Message]) -> usize {
            for message in messages {
                let of = STATIONS
                    .iter()
                    .position(|&station| endpoint(station) == message.to);
                self.0.borrow_mut()[of.unwrap()] += 1;
            }
            0
        }
    }
    let vnet = plain().emit();
    for tag in 0..60 {
        let octets = match tag % 3 {
            0 => packet(1, 3, tag, 100),
            _ => to_group(Kind::Ip, 1, tag),
        };
        ap.host.send(&[&vnet[..], &octets].concat()).unwrap();
    }
    let counts = Counts::default();
    ap.view.refresh();
    let allocated = allocation_counter::measure(|| {
        let Pipeline {
            source,
            tun,
            view,
            egress,
            counters,
            ..
        } = &mut ap;
        let table = view.table();
        while source
            .read(tun, table, egress, &counts, &counters.outbound)
            .unwrap()
        {}
        egress.flush(table, &counts, &counters.outbound);
    });
    assert_eq!(allocated.count_total, 0, "{allocated:?}");
    assert_eq!(*counts.0.borrow(), [40, 60, 40]);
    let mut frames: Vec<Vec<u8>> = (0..40)
        .map(|tag| ap.send(plain(), &to_group(Kind::Ip, 1, tag)).remove(0))
        .collect();
    let [station, ..] = &mut stations;
    station.view.refresh();
    let allocated = allocation_counter::measure(|| station.receive(&mut frames));
    assert_eq!(allocated.count_total, 0, "{allocated:?}");
    assert_eq!(station.got().len(), 40);
}

/// A step of a group.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Host 1 to 4 sends to the group. The octet selects the stations that lose the frame, and a station that receives
    /// it twice.
    Send { from: u8, fate: u8 },
    /// A station leaves, and the group key is replaced.
    Leave { station: u8 },
    /// The group key is replaced.
    Rekey,
    /// An attacker sends all earlier frames again, to all hosts.
    Replay,
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (1_u8..=4, any::<u8>()).prop_map(|(from, fate)| Step::Send { from, fate }),
        1 => (2_u8..=4).prop_map(|station| Step::Leave { station }),
        2 => Just(Step::Rekey),
        2 => Just(Step::Replay),
    ]
}

/// A group addressed frame.
struct Recorded {
    frame: Vec<u8>,
    octets: Vec<u8>,
    from: u8,
    /// The number of its group key.
    key: u8,
}

/// An access point, its stations, and the packets that each host must have received.
struct Group {
    ap: Pipeline,
    stations: [Pipeline; 3],
    suite: Suite,
    present: [bool; 3],
    /// The number of each station's newest group key.
    keys: [u8; 3],
    /// The number of the access point's group key.
    key: u8,
    recorded: Vec<Recorded>,
    /// The frames that each station has received.
    received: [HashSet<usize>; 3],
    expected: [Vec<Vec<u8>>; 4],
    got: [Vec<Vec<u8>>; 4],
}

impl Group {
    fn collect(&mut self) {
        self.got[0].extend(self.ap.got());
        for (got, station) in self.got[1..].iter_mut().zip(&self.stations) {
            got.extend(station.got());
        }
    }

    fn send(&mut self, kind: Kind, from: u8, fate: u8) {
        let tag = u32::try_from(self.recorded.len()).unwrap();
        let octets = to_group(kind, from, tag);
        if from == 1 {
            self.ap.transmit(plain(), &octets);
        } else {
            let n = usize::from(from) - 2;
            if !self.present[n] {
                return;
            }
            let mut up = self.stations[n].send(plain(), &octets);
            assert_eq!(up.len(), 1);
            assert_eq!(up[0][4..10], AP.0, "stations send to the access point");
            self.ap.receive(&mut up);
            self.expected[0].push(octets.clone());
        }
        let frames = self.ap.left();
        let present = self.present.iter().filter(|&&present| present).count();
        let copies = if self.ap.sent.broadcasts {
            present.min(1)
        } else {
            present
        };
        assert_eq!(frames.len(), copies);
        let Some(frame) = frames.into_iter().next() else {
            return;
        };
        self.recorded.push(Recorded {
            frame,
            octets,
            from,
            key: self.key,
        });
        // A station that has left can still hear the network.
        for n in 0..3 {
            if fate >> n & 1 == 0 {
                self.deliver(n, self.recorded.len() - 1);
            }
            if fate >> 4 == u8::try_from(n).unwrap() {
                self.deliver(n, self.recorded.len() - 1);
            }
        }
    }

    fn deliver(&mut self, n: usize, index: usize) {
        let recorded = &self.recorded[index];
        self.stations[n].receive(&mut [recorded.frame.clone()]);
        let is_own = usize::from(recorded.from) == n + 2;
        if !is_own && recorded.key == self.keys[n] && self.received[n].insert(index) {
            self.expected[n + 1].push(recorded.octets.clone());
        }
    }

    /// Replaces the group key: first at all stations that are present, then at the access point. The old key retires.
    fn rekey(&mut self) {
        let id = |key: u8| 1 + key % 2;
        let old = KeyId::new(id(self.key)).unwrap();
        self.key += 1;
        let octets = [100 + self.key; 32];
        for n in (0..3).filter(|&n| self.present[n]) {
            self.stations[n].install_group(id(self.key), self.suite, &octets, 0);
            self.keys[n] = self.key;
        }
        self.ap.install_group(id(self.key), self.suite, &octets, 0);
        for n in (0..3).filter(|&n| self.present[n]) {
            self.stations[n].published.retire_group(AP, old).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Each packet to the group arrives once at every host except its sender, if its frame arrives while the station has
    /// its key. Replays, frames under a key that was replaced, and frames from after a station has left are refused.
    #[test]
    fn packets_to_the_group_arrive_once_at_every_station_that_is_present(
        steps in proptest::collection::vec(steps(), 1..60),
        suite in proptest::sample::select(&Suite::OF_TEMPORAL_KEYS[..]),
        kind in prop_oneof![Just(Kind::Ip), Just(Kind::Ethernet)],
        broadcasts: bool,
    ) {
        let (mut ap, stations) = bss(kind, suite, true);
        ap.sent.broadcasts = broadcasts;
        let mut group = Group {
            ap,
            stations,
            suite,
            present: [true; 3],
            keys: [0; 3],
            key: 0,
            recorded: Vec::new(),
            received: Default::default(),
            expected: Default::default(),
            got: Default::default(),
        };
        for step in steps {
            match step {
                Step::Send { from, fate } => group.send(kind, from, fate),
                Step::Leave { station } => {
                    let n = usize::from(station) - 2;
                    let was_there = group.ap.published.remove(STATIONS[n]);
                    prop_assert_eq!(was_there, group.present[n]);
                    group.present[n] = false;
                    group.rekey();
                }
                Step::Rekey => group.rekey(),
                Step::Replay => {
                    for index in 0..group.recorded.len() {
                        (0..3).for_each(|n| group.deliver(n, index));
                        let frame = group.recorded[index].frame.clone();
                        group.ap.receive(&mut [frame]);
                    }
                }
            }
            group.collect();
        }
        prop_assert_eq!(group.got, group.expected);
    }
}
