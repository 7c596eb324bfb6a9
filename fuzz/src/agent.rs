//! Frames between a controller and an agent.

use std::io::{self, Read};

use airtoll_agent::agent::frame::{BODY_MAX_B, Frame, HEAD_MAX_B, read, write};
use serde_json::{Value, json};

/// A stream that returns a few octets per call, as a pipe may.
struct Pieces<'a>(&'a [u8], usize);

impl Read for Pieces<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let len = buf.len().min(self.1);
        self.0.read(&mut buf[..len])
    }
}

/// Frames are read until the first invalid one. The result does not depend on the pieces of the stream, no part exceeds
/// its limit, and a frame that is written is read as the same frame. The first octet is the length of the pieces.
pub fn agent(data: &[u8]) {
    let Some((&piece, mut whole)) = data.split_first() else {
        return;
    };
    let mut pieces = Pieces(whole, 1 + usize::from(piece));
    loop {
        let (frame, again) = (read(&mut whole), read(&mut pieces));
        let (Ok(Some(frame)), Ok(Some(again))) = (&frame, &again) else {
            assert_eq!(frame.ok(), again.ok());
            return;
        };
        assert_eq!(frame, again);
        assert!(frame.body.len() <= BODY_MAX_B);
        let mut written = Vec::new();
        write(&mut written, &frame.head, &frame.body).expect("memory has space");
        // A number may have more digits than the agent would write.
        if written.len() - 8 - frame.body.len() > HEAD_MAX_B {
            return;
        }
        let found = read(&mut written.as_slice())
            .expect("a written frame is readable")
            .expect("a frame was written");
        assert_eq!(found.body, frame.body);
        assert!(is_same(&found.head, &frame.head));
    }
}

/// Whether two heads are equal. The last digit of a fraction may differ: `serde_json` reads fractions fast.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|((name, one), (other_name, other))| name == other_name && is_same(one, other))
        }
        (Value::Number(one), Value::Number(other)) => one == other || (one.is_f64() && other.is_f64()),
        (one, other) => one == other,
    }
}

/// Requests as a controller sends them.
pub fn seeds() -> Vec<Vec<u8>> {
    let requests = [
        (json!({"id": 1, "do": "facts"}), &b""[..]),
        (
            json!({"id": 2, "do": "put", "path": "/dev/shm/airtoll-agent-AAAAAA/hostapd.conf", "mode": 0o600}),
            b"ssid=airtoll\n",
        ),
        (
            json!({"id": 3, "do": "sample", "sampler": 3, "rate_hz": 9.5, "interfaces": ["wlan0"], "machine": true}),
            b"",
        ),
    ];
    let mut seed = vec![3];
    for (head, body) in requests {
        let frame = Frame {
            head,
            body: body.to_vec(),
        };
        write(&mut seed, &frame.head, &frame.body).expect("memory has space");
    }
    vec![seed]
}
