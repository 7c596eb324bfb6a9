//! An FTP server for one transfer of a generated file, without a disk.
//!
//! It serves one session (RFC 959, passive mode, and `EPSV` of RFC 2428), in which the client reads or writes the file
//! `payload` once. A read returns zeros until a fixed time has passed; what is written is discarded. Then the server
//! prints one line of JSON and ends:
//!
//! ```json
//! {"version": "0.2.0", "direction": "down", "octets": 123, "complete": true, "trace": [[t_ns, octets], ...]}
//! ```
//!
//! `trace` has the octets of the data connection that the receiver's TCP has received, at a fixed interval from the
//! start of the transfer: octets that the client acknowledged, or octets that arrived from it. The kernel counts both
//! (tcp(7), `TCP_INFO`).
//!
//! [`Server`] serves; [`run`] is the command.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use nix::libc;
use serde_json::{Value, json};
use wlan_host::sys::{TcpOctets, option};

use crate::program::{self, ProgramError, parse, while_doing};

const USAGE: &str = "ftp ADDRESS:PORT SECONDS INTERVAL_SECONDS";

/// The only file.
const FILE: &str = "payload";

/// Octets of a write or a read of data.
const CHUNK_B: usize = 1 << 16;

/// Longest command of the client, in octets.
const COMMAND_MAX_B: u64 = 512;

/// Time in which the client must open a data connection.
const OPENING: Duration = Duration::from_secs(10);

/// Runs the command with these arguments. Returns the exit status.
pub fn run(args: impl IntoIterator<Item = String>) -> i32 {
    program::run("ftp", USAGE, args, |args| {
        let [address, seconds, interval] = args else {
            return Err(ProgramError::usage("three arguments are required"));
        };
        let duration = |text: &String| {
            Duration::try_from_secs_f64(parse(text, "a number of seconds")?)
                .map_err(|error| ProgramError::usage(error.to_string()))
        };
        let server = Server::bind(parse(address, "an address with a port")?)?;
        let transfer = server
            .serve(duration(seconds)?, duration(interval)?)
            .map_err(while_doing("serving the client"))?;
        println!("{}", transfer.words());
        Ok(())
    })
}

/// The direction of the data: `Down` to the client (`RETR`), `Up` from it (`STOR`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the client.
    Down,
    /// From the client.
    Up,
}

/// A transfer.
#[derive(Debug)]
pub struct Transfer {
    direction: Direction,
    octets: u64,
    /// Whether it ended in order: the time had passed, or the client ended its file.
    complete: bool,
    /// Time since the start in nanoseconds, and octets that the receiver's TCP had received.
    trace: Vec<(u64, u64)>,
}

impl Transfer {
    fn words(&self) -> Value {
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "direction": match self.direction {
                Direction::Down => "down",
                Direction::Up => "up",
            },
            "octets": self.octets,
            "complete": self.complete,
            "trace": self.trace,
        })
    }
}

/// A server for one session.
pub struct Server(TcpListener);

impl Server {
    /// Binds to `address`. A client may connect from now on.
    ///
    /// # Errors
    /// The address does not belong to this host, or the port is in use.
    pub fn bind(address: SocketAddr) -> Result<Self, ProgramError> {
        let listening = |error| ProgramError::listening(address, error);
        TcpListener::bind(address).map(Self).map_err(listening)
    }

    /// Serves the first client until it ends the session. Reads end after `reading`; `interval` is the time between
    /// two values of the trace.
    ///
    /// # Errors
    /// The client ended the session without a transfer, or a system call failed.
    pub fn serve(self, reading: Duration, interval: Duration) -> io::Result<Transfer> {
        let (stream, _) = self.0.accept()?;
        let address = stream.local_addr()?.ip();
        let mut session = Session {
            commands: BufReader::new(stream.try_clone()?),
            replies: stream,
            address,
            passive: None,
            transfer: None,
        };
        session.serve(reading, interval)?;
        session
            .transfer
            .ok_or_else(|| io::Error::other("the client ended the session without a transfer"))
    }
}

struct Session {
    commands: BufReader<TcpStream>,
    replies: TcpStream,
    address: IpAddr,
    /// Where the client opens its next data connection.
    passive: Option<TcpListener>,
    transfer: Option<Transfer>,
}

impl Session {
    fn serve(&mut self, reading: Duration, interval: Duration) -> io::Result<()> {
        self.reply("220 airtoll")?;
        while let Some((verb, argument)) = self.command()? {
            match verb.as_str() {
                "USER" => self.reply("331 any password")?,
                "PASS" => self.reply("230 logged in")?,
                "SYST" => self.reply("215 UNIX Type: L8")?,
                "PWD" => self.reply("257 \"/\"")?,
                "CWD" if argument == "/" => self.reply("250 /")?,
                "TYPE" if argument.starts_with('I') => self.reply("200 binary")?,
                "NOOP" => self.reply("200 nothing")?,
                "EPSV" | "PASV" => self.listen(&verb)?,
                "RETR" | "STOR" if argument.trim_start_matches('/') == FILE && self.transfer.is_none() => {
                    let direction = if verb == "RETR" {
                        Direction::Down
                    } else {
                        Direction::Up
                    };
                    self.transfer(direction, reading, interval)?;
                }
                "RETR" | "STOR" => self.reply("550 there is one file, for one transfer")?,
                "QUIT" => {
                    self.reply("221 bye")?;
                    break;
                }
                _ => self.reply("502 not implemented")?,
            }
        }
        Ok(())
    }

