//! The kernel's tables of sockets: listening servers, connected peers, and dropped datagrams.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;

/// Time between two readings of the tables.
const POLL: Duration = Duration::from_millis(2);

/// The transport of a port.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// /proc/net/tcp and tcp6
    Tcp,
    /// /proc/net/udp and udp6
    Udp,
}

impl Transport {
    fn tables(self) -> [&'static str; 2] {
        match self {
            Transport::Tcp => ["/proc/net/tcp", "/proc/net/tcp6"],
            Transport::Udp => ["/proc/net/udp", "/proc/net/udp6"],
        }
    }

    /// proc(5): `LISTEN`; a UDP socket that is not connected.
    fn waiting(self) -> &'static str {
        match self {
            Transport::Tcp => "0A",
            Transport::Udp => "07",
        }
    }
}

/// `ESTABLISHED`; connected UDP sockets have it too.
const CONNECTED: &str = "01";

/// The sockets of a local port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Sockets that wait for a peer.
    pub waiting: usize,
    /// Sockets with a peer.
    pub connected: usize,
}

/// Reads the tables.
#[must_use]
pub fn port(transport: Transport, number: u16) -> Port {
    let tables = transport
        .tables()
        .map(|path| fs::read_to_string(path).unwrap_or_default());
    let of_state = |state| tables.iter().map(|table| count(table, number, state)).sum();
    Port {
        waiting: of_state(transport.waiting()),
        connected: of_state(CONNECTED),
    }
}

fn count(table: &str, number: u16, state: &str) -> usize {
    let local = format!(":{number:04X}");
    table
        .lines()
        .map(|line| line.split_whitespace())
        // sl, local_address, rem_address, st
        .filter(|fields| {
            fields
                .clone()
                .nth(1)
                .is_some_and(|address| address.ends_with(&local))
        })
        .filter(|fields| fields.clone().nth(3) == Some(state))
        .count()
}

/// Waits until `until` says so of the port, `stopped` is true, or the time is over. Returns the last reading.
pub fn wait(
    transport: Transport,
    number: u16,
    timeout: Duration,
    until: impl Fn(Port) -> bool,
    stopped: impl Fn() -> bool,
) -> Port {
    let deadline = Instant::now() + timeout;
    loop {
        let found = port(transport, number);
        if until(found) || stopped() || Instant::now() >= deadline {
            return found;
        }
        thread::sleep(POLL);
    }
}

/// UDP datagrams dropped since the host came up because a socket buffer was full (`RcvbufErrors`).
#[must_use]
pub fn dropped_datagrams() -> u64 {
    let snmp = fs::read_to_string("/proc/net/snmp").unwrap_or_default();
    let snmp6 = fs::read_to_string("/proc/net/snmp6").unwrap_or_default();
    in_snmp(&snmp).unwrap_or(0) + in_snmp6(&snmp6).unwrap_or(0)
}

/// The file has a line of names and a line of values.
fn in_snmp(text: &str) -> Option<u64> {
    let mut rows = text.lines().filter_map(|line| line.strip_prefix("Udp:"));
    let column = rows
        .next()?
        .split_whitespace()
        .position(|name| name == "RcvbufErrors")?;
    rows.next()?.split_whitespace().nth(column)?.parse().ok()
}

fn in_snmp6(text: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix("Udp6RcvbufErrors"))?
        .trim()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::*;

    #[test]
    fn a_listening_port_is_seen_and_its_peers_are_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let number = listener.local_addr().unwrap().port();
        assert_eq!(
            port(Transport::Tcp, number),
            Port {
                waiting: 1,
                connected: 0
            }
        );
        let _client = TcpStream::connect(("127.0.0.1", number)).unwrap();
        let _server = listener.accept().unwrap();
        assert_eq!(
            port(Transport::Tcp, number),
            Port {
                waiting: 1,
                connected: 1
            }
        );
    }

    #[test]
    fn a_udp_socket_waits_until_it_is_connected() {
        let socket = UdpSocket::bind("[::1]:0").unwrap();
        let number = socket.local_addr().unwrap().port();
        assert_eq!(port(Transport::Udp, number).waiting, 1);
        socket.connect("[::1]:9").unwrap();
        assert_eq!(
            port(Transport::Udp, number),
            Port {
                waiting: 0,
                connected: 1
            }
        );
    }

    #[test]
    fn drops_are_the_sum_of_both_ip_versions() {
        assert_eq!(
            in_snmp(
                "Udp: InDatagrams RcvbufErrors\nUdp: 10 3\nUdpLite: InDatagrams RcvbufErrors\nUdpLite: 0 9"
            ),
            Some(3)
        );
        assert_eq!(in_snmp6("Udp6InDatagrams 1\nUdp6RcvbufErrors \t 4\n"), Some(4));
    }
}
