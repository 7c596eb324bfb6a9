//! Generated captures: networks with keys from handshakes of `wlan-rsn`, and the expected Ethernet frames.

#![allow(dead_code, reason = "shared by test programs that use different parts")]

#[path = "../../../wlan-rsn/tests/common/mod.rs"]
mod common;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

pub use common::TestRng;
use wlan_ciphers::{Cipher, KeyId, PacketNumber, Role, SealJob, Suite};
use wlan_frames::beacon::push_element;
use wlan_frames::radiotap::{FLAG_FCS, Radiotap};
use wlan_frames::rsn::RsnCapabilities;
use wlan_frames::{
    AckPolicy, DataHeader, EtherType, LlcSnap, MacAddr, QosControl, SequenceControl, fcs, pcap,
};
use wlan_rsn::authenticator::Limits;
use wlan_rsn::{
    Association, Authenticator, Direction, Elements, Key, Output, Pmk, Policy, Supplicant, Timing,
};

pub const SSID: &[u8] = b"airtoll";
pub const PASSPHRASE: &[u8] = b"a toll on the air";
pub const AP: MacAddr = MacAddr([0x02, 0, 0, 0, 0, 1]);
pub const STA: MacAddr = MacAddr([0x02, 0, 0, 0, 0, 2]);

/// The records of a capture and their Ethernet frames.
pub struct Air {
    pub file: Vec<u8>,
    /// Expected time in nanoseconds and octets per frame; `None` if not recorded.
    pub expected: Option<Vec<(u64, Vec<u8>)>>,
    /// Position of each record, and whether it is protected data.
    pub records: Vec<(usize, bool)>,
    time_ns: u64,
}

impl Air {
    pub fn new() -> Air {
        Air {
            file: pcap::file_header().to_vec(),
            expected: Some(Vec::new()),
            records: Vec::new(),
            time_ns: 1_700_000_000_000_000_000,
        }
    }

    /// Adds an MPDU without FCS.
    pub fn record(&mut self, mpdu: &[u8]) {
        self.time_ns += 100_000;
        let radiotap = Radiotap {
            flags: Some(FLAG_FCS),
            rate_500kbps: Some(108),
            ..Radiotap::default()
        };
        let len = radiotap.len() + mpdu.len() + fcs::FCS_LEN;
        self.records.push((self.file.len(), mpdu[1] & 0x40 != 0));
        self.file.extend(pcap::record_header(self.time_ns, len));
        let at = self.file.len();
        self.file.resize(at + radiotap.len(), 0);
        radiotap.emit(&mut self.file[at..]);
        self.file.extend_from_slice(mpdu);
        self.file.extend(fcs::fcs(mpdu).to_le_bytes());
    }

    /// Expects that the next record contains this Ethernet frame.
    fn expect(&mut self, da: MacAddr, sa: MacAddr, ethertype: EtherType, payload: &[u8]) {
        let time_ns = self.time_ns + 100_000;
        if let Some(expected) = &mut self.expected {
            let frame = [&da.0[..], &sa.0, &ethertype.0.to_be_bytes(), payload].concat();
            expected.push((time_ns, frame));
        }
    }

    /// The expected output as a capture.
    pub fn decrypted(&self) -> Vec<u8> {
        let mut file = pcap::file_header_of(pcap::LINKTYPE_ETHERNET).to_vec();
        for (time_ns, frame) in self.expected.as_ref().expect("expected frames are recorded") {
            file.extend(pcap::record_header(*time_ns, frame.len()));
            file.extend_from_slice(frame);
        }
        file
    }

    /// The octets of record `n`, including its header.
    pub fn octets(&self, n: usize) -> &[u8] {
        let end = self.records.get(n + 1).map_or(self.file.len(), |&(at, _)| at);
        &self.file[self.records[n].0..end]
    }
}

/// One direction of a link: its key and packet number.
struct Sealer {
    key_id: KeyId,
    key: Key,
    cipher: Cipher,
    pn: u64,
}