    /// The next command and its argument; `None` at the end of the session.
    fn command(&mut self) -> io::Result<Option<(String, String)>> {
        let mut line = Vec::new();
        match (&mut self.commands)
            .take(COMMAND_MAX_B)
            .read_until(b'\n', &mut line)
        {
            // A client that has finished may reset the connection instead of closing it.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
            Err(error) => return Err(error),
            Ok(_) if line.last() != Some(&b'\n') => return Ok(None),
            Ok(_) => {}
        }
        let line = String::from_utf8_lossy(&line);
        let (verb, argument) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        Ok(Some((verb.to_ascii_uppercase(), argument.to_owned())))
    }

    fn reply(&mut self, text: &str) -> io::Result<()> {
        self.replies.write_all(format!("{text}\r\n").as_bytes())
    }

    /// Opens a port for the data connection.
    fn listen(&mut self, verb: &str) -> io::Result<()> {
        let listener = TcpListener::bind((self.address, 0))?;
        let port = listener.local_addr()?.port();
        let text = match self.address {
            _ if verb == "EPSV" => format!("229 Entering Extended Passive Mode (|||{port}|)"),
            IpAddr::V4(address) => {
                let [high, low] = port.to_be_bytes();
                let octets = address.to_string().replace('.', ",");
                format!("227 Entering Passive Mode ({octets},{high},{low})")
            }
            IpAddr::V6(_) => return self.reply("522 Network protocol not supported, use (2)"),
        };
        self.passive = Some(listener);
        self.reply(&text)
    }

    fn transfer(&mut self, direction: Direction, reading: Duration, interval: Duration) -> io::Result<()> {
        let Some(listener) = self.passive.take() else {
            return self.reply("425 PASV or EPSV first");
        };
        self.reply("150 opening the data connection")?;
        let Some(data) = accept_within(&listener, OPENING)? else {
            return self.reply("425 no data connection");
        };
        let transfer = move_data(&data, direction, reading, interval)?;
        drop(data); // the end of the file
        let complete = transfer.complete;
        self.transfer = Some(transfer);
        self.reply(if complete { "226 complete" } else { "426 aborted" })
    }
}

/// The connection of a client that connects in time.
fn accept_within(listener: &TcpListener, within: Duration) -> io::Result<Option<TcpStream>> {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    let timeout = PollTimeout::try_from(within).unwrap_or(PollTimeout::MAX);
    if poll(&mut [PollFd::new(listener.as_fd(), PollFlags::POLLIN)], timeout)? == 0 {
        return Ok(None);
    }
    listener.accept().map(|(stream, _)| Some(stream))
}

/// Sends zeros until the time has passed, or receives until the client ends its file.
fn move_data(
    data: &TcpStream,
    direction: Direction,
    reading: Duration,
    interval: Duration,
) -> io::Result<Transfer> {
    let start = Instant::now();
    let (ended, end) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let sampler = scope.spawn(move || {
            let mut trace = Vec::new();
            let mut due = start + interval;
            loop {
                let is_over = end.recv_timeout(due.saturating_duration_since(Instant::now()))
                    != Err(RecvTimeoutError::Timeout);
                if let Ok(octets) = received(data, direction) {
                    let t_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
                    trace.push((t_ns, octets));
                }
                if is_over {
                    return trace;
                }
                while due <= Instant::now() {
                    due += interval;
                }
            }
        });
        let (octets, complete) = match direction {
            Direction::Down => send_zeros(data, start, reading),
            Direction::Up => discard(data),
        };
        drop(ended);
        let trace = sampler.join().map_err(|_| io::Error::other("the trace failed"))?;
        Ok(Transfer {
            direction,
            octets,
            complete,
            trace,
        })
    })
}

/// Octets that the receiver's TCP has received.
fn received(data: &TcpStream, direction: Direction) -> io::Result<u64> {
    let counted: TcpOctets = option(data.as_fd(), libc::IPPROTO_TCP, libc::TCP_INFO)?;
    Ok(match direction {
        Direction::Down => counted.acknowledged,
        Direction::Up => counted.received,
    })
}

/// Sends zeros until `reading` has passed since `start`. Returns their number, and whether the client took all.
fn send_zeros(mut to: &TcpStream, start: Instant, reading: Duration) -> (u64, bool) {
    let zeros = [0; CHUNK_B];
    let mut octets = 0;
    while start.elapsed() < reading {
        if to.write_all(&zeros).is_err() {
            return (octets, false);
        }
        octets += CHUNK_B as u64;
    }
    (octets, true)
}

