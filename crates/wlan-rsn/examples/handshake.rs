//! The 4-way handshake of WPA2 between an access point and a station, with both sides in this process.
//!
//! ```sh
//! cargo run --example handshake -- 'passphrase of the station'
//! ```
//! The access point has the passphrase "correct horse battery", which is also the station's by default. With another
//! passphrase the handshake fails after the access point's last retransmission, in virtual time.

use std::env;
use std::error::Error;
use std::time::Duration;

use getrandom::SysRng;
use rand_core::{CryptoRng, UnwrapErr};
use wlan_ciphers::Suite;
use wlan_frames::MacAddr;
use wlan_rsn::authenticator::Limits;
use wlan_rsn::psk::psk;
use wlan_rsn::{
    Akm, Association, Authenticator, Direction, Elements, Failure, Key, Output, Pmk, Policy, Protocol,
    Supplicant, Timing,
};

const ACCESS_POINT: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
const SSID: &[u8] = b"home";
const PASSPHRASE: &str = "correct horse battery";

fn main() -> Result<(), Box<dyn Error>> {
    let passphrase = env::args().nth(1).unwrap_or_else(|| PASSPHRASE.to_owned());
    let rng = &mut UnwrapErr(SysRng);
    let (access_point, station) = handshake(PASSPHRASE.as_bytes(), passphrase.as_bytes(), rng)?;
    for (name, end) in [("access point", &access_point), ("station", &station)] {
        match end.failure {
            None => println!("{name}: {} keys installed", end.keys.len()),
            Some(reason) => println!("{name}: {reason}"),
        }
    }
    // A program that protects frames passes these keys to wlan-ciphers. Keys are never printed.
    let agreed = access_point.is_established && access_point.temporal_key() == station.temporal_key();
    println!("both ends have the same temporal key: {agreed}");
    Ok(())
}

/// The result of the handshake at one end.
#[derive(Default)]
pub struct End {
    /// All keys are installed.
    pub is_established: bool,
    /// The reason why the handshake failed.
    pub failure: Option<Failure>,
    /// The keys, and the direction of pairwise keys.
    pub keys: Vec<(Option<Direction>, Key)>,
}

impl End {
    /// The pairwise key that seals frames.
    pub fn temporal_key(&self) -> Option<&Key> {
        let mut keys = self.keys.iter();
        let transmit = keys.find(|(direction, _)| *direction == Some(Direction::Transmit));
        transmit.map(|(_, key)| key)
    }

    /// Executes an action of a state machine. The result is a packet for the other end.
    fn execute(&mut self, output: Output) -> Option<Packet> {
        match output {
            Output::Send { packet, sealed, .. } => return Some(Packet { packet, sealed }),
            Output::InstallPairwise { key, .. } => self.keys.push((Some(key.direction), key.key)),
            Output::InstallGroup { key, .. } => self.keys.push((None, key.key)),
            Output::InstallIntegrity { key, .. } => self.keys.push((None, key)),
            Output::Retire { key, .. } => self.keys.retain(|(_, known)| *known != key),
            Output::Established { .. } => self.is_established = true,
            Output::Failed { reason, .. } => self.failure = Some(reason),
            // Group keys are replaced only later.
            Output::RetireGroup { .. } | Output::MichaelFailure { .. } => {}
        }
        None
    }
}

/// An EAPOL packet. Only packets of later handshakes are sealed.
struct Packet {
    packet: Vec<u8>,
    sealed: bool,
}

/// Runs the handshake in virtual time, until both ends are established or have failed.
pub fn handshake(
    access_points: &[u8],
    stations: &[u8],
    rng: &mut dyn CryptoRng,
) -> Result<(End, End), Box<dyn Error>> {
    // Beacons and the association request carry these elements. Here both ends have the same policy.
    let policy = Policy::of(Protocol::Rsn, Akm::WpaPsk, Suite::Ccmp128).with_mfp(Suite::BipCmac128);
    let elements = Elements::of(&policy);
    let association = Association::negotiate(&elements, &elements)?;

    let mut now = Duration::ZERO;
    let timing = Timing::default();
    let mut authenticator =
        Authenticator::new(ACCESS_POINT, elements.clone(), timing, Limits::default(), rng)?;
    let pmk = Pmk::of_psk(psk(stations, SSID)?);
    let mut supplicant = Supplicant::new(STATION, ACCESS_POINT, association, pmk, timing)?;
    supplicant.start(now, rng);
    let pmk = Pmk::of_psk(psk(access_points, SSID)?);
    authenticator.start(STATION, &elements, &pmk, now, rng)?;

    let (mut access_point, mut station) = (End::default(), End::default());
    loop {
        let mut is_idle = true;
        while let Some(output) = authenticator.poll_output() {
            if let Some(Packet { packet, sealed }) = access_point.execute(output) {
                is_idle = false;
                // A discarded packet changes nothing, so the reason is only of interest for statistics.
                let _ = supplicant.receive(&packet, sealed, now, rng);
            }
        }
        while let Some(output) = supplicant.poll_output() {
            if let Some(Packet { packet, sealed }) = station.execute(output) {
                is_idle = false;
                let _ = authenticator.receive(STATION, &packet, sealed, now, rng);
            }
        }
        let is_over = |end: &End| end.is_established || end.failure.is_some();
        if is_idle && is_over(&access_point) && is_over(&station) {
            return Ok((access_point, station));
        }
        if is_idle {
            // Nothing is on its way: wait for the next retransmission or for the end of the last one.
            let deadlines = [authenticator.next_timeout(now), supplicant.next_timeout(now)];
            now = deadlines.into_iter().flatten().min().ok_or("no end is waiting")?;
            authenticator.timeout(now);
            supplicant.timeout(now);
        }
    }
}