impl Sealer {
    fn new(key_id: KeyId, suite: Suite, key: Key, role: Role, spp_amsdu: bool) -> Sealer {
        let cipher = Cipher::new(suite, key.as_octets(), role).unwrap();
        Sealer {
            key_id,
            cipher: cipher.with_spp_amsdu(spp_amsdu),
            key,
            pn: 0,
        }
    }

    /// Seals an MPDU whose MAC header has `header_len` octets.
    fn seal(&mut self, mpdu: &mut [u8], header_len: usize, is_fragment: bool) {
        self.pn += 1;
        let mut jobs = [SealJob {
            mpdu,
            header_len,
            pn: PacketNumber::new(self.pn).unwrap(),
            key_id: self.key_id,
        }];
        let sealed = match is_fragment {
            true => self.cipher.seal_fragments(&mut jobs),
            false => self.cipher.seal(&mut jobs),
        };
        sealed.unwrap();
    }
}

/// A station, with the transmit keys of both ends.
struct End {
    supplicant: Supplicant,
    up: Option<Sealer>,
    down: Option<Sealer>,
}

/// An access point and its stations.
pub struct Bss {
    pub bssid: MacAddr,
    pub ssid: Vec<u8>,
    pub elements: Elements,
    /// Whether the MIC covers A-MSDU Present.
    pub spp_amsdu: bool,
    pmk: Pmk,
    ap: Authenticator,
    ends: BTreeMap<MacAddr, End>,
    group: Option<Sealer>,
    /// EAPOL packets in flight: whether from the access point, the station, whether sealed, the packet.
    air: VecDeque<(bool, MacAddr, bool, Vec<u8>)>,
    rng: TestRng,
    sequence: u16,
    now: Duration,
}

impl Bss {
    pub fn new(bssid: MacAddr, ssid: &[u8], pmk: Pmk, policy: &Policy) -> Bss {
        let mut rng = TestRng(u64::from(bssid.0[5]));
        let elements = Elements::of(policy);
        let (timing, limits) = (Timing::default(), Limits::default());
        let ap = Authenticator::new(bssid, elements.clone(), timing, limits, &mut rng).unwrap();
        let mut bss = Bss {
            bssid,
            ssid: ssid.to_vec(),
            elements,
            spp_amsdu: policy.capabilities.has(RsnCapabilities::SPP_AMSDU_CAPABLE),
            pmk,
            ap,
            ends: BTreeMap::new(),
            group: None,
            air: VecDeque::new(),
            rng,
            sequence: 0,
            now: Duration::ZERO,
        };
        bss.collect();
        bss
    }

    /// Adds a beacon with this SSID.
    pub fn beacon(&self, air: &mut Air, ssid: &[u8]) {
        let elements = [&self.elements.rsn[..], &self.elements.wpa];
        air.record(&test_support::beacon(self.bssid, ssid, &elements));
    }

    /// Adds a management frame of this subtype, with the SSID after `fixed_len` octets: a probe response (5, 12), an
    /// association request (0, 4) or a reassociation request (2, 10).
    pub fn management(&self, air: &mut Air, subtype: u8, fixed_len: usize, station: MacAddr) {
        let (to, from) = if subtype == 5 {
            (station, self.bssid)
        } else {
            (self.bssid, station)
        };
        let mut mpdu = vec![subtype << 4, 0, 0, 0];
        for addr in [to, from, self.bssid] {
            mpdu.extend(addr.0);
        }
        mpdu.extend([0x10, 0]);
        mpdu.resize(mpdu.len() + fixed_len, 1);
        push_element(&mut mpdu, 0, &self.ssid);
        air.record(&mpdu);
    }

    /// Associates a station; the capture contains its complete handshake.
    pub fn join(&mut self, air: &mut Air, station: MacAddr) {
        self.join_as(air, station, &self.elements.clone());
    }