/// Receives until the end of the data. Returns the number of octets, and whether the end was in order.
fn discard(mut from: &TcpStream) -> (u64, bool) {
    let mut chunk = vec![0; CHUNK_B];
    let mut octets = 0;
    loop {
        match from.read(&mut chunk) {
            Ok(0) => return (octets, true),
            Ok(count) => octets += count as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return (octets, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READING: Duration = Duration::from_millis(200);
    const INTERVAL: Duration = Duration::from_millis(20);

    struct Client {
        replies: BufReader<TcpStream>,
        address: SocketAddr,
    }

    impl Client {
        fn say(&mut self, command: &str) -> String {
            let mut stream = self.replies.get_ref();
            stream.write_all(format!("{command}\r\n").as_bytes()).unwrap();
            self.reply()
        }

        fn reply(&mut self) -> String {
            let mut line = String::new();
            self.replies.read_line(&mut line).unwrap();
            line.trim_end().to_owned()
        }

        fn data(&mut self) -> TcpStream {
            let told = self.say("EPSV");
            let port = told.split('|').nth(3).unwrap().parse().unwrap();
            TcpStream::connect((self.address.ip(), port)).unwrap()
        }
    }

    /// The transfer of a session that `talk` has with the server.
    fn session(address: &str, talk: impl FnOnce(&mut Client)) -> io::Result<Transfer> {
        let server = Server::bind(address.parse().unwrap()).unwrap();
        let address = server.0.local_addr().unwrap();
        let serving = thread::spawn(move || server.serve(READING, INTERVAL));
        let replies = BufReader::new(TcpStream::connect(address).unwrap());
        let mut client = Client { replies, address };
        assert_eq!(client.reply(), "220 airtoll");
        assert_eq!(client.say("USER airtoll"), "331 any password");
        assert_eq!(client.say("PASS "), "230 logged in");
        talk(&mut client);
        drop(client);
        serving.join().unwrap()
    }

    #[test]
    fn a_read_returns_zeros_until_the_time_has_passed() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let mut got = Vec::new();
            let transfer = session(address, |client| {
                let mut data = client.data();
                assert!(client.say("RETR payload").starts_with("150 "));
                data.read_to_end(&mut got).unwrap();
                assert_eq!(client.reply(), "226 complete");
                assert!(client.say("STOR payload").starts_with("550 "));
                assert_eq!(client.say("QUIT"), "221 bye");
            })
            .unwrap();
            assert!(transfer.complete);
            assert_eq!(
                (transfer.direction, transfer.octets),
                (Direction::Down, got.len() as u64)
            );
            assert!(got.iter().all(|octet| *octet == 0));
            let (last_ns, acknowledged) = *transfer.trace.last().unwrap();
            assert!(last_ns >= 200_000_000 && acknowledged <= transfer.octets);
            assert!(transfer.trace.len() >= 3 && transfer.trace.is_sorted());
        }
    }

    #[test]
    fn what_is_written_is_counted() {
        let transfer = session("127.0.0.1:0", |client| {
            let mut data = client.data();
            assert!(client.say("STOR payload").starts_with("150 "));
            data.write_all(&[7; 100_000]).unwrap();
            drop(data);
            assert_eq!(client.reply(), "226 complete");
        })
        .unwrap();
        assert_eq!((transfer.direction, transfer.octets), (Direction::Up, 100_000));
        // The end of the stream takes a sequence number too.
        let received = transfer.trace.last().unwrap().1;
        assert!((100_000..=100_001).contains(&received), "{received}");
    }

    #[test]
    fn a_client_that_leaves_makes_the_transfer_incomplete() {
        let transfer = session("127.0.0.1:0", |client| {
            let data = client.data();
            assert!(client.say("RETR payload").starts_with("150 "));
            drop(data);
        })
        .unwrap();
        assert!(!transfer.complete);
    }

    #[test]
    fn other_commands_are_refused_and_a_session_without_a_transfer_is_an_error() {
        let error = session("127.0.0.1:0", |client| {
            assert!(client.say("DELE payload").starts_with("502 "));
            assert!(client.say("RETR /etc/passwd").starts_with("550 "));
            assert!(client.say("RETR payload").starts_with("425 "));
            let told = client.say("PASV");
            assert!(
                told.starts_with("227 Entering Passive Mode (127,0,0,1,"),
                "{told}"
            );
        })
        .unwrap_err();
        assert!(error.to_string().contains("without a transfer"));
    }

    #[test]
    fn an_invalid_command_line_exits_with_2() {
        for line in ["", "127.0.0.1 1 0.1", "127.0.0.1:0 -1 0.1", "127.0.0.1:0 1"] {
            assert_eq!(run(line.split_whitespace().map(String::from)), 2, "{line}");
        }
    }
}
