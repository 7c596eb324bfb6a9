//! The thread that serves the status sockets and receives signals.
//!
//! A request is one line. `status` returns a line of JSON, and `openmetrics` returns OpenMetrics text. `GET /metrics`
//! returns the same text over HTTP/1.1 (RFC 9112), for Prometheus. A connection carries one request. Connections are
//! served one at a time, in turn from both sockets, and each has a deadline: a slow client holds up neither the other
//! socket nor signals.

use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::signal::SigSet;
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{ReceiveTimeout, SendTimeout};
use nix::sys::time::{TimeVal, TimeValLike};

use super::status_socket::StatusSocket;
use super::{Config, DaemonError, Shared, metrics};
use crate::lock::lock;
use crate::plane::Handle;
use crate::privileges::UserIds;

/// Maximum octets per request.
const REQUEST_B: usize = 4096;
/// Maximum octets per write. The kernel applies a timeout to each part of a longer one.
const WRITE_B: usize = 4096;
/// Maximum time to read a request and to write its answer.
const PATIENCE: Duration = Duration::from_millis(500);

/// The bound sockets and the blocked signals.
pub struct Attendant {
    status: StatusSocket,
    metrics: Option<TcpListener>,
    signals: SigSet,
}

/// The running thread. Dropping this ends the thread and removes its socket.
pub struct Attending {
    thread: Option<JoinHandle<()>>,
    end: Arc<EventFd>,
}

impl Attendant {
    /// Binds the sockets while the process still has all privileges. `owner` is the user that the process will become.
    ///
    /// # Errors
    /// [`DaemonError::System`], for example if another link uses the socket.
    pub fn bind(config: &Config, owner: Option<UserIds>, signals: SigSet) -> Result<Self, DaemonError> {
        let path = &config.status_socket;
        let status = StatusSocket::bind(path, owner)
            .map_err(DaemonError::system(format!("status socket {}", path.display())))?;
        let metrics = match config.metrics {
            Some(address) => {
                let bound =
                    TcpListener::bind(address).and_then(|bound| bound.set_nonblocking(true).map(|()| bound));
                Some(bound.map_err(DaemonError::system(format!("metrics at {address}")))?)
            }
            None => None,
        };
        Ok(Self {
            status,
            metrics,
            signals,
        })
    }

