//! Links over real sockets and devices. Hosts are threads in their own network namespaces, connected by a switch.

mod hosts;

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hosts::{Host, Switch};
use wlan_ciphers::{KeyId, Lanes, PacketNumber, Suite};
use wlan_frames::MacAddr;
use wlan_link::plane::{
    Config, ControlBody, ETHERTYPE, Endpoint, Kind, Link, LinkError, Network, Role, Running, Totals,
    Transport,
};
use wlan_link::privileges::{Capability, keep_capabilities};
use wlan_rsn::{Direction, GroupKey, Key, PairwiseKey};

const PORT: u16 = 5678;

/// Transport of a link.
#[derive(Clone, Copy, Debug)]
enum Way {
    Udp4,
    Udp6,
    Ethernet,
}

fn outer(way: Way, host: u8) -> SocketAddr {
    let address: IpAddr = match way {
        Way::Udp6 => format!("2001:db8:ffff::{host}").parse().unwrap(),
        _ => format!("198.51.100.{host}").parse().unwrap(),
    };
    (address, PORT).into()
}

fn inner(host: u8) -> [IpAddr; 2] {
    [format!("192.0.2.{host}"), format!("2001:db8::{host}")].map(|text| text.parse().unwrap())
}

fn mac(host: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, host])
}

fn endpoint(way: Way, host: u8) -> Endpoint {
    match way {
        Way::Ethernet => Endpoint::Ethernet(mac(host)),
        _ => Endpoint::Udp(outer(way, host)),
    }
}

fn open(way: Way, kind: Kind, suite: Suite, host: u8) -> Result<Link, LinkError> {
    open_workers(way, kind, suite, host, 1)
}

fn open_workers(way: Way, kind: Kind, suite: Suite, host: u8, workers: usize) -> Result<Link, LinkError> {
    Link::open(&Config {
        role: if host == 1 { Role::Ap } else { Role::Sta },
        transport: match way {
            Way::Ethernet => Transport::Ethernet {
                interface: "eth0".into(),
                ethertype: ETHERTYPE,
            },
            _ => Transport::Udp {
                local: outer(way, host),
                outer_mtu_b: 1500,
                address: mac(host),
            },
        },
        device: "link0".into(),
        kind,
        suites: vec![suite],
        workers,
    })
}

/// Starts an end and adds the addresses of its device.
fn begin(link: Link, host: u8) -> Running {
    let running = link.start(16).unwrap();
    add_addresses(host);
    running
}

fn add_addresses(host: u8) {
    for address in inner(host) {
        let bits = if address.is_ipv4() { 24 } else { 64 };
        hosts::ip(&format!(
            "address add {address}/{bits} dev link0 {}",
            nodad(address)
        ));
    }
}

fn nodad(address: IpAddr) -> &'static str {
    if address.is_ipv6() { "nodad" } else { "" }
}

fn admit(end: &Running, way: Way, suite: Suite, station: u8, key: u8) {
    let networks = inner(station).map(|address| {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        Network::new(address, bits).unwrap()
    });
    let handle = end.handle();
    handle
        .admit(mac(station), endpoint(way, station), &networks)
        .unwrap();
    for direction in [Direction::Transmit, Direction::Receive] {
        let key = PairwiseKey {
            key_id: KeyId::PAIRWISE,
            suite,
            key: Key::new(&vec![key; suite.key_len()]),
            direction,
        };
        handle.install(mac(station), key).unwrap();
    }
}

/// Starts an access point on host 1, and `stations` stations.
fn bss(switch: &Switch, way: Way, kind: Kind, suite: Suite, stations: u8) -> Vec<(Host, Running)> {
    bss_of_workers(switch, way, kind, suite, stations, 1)
}

