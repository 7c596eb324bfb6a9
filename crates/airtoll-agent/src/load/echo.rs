//! Datagrams at a fixed interval, and their answers.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use wlan_host::clock::monotonic_ns;

use super::nanoseconds;
use super::protocol::{ECHO_MAX_B, echo_fields};
use crate::program::{is_passing, is_timeout};

/// Time until the thread that receives notices the end.
const CHECK: Duration = Duration::from_millis(50);

/// A datagram.
#[derive(Clone, Copy, Debug)]
pub struct Echo {
    /// Time of sending, from the start of the measurement.
    pub sent: Duration,
    /// The answer; `None` if none came in time.
    pub answer: Option<EchoAnswer>,
}

/// The answer to a datagram.
#[derive(Clone, Copy, Debug)]
pub struct EchoAnswer {
    /// Round-trip time.
    pub rtt: Duration,
    /// Time of arrival by the server's clock minus the time of sending by the client's clock, in nanoseconds.
    pub up_ns: i64,
    /// Time of the answer's arrival by the client's clock minus the time of sending by the server's clock. The server
    /// reads its clock once, so its own work is a part of this time.
    pub down_ns: i64,
}

/// Sends datagrams of `len_b` octets each `interval` until `over`, and receives answers for `patience` after that.
///
/// # Errors
/// A system call fails.
pub fn measure(
    server: SocketAddr,
    origin: Instant,
    interval: Duration,
    len_b: usize,
    over: &AtomicBool,
    patience: Duration,
) -> io::Result<Vec<Echo>> {
    let any = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0))?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(CHECK))?;
    let done = AtomicBool::new(false);
    let (mut sent, answers) = thread::scope(|scope| {
        let answers = scope.spawn(|| receive(&socket, &done));
        let sent = send(&socket, origin, interval, len_b, over);
        thread::sleep(patience);
        done.store(true, Ordering::Relaxed);
        let answers = answers
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the receiver failed")));
        Ok::<_, io::Error>((sent?, answers?))
    })?;
    for (number, answer) in answers {
        if let Some(echo) = usize::try_from(number)
            .ok()
            .and_then(|number| sent.get_mut(number))
        {
            echo.answer.get_or_insert(answer);
        }
    }
    Ok(sent)
}

fn send(
    socket: &UdpSocket,
    origin: Instant,
    interval: Duration,
    len_b: usize,
    over: &AtomicBool,
) -> io::Result<Vec<Echo>> {
    // Otherwise the kernel may wake the thread 50 us late to save power.
    let _ = nix::sys::prctl::set_timerslack(1);
    let mut datagram = vec![0; len_b];
    let mut sent = Vec::new();
    let mut due = Instant::now();
    while !over.load(Ordering::Relaxed) {
        datagram[..8].copy_from_slice(&(sent.len() as u64).to_be_bytes());
        sent.push(Echo {
            sent: origin.elapsed(),
            answer: None,
        });
        datagram[8..16].copy_from_slice(&monotonic_ns().to_be_bytes());
        match socket.send(&datagram) {
            Err(error) if !is_passing(&error) => return Err(error),
            _ => {}
        }
        due += interval;
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    Ok(sent)
}

fn receive(socket: &UdpSocket, done: &AtomicBool) -> io::Result<Vec<(u64, EchoAnswer)>> {
    let mut datagram = vec![0; ECHO_MAX_B + 1];
    let mut found = Vec::new();
    while !done.load(Ordering::Relaxed) {
        match socket.recv(&mut datagram) {
            Ok(len) => {
                let now_ns = monotonic_ns();
                if let Some([number, sent_ns, arrived_ns]) = echo_fields(&datagram[..len]) {
                    let rtt = Duration::from_nanos(now_ns.saturating_sub(sent_ns));
                    let answer = EchoAnswer {
                        rtt,
                        up_ns: arrived_ns.wrapping_sub(sent_ns).cast_signed(),
                        down_ns: now_ns.wrapping_sub(arrived_ns).cast_signed(),
                    };
                    found.push((number, answer));
                }
            }
            Err(error) if is_timeout(&error) || is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

impl Echo {
    /// Time of sending, round-trip time and both one-way differences in nanoseconds, as JSON.
    pub fn row(&self) -> serde_json::Value {
        match self.answer {
            Some(answer) => serde_json::json!([
                nanoseconds(self.sent),
                nanoseconds(answer.rtt),
                answer.up_ns,
                answer.down_ns
            ]),
            None => serde_json::json!([nanoseconds(self.sent), null, null, null]),
        }
    }
}
