//! One end of a link with a fixed key. Only for measurements: there is no handshake, and the key is public.
//!
//! ```text
//! link_bench '{"role": "ap", "transport": "udp", "local": "198.51.100.1:5678", "peer": "198.51.100.2:5678",
//!              "peer_address": "02:00:00:00:00:02", "suite": "ccmp", "networks": ["192.0.2.2/32"]}'
//! ```
//! Prints a line once packets can flow, and the counters when its standard input ends.
//!
//! Role "memory" needs neither privileges nor the other arguments: `workers` workers of both ends carry packets of TCP
//! from memory to memory for a second. Prints the rate of their payload.
//!
//! Role "flood" instead sends 50 000 datagrams of garbage per second to `peer`. Half of them are frames with valid
//! addresses and a wrong MIC.

use std::io::Read as _;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde::Deserialize;
use wlan_ciphers::{KeyId, PacketNumber, Suite};
use wlan_frames::{AckPolicy, DataHeader, MacAddr, QosControl};
use wlan_link::plane::{Config, ETHERTYPE, Endpoint, Kind, Link, Network, Role, Transport, memory};
use wlan_link::privileges::keep_capabilities;
use wlan_rsn::{Direction, GroupKey, Key, PairwiseKey};

/// As long as the longest key of any suite.
const KEY: [u8; 32] = [0x5a; 32];
const GROUP_KEY: [u8; 32] = [0xa5; 32];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// "ap", "sta", "flood" or "memory".
    role: String,
    /// "udp", with `local`, `address` and `peer`, or "ethernet", with `interface`.
    #[serde(default)]
    transport: String,
    local: Option<SocketAddr>,
    peer: Option<SocketAddr>,
    /// Path MTU in octets.
    outer_mtu: Option<usize>,
    address: Option<String>,
    interface: Option<String>,
    #[serde(default)]
    peer_address: String,
    suite: String,
    #[serde(default)]
    tap: bool,
    /// Number of workers; default 1.
    workers: Option<usize>,
    #[serde(default)]
    networks: Vec<String>,
}

fn network(text: &str) -> Option<Network> {
    let (address, bits) = text.split_once('/')?;
    Network::new(address.parse::<IpAddr>().ok()?, bits.parse().ok()?)
}

/// Datagrams per second of a flood, sent in `BURSTS` bursts.
const FLOOD: u32 = 50_000;
const BURSTS: u32 = 1_000;

/// Sends garbage until the process is killed.
fn flood(asked: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let socket = UdpSocket::bind(asked.local.ok_or("`local` is required")?)?;
    let peer = asked.peer.ok_or("`peer` is required")?;
    let header = DataHeader {
        to_ds: true,
        protected: true,
        addr1: asked.peer_address.parse()?,
        addr2: asked.address.as_ref().ok_or("`address` is required")?.parse()?,
        qos: Some(QosControl::new(0, AckPolicy::NoAck)),
        ..DataHeader::default()
    };
    let mut forged = [0xa5; 1400];
    let at = header.emit(&mut forged);
    // A packet number far ahead, so that only the MIC is wrong.
    forged[at..at + 8].copy_from_slice(&[1, 1, 0, 0x20, 1, 1, 1, 0]);
    let mut next = Instant::now();
    loop {
        for _ in 0..FLOOD / BURSTS / 2 {
            // A full send queue is ignored.
            let _ = socket.send_to(&forged, peer);
            let _ = socket.send_to(&[0xa5; 1400], peer);
        }
        next += Duration::from_secs(1) / BURSTS;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let argument = std::env::args().nth(1).ok_or("usage: link_bench JSON")?;
    let asked: Arguments = serde_json::from_str(&argument)?;
    if asked.role == "flood" {
        return flood(&asked);
    }
    let suite = Suite::from_name(&asked.suite).ok_or("unknown suite")?;
    let workers = asked.workers.unwrap_or(1);
    if asked.role == "memory" {
        let carried = memory::carry(suite, workers.try_into()?, Duration::from_secs(1))?;
        if carried.lost > 0 {
            return Err(format!("{} frames were lost", carried.lost).into());
        }
        println!("{{\"mbps\": {:.0}}}", carried.mbps);
        return Ok(());
    }
    let peer_address: MacAddr = asked.peer_address.parse()?;
    let (transport, endpoint) = if asked.transport == "udp" {
        let transport = Transport::Udp {
            local: asked.local.ok_or("`local` is required")?,
            outer_mtu_b: asked.outer_mtu.unwrap_or(1500),
            address: asked.address.ok_or("`address` is required")?.parse()?,
        };
        (transport, Endpoint::Udp(asked.peer.ok_or("`peer` is required")?))
    } else {
        let transport = Transport::Ethernet {
            interface: asked.interface.ok_or("`interface` is required")?,
            ethertype: ETHERTYPE,
        };
        (transport, Endpoint::Ethernet(peer_address))
    };
    let link = Link::open(&Config {
        role: if asked.role == "ap" { Role::Ap } else { Role::Sta },
        transport,
        device: "link0".into(),
        kind: if asked.tap { Kind::Ethernet } else { Kind::Ip },
        suites: vec![suite],
        workers,
    })?;
    keep_capabilities(&[])?;
    let (own, mtu_b) = (link.address(), link.mtu_b());
    let running = link.start(16)?;
    let networks: Option<Vec<Network>> = asked.networks.iter().map(|text| network(text)).collect();
    let handle = running.handle();
    handle.admit(
        peer_address,
        endpoint,
        &networks.ok_or("invalid network; expected for example 192.0.2.0/24")?,
    )?;
    for direction in [Direction::Transmit, Direction::Receive] {
        let key = PairwiseKey {
            key_id: KeyId::PAIRWISE,
            suite,
            key: Key::new(&KEY[..suite.key_len()]),
            direction,
        };
        handle.install(peer_address, key)?;
    }
    let access_point = if asked.role == "ap" { own } else { peer_address };
    let group_key = GroupKey {
        key_id: KeyId::new(1).expect("0 to 3"),
        suite,
        key: Key::new(&GROUP_KEY[..suite.key_len()]),
        rsc: PacketNumber::ZERO,
    };
    handle.install_group(access_point, group_key)?;
    println!("{{\"mtu\": {mtu_b}}}");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    println!("{}", serde_json::to_string(&handle.counters())?);
    Ok(running.end()?)
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("link_bench: {error}");
            ExitCode::FAILURE
        }
    }
}