    /// Same as [`join`](Self::join), with the station's own elements.
    pub fn join_as(&mut self, air: &mut Air, station: MacAddr, elements: &Elements) {
        let association = Association::negotiate(&self.elements, elements).unwrap();
        let timing = Timing::default();
        let mut supplicant =
            Supplicant::new(station, self.bssid, association, self.pmk.clone(), timing).unwrap();
        supplicant.start(self.now, &mut self.rng);
        self.ends.insert(
            station,
            End {
                supplicant,
                up: None,
                down: None,
            },
        );
        let pmk = self.pmk.clone();
        self.ap
            .start(station, elements, &pmk, self.now, &mut self.rng)
            .unwrap();
        self.run(air);
    }

    pub fn rekey(&mut self, air: &mut Air, station: MacAddr) {
        self.ap.rekey_pairwise(station, self.now, &mut self.rng);
        self.run(air);
    }

    pub fn rekey_group(&mut self, air: &mut Air) {
        self.ap.rekey_group(self.now, &mut self.rng);
        self.run(air);
    }

    /// The pairwise key of a station.
    pub fn key(&self, station: MacAddr) -> &Key {
        &self.ends[&station].up.as_ref().expect("joined").key
    }

    fn run(&mut self, air: &mut Air) {
        self.collect();
        while let Some((from_ap, station, sealed, packet)) = self.air.pop_front() {
            let payload = &packet[..];
            if sealed {
                self.send(air, from_ap, station, EtherType::EAPOL, payload);
            } else {
                let header = self.header(from_ap, station, false);
                let mut mpdu = vec![0; header.len() + LlcSnap::LEN];
                let at = header.emit(&mut mpdu);
                LlcSnap {
                    ethertype: EtherType::EAPOL,
                }
                .emit(&mut mpdu[at..]);
                mpdu.extend_from_slice(payload);
                air.record(&mpdu);
            }
            let (now, rng) = (self.now, &mut self.rng);
            let taken = if from_ap {
                let end = self.ends.get_mut(&station).unwrap();
                end.supplicant.receive(&packet, sealed, now, rng)
            } else {
                self.ap.receive(station, &packet, sealed, now, rng)
            };
            assert_eq!(taken, Ok(()));
            self.collect();
        }
    }

    fn collect(&mut self) {
        let spp_amsdu = self.spp_amsdu;
        while let Some(output) = self.ap.poll_output() {
            match output {
                Output::Send { to, packet, sealed } => self.air.push_back((true, to, sealed, packet)),
                Output::InstallGroup { key, .. } => {
                    self.group = Some(Sealer::new(key.key_id, key.suite, key.key, Role::Ap, false));
                }
                Output::InstallPairwise { peer, key } if key.direction == Direction::Transmit => {
                    let end = self.ends.get_mut(&peer).unwrap();
                    end.down = Some(Sealer::new(key.key_id, key.suite, key.key, Role::Ap, spp_amsdu));
                }
                Output::Failed { reason, .. } => panic!("{reason:?}"),
                _ => {}
            }
        }
        for (&station, end) in &mut self.ends {
            while let Some(output) = end.supplicant.poll_output() {
                match output {
                    Output::Send { packet, sealed, .. } => {
                        self.air.push_back((false, station, sealed, packet));
                    }
                    Output::InstallPairwise { key, .. } if key.direction == Direction::Transmit => {
                        end.up = Some(Sealer::new(key.key_id, key.suite, key.key, Role::Sta, spp_amsdu));
                    }
                    Output::Failed { reason, .. } => panic!("{reason:?}"),
                    _ => {}
                }
            }
        }
    }

    /// The header of the next frame between the access point and `station`, which may be a group address.
    fn header(&mut self, from_ap: bool, station: MacAddr, amsdu: bool) -> DataHeader {
        self.sequence = (self.sequence + 1) % SequenceControl::MODULUS;
        DataHeader {
            to_ds: !from_ap,
            from_ds: from_ap,
            addr1: if from_ap { station } else { self.bssid },
            addr2: if from_ap { self.bssid } else { station },
            addr3: self.bssid,
            qos: (!station.is_group()).then(|| QosControl::new(0, AckPolicy::Normal).with_amsdu(amsdu)),
            sequence: SequenceControl {
                number: self.sequence,
                fragment: 0,
            },
            ..DataHeader::default()
        }
    }