fn bss_of_workers(
    switch: &Switch,
    way: Way,
    kind: Kind,
    suite: Suite,
    stations: u8,
    workers: usize,
) -> Vec<(Host, Running)> {
    let ends: Vec<(Host, Running)> = (1..=1 + stations)
        .map(|host| {
            let end = switch.host(host);
            let start = move || begin(open_workers(way, kind, suite, host, workers).unwrap(), host);
            let running = end.run(start);
            (end, running)
        })
        .collect();
    for station in 2..=1 + stations {
        admit(&ends[0].1, way, suite, station, station);
        admit(&ends[usize::from(station) - 1].1, way, suite, 1, station);
    }
    for (_, end) in &ends {
        let key = GroupKey {
            key_id: KeyId::new(1).unwrap(),
            suite,
            key: Key::new(&vec![99; suite.key_len()]),
            rsc: PacketNumber::ZERO,
        };
        end.handle().install_group(mac(1), key).unwrap();
    }
    ends
}

/// The next datagram. A call with a timeout is not restarted after an interruption (signal(7)).
fn receive(socket: &UdpSocket, octets: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
    loop {
        match socket.recv_from(octets) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            received => return received,
        }
    }
}

fn echoed(from: &Host, to: &Host, address: IpAddr, octets: usize) -> bool {
    let server = to.run(move || UdpSocket::bind((address, 0)).unwrap());
    let served = server.local_addr().unwrap();
    let client = from.run(move || {
        let client = UdpSocket::bind((if address.is_ipv4() { "0.0.0.0" } else { "::" }, 0)).unwrap();
        client.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        client.connect(served).unwrap();
        client
    });
    server.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let message: Vec<u8> = (0..octets).map(|n| n.to_le_bytes()[0]).collect();
    let (mut there, mut back) = (vec![0; 65_536], vec![0; 65_536]);
    // The first datagram may be lost during neighbour discovery.
    (0..5).any(|_| {
        if client.send(&message).is_err() {
            return false;
        }
        let Ok((len, peer)) = receive(&server, &mut there) else {
            return false;
        };
        server.send_to(&there[..len], peer).unwrap();
        receive(&client, &mut back).is_ok_and(|(len, _)| back[..len] == message)
    })
}

fn stream_arrives(from: &Host, to: &Host, address: IpAddr) {
    const OCTETS: usize = 3 << 20;
    let listener = to.run(move || TcpListener::bind((address, 0)).unwrap());
    let served = listener.local_addr().unwrap();
    let sent: Vec<u8> = (0..OCTETS).map(|n| (n / 7).to_le_bytes()[0]).collect();
    let expected = sent.clone();
    let receiving = std::thread::spawn(move || {
        let mut received = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut received).unwrap();
        received
    });
    let mut stream = from.run(move || TcpStream::connect(served).unwrap());
    stream.write_all(&sent).unwrap();
    drop(stream);
    assert!(receiving.join().unwrap() == expected, "TCP to {address}");
}

fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn three_stations_communicate_over_every_transport_with_either_device() {
    for (way, kind, suite) in [
        (Way::Udp4, Kind::Ip, Suite::Ccmp128),
        (Way::Udp6, Kind::Ethernet, Suite::Gcmp256),
        (Way::Ethernet, Kind::Ip, Suite::Enhanced(Lanes::Four)),
        (Way::Ethernet, Kind::Ethernet, Suite::Ccmp256),
    ] {
        let Some(switch) = Switch::new() else { return };
        let ends = bss(&switch, way, kind, suite, 3);
        let hosts: Vec<&Host> = ends.iter().map(|(host, _)| host).collect();
        for version in [0, 1] {
            // Uplink, downlink, and between stations.
            for (from, to) in [(1, 0), (0, 2), (3, 1)] {
                let address = inner(u8::try_from(to + 1).unwrap())[version];
                let context = format!("{way:?} {kind:?} {from} to {to} IP {version}");
                assert!(echoed(hosts[from], hosts[to], address, 100), "{context}");
                stream_arrives(hosts[from], hosts[to], address);
            }
        }
        let counted = ends[0].1.handle().counters();
        assert!(
            counted.inbound.opened > 4000 && counted.relayed.sealed > 2000,
            "{counted:?}"
        );
        assert_eq!(
            (counted.inbound.forged, counted.inbound.unknown_transmitter),
            (0, 0)
        );
    }
}

