//! An access point, a station or an attacker of this project, above a radio in monitor mode.
//!
//! Tests run this program beside hostapd and wpa_supplicant: what `wlan-bss` sends must be what other implementations
//! understand. This program carries its MPDUs and packets, and prints its events.
//!
//! - `config`: the configuration, the only argument
//! - `attacker`: the attacker, without I/O
//! - `events`: events as lines of JSON
//! - `radio`: the radio

mod attacker;
mod config;
mod events;
mod radio;

use std::collections::VecDeque;
use std::error::Error;
use std::io::{self, IoSlice, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::Duration;

use getrandom::SysRng;
use getrandom::rand_core::{Rng, UnwrapErr};
use nix::poll::{PollFd, PollFlags};
use serde_json::json;
use wlan_host::clock::{Clock, ClockKind};
use wlan_host::offload::VnetHeader;
use wlan_host::offload::segment::complete_checksum;
use wlan_host::sys::interface::Interface;
use wlan_host::tun::{Kind, Tun};

use wlan_air::Nanos;
use wlan_bss::{AccessPoint, Beacons, End, Outbox, Station};
use wlan_ciphers::Suite;
use wlan_rsn::Key;

use attacker::Attacker;
use config::{Config, ConfigError, Order, Role, Step};
use radio::Radio;

/// The device of the host's packets.
const DEVICE: &str = "data0";
const PACKET_B: usize = 2048;
const BEACON_INTERVAL_TU: u16 = 100;

/// A role.
enum Actor {
    AccessPoint(Box<AccessPoint>),
    Station(Box<Station>),
    Attacker(Attacker),
}

impl Actor {
    fn new(config: &Config) -> Result<Self, ConfigError> {
        let rng = &mut UnwrapErr(SysRng);
        let network = || {
            config
                .network
                .as_ref()
                .ok_or_else(|| ConfigError::Unknown("network", "none".into()))
        };
        Ok(match config.role {
            Role::Ap => {
                let (network, own) = (network()?, config.own()?);
                let bigtk = network.beacon_prot.then(|| {
                    let mut octets = vec![0; Suite::BipCmac128.key_len()];
                    rng.fill_bytes(&mut octets);
                    Key::new(&octets)
                });
                let network = network.of(config.role)?;
                let beacons = Beacons::new(own, &network, BEACON_INTERVAL_TU, &[], bigtk)?;
                Self::AccessPoint(Box::new(AccessPoint::new(network, beacons, rng)?))
            }
            Role::Sta => {
                let network = network()?.of(config.role)?;
                Self::Station(Box::new(Station::new(config.own()?, network)))
            }
            Role::Attacker => {
                let [ap, sta] = &config.victims[..] else {
                    return Err(ConfigError::Unknown("victims", format!("{:?}", config.victims)));
                };
                Self::Attacker(Attacker::new([ap.parse()?, sta.parse()?]))
            }
        })
    }

    fn receive(&mut self, now: Duration, mpdu: &[u8]) {
        let rng = &mut UnwrapErr(SysRng);
        match self {
            Self::AccessPoint(ap) => ap.receive(now, mpdu, rng),
            Self::Station(station) => station.receive(now, mpdu, rng),
            Self::Attacker(attacker) => attacker.receive(mpdu),
        }
    }

    fn perform(&mut self, now: Duration, order: Order) {
        let rng = &mut UnwrapErr(SysRng);
        match self {
            Self::AccessPoint(ap) => {
                let station = ap.end.peers().next();
                match (order, station) {
                    (Order::RekeyPairwise, Some(station)) => ap.rekey_pairwise(station, now, rng),
                    (Order::RekeyGroup, _) => ap.rekey_group(now, rng),
                    (Order::Deauthenticate, Some(station)) => ap.deauthenticate(station),
                    (Order::DeauthenticateAll, _) => ap.deauthenticate_all(),
                    _ => {}
                }
            }
            Self::Station(station) => match order {
                Order::RekeyPairwise | Order::RekeyGroup => {
                    station.request_rekey(order == Order::RekeyPairwise);
                }
                Order::Deauthenticate => station.leave(),
                _ => {}
            },
            Self::Attacker(attacker) => attacker.perform(order),
        }
    }

    fn timeout(&mut self, now: Duration) {
        match self {
            Self::AccessPoint(ap) => ap.timeout(now),
            Self::Station(station) => station.timeout(now, &mut UnwrapErr(SysRng)),
            Self::Attacker(_) => {}
        }
    }

    fn next_timeout(&self, now: Duration) -> Option<Duration> {
        match self {
            Self::AccessPoint(ap) => Some(ap.next_timeout(now)),
            Self::Station(station) => station.next_timeout(now),
            Self::Attacker(_) => None,
        }
    }

    fn end(&mut self) -> Option<&mut End> {
        match self {
            Self::AccessPoint(ap) => Some(&mut ap.end),
            Self::Station(station) => Some(&mut station.end),
            Self::Attacker(_) => None,
        }
    }

    fn take_output(&mut self) -> Outbox {
        match self {
            Self::Attacker(attacker) => std::mem::take(&mut attacker.out),
            _ => self.end().map(End::take_output).unwrap_or_default(),
        }
    }
}

/// The packets of the host.
struct Device {
    tun: Tun,
    buffer: Vec<u8>,
}

impl Device {
    fn create(config: &Config) -> Result<Self, Box<dyn Error>> {
        let tun = Tun::named(DEVICE, Kind::Ethernet)?;
        let interface = Interface::named(DEVICE)?;
        interface.set_address(config.own()?)?;
        Ok(Self {
            tun,
            buffer: vec![0; VnetHeader::LEN + PACKET_B],
        })
    }

    /// The next Ethernet frame of the host. Super-packets are dropped.
    fn read(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            let Some((header, packet)) = self.tun.read(&mut self.buffer)? else {
                return Ok(None);
            };
            let Some(header) = VnetHeader::parse(header) else {
                continue;
            };
            let is_summed = header
                .partial
                .is_none_or(|partial| complete_checksum(packet, partial).is_ok());
            let until = VnetHeader::LEN + packet.len();
            if header.gso.is_none() && is_summed {
                return Ok(Some(&self.buffer[VnetHeader::LEN..until]));
            }
        }
    }

    fn write(&self, packet: &[u8]) {
        // A host whose device is down loses the packet, as with any interface.
        let _ = self
            .tun
            .write(&[IoSlice::new(&[0; VnetHeader::LEN]), IoSlice::new(packet)]);
    }
}

