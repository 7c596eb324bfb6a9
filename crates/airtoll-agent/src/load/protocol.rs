//! Messages on the connections of a measurement, and its datagrams.
//!
//! ```text
//! connection: the client's first octet says what it is for: u (load up), d (load down), r (requests only)
//! message:    0 number (8)   8 length (4)   12 octets without meaning, of that length
//! datagram:   0 number (8)   8 sent (8)   16 arrived at the server (8), 0 in a request   24 octets without meaning
//! ```
//! Integers are big-endian; times are nanoseconds of each end's `CLOCK_MONOTONIC`. A message with the number [`FILLER`]
//! is load. Every other number is that of a request, and of its answer, both without octets, except [`COUNT`]: the number of octets
//! that the server has received on the connection, as the length (low 32 bits) of a message without octets.

use std::io::{self, Read};

/// Number of a message that is load.
pub const FILLER: u64 = 0;

/// Number of a message that reports the octets received so far.
pub const COUNT: u64 = u64::MAX;

/// Octets of a message before those of the load.
pub const HEADER_B: usize = 12;

/// Octets of load in a message: a request waits for at most one message of the writer.
pub const FILLER_B: usize = 16 << 10;

/// Octets that may wait unsent in a socket (`TCP_NOTSENT_LOWAT`): a request waits behind them. The draft recommends a
/// limit, so that the load does not measure the sender's own buffer.
pub const UNSENT_MAX_B: u32 = 64 << 10;

/// Shortest datagram in octets.
pub const ECHO_MIN_B: usize = 24;

/// Longest datagram in octets: the longest UDP payload over IPv4.
pub const ECHO_MAX_B: usize = 65_507;

/// The purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Load in a direction.
    Load(Direction),
    /// Requests only.
    Requests,
}

/// The direction of the load: up is from the client to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

impl Direction {
    /// The word of the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

impl Purpose {
    /// The first octet of the connection.
    pub fn octet(self) -> u8 {
        match self {
            Self::Load(Direction::Up) => b'u',
            Self::Load(Direction::Down) => b'd',
            Self::Requests => b'r',
        }
    }

    /// The purpose of this first octet.
    pub fn of(octet: u8) -> Option<Self> {
        match octet {
            b'u' => Some(Self::Load(Direction::Up)),
            b'd' => Some(Self::Load(Direction::Down)),
            b'r' => Some(Self::Requests),
            _ => None,
        }
    }
}

/// The header of a message: its number, and its length or count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// [`FILLER`], [`COUNT`], or the number of a request.
    pub number: u64,
    /// Octets of load, or the low 32 bits of a count.
    pub value: u32,
}

impl Header {
    /// A request or its answer.
    pub fn request(number: u64) -> Self {
        Self { number, value: 0 }
    }

    /// The octets of the header.
    pub fn octets(self) -> [u8; HEADER_B] {
        let mut octets = [0; HEADER_B];
        octets[..8].copy_from_slice(&self.number.to_be_bytes());
        octets[8..].copy_from_slice(&self.value.to_be_bytes());
        octets
    }

    /// Reads a header; `None` at the end of the stream.
    ///
    /// # Errors
    /// The stream ends within the header, or the system call fails.
    pub fn read(from: &mut impl Read) -> io::Result<Option<Self>> {
        let mut octets = [0; HEADER_B];
        match from.read(&mut octets)? {
            0 => return Ok(None),
            len => from.read_exact(&mut octets[len..])?,
        }
        let (number, value) = octets.split_at(8);
        let malformed = |_| io::ErrorKind::InvalidData;
        Ok(Some(Self {
            number: u64::from_be_bytes(number.try_into().map_err(malformed)?),
            value: u32::from_be_bytes(value.try_into().map_err(malformed)?),
        }))
    }
}

/// A message of load.
pub fn filler() -> Vec<u8> {
    let value = u32::try_from(FILLER_B).unwrap_or(u32::MAX);
    let mut message = Header {
        number: FILLER,
        value,
    }
    .octets()
    .to_vec();
    message.resize(HEADER_B + FILLER_B, 0x5a);
    message
}

/// The three fields of a datagram; `None` if it is too short.
pub fn echo_fields(datagram: &[u8]) -> Option<[u64; 3]> {
    let field = |at: usize| Some(u64::from_be_bytes(*datagram.get(at..)?.first_chunk()?));
    Some([field(0)?, field(8)?, field(16)?])
}