#[test]
fn the_workers_share_their_address_only_with_each_other() {
    let Some(switch) = Switch::new() else { return };
    let is_done = Arc::new(AtomicBool::new(false));
    let forks = Arc::clone(&is_done);
    // A child has the descriptors of this process until it executes its program.
    let children = std::thread::spawn(move || {
        while !forks.load(Ordering::Relaxed) {
            assert!(Command::new("true").status().unwrap().success());
        }
    });
    for number in 1..=30 {
        switch.host(number).run(move || {
            let open = |workers| open_workers(Way::Udp4, Kind::Ip, Suite::Ccmp128, number, workers);
            let link = open(3);
            assert!(link.is_ok(), "{:?}", link.err());
            for refused in [open(3), open(1)] {
                let Some(LinkError::Transport(error)) = refused.err() else {
                    panic!("the address is in use")
                };
                assert_eq!(error.kind(), ErrorKind::AddrInUse);
            }
        });
    }
    is_done.store(true, Ordering::Relaxed);
    children.join().unwrap();
}

/// A datagram's flow and its number in the flow.
fn numbered(flow: usize, number: u32) -> [u8; 200] {
    let mut octets = [u8::try_from(flow).unwrap(); 200];
    octets[..4].copy_from_slice(&number.to_be_bytes());
    octets
}

#[test]
fn several_workers_share_the_flows_and_keep_the_order_of_each() {
    const FLOWS: usize = 24;
    const ROUNDS: u32 = 100;
    /// Datagrams per flow and round, fewer than the default buffer of a socket holds.
    const BURST: u32 = 4;
    for (way, kind, stations) in [(Way::Ethernet, Kind::Ip, 2), (Way::Udp4, Kind::Ethernet, 12)] {
        let Some(switch) = Switch::new() else { return };
        let ends = bss_of_workers(&switch, way, kind, Suite::Ccmp128, stations, 3);
        for (station, _) in &ends[1..] {
            assert!(echoed(station, &ends[0].0, inner(1)[0], 100), "{way:?}");
        }
        let ap = inner(1)[0];
        let server = ends[0].0.run(move || UdpSocket::bind((ap, 7000)).unwrap());
        let clients: Vec<UdpSocket> = (0..FLOWS)
            .map(|flow| {
                let (host, _) = &ends[1 + flow % usize::from(stations)];
                let client = host.run(|| UdpSocket::bind("0.0.0.0:0").unwrap());
                client.connect((ap, 7000)).unwrap();
                client
            })
            .collect();
        for socket in clients.iter().chain([&server]) {
            socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        }
        let mut next = [0; FLOWS];
        let mut octets = [0; 200];
        for first in (0..ROUNDS).map(|round| round * BURST) {
            for number in first..first + BURST {
                for (flow, client) in clients.iter().enumerate() {
                    client.send(&numbered(flow, number)).unwrap();
                }
            }
            for _ in 0..FLOWS * BURST as usize {
                let (_, from) = receive(&server, &mut octets).expect("the network loses nothing");
                let flow = usize::from(octets[199]);
                assert_eq!(octets, numbered(flow, next[flow]), "{way:?}");
                next[flow] += 1;
                server.send_to(&octets, from).unwrap();
            }
            for (flow, client) in clients.iter().enumerate() {
                for number in first..first + BURST {
                    receive(client, &mut octets).unwrap();
                    assert_eq!(octets, numbered(flow, number), "{way:?}, back");
                }
            }
        }
        for (_, running) in &ends {
            let counted = running.handle().counters();
            assert_eq!((counted.inbound.replayed, counted.inbound.forged), (0, 0));
        }
        let busy = |of: fn(&Totals) -> u64| {
            let workers = ends[0].1.handle().counters_of_workers();
            workers.iter().filter(|counted| of(counted) > 0).count()
        };
        let sending = busy(|counted| counted.outbound.sealed);
        let receiving = busy(|counted| counted.inbound.opened);
        // The hashes of 24 flows and of 12 stations select more than one of three workers.
        assert!(
            sending > 1 && receiving > 1,
            "{way:?}: {sending} send, {receiving} receive"
        );
    }
}

