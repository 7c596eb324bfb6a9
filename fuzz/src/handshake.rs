//! The handshake state machines of both sides, driven by the fuzzer's octets.

use std::convert::Infallible;
use std::time::Duration;

use rand_core::{TryCryptoRng, TryRng};
use wlan_ciphers::{IntegrityKeyId, Suite};
use wlan_frames::MacAddr;
use wlan_rsn::authenticator::Limits;
use wlan_rsn::{
    Akm, Association, Authenticator, Elements, Key, Observer, Output, Pmk, Policy, Protocol, Supplicant,
    Timing,
};

pub(crate) const AP: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
pub(crate) const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);

/// A counter as random generator: the same values in every run.
pub(crate) struct Counter(pub(crate) u64);

impl TryRng for Counter {
    type Error = Infallible;

    #[allow(clippy::cast_possible_truncation)] // the lower half
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|wide| wide as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0 += 1;
        Ok(self.0)
    }

    fn try_fill_bytes(&mut self, octets: &mut [u8]) -> Result<(), Infallible> {
        for chunk in octets.chunks_mut(8) {
            chunk.copy_from_slice(&self.try_next_u64()?.to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

impl TryCryptoRng for Counter {}

struct Machines {
    ap: Authenticator,
    station: Supplicant,
    observer: Observer,
    /// Packets in transit: whether to the station, whether sealed, octets.
    air: Vec<(bool, bool, Vec<u8>)>,
    /// Keys that each side installed, with their kind.
    installed: [Vec<(u8, Key)>; 2],
    established: [u32; 2],
}

impl Machines {
    fn collect(&mut self) {
        while let Some(output) = self.ap.poll_output() {
            self.take(0, output);
        }
        while let Some(output) = self.station.poll_output() {
            self.take(1, output);
        }
        // Drop excess packets, which would only take time.
        self.air.truncate(64);
    }

    /// Forgets the group keys of a side that lost all keys: they may be installed again, pairwise keys never.
    fn forget(&mut self, side: usize) {
        self.installed[side].retain(|(what, _)| *what < 2);
    }

    fn take(&mut self, side: usize, output: Output) {
        let (what, key) = match output {
            Output::Send { packet, sealed, .. } => {
                let _ = self.observer.packet(AP, STATION, &packet);
                self.air.push((side == 0, sealed, packet));
                return;
            }
            Output::InstallPairwise { key, .. } => (key.direction as u8, key.key),
            Output::InstallGroup { key, .. } => (2, key.key),
            Output::InstallIntegrity { key, .. } => (3, key),
            Output::Established { .. } => {
                self.established[side] += 1;
                return;
            }
            Output::Failed {
                still_established: false,
                ..
            } => {
                self.forget(side);
                return;
            }
            _ => return,
        };
        let entry = (what, key);
        assert!(
            !self.installed[side].contains(&entry),
            "a key was installed twice"
        );
        self.installed[side].push(entry);
    }
}

/// Both state machines and the observer: no panic, no key is installed twice, and keys are installed only after packets
/// of the other side. The first octet selects the policy. Each further octet selects an action, whose arguments are the
/// octets after it.
///
/// # Panics
/// If a guarantee does not hold.
pub fn handshake(data: &[u8]) {
    let Some((&policy, mut data)) = data.split_first() else {
        return;
    };
    let suites = [Suite::Ccmp128, Suite::Tkip, Suite::Gcmp256];
    let suite = suites[usize::from(policy >> 4) % suites.len()];
    let policy = match policy % 6 {
        0 if suite != Suite::Gcmp256 => Policy::of(Protocol::Wpa, Akm::WpaPsk, suite),
        0 | 1 => Policy::of(Protocol::Rsn, Akm::WpaPsk, suite),
        2 => Policy::of(Protocol::Rsn, Akm::WpaPskSha256, suite).with_extended_key_id(),
        3 => Policy::of(Protocol::Rsn, Akm::WpaPsk, suite).with_optional_mfp(Suite::BipCmac128),
        4 => Policy::of(Protocol::Rsn, Akm::Sae, suite),
        _ => Policy::of(Protocol::Rsn, Akm::Sae, suite).with_mfp(Suite::BipGmac128),
    };
    let elements = Elements::of(&policy);
    let has_mfp = policy.group_management.is_some();
    let is_refused = match policy.akms[0] {
        Akm::Sae => !has_mfp || suite == Suite::Tkip,
        _ => has_mfp && suite == Suite::Tkip,
    };
    let association = Association::negotiate(&elements, &elements);
    assert_eq!(association.is_err(), is_refused, "{policy:?}");
    let Ok(association) = association else {
        return;
    };
    let pmk = Pmk::agreed(&[7; 32], [9; 16]).expect("32 octets");
    let (timing, rng) = (Timing::default(), &mut Counter(0));
    let mut ap = Authenticator::new(AP, elements.clone(), timing, Limits::default(), rng)
        .expect("the policy has elements");
    if has_mfp {
        let key_id = IntegrityKeyId::new(6).expect("the identifier of a BIGTK");
        ap.protect_beacons(key_id, Key::new(&[5; 16])).expect("16 octets");
    }
    let station = Supplicant::new(STATION, AP, association, pmk.clone(), timing).expect("32 octets");
    let mut observer = Observer::new();
    observer.add_pmk(None, pmk.clone());
    let mut machines = Machines {
        ap,
        station,
        observer,
        air: Vec::new(),
        installed: [Vec::new(), Vec::new()],
        established: [0, 0],
    };
    let mut now = Duration::ZERO;
    let mut genuine = false;
    while let Some((&what, rest)) = data.split_first() {
        data = rest;
        let octet = data.first().copied().unwrap_or_default();
        match what % 12 {
            0 => _ = machines.ap.start(STATION, &elements, &pmk, now, rng),
            1 => {
                machines.station.start(now, rng);
                machines.forget(1);
            }
            // The clock may jump in either direction.
            2 => now = Duration::from_millis(u64::from(octet) << (what >> 4)),
            3 => machines.ap.timeout(now),
            4 => machines.station.timeout(now),
            5 => _ = machines.ap.rekey_group(now, rng),
            6 => _ = machines.ap.rekey_pairwise(STATION, now, rng),
            7 => _ = machines.station.request_rekey(octet & 1 == 1),
            8 => machines.air.clear(),
            9 => {
                let len = data.len().min(usize::from(octet) + 1);
                let (packet, rest) = data.split_at(len);
                data = rest;
                let _ = machines.ap.receive(STATION, packet, what & 0x80 != 0, now, rng);
                let _ = machines.station.receive(packet, what & 0x80 != 0, now, rng);
                let _ = machines.observer.packet(AP, STATION, packet);
            }
            // Delivers any packet in transit, possibly again and possibly modified.
            _ if machines.air.is_empty() => {}
            _ => {
                let n = usize::from(octet) % machines.air.len();
                let (down, sealed, mut packet) = machines.air[n].clone();
                if what & 0x10 == 0 {
                    machines.air.remove(n);
                }
                if what & 0x20 != 0 {
                    let at = usize::from(what) % packet.len();
                    packet[at] ^= octet | 1;
                }
                genuine = true;
                let _ = if down {
                    machines.station.receive(&packet, sealed, now, rng)
                } else {
                    machines.ap.receive(STATION, &packet, sealed, now, rng)
                };
            }
        }
        machines.collect();
        let next = machines
            .ap
            .next_timeout(now)
            .max(machines.station.next_timeout(now));
        assert!(next.is_none_or(|next| next <= now + Duration::from_secs(5)));
    }
    assert!(genuine || machines.established == [0, 0]);
    assert!(genuine || machines.installed[1].is_empty());
}

/// A complete handshake with rekeys for each policy, and elements for the parsers.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let arrive = [10, 0];
    let mut seeds: Vec<Vec<u8>> = (0..48u8)
        .map(|policy| {
            let mut seed = vec![policy, 1, 0];
            for step in [&[][..], &[5], &[6], &[7, 1], &[2, 250, 3, 4]] {
                seed.extend(step);
                seed.extend(arrive.repeat(6));
            }
            seed
        })
        .collect();
    let rsn = Policy::of(Protocol::Rsn, Akm::Sae, Suite::Gcmp256).with_mfp(Suite::BipGmac256);
    seeds.push(rsn.element());
    seeds.push(Policy::of(Protocol::Wpa, Akm::WpaPsk, Suite::Tkip).element());
    seeds
}
