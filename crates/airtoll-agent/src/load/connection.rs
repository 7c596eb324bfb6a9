//! A connection of the load at the client.

use std::collections::HashMap;
use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::protocol::{COUNT, Direction, FILLER, Header, Purpose};
use super::stream::{configure, send_load, skip};

/// Longest time of a TCP handshake.
pub const CONNECT_MAX: Duration = Duration::from_secs(10);

/// Requests without an answer yet, by number, with the index of their row and the time of sending.
pub type Waiting = Arc<Mutex<HashMap<u64, Instant>>>;

/// A connection that carries load in one direction, and requests between it.
pub struct Connection {
    stream: TcpStream,
    ask: Sender<u64>,
    octets: Arc<AtomicU64>,
}

impl Connection {
    /// Opens a connection and starts its load. `answered` is called with the number of a request and its time.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub fn open(
        server: SocketAddr,
        direction: Direction,
        waiting: &Waiting,
        answered: impl Fn(u64, Duration) + Send + 'static,
    ) -> io::Result<Self> {
        let mut stream = TcpStream::connect_timeout(&server, CONNECT_MAX)?;
        configure(&stream)?;
        stream.write_all(&[Purpose::Load(direction).octet()])?;
        let (ask, asked) = mpsc::channel::<u64>();
        let octets = Arc::new(AtomicU64::new(0));
        let (mut reader, mut writer) = (stream.try_clone()?, stream.try_clone()?);
        // Both threads end with the connection.
        let (total, waiting) = (Arc::clone(&octets), Arc::clone(waiting));
        thread::spawn(move || {
            while let Ok(Some(message)) = Header::read(&mut reader) {
                match message.number {
                    FILLER => {
                        if skip(&mut reader, message.value).is_err() {
                            return;
                        }
                        total.fetch_add(message.value.into(), Ordering::Relaxed);
                    }
                    COUNT => advance(&total, message.value),
                    number => {
                        let sent = lock(&waiting).remove(&number);
                        if let Some(sent) = sent {
                            answered(number, sent.elapsed());
                        }
                    }
                }
            }
        });
        thread::spawn(move || match direction {
            Direction::Up => send_load(&mut writer, &asked),
            Direction::Down => asked
                .iter()
                .try_for_each(|number| writer.write_all(&Header::request(number).octets())),
        });
        Ok(Self { stream, ask, octets })
    }

    /// Sends a request between the load.
    pub fn ask(&self, number: u64, waiting: &Waiting) {
        lock(waiting).insert(number, Instant::now());
        // A connection that has ended never answers.
        let _ = self.ask.send(number);
    }

    /// Octets of load that have arrived.
    pub fn octets(&self) -> u64 {
        self.octets.load(Ordering::Relaxed)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// Advances the total to the next number with these low 32 bits: a count is never 4 GiB behind.
fn advance(total: &AtomicU64, low: u32) {
    let before = total.load(Ordering::Relaxed);
    let ahead = low.wrapping_sub((before & u64::from(u32::MAX)).try_into().unwrap_or(0));
    total.store(before + u64::from(ahead), Ordering::Relaxed);
}

pub fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_continue_beyond_32_bits() {
        let total = AtomicU64::new(0);
        let mut sent = 0_u64;
        for step in [5, 3_000_000_000, 2_000_000_000, 0, 4_000_000_000] {
            sent += step;
            advance(&total, (sent & u64::from(u32::MAX)).try_into().unwrap());
            assert_eq!(total.load(Ordering::Relaxed), sent);
        }
    }
}