#[test]
fn a_multicast_packet_arrives_once_at_every_other_host() {
    const GROUP: Ipv4Addr = Ipv4Addr::new(239, 1, 2, 3);
    for (way, kind) in [(Way::Udp4, Kind::Ip), (Way::Ethernet, Kind::Ethernet)] {
        let Some(switch) = Switch::new() else { return };
        let ends = bss(&switch, way, kind, Suite::Ccmp128, 3);
        let sockets: Vec<UdpSocket> = (1..)
            .zip(&ends)
            .map(|(number, (host, _))| {
                host.run(move || {
                    hosts::ip("route add 224.0.0.0/4 dev link0");
                    let socket = UdpSocket::bind((GROUP, 7000)).unwrap();
                    let IpAddr::V4(own) = inner(number)[0] else {
                        unreachable!()
                    };
                    socket.join_multicast_v4(&GROUP, &own).unwrap();
                    socket.set_multicast_loop_v4(false).unwrap();
                    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
                    socket
                })
            })
            .collect();
        // A duplicate would arrive before the packets of the next host.
        for from in 0..sockets.len() {
            for part in 0..3 {
                let message = [u8::try_from(from).unwrap(), part];
                sockets[from].send_to(&message, (GROUP, 7000)).unwrap();
                for (n, socket) in sockets.iter().enumerate().filter(|&(n, _)| n != from) {
                    let mut got = [0; 16];
                    let (len, _) = receive(socket, &mut got).expect("the packet arrives");
                    assert_eq!(got[..len], message, "{way:?} {kind:?} from {from} to {n}");
                }
            }
        }
        let counted = |n: usize| ends[n].1.handle().counters().inbound;
        for n in 1..ends.len() {
            eventually("the station's own packets come back", || counted(n).echoed >= 3);
        }
        for n in 0..ends.len() {
            assert_eq!((counted(n).replayed, counted(n).forged), (0, 0));
        }
    }
}

#[test]
fn links_with_and_without_socket_offloads_behave_the_same() {
    let Some(switch) = Switch::new() else { return };
    let suite = Suite::Enhanced(Lanes::Four);
    let [ap, station] = [1, 2].map(|host| {
        let end = switch.host(host);
        let running = end.run(move || {
            let link = open(Way::Udp4, Kind::Ip, suite, host).unwrap();
            link.forgo_socket_offloads().unwrap();
            assert_eq!(link.socket_offloads(), (false, false));
            begin(link, host)
        });
        (end, running)
    });
    admit(&ap.1, Way::Udp4, suite, 2, 7);
    admit(&station.1, Way::Udp4, suite, 1, 7);
    for (from, to, address) in [(&station.0, &ap.0, inner(1)[0]), (&ap.0, &station.0, inner(2)[1])] {
        assert!(echoed(from, to, address, 100));
        stream_arrives(from, to, address);
    }
    let [ap, station] = [ap, station].map(|(_, running)| running.handle().counters());
    assert_eq!((ap.inbound.forged, station.outbound.unsent), (0, 0));
    assert!(ap.inbound.opened > 2000, "{ap:?}");
}

#[test]
fn drops_by_the_kernel_are_counted() {
    let Some(switch) = Switch::new() else { return };
    let (host, attacker) = (switch.host(1), switch.host(9));
    let link = host.run(|| open(Way::Udp4, Kind::Ip, Suite::Ccmp128, 1).unwrap());
    eventually("there is a path", || {
        echoed(&attacker, &host, outer(Way::Udp4, 1).ip(), 64)
    });
    let socket = attacker.run(|| UdpSocket::bind(("0.0.0.0", 0)).unwrap());
    let send = || socket.send_to(&[0xff; 1400], outer(Way::Udp4, 1));
    // No thread reads them yet. With the kernel's overhead, they exceed 64 MiB.
    for _ in 0..60_000 {
        send().unwrap();
    }
    let running = host.run(|| link.start(1).unwrap());
    eventually("a later frame reports the overrun", || {
        send().unwrap();
        running.handle().counters().inbound.overrun > 1000
    });
}

