//! The end that answers requests, sends or receives the load, and returns datagrams.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use wlan_host::clock::monotonic_ns;

use super::protocol::{COUNT, Direction, ECHO_MAX_B, FILLER, Header, Purpose};
use super::stream::{configure, send_load, skip};
use crate::program::{ProgramError, is_passing};

/// Time between two counts of received octets.
const COUNT_INTERVAL: Duration = Duration::from_millis(20);

/// Time between two checks whether connections are open.
const CHECK: Duration = Duration::from_millis(250);

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
        let echo = self.echo.try_clone()?;
        thread::spawn(move || return_datagrams(&echo));
        let open = Arc::new(AtomicUsize::new(0));
        let mut last_open = Instant::now();
        let check = PollTimeout::try_from(CHECK.min(idle)).unwrap_or(PollTimeout::MAX);
        loop {
            if poll(
                &mut [PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)],
                check,
            )? > 0
            {
                let (stream, _) = self.listener.accept()?;
                let open = Arc::clone(&open);
                open.fetch_add(1, Ordering::Relaxed);
                thread::spawn(move || {
                    // The client has ended the connection, or its host is lost: the client reports it.
                    let _ = serve_connection(stream);
                    open.fetch_sub(1, Ordering::Relaxed);
                });
            }
            if open.load(Ordering::Relaxed) > 0 {
                last_open = Instant::now();
            } else if last_open.elapsed() >= idle {
                return Ok(());
            }
        }
    }
}

/// Returns each datagram with the time of its arrival.
fn return_datagrams(socket: &UdpSocket) -> io::Result<()> {
    let mut datagram = vec![0; ECHO_MAX_B + 1];
    loop {
        match socket.recv_from(&mut datagram) {
            Ok((len, client)) => {
                if let Some(field) = datagram[..len].get_mut(16..24) {
                    field.copy_from_slice(&monotonic_ns().to_be_bytes());
                }
                match socket.send_to(&datagram[..len], client) {
                    Err(error) if !is_passing(&error) => return Err(error),
                    _ => {}
                }
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
            let (ask, asked) = mpsc::channel();
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
