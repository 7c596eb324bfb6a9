//! Both ends on loopback.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use super::client::{Client, Measured, Settings};
use super::protocol::{Direction, ECHO_MIN_B, Header, Purpose};
use super::server::{CONNECTIONS_MAX, Server};
use super::{report, run};

fn measure(address: &str, direction: Direction) -> (Settings, Measured) {
    let settings = Settings {
        direction,
        interval: Duration::from_millis(100),
        connections: 4,
        limit: Duration::from_secs(8),
        window: Duration::from_millis(500),
        probe: Duration::from_millis(20),
        echo: Duration::from_millis(10),
        echo_len_b: ECHO_MIN_B,
    };
    let server = Server::bind(address.parse().unwrap()).unwrap();
    let address = server.local_addr().unwrap();
    thread::scope(|scope| {
        let serving = scope.spawn(|| server.serve(Duration::from_millis(300)));
        let measured = Client::new(address, settings).measure().unwrap();
        serving.join().unwrap().unwrap();
        (settings, measured)
    })
}

#[test]
fn the_load_flows_in_its_direction_and_probes_are_answered() {
    for (address, direction) in [("127.0.0.1:0", Direction::Up), ("[::1]:0", Direction::Down)] {
        let (settings, measured) = measure(address, direction);
        let loaded = measured
            .intervals
            .iter()
            .filter(|(_, _, octets, _)| *octets > 0)
            .count();
        assert!(
            loaded + 1 >= measured.intervals.len(),
            "{direction:?}: {:?}",
            measured.intervals
        );
        // On a busy machine, the throughput over loopback may not become stable.
        if let Some((opens, closes)) = measured.window {
            assert_eq!(closes - opens, settings.window);
            assert_eq!(measured.own.len(), measured.foreign.len());
            assert!(measured.own.len() >= 10, "{}", measured.own.len());
            assert!(measured.own.iter().all(|(_, took)| took.is_some()));
            assert!(measured.foreign.iter().all(|(_, took)| took.is_some()));
        }
        // Both ends read one clock: the ways there and back make the round trip.
        let answers: Vec<_> = measured.echoes.iter().filter_map(|echo| echo.answer).collect();
        assert!(answers.len() * 10 > measured.echoes.len() * 9);
        for answer in answers {
            assert!(answer.up_ns >= 0 && answer.down_ns >= 0);
            assert_eq!(
                u128::try_from(answer.up_ns + answer.down_ns),
                Ok(answer.rtt.as_nanos())
            );
        }
        let mut output = Vec::new();
        report::write(&settings, "127.0.0.1:9".parse().unwrap(), &measured, &mut output).unwrap();
        let lines: Vec<serde_json::Value> = output
            .split(|octet| *octet == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect();
        assert_eq!(lines[0]["direction"], direction.name());
        assert!(lines[lines.len() - 1].get("end").is_some());
    }
}

#[test]
fn datagrams_return_only_to_hosts_with_a_connection_and_never_twice() {
    let server = Server::bind("0.0.0.0:0".parse().unwrap()).unwrap();
    let address = (Ipv4Addr::LOCALHOST, server.local_addr().unwrap().port());
    let [stranger, client] = ["127.0.0.2:0", "127.0.0.1:0"].map(|from| UdpSocket::bind(from).unwrap());
    client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stranger.set_nonblocking(true).unwrap();
    let datagram = |number: u8| [&[number; 16][..], &[0; 8]].concat();
    let mut connection = TcpStream::connect(address).unwrap();
    thread::scope(|scope| {
        let serving = scope.spawn(|| server.serve(Duration::from_millis(300)));
        // Its answer shows that the server knows the connection.
        connection
            .write_all(&[&[Purpose::Requests.octet()][..], &Header::request(1).octets()].concat())
            .unwrap();
        assert_eq!(Header::read(&mut connection).unwrap(), Some(Header::request(1)));
        stranger.send_to(&datagram(1), address).unwrap();
        client.send_to(&datagram(2), address).unwrap();
        let mut answer = [0; 100];
        assert_eq!(client.recv(&mut answer).unwrap(), 24);
        assert_eq!(answer[..16], [2; 16]);
        // The server has processed the earlier datagram, too.
        assert_eq!(
            stranger.recv(&mut [0; 100]).unwrap_err().kind(),
            ErrorKind::WouldBlock
        );
        // An answer, as from another server, and a datagram without the field.
        client.send_to(&answer[..24], address).unwrap();
        client.send_to(&datagram(3)[..23], address).unwrap();
        client.send_to(&datagram(4), address).unwrap();
        client.recv(&mut answer).unwrap();
        assert_eq!(answer[..16], [4; 16]);
        drop(connection);
        serving.join().unwrap().unwrap();
    });
}

/// Everyone on the measured network can connect.
#[test]
fn connections_and_requests_without_an_answer_are_limited() {
    let server = Server::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = server.local_addr().unwrap();
    thread::scope(|scope| {
        let serving = scope.spawn(|| server.serve(Duration::from_millis(300)));
        let mut connections: Vec<TcpStream> = Vec::new();
        for _ in 1..CONNECTIONS_MAX {
            let mut connection = TcpStream::connect(address).unwrap();
            connection.write_all(&[Purpose::Requests.octet()]).unwrap();
            connection.write_all(&Header::request(1).octets()).unwrap();
            assert_eq!(Header::read(&mut connection).unwrap(), Some(Header::request(1)));
            connections.push(connection);
        }
        let mut greedy = TcpStream::connect(address).unwrap();
        greedy
            .write_all(&[Purpose::Load(Direction::Down).octet()])
            .unwrap();
        greedy.read_exact(&mut [0; 100]).unwrap();
        let mut refused = TcpStream::connect(address).unwrap();
        assert!(!refused.read(&mut [0]).is_ok_and(|octets| octets > 0));
        // It reads none of the load and the answers.
        greedy
            .set_write_timeout(Some(Duration::from_millis(200)))
            .unwrap();
        let requests = Header::request(1).octets().repeat(1 << 16);
        let written = (0..32).map_while(|_| greedy.write_all(&requests).ok()).count();
        assert!(written < 32);
        drop((connections, greedy));
        serving.join().unwrap().unwrap();
    });
}

#[test]
fn usage_errors_exit_with_2_and_failures_with_1() {
    let run = |line: &str| run(line.split_whitespace().map(String::from));
    for line in [
        "",
        "serve",
        "serve 127.0.0.1:1 0",
        "measure 127.0.0.1:1 sideways 100 1 100 100 10 10 64",
        "measure 127.0.0.1:1 up 100 0 100 100 10 10 64",
        "measure 127.0.0.1:1 up 100 1 100 100 10 10 23",
    ] {
        assert_eq!(run(line), 2, "{line}");
    }
    assert_eq!(run("measure 127.0.0.1:1 up 100 1 100 100 10 10 64"), 1);
}