    /// Starts the thread.
    ///
    /// # Errors
    /// The thread or the signal descriptor cannot be created.
    pub fn start(self, shared: Arc<Shared>, handle: Handle, config: &Config) -> io::Result<Attending> {
        let signals = SignalFd::with_flags(&self.signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        let end = Arc::new(EventFd::from_flags(
            EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK,
        )?);
        let answers = Answers {
            name: config.name.clone(),
            device: config.device.clone(),
            started: Instant::now(),
            shared: Arc::clone(&shared),
            handle,
        };
        let (status, metrics, ending) = (self.status, self.metrics, Arc::clone(&end));
        let thread = thread::Builder::new().name("link-status".into()).spawn(move || {
            loop {
                let mut polled = vec![
                    PollFd::new(ending.as_fd(), PollFlags::POLLIN),
                    PollFd::new(signals.as_fd(), PollFlags::POLLIN),
                    PollFd::new(status.as_fd(), PollFlags::POLLIN),
                ];
                polled.extend(
                    metrics
                        .iter()
                        .map(|metrics| PollFd::new(metrics.as_fd(), PollFlags::POLLIN)),
                );
                let _ = poll(&mut polled, PollTimeout::NONE);
                let ready: Vec<bool> = polled.iter().map(|one| one.any() == Some(true)).collect();
                if ready[0] {
                    return;
                }
                if ready[1] {
                    let _ = signals.read_signal();
                    shared.stop.store(true, Ordering::Release);
                }
                if ready[2]
                    && let Ok(stream) = status.accept()
                {
                    // A client that disconnects is not an error.
                    let _ = serve(stream, |line| answers.to(line));
                }
                if let (Some(true), Some(metrics)) = (ready.get(3), &metrics)
                    && let Ok((stream, _)) = metrics.accept()
                {
                    let _ = serve(stream, |line| answers.to(line));
                }
            }
        })?;
        Ok(Attending {
            thread: Some(thread),
            end,
        })
    }
}

impl Drop for Attending {
    fn drop(&mut self) {
        let _ = self.end.write(1);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Limits the next read and the next write of a connection to the time that is left.
fn limit(stream: &impl AsFd, until: Instant) -> io::Result<()> {
    let left = until.saturating_duration_since(Instant::now());
    let micros = i64::try_from(left.as_micros()).unwrap_or(i64::MAX);
    if micros == 0 {
        return Err(io::ErrorKind::TimedOut.into());
    }
    setsockopt(stream, ReceiveTimeout, &TimeVal::microseconds(micros))?;
    setsockopt(stream, SendTimeout, &TimeVal::microseconds(micros))?;
    Ok(())
}

/// Reads a request and answers its first line.
fn serve(mut stream: impl AsFd + Read + Write, answer: impl FnOnce(&[u8]) -> String) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    let mut request = Vec::new();
    let is_whole = |request: &[u8]| {
        let is_http = request.starts_with(b"GET ");
        let end: &[u8] = if is_http { b"\r\n\r\n" } else { b"\n" };
        request.windows(end.len()).any(|part| part == end)
    };
    while !is_whole(&request) {
        let mut octets = [0; 512];
        limit(&stream, until)?;
        let len = stream.read(&mut octets)?;
        request.extend_from_slice(&octets[..len]);
        if len == 0 || request.len() > REQUEST_B {
            return Ok(());
        }
    }
    let line = request.split(|&octet| octet == b'\n').next().unwrap_or_default();
    let answer = answer(line.trim_ascii());
    let mut rest = answer.as_bytes();
    while !rest.is_empty() {
        limit(&stream, until)?;
        let len = stream.write(&rest[..rest.len().min(WRITE_B)])?;
        rest = &rest[len..];
    }
    Ok(())
}

struct Answers {
    name: String,
    device: String,
    started: Instant,
    shared: Arc<Shared>,
    handle: Handle,
}

impl Answers {
    /// The answer to the first line of a request.
    fn to(&self, line: &[u8]) -> String {
        match line {
            b"status" => self.status(),
            b"openmetrics" => self.metrics(),
            line if line.starts_with(b"GET /metrics ") => {
                http("200 OK", metrics::CONTENT_TYPE, &self.metrics())
            }
            line if line.starts_with(b"GET ") => http(
                "404 Not Found",
                "text/plain",
                "not found; the only page is /metrics\n",
            ),
            _ => "{\"error\": \"unknown request; expected status or openmetrics\"}\n".to_owned(),
        }
    }

    fn status(&self) -> String {
        let shown = lock(&self.shared.shown).clone();
        let status = serde_json::json!({
            "name": self.name,
            "device": self.device,
            "uptime_s": self.started.elapsed().as_secs_f64(),
            "link": shown,
            "stations": self.handle.stations(),
            "counters": self.handle.counters(),
        });
        format!("{status}\n")
    }

    fn metrics(&self) -> String {
        let shown = lock(&self.shared.shown).clone();
        metrics::text(
            &self.name,
            &shown,
            &self.handle.stations(),
            &self.handle.counters(),
        )
    }
}

fn http(status: &str, content_type: &str, body: &str) -> String {
    let len = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len}\r\nConnection: close\r\n\r\n{body}"
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_client_that_reads_or_writes_slowly_has_a_deadline() {
        const SLOWLY: Duration = Duration::from_millis(50);
        for asks_slowly in [false, true] {
            let (own, mut client) = UnixStream::pair().unwrap();
            let began = Instant::now();
            let outcome = thread::scope(|scope| {
                scope.spawn(move || {
                    let mut octets = vec![0; 64 * 1024];
                    if !asks_slowly {
                        client.write_all(b"status\n").unwrap();
                    }
                    // Without a deadline, this would take 20 s and more.
                    for _ in 0..400 {
                        thread::sleep(SLOWLY);
                        let done = if asks_slowly {
                            client.write(b"s").is_err()
                        } else {
                            client.read(&mut octets).is_ok_and(|len| len == 0)
                        };
                        if done {
                            return;
                        }
                    }
                });
                serve(own, |_| "x".repeat(64 << 20))
            });
            assert!(outcome.is_err());
            assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
        }
    }
}