#[test]
fn the_longest_packet_fits_and_a_longer_one_is_fragmented() {
    for way in [Way::Udp4, Way::Udp6, Way::Ethernet] {
        let Some(switch) = Switch::new() else { return };
        let ends = bss(&switch, way, Kind::Ip, Suite::Ccmp128, 1);
        // 802.11 header 26, CCMP header 8, LLC/SNAP 8, MIC 8; outside UDP 8 and IP 20 or 40.
        let mtu = match way {
            Way::Udp4 => 1422,
            Way::Udp6 => 1402,
            Way::Ethernet => 1450,
        };
        let shown = ends[0].0.run(|| hosts::ip("link show link0"));
        assert!(shown.contains(&format!("mtu {mtu} ")), "{shown}");
        let address = inner(1)[0];
        assert!(echoed(&ends[1].0, &ends[0].0, address, mtu - 28), "{way:?}");
        assert!(echoed(&ends[1].0, &ends[0].0, address, 4000), "{way:?}");
        let counted = ends[1].1.handle().counters().outbound;
        assert_eq!((counted.too_long, counted.unsent), (0, 0));
    }
}

#[test]
fn garbage_and_replays_are_counted_and_packets_still_go_through() {
    let Some(switch) = Switch::new() else { return };
    let ends = bss(&switch, Way::Udp4, Kind::Ip, Suite::Ccmp128, 1);
    let attacker = switch.host(9);
    let mut forged = vec![0x88, 0x41, 0, 0];
    forged.extend([mac(1).0, mac(2).0, mac(1).0].concat());
    forged.extend([0x10, 0, 0x20, 0, 9, 9, 0, 0x20, 9, 9, 0, 0]);
    forged.resize(600, 0x5a);
    let socket = attacker.run(|| UdpSocket::bind(("0.0.0.0", 0)).unwrap());
    let attack = |datagrams: usize| {
        for n in 0..datagrams {
            let octets = if n.is_multiple_of(2) {
                &forged[..]
            } else {
                &forged[..n % 24]
            };
            let _ = socket.send_to(octets, outer(Way::Udp4, 1));
        }
    };
    let counted = || ends[0].1.handle().counters().inbound;
    eventually("garbage is counted", || {
        attack(2);
        counted().forged > 0 && counted().truncated > 0
    });
    attack(4000);
    stream_arrives(&ends[1].0, &ends[0].0, inner(1)[0]);
    // The attacker's garbage did not redirect the station's packets to the attacker.
    assert_eq!(ends[0].1.handle().stations()[0].endpoint, endpoint(Way::Udp4, 2));
}

#[test]
fn traffic_resumes_after_an_interface_was_down() {
    for way in [Way::Udp4, Way::Ethernet] {
        let Some(switch) = Switch::new() else { return };
        let ends = bss(&switch, way, Kind::Ip, Suite::Ccmp128, 1);
        assert!(echoed(&ends[1].0, &ends[0].0, inner(1)[0], 64));
        for (host, _) in &ends {
            host.run(|| hosts::ip("link set eth0 down"));
        }
        assert!(!echoed(&ends[1].0, &ends[0].0, inner(1)[0], 64));
        for (host, _) in &ends {
            host.run(|| hosts::ip("link set eth0 up"));
        }
        eventually("the link carries on", || {
            echoed(&ends[1].0, &ends[0].0, inner(1)[0], 64)
        });
        for (_, running) in ends {
            running.end().unwrap();
        }
    }
}

#[test]
fn traffic_resumes_after_an_interface_was_removed_and_added() {
    for way in [Way::Udp4, Way::Ethernet] {
        let Some(switch) = Switch::new() else { return };
        let ends = bss(&switch, way, Kind::Ip, Suite::Ccmp128, 1);
        let [(ap, _), (station, _)] = &ends[..] else {
            unreachable!("there are two")
        };
        assert!(echoed(station, ap, inner(1)[0], 64));
        let number = || station.run(|| hosts::ip("link show eth0").split(':').next().map(str::to_owned));
        let before = number();
        station.run(|| hosts::ip("link delete eth0"));
        assert!(!echoed(station, ap, inner(1)[0], 64));
        switch.join(2, station);
        assert_ne!(number(), before, "the new interface has another index");
        eventually("the link carries on", || echoed(station, ap, inner(1)[0], 64));
        for (_, running) in ends {
            running.end().unwrap();
        }
    }
}

