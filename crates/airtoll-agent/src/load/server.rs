//! The end that answers requests, sends or receives the load, and returns datagrams.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use wlan_host::clock::monotonic_ns;

use super::connection::lock;
use super::protocol::{COUNT, Direction, ECHO_MAX_B, FILLER, Header, Purpose};
use super::stream::{configure, send_load, skip};
use crate::program::{ProgramError, is_passing};

/// Time between two counts of received octets.
const COUNT_INTERVAL: Duration = Duration::from_millis(20);

/// Time between two checks whether connections are open.
const CHECK: Duration = Duration::from_millis(250);

/// Limit of open connections. Each takes up to two descriptors and two threads. A client has 16 of load, and 20 per
/// second of probes, which it gives up after 10 s. Others can connect, too.
pub(super) const CONNECTIONS_MAX: usize = 400;

/// Limit of requests that wait for a client of load that does not read. Then the client cannot write, either.
const REQUESTS_MAX: usize = 1000;

/// A TCP and a UDP socket on the same port.
pub struct Server {
    listener: TcpListener,
    echo: UdpSocket,
}

impl Server {
    /// Binds to `address`. Clients may connect from now on.
    ///
    /// # Errors
    /// The address does not belong to this host, or the port is in use.
    pub fn bind(address: SocketAddr) -> Result<Self, ProgramError> {
        let listening = |error| ProgramError::listening(address, error);
        let listener = TcpListener::bind(address).map_err(listening)?;
        let echo = listener
            .local_addr()
            .and_then(UdpSocket::bind)
            .map_err(listening)?;
        Ok(Self { listener, echo })
    }

    /// The bound address, with the port that the system chose if port 0 was requested.
    ///
    /// # Errors
    /// The system call fails.
    #[cfg(test)]
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until no connection has been open for `idle`: an abandoned server exits.
    ///
    /// # Errors
    /// A system call fails.
    pub fn serve(&self, idle: Duration) -> io::Result<()> {
        let clients = Clients::default();
        let (echo, known) = (self.echo.try_clone()?, Clients::clone(&clients));
        thread::spawn(move || return_datagrams(&echo, &known));
        let mut last_open = Instant::now();
        let check = PollTimeout::try_from(CHECK.min(idle)).unwrap_or(PollTimeout::MAX);
        loop {
            if poll(
                &mut [PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)],
                check,
            )? > 0
            {
                let (stream, client) = self.listener.accept()?;
                if lock(&clients).values().sum::<usize>() < CONNECTIONS_MAX {
                    let present = Present::new(&clients, client.ip());
                    thread::spawn(move || {
                        // The client has ended the connection, or its host is lost: the client reports it.
                        let _ = serve_connection(stream);
                        drop(present);
                    });
                }
            }
            if !lock(&clients).is_empty() {
                last_open = Instant::now();
            } else if last_open.elapsed() >= idle {
                return Ok(());
            }
        }
    }
}

/// The hosts that have connections, and how many.
type Clients = Arc<Mutex<HashMap<IpAddr, usize>>>;

/// A connection of a host, until it is dropped.
struct Present {
    clients: Clients,
    host: IpAddr,
}

impl Present {
    fn new(clients: &Clients, host: IpAddr) -> Self {
        let clients = Clients::clone(clients);
        *lock(&clients).entry(host).or_default() += 1;
        Self { clients, host }
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        let mut clients = lock(&self.clients);
        if let Some(connections) = clients.get_mut(&self.host) {
            *connections -= 1;
        }
        clients.retain(|_, connections| *connections > 0);
    }
}

/// Returns each datagram of a host that has a connection, with the time of its arrival. The source of other datagrams may be
/// forged. A datagram that has a time is an answer of another server: it would circulate between the two for ever.
fn return_datagrams(socket: &UdpSocket, clients: &Clients) -> io::Result<()> {
    let mut datagram = vec![0; ECHO_MAX_B + 1];
    loop {
        match socket.recv_from(&mut datagram) {
            Ok((len, client)) => {
                let arrived = datagram[..len].get_mut(16..24);
                let Some(arrived) = arrived.filter(|field| **field == [0; 8]) else {
                    continue;
                };
                if !lock(clients).contains_key(&client.ip()) {
                    continue;
                }
                arrived.copy_from_slice(&monotonic_ns().to_be_bytes());
                // An address to which nothing can be sent, such as port 0, is not that of a client.
                let _ = socket.send_to(&datagram[..len], client);
            }
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

fn serve_connection(mut stream: TcpStream) -> io::Result<()> {
    configure(&stream)?;
    let mut purpose = [0];
    stream.read_exact(&mut purpose)?;
    match Purpose::of(purpose[0]) {
        Some(Purpose::Load(Direction::Down)) => {
            let (ask, asked) = mpsc::sync_channel(REQUESTS_MAX);
            let mut reader = stream.try_clone()?;
            thread::spawn(move || {
                while let Ok(Some(request)) = Header::read(&mut reader) {
                    if ask.send(request.number).is_err() {
                        break;
                    }
                }
                // The end of the client's stream also ends the load.
                let _ = reader.shutdown(std::net::Shutdown::Both);
            });
            send_load(&mut stream, &asked)
        }
        Some(_) => receive(&mut stream),
        None => Ok(()),
    }
}

/// Answers requests and counts load, until the connection ends.
fn receive(stream: &mut TcpStream) -> io::Result<()> {
    let (mut octets, mut counted) = (0_u64, Instant::now());
    while let Some(message) = Header::read(stream)? {
        if message.number == FILLER {
            skip(stream, message.value)?;
            octets += u64::from(message.value);
            if counted.elapsed() >= COUNT_INTERVAL {
                counted = Instant::now();
                let value = u32::try_from(octets & u64::from(u32::MAX)).unwrap_or(u32::MAX);
                let count = Header { number: COUNT, value };
                stream.write_all(&count.octets())?;
            }
        } else {
            stream.write_all(&Header::request(message.number).octets())?;
        }
    }
    Ok(())
}
