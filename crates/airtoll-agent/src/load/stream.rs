//! The common parts of both ends of a TCP connection.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::Receiver;

use socket2::SockRef;

use super::protocol::{FILLER_B, Header, UNSENT_MAX_B, filler};

/// Sends each message at once, and lets no more than a short queue wait in the socket.
pub fn configure(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    SockRef::from(stream).set_tcp_notsent_lowat(UNSENT_MAX_B)
}

/// Reads octets without meaning.
pub fn skip(stream: &mut TcpStream, octets: u32) -> io::Result<()> {
    let mut left = usize::try_from(octets).map_err(io::Error::other)?;
    let mut chunk = [0; FILLER_B];
    while left > 0 {
        let wanted = left.min(FILLER_B);
        stream.read_exact(&mut chunk[..wanted])?;
        left -= wanted;
    }
    Ok(())
}

/// Sends load, and between its messages the numbers that arrive in `asked`, until the connection ends.
pub fn send_load(stream: &mut TcpStream, asked: &Receiver<u64>) -> io::Result<()> {
    let filler = filler();
    loop {
        for number in asked.try_iter() {
            stream.write_all(&Header::request(number).octets())?;
        }
        stream.write_all(&filler)?;
    }
}