#[test]
fn control_frames_reach_both_ends() {
    for way in [Way::Udp4, Way::Ethernet] {
        let Some(switch) = Switch::new() else { return };
        let ends = bss(&switch, way, Kind::Ethernet, Suite::Ccmp128, 1);
        let [ap, station] = [&ends[0].1, &ends[1].1];
        let wait = Duration::from_secs(5);
        for protected in [false, true] {
            station
                .handle()
                .send_eapol(mac(1), endpoint(way, 1), protected, &[2, 3, 0, 1, 0x77])
                .unwrap();
            let heard = ap.control().recv_timeout(wait).unwrap();
            assert_eq!(
                (heard.transmitter, heard.protected),
                (mac(2), protected),
                "{way:?}"
            );
            assert_eq!(heard.endpoint, endpoint(way, 2));
            let ControlBody::Eapol(pdu) = heard.body else {
                panic!("{heard:?}")
            };
            assert!(pdu.starts_with(&[2, 3, 0, 1, 0x77]));
        }
        // Deauthentication, reason 3: shorter than the minimum Ethernet frame.
        let mut leaving = vec![0xc0, 0, 0, 0];
        leaving.extend([mac(1).0, mac(2).0, mac(1).0].concat());
        leaving.extend([0, 0, 3, 0]);
        for protected in [false, true] {
            station
                .handle()
                .send_management(endpoint(way, 1), protected, &leaving)
                .unwrap();
            let heard = ap.control().recv_timeout(wait).unwrap();
            assert_eq!((heard.transmitter, heard.protected), (mac(2), protected));
            let ControlBody::Management(frame) = heard.body else {
                panic!("{heard:?}")
            };
            assert_eq!((frame[0], &frame[24..26]), (0xc0, &[3, 0][..]));
        }
        assert!(
            station
                .handle()
                .send_management(endpoint(way, 1), false, &[0x88; 40])
                .is_err()
        );
    }
}

#[test]
fn a_link_stops_on_request_and_reports_a_lost_device() {
    let Some(switch) = Switch::new() else { return };
    let mut ends = bss(&switch, Way::Udp4, Kind::Ip, Suite::Ccmp128, 1);
    let (host, station) = ends.pop().unwrap();
    station.end().unwrap();
    // A process that another test is just starting may hold the device a moment longer: until it executes its program.
    eventually("the device is removed with the link", || {
        !host.run(|| hosts::ip("-brief link")).contains("link0")
    });
    let (host, ap) = ends.pop().unwrap();
    host.run(|| hosts::ip("link delete link0"));
    eventually("the control plane hears of it", || {
        ap.control().try_recv() == Err(std::sync::mpsc::TryRecvError::Disconnected)
    });
    let said = ap.end().unwrap_err().to_string();
    assert!(said.contains("link0"), "{said}");
}

#[test]
fn a_link_that_cannot_open_reports_the_reason_in_one_line() {
    let Some(switch) = Switch::new() else { return };
    let host = switch.host(1);
    let refusal = |config: Config| host.run(move || Link::open(&config).err().map(|error| error.to_string()));
    let good = Config {
        role: Role::Ap,
        transport: Transport::Udp {
            local: outer(Way::Udp4, 1),
            outer_mtu_b: 1500,
            address: mac(1),
        },
        device: "link0".into(),
        kind: Kind::Ip,
        suites: vec![Suite::Ccmp128],
        workers: 1,
    };
    let ethernet = |interface: &str| Transport::Ethernet {
        interface: interface.into(),
        ethertype: ETHERTYPE,
    };
    let udp = |outer_mtu_b, address| Transport::Udp {
        local: outer(Way::Udp4, 1),
        outer_mtu_b,
        address,
    };
    let not_here = Transport::Udp {
        local: outer(Way::Udp4, 200),
        outer_mtu_b: 1500,
        address: mac(1),
    };
    for (port, (mut config, named)) in (6000..).zip([
        (
            Config {
                transport: ethernet("nothing0"),
                ..good.clone()
            },
            "nothing0",
        ),
        (
            Config {
                transport: ethernet("lo"),
                ..good.clone()
            },
            "lo",
        ),
        (
            Config {
                transport: udp(100, mac(1)),
                ..good.clone()
            },
            "for packets",
        ),
        (
            Config {
                transport: udp(1500, MacAddr::BROADCAST),
                ..good.clone()
            },
            "ff:ff",
        ),
        (
            Config {
                transport: not_here,
                ..good.clone()
            },
            "198.51.100.200",
        ),
        (
            Config {
                suites: vec![Suite::Tkip],
                ..good.clone()
            },
            "tkip",
        ),
        (
            Config {
                suites: vec![],
                ..good.clone()
            },
            "suite",
        ),
        (
            Config {
                device: "a-name-that-is-too-long".into(),
                ..good.clone()
            },
            "a-name-that-is",
        ),
        (
            Config {
                device: "eth0".into(),
                ..good.clone()
            },
            "eth0",
        ),
    ]) {
        // A program that another test starts at this moment may hold the closed socket of the last case until it calls
        // exec, so each case has a port of its own.
        if let Transport::Udp { local, .. } = &mut config.transport {
            local.set_port(port);
        }
        let said = refusal(config).expect(named);
        assert!(said.contains(named) && !said.contains('\n'), "{said}");
    }
    assert_eq!(refusal(good), None);
}

