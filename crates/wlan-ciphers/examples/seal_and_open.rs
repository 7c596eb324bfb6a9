//! Encrypts ("seals") a batch of CCMP frames and decrypts ("opens") it, as a sender and a receiver do. A forged frame
//! and a replayed frame are rejected.
//!
//! ```sh
//! cargo run --example seal_and_open
//! ```

use std::error::Error;

use wlan_ciphers::{
    KeyId, OpenError, OpenJob, PacketNumber, Replay, ReplayWindow, SealJob, Suite, TemporalKey,
};
use wlan_frames::{DataHeader, MacAddr, SequenceControl};

const SUITE: Suite = Suite::Ccmp128;

fn main() -> Result<(), Box<dyn Error>> {
    // In a network the 4-way handshake provides this key, see the crate wlan-rsn.
    let key = TemporalKey::new(SUITE, &[0x5a; 16])?;
    println!("{} with the backend {}", SUITE.name(), key.backend());

    let mut sender = Sender {
        last: PacketNumber::ZERO,
    };
    let mut air = sender.send(&key, &["first", "second", "third"])?;
    let last = air[0].len() - 1;
    air[1][last] ^= 1; // an attacker changes the second frame ...
    air.push(air[0].clone()); // ... and repeats the first

    let mut receiver = ReplayWindow::new(PacketNumber::ZERO);
    for received in receive(&key, &mut receiver, &mut air) {
        match received {
            Ok(payload) => println!("received {:?}", String::from_utf8_lossy(&payload)),
            Err(reason) => println!("rejected: {reason}"),
        }
    }
    Ok(())
}

/// The sending end.
pub struct Sender {
    /// The packet number of the last frame. No number may be used twice under one key.
    pub last: PacketNumber,
}

impl Sender {
    /// The frames of these payloads, sealed as one batch.
    pub fn send(&mut self, key: &TemporalKey, payloads: &[&str]) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
        let header = DataHeader {
            to_ds: true,
            addr1: MacAddr([2, 0, 0, 0, 0, 1]),
            addr2: MacAddr([2, 0, 0, 0, 0, 2]),
            addr3: MacAddr([2, 0, 0, 0, 0, 3]),
            ..DataHeader::default()
        };
        // The frames require space for the cipher header before the payload and for the MIC after it.
        let mut frames = Vec::new();
        for (number, payload) in (0..).zip(payloads) {
            let header = DataHeader {
                sequence: SequenceControl { number, fragment: 0 },
                ..header
            };
            let mut frame = vec![0; header.len() + SUITE.overhead() + payload.len()];
            let at = header.emit(&mut frame) + SUITE.header_len();
            frame[at..][..payload.len()].copy_from_slice(payload.as_bytes());
            frames.push(frame);
        }
        let mut jobs = Vec::new();
        for mpdu in &mut frames {
            self.last = self.last.next()?;
            jobs.push(SealJob {
                mpdu,
                header_len: header.len(),
                pn: self.last,
                key_id: KeyId::PAIRWISE,
            });
        }
        key.seal(&mut jobs)?;
        Ok(frames)
    }
}

/// Why a received frame is rejected.
#[derive(Debug, PartialEq, Eq)]
pub enum Rejected {
    /// The frame does not open.
    Frame(OpenError),
    /// The frame opens, but it was received before.
    Replay(Replay),
}

impl std::fmt::Display for Rejected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Rejected::Frame(error) => error.fmt(f),
            Rejected::Replay(replay) => replay.fmt(f),
        }
    }
}

/// Opens received frames as one batch, and checks the frames that opened for replays, in the order of reception.
pub fn receive(
    key: &TemporalKey,
    window: &mut ReplayWindow,
    frames: &mut [Vec<u8>],
) -> Vec<Result<Vec<u8>, Rejected>> {
    let mut jobs: Vec<OpenJob<'_>> = frames
        .iter_mut()
        .map(|mpdu| OpenJob::new(mpdu, KeyId::PAIRWISE))
        .collect();
    key.open(&mut jobs);
    jobs.iter()
        .map(|job| {
            let opened = job.verdict().map_err(Rejected::Frame)?;
            window
                .accept(opened.priority, opened.pn)
                .map_err(Rejected::Replay)?;
            Ok(job.payload().map_err(Rejected::Frame)?.to_vec())
        })
        .collect()
}
