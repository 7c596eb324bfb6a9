//! The end that loads the link and measures.

use std::collections::HashMap;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use wlan_host::clock::monotonic_ns;

use super::connection::{CONNECT_MAX, Connection, Waiting, lock};
use super::echo::{self, Echo};
use super::protocol::{Direction, Header, Purpose};
use super::saturation::Saturation;
use crate::program::{ProgramError, while_doing};

/// Time after the window in which answers still count, while the load continues.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// Octets that a pair of probes takes, a new connection with a request and a request on the load: the estimates of
/// draft-ietf-ippm-responsiveness.
const PAIR_B: f64 = 5000.0 + 1000.0;

/// Largest share of the capacity that probes may take (PTC of the draft).
const PROBES_MAX: f64 = 0.05;

/// The settings of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Direction of the load.
    pub direction: Direction,
    /// Time between two checks of the throughput. In each interval, one connection is added.
    pub interval: Duration,
    /// Largest number of connections.
    pub connections: usize,
    /// Longest time until the throughput is stable.
    pub limit: Duration,
    /// Time of probes.
    pub window: Duration,
    /// Shortest time between two pairs of probes.
    pub probe: Duration,
    /// Time between two datagrams.
    pub echo: Duration,
    /// Octets of a datagram.
    pub echo_len_b: usize,
}

/// Everything that was measured. Times are relative to the start.
#[derive(Debug)]
pub struct Measured {
    /// The start by `CLOCK_MONOTONIC`, in nanoseconds.
    pub origin_ns: u64,
    /// Start, end, octets and connections of each interval.
    pub intervals: Vec<(Duration, Duration, u64, usize)>,
    /// Start and end of the window; `None` if the throughput was not stable in time.
    pub window: Option<(Duration, Duration)>,
    /// Start of a probe on a new connection, its TCP handshake, and its request; `None` without an answer in time.
    pub foreign: Vec<(Duration, Option<(Duration, Duration)>)>,
    /// Start of a request on a connection of the load, and its time.
    pub own: Vec<(Duration, Option<Duration>)>,
    /// The datagrams.
    pub echoes: Vec<Echo>,
}

type Rows<T> = Arc<Mutex<Vec<(Duration, Option<T>)>>>;

/// A client of one measurement.
pub struct Client {
    server: SocketAddr,
    settings: Settings,
    origin: Instant,
    origin_ns: u64,
    waiting: Waiting,
    foreign: Rows<(Duration, Duration)>,
    own: Rows<Duration>,
    connections: Vec<Connection>,
    intervals: Vec<(Duration, Duration, u64, usize)>,
}

impl Client {
    /// A client that has not started yet.
    pub fn new(server: SocketAddr, settings: Settings) -> Self {
        Self {
            server,
            settings,
            origin: Instant::now(),
            origin_ns: monotonic_ns(),
            waiting: Arc::new(Mutex::new(HashMap::new())),
            foreign: Arc::default(),
            own: Arc::default(),
            connections: Vec::new(),
            intervals: Vec::new(),
        }
    }

