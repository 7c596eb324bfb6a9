//! Messages on the byte stream between controller and agent.
//!
//! A frame is the length of its head and the length of its body, each a 32-bit big-endian number of octets, then the
//! head, one JSON object, then the body: octets of a file or of a command's output.

use std::io::{self, ErrorKind, Read, Write};

use serde::Serialize;
use serde_json::Value;

/// Longest head, in octets. A longer one is not a frame: the other end is no agent or no controller.
pub const HEAD_MAX_B: usize = 1 << 20;

/// Longest body, in octets.
pub const BODY_MAX_B: usize = 1 << 22;

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// A JSON object: a request, an answer or an event.
    pub head: Value,
    /// Octets that belong to it.
    pub body: Vec<u8>,
}

/// Reads a frame; `None` if the stream ends before it.
///
/// # Errors
/// The stream ends within the frame, a length exceeds its limit, or the head is not JSON.
pub fn read(from: &mut impl Read) -> io::Result<Option<Frame>> {
    let mut lengths = [0; 8];
    match from.read(&mut lengths[..1])? {
        0 => return Ok(None),
        _ => from.read_exact(&mut lengths[1..])?,
    }
    let (head, body) = lengths.split_at(4);
    let head = length(head, HEAD_MAX_B)?;
    let body = length(body, BODY_MAX_B)?;
    let head = serde_json::from_slice(&octets(from, head)?)?;
    Ok(Some(Frame {
        head,
        body: octets(from, body)?,
    }))
}

fn length(field: &[u8], most: usize) -> io::Result<usize> {
    let long = field
        .iter()
        .fold(0, |long, &octet| long << 8 | usize::from(octet));
    if long > most {
        return Err(io::Error::new(
            ErrorKind::InvalidData,
            format!("a part of {long} octets exceeds {most}"),
        ));
    }
    Ok(long)
}

fn octets(from: &mut impl Read, count: usize) -> io::Result<Vec<u8>> {
    let mut found = vec![0; count];
    from.read_exact(&mut found)?;
    Ok(found)
}

/// Writes a frame and flushes it.
///
/// # Errors
/// The stream is closed, or a part exceeds its limit.
pub fn write(to: &mut impl Write, head: &impl Serialize, body: &[u8]) -> io::Result<()> {
    let head = serde_json::to_vec(head)?;
    let too_long = |_| io::Error::from(ErrorKind::InvalidInput);
    to.write_all(&u32::try_from(head.len()).map_err(too_long)?.to_be_bytes())?;
    to.write_all(&u32::try_from(body.len()).map_err(too_long)?.to_be_bytes())?;
    to.write_all(&head)?;
    to.write_all(body)?;
    to.flush()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        #[test]
        fn frames_come_back_as_they_were_written(words in prop::collection::vec("\\PC*", 0..4), body in prop::collection::vec(any::<u8>(), 0..2000)) {
            let head = json!({"words": words});
            let mut stream = Vec::new();
            write(&mut stream, &head, &body).unwrap();
            let mut from = stream.as_slice();
            prop_assert_eq!(read(&mut from).unwrap(), Some(Frame { head, body }));
            prop_assert_eq!(read(&mut from).unwrap(), None);
        }

        #[test]
        fn no_octets_make_it_panic_or_allocate_beyond_the_limits(octets in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = read(&mut octets.as_slice());
        }
    }

    #[test]
    fn a_truncated_frame_is_an_error() {
        let mut stream = Vec::new();
        write(&mut stream, &json!({}), b"body").unwrap();
        for kept in 1..stream.len() {
            assert!(read(&mut &stream[..kept]).is_err(), "{kept} octets");
        }
    }
}