    fn sealer(&mut self, from_ap: bool, station: MacAddr) -> &mut Sealer {
        let sealer = if station.is_group() {
            self.group.as_mut()
        } else {
            let end = self.ends.get_mut(&station).expect("joined");
            if from_ap {
                end.down.as_mut()
            } else {
                end.up.as_mut()
            }
        };
        sealer.expect("a key is installed")
    }

    /// Sends a protected frame from or to the access point, unfragmented.
    pub fn send(&mut self, air: &mut Air, from_ap: bool, station: MacAddr, kind: EtherType, payload: &[u8]) {
        let bssid = self.bssid;
        let (da, sa) = if from_ap {
            (station, bssid)
        } else {
            (bssid, station)
        };
        air.expect(da, sa, kind, payload);
        let header = self.header(from_ap, station, false);
        self.seal(air, from_ap, station, header, &msdu(kind, payload), false);
    }

    /// Sends the payload twice in one A-MSDU.
    pub fn send_amsdu(&mut self, air: &mut Air, from_ap: bool, station: MacAddr, payload: &[u8]) {
        let bssid = self.bssid;
        let (da, sa) = if from_ap {
            (station, bssid)
        } else {
            (bssid, station)
        };
        let mut amsdu = Vec::new();
        for _ in 0..2 {
            air.expect(da, sa, EtherType::IPV4, payload);
            let msdu = msdu(EtherType::IPV4, payload);
            let len = u16::try_from(msdu.len()).unwrap().to_be_bytes();
            amsdu.resize(amsdu.len().next_multiple_of(4), 0);
            amsdu.extend([&da.0[..], &sa.0, &len, &msdu].concat());
        }
        let header = self.header(from_ap, station, true);
        self.seal(air, from_ap, station, header, &amsdu, false);
    }

    /// Sends the payload in three fragments.
    pub fn send_fragments(&mut self, air: &mut Air, from_ap: bool, station: MacAddr, payload: &[u8]) {
        let bssid = self.bssid;
        let (da, sa) = if from_ap {
            (station, bssid)
        } else {
            (bssid, station)
        };
        let mut text = msdu(EtherType::IPV4, payload);
        let priority = 0;
        let header = wlan_ciphers::michael::MichaelHeader { da, sa, priority };
        let mic = self.sealer(from_ap, station).cipher.msdu_mic(header, &text);
        text.extend(mic.into_iter().flatten());
        let header = self.header(from_ap, station, false);
        let parts: Vec<_> = text.chunks(text.len().div_ceil(3)).collect();
        for (fragment, part) in (0u8..).zip(&parts) {
            let mut header = header;
            header.sequence.fragment = fragment;
            header.more_fragments = usize::from(fragment) + 1 < parts.len();
            if !header.more_fragments {
                air.expect(da, sa, EtherType::IPV4, payload);
            }
            self.seal(air, from_ap, station, header, part, true);
        }
    }

    /// Seals a body and adds the frame to the capture.
    fn seal(
        &mut self,
        air: &mut Air,
        from_ap: bool,
        station: MacAddr,
        header: DataHeader,
        body: &[u8],
        is_fragment: bool,
    ) {
        let sealer = self.sealer(from_ap, station);
        let mic_len = match sealer.cipher.suite() {
            // The ICV only: Michael's MIC belongs to the MSDU.
            Suite::Tkip if is_fragment => 4,
            suite => suite.mic_len(),
        };
        let mut mpdu = vec![0; header.len() + sealer.cipher.suite().header_len()];
        header.emit(&mut mpdu);
        mpdu.extend_from_slice(body);
        mpdu.resize(mpdu.len() + mic_len, 0);
        sealer.seal(&mut mpdu, header.len(), is_fragment);
        air.record(&mpdu);
    }
}

fn msdu(ethertype: EtherType, payload: &[u8]) -> Vec<u8> {
    let mut msdu = vec![0; LlcSnap::LEN];
    LlcSnap { ethertype }.emit(&mut msdu);
    msdu.extend_from_slice(payload);
    msdu
}