#[test]
fn several_workers_do_not_share_an_address_or_a_device_with_another_link() {
    let Some(switch) = Switch::new() else { return };
    let host = switch.host(1);
    let refused = host.run(|| {
        let open = |way| open_workers(way, Kind::Ip, Suite::Ccmp128, 1, 2);
        let _link = open(Way::Udp4).unwrap();
        [Way::Udp4, Way::Ethernet].map(|way| open(way).err().map(|error| error.to_string()))
    });
    let [address, device] = refused.map(|said| said.expect("the link is refused"));
    assert!(address.contains("198.51.100.1"), "{address}");
    assert!(device.contains("link0"), "{device}");
}

#[test]
fn a_link_without_capabilities_carries_packets_and_recovers_a_recreated_interface() {
    let Some(switch) = Switch::new() else { return };
    let (way, suite) = (Way::Ethernet, Suite::Ccmp128);
    let [(ap, at_ap), (station, at_station)] = [1, 2].map(|number| {
        let host = switch.host(number);
        // A separate thread, because the host's thread continues to configure interfaces.
        let start = move || {
            let link = open(way, Kind::Ip, suite, number).unwrap();
            add_addresses(number);
            let begun = std::thread::spawn(|| {
                keep_capabilities(&[]).unwrap();
                let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
                (link.start(16).unwrap(), status)
            });
            begun.join().unwrap()
        };
        let (running, status) = host.run(start);
        for field in ["CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb"] {
            let line = status.lines().find(|line| line.starts_with(field)).unwrap();
            assert_eq!(line.split_whitespace().last(), Some("0000000000000000"), "{line}");
        }
        assert!(status.contains("NoNewPrivs:\t1"), "{status}");
        (host, running)
    });
    admit(&at_ap, way, suite, 2, 7);
    admit(&at_station, way, suite, 1, 7);
    assert!(echoed(&station, &ap, inner(1)[0], 64));
    station.run(|| hosts::ip("link delete eth0"));
    assert!(!echoed(&station, &ap, inner(1)[0], 64));
    switch.join(2, &station);
    eventually("the link carries on", || echoed(&station, &ap, inner(1)[0], 64));
}

#[test]
fn only_requested_capabilities_remain() {
    let Some(switch) = Switch::new() else { return };
    let status = switch.host(1).run(|| {
        keep_capabilities(&[Capability::CAP_NET_ADMIN]).unwrap();
        std::fs::read_to_string("/proc/thread-self/status").unwrap()
    });
    // CAP_NET_ADMIN is 12 (capabilities(7)).
    for (field, value) in [
        ("CapEff", "0000000000001000"),
        ("CapPrm", "0000000000001000"),
        ("CapBnd", "0000000000001000"),
        ("CapInh", "0000000000000000"),
        ("NoNewPrivs", "1"),
    ] {
        let line = status.lines().find(|line| line.starts_with(field)).unwrap();
        assert_eq!(line.split_whitespace().last(), Some(value), "{line}");
    }
}