fn run(config: &Config) -> Result<(), Box<dyn Error>> {
    let mut actor = Actor::new(config)?;
    let mut radio = Radio::open(wlan_host::DEVICE_NAME)?;
    let mut device = Device::create(config)?;
    let clock = Clock::start(ClockKind::Virtual);
    let end = Duration::from_millis(config.until_ms);
    let mut schedule: VecDeque<Step> = config.schedule.iter().copied().collect();
    loop {
        let now = Duration::from_nanos(clock.now().0);
        let is_due = |step: &&Step| Duration::from_millis(step.at_ms) <= now;
        while let Some(&Step { order, .. }) = schedule.front().filter(is_due) {
            schedule.pop_front();
            actor.perform(now, order);
        }
        actor.timeout(now);
        while let Some(mpdu) = radio.receive()? {
            actor.receive(now, mpdu);
        }
        while let Some(packet) = device.read()? {
            if let Some(end) = actor.end() {
                end.packet(packet);
            }
        }
        let out = actor.take_output();
        for mpdu in &out.frames {
            radio.send(mpdu)?;
        }
        for packet in &out.packets {
            device.write(packet);
        }
        for (_, event) in &out.events {
            println!("{}", events::line(event));
        }
        io::stdout().flush()?;
        if now >= end {
            break;
        }
        let next_step = schedule.front().map(|step| Duration::from_millis(step.at_ms));
        let due = [Some(end), next_step, actor.next_timeout(now)]
            .into_iter()
            .flatten()
            .min();
        let due = due.map(|due| Nanos(u64::try_from(due.as_nanos()).expect("no test takes that long")));
        let mut polled = [radio.as_fd(), device.tun.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        clock.wait_readable(&mut polled, due)?;
    }
    let counts = actor.end().map(|end| events::counts(end.counts()));
    println!("{}", json!({ "event": "counts", "counts": counts }));
    Ok(())
}

fn main() -> ExitCode {
    let argument = std::env::args().nth(1).unwrap_or_default();
    let outcome = serde_json::from_str(&argument)
        .map_err(|error| ConfigError::Json(error).into())
        .and_then(|config| run(&config));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("wlan-interop: {error}");
            ExitCode::FAILURE
        }
    }
}