    /// Loads the link and measures.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub fn measure(mut self) -> Result<Measured, ProgramError> {
        let reaching = |server| while_doing(format!("connecting to {server}"));
        let server = self.server;
        // The server returns datagrams only to hosts with a connection.
        let (_present, ..) = request_on_new_connection(server).map_err(reaching(server))?;
        self.origin = Instant::now();
        self.origin_ns = monotonic_ns();
        let (origin, settings) = (self.origin, self.settings);
        let over = AtomicBool::new(false);
        let (window, echoes) = thread::scope(|scope| {
            let echoes = scope.spawn(|| {
                echo::measure(
                    server,
                    origin,
                    settings.echo,
                    settings.echo_len_b,
                    &over,
                    PATIENCE,
                )
            });
            let window = self.saturate().and_then(|reached| match reached {
                Some(octets_per_s) => self.probe(octets_per_s).map(Some),
                None => Ok(None),
            });
            over.store(true, Ordering::Relaxed);
            let echoes = echoes
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the thread failed")));
            (window, echoes)
        });
        let window = window.map_err(reaching(server))?;
        let echoes = echoes.map_err(while_doing(format!("sending datagrams to {server}")))?;
        self.connections.clear();
        let foreign = std::mem::take(&mut *lock(&self.foreign));
        let own = std::mem::take(&mut *lock(&self.own));
        Ok(Measured {
            origin_ns: self.origin_ns,
            intervals: self.intervals,
            window,
            foreign,
            own,
            echoes,
        })
    }

    /// Adds connections until the throughput is stable. Returns the throughput of the last interval in octets per second,
    /// or `None` if it is not stable in time.
    fn saturate(&mut self) -> io::Result<Option<f64>> {
        let mut saturation = Saturation::default();
        while self.origin.elapsed() < self.settings.limit {
            if self.connections.len() < self.settings.connections {
                self.connections.push(self.open()?);
            }
            let octets = self.interval();
            if saturation.add(octets) {
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "octets of an interval are far below 2^53"
                )]
                return Ok(Some(octets as f64 / self.settings.interval.as_secs_f64()));
            }
        }
        Ok(None)
    }

    fn open(&self) -> io::Result<Connection> {
        let own = Arc::clone(&self.own);
        Connection::open(
            self.server,
            self.settings.direction,
            &self.waiting,
            move |number, took| {
                // Requests are numbered from 1, in the order of their rows.
                let at = usize::try_from(number)
                    .ok()
                    .and_then(|number| number.checked_sub(1));
                let mut rows = lock(&own);
                if let Some(row) = at.and_then(|at| rows.get_mut(at)) {
                    row.1 = Some(took);
                }
            },
        )
    }

    /// Waits for the end of an interval and returns the octets of load that arrived in it.
    fn interval(&mut self) -> u64 {
        let (start, before) = (self.origin.elapsed(), self.octets());
        thread::sleep(self.settings.interval);
        let octets = self.octets() - before;
        self.intervals
            .push((start, self.origin.elapsed(), octets, self.connections.len()));
        octets
    }

    fn octets(&self) -> u64 {
        self.connections.iter().map(Connection::octets).sum()
    }

    /// Launches probes over the window, and records the throughput of the load meanwhile. Returns the window.
    fn probe(&mut self, octets_per_s: f64) -> io::Result<(Duration, Duration)> {
        let affordable = Duration::from_secs_f64(PAIR_B / (PROBES_MAX * octets_per_s));
        let period = self.settings.probe.max(affordable);
        let opens = self.origin.elapsed();
        let closes = opens + self.settings.window;
        let mut due = opens;
        let mut interval = (opens, self.octets());
        let mut number = 0;
        loop {
            let now = self.origin.elapsed();
            if now >= interval.0 + self.settings.interval || now >= closes {
                let octets = self.octets();
                self.intervals
                    .push((interval.0, now, octets - interval.1, self.connections.len()));
                interval = (now, octets);
            }
            if now >= closes {
                break;
            }
            if now >= due {
                number += 1;
                self.launch(number);
                due += period;
            }
            let next = due.min(closes).min(interval.0 + self.settings.interval);
            thread::sleep(next.saturating_sub(self.origin.elapsed()));
        }
        // The load continues, so that late answers are measured in the same conditions.
        let until = self.origin.elapsed() + PATIENCE;
        while self.origin.elapsed() < until && self.has_open_probes() {
            thread::sleep(Duration::from_millis(10));
        }
        Ok((opens, closes))
    }

    fn has_open_probes(&self) -> bool {
        lock(&self.own).iter().any(|(_, took)| took.is_none())
            || lock(&self.foreign).iter().any(|(_, took)| took.is_none())
    }

    /// Launches a pair of probes: on a new connection, and on the next connection of the load.
    fn launch(&self, number: u64) {
        let start = self.origin.elapsed();
        lock(&self.own).push((start, None));
        let chosen = usize::try_from(number).unwrap_or(0) % self.connections.len();
        self.connections[chosen].ask(number, &self.waiting);
        let at = {
            let mut rows = lock(&self.foreign);
            rows.push((start, None));
            rows.len() - 1
        };
        let (rows, server) = (Arc::clone(&self.foreign), self.server);
        thread::spawn(move || {
            // Without an answer, the row stays without times.
            if let Ok((_, connected, answered)) = request_on_new_connection(server)
                && let Some(row) = lock(&rows).get_mut(at)
            {
                row.1 = Some((connected, answered));
            }
        });
    }
}

/// A new connection, and the times of its TCP handshake and of a request.
fn request_on_new_connection(server: SocketAddr) -> io::Result<(TcpStream, Duration, Duration)> {
    let began = Instant::now();
    let mut stream = TcpStream::connect_timeout(&server, CONNECT_MAX)?;
    let connected = began.elapsed();
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(CONNECT_MAX))?;
    let mut request = vec![Purpose::Requests.octet()];
    request.extend(Header::request(1).octets());
    let asked = Instant::now();
    stream.write_all(&request)?;
    match Header::read(&mut stream)? {
        Some(_) => {
            let answered = asked.elapsed();
            Ok((stream, connected, answered))
        }
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
