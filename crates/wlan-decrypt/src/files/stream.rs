//! From the octets of a capture to the octets of the output: steps 1 to 3 of [`decrypt`](super).

use std::io::{self, ErrorKind, Read, Write};
use std::mem;
use std::ops::{ControlFlow, Range};
use std::sync::mpsc::{Receiver as Fetch, Sender, SyncSender, channel, sync_channel};
use std::thread;

use wlan_frames::pcap::{self, Decoder, LINKTYPE_ETHERNET, MAX_RECORD_LEN, Step};
use wlan_frames::{MacAddr, captured};

use crate::decap::{CaptureKey, Decap, KeyOwner, Receiver};

use super::input::BadCompression;
use super::learner::Learner;
use super::{Broken, Decrypted, Secrets};

/// Octets per read: enough to make the cost of system calls negligible, and few enough that they and their decrypted
/// copy fit a second-level cache.
const READ_OCTETS: usize = 128 << 10;
/// Free space before the octets of a read, for a record that began in the read before. A longer record costs a copy.
const HEADROOM_OCTETS: usize = 16 << 10;
/// Maximum number of reads ahead.
const AHEAD: usize = 4;
/// Octets per write: enough to make the cost of waking the writer negligible. They move to another core anyway.
const WRITE_OCTETS: usize = 512 << 10;
/// Octets read between two calls of `progress`.
const TOLD_OCTETS: u64 = 512 << 10;
/// Maximum number of blocks waiting to be written, so that the writer is never idle while there is output.
const WAITING: usize = 4;

/// The error that ended [`stream`].
#[derive(Debug)]
pub(super) enum StreamError {
    Read(io::Error),
    Write(io::Error),
    Broken(Broken),
    LinkType(u32),
    Stopped,
}

/// Collects decrypted frames and learns keys.
struct Sink {
    learner: Learner,
    /// The block that is being filled.
    piece: Vec<u8>,
    full: SyncSender<Vec<u8>>,
    empty: Fetch<Vec<u8>>,
    /// Whether the writer ended early.
    is_broken: bool,
}

impl Sink {
    fn pass_on(&mut self) {
        let next = self.empty.try_recv().unwrap_or_else(|_| empty_piece());
        self.is_broken |= self.full.send(mem::replace(&mut self.piece, next)).is_err();
    }
}

impl Receiver for Sink {
    fn frame(&mut self, ts_ns: u64, head: &[u8], body: &[u8]) {
        self.piece
            .extend_from_slice(&pcap::record_header(ts_ns, head.len() + body.len()));
        self.piece.extend_from_slice(head);
        self.piece.extend_from_slice(body);
        if self.piece.len() >= WRITE_OCTETS {
            self.pass_on();
        }
    }

    fn management(&mut self, mpdu: &[u8]) -> Vec<(KeyOwner, CaptureKey)> {
        self.learner.management(mpdu)
    }

    fn eapol(&mut self, bssid: MacAddr, station: MacAddr, packet: &[u8]) -> Vec<(KeyOwner, CaptureKey)> {
        self.learner.eapol(bssid, station, packet)
    }
}

/// An empty block, with capacity for the record that exceeds `WRITE_OCTETS`.
fn empty_piece() -> Vec<u8> {
    Vec::with_capacity(WRITE_OCTETS + MAX_RECORD_LEN)
}

/// Octets of the capture in a buffer.
#[derive(Default)]
struct Unread {
    buffer: Vec<u8>,
    range: Range<usize>,
}

impl Unread {
    fn octets(&self) -> &[u8] {
        &self.buffer[self.range.clone()]
    }

    /// Adds the octets of the next read. Returns the buffer that is now free.
    fn join(&mut self, mut next: Unread, needed: usize) -> Vec<u8> {
        let len = self.range.len();
        if len <= next.range.start && len + next.range.len() >= needed {
            next.range.start -= len;
            next.buffer[next.range.start..][..len].copy_from_slice(self.octets());
            mem::swap(self, &mut next);
        } else {
            self.buffer.truncate(self.range.end);
            self.buffer.drain(..self.range.start);
            self.buffer.extend_from_slice(next.octets());
            self.range = 0..self.buffer.len();
        }
        next.buffer
    }
}

/// The capture, which another thread reads ahead.
struct Source {
    /// The reads in order. An interrupted read allows `progress` to stop the work.
    arrived: Fetch<io::Result<Unread>>,
    free: Sender<Vec<u8>>,
}

/// Reads the capture to its end, to an error, or until nothing takes the reads any more.
fn read_ahead(input: &mut impl Read, free: &Fetch<Vec<u8>>, arrived: &SyncSender<io::Result<Unread>>) {
    loop {
        let mut buffer = free.try_recv().unwrap_or_default();
        buffer.resize(HEADROOM_OCTETS + READ_OCTETS, 0);
        let (read, is_last) = match input.read(&mut buffer[HEADROOM_OCTETS..]) {
            // The closed channel is the end of the capture.
            Ok(0) => return,
            Ok(len) => {
                let range = HEADROOM_OCTETS..HEADROOM_OCTETS + len;
                (Ok(Unread { buffer, range }), false)
            }
            Err(error) => {
                let is_last = error.kind() != ErrorKind::Interrupted;
                (Err(error), is_last)
            }
        };
        if arrived.send(read).is_err() || is_last {
            return;
        }
    }
}

/// Decrypts a capture from `input` to `output`.
pub(super) fn stream(
    input: &mut (impl Read + Send),
    output: &mut (impl Write + Send),
    secrets: Secrets,
    progress: impl FnMut() -> ControlFlow<()>,
) -> Result<Decrypted, StreamError> {
    let (full, to_write) = sync_channel::<Vec<u8>>(WAITING);
    let (written, empty) = channel();
    let (keys, learner) = Learner::new(secrets);
    let mut sink = Sink {
        learner,
        piece: empty_piece(),
        full,
        empty,
        is_broken: false,
    };
    sink.piece
        .extend_from_slice(&pcap::file_header_of(LINKTYPE_ETHERNET));
    let (arrives, arrived) = sync_channel(AHEAD);
    let (free, to_fill) = channel();
    let source = Source { arrived, free };
    thread::scope(|scope| {
        scope.spawn(move || read_ahead(input, &to_fill, &arrives));
        let writer = scope.spawn(move || {
            for mut piece in to_write {
                output.write_all(&piece)?;
                piece.clear();
                // Fails harmlessly at the end, when no block is required.
                let _ = written.send(piece);
            }
            Ok(())
        });
        let decrypted = decrypt(source, keys, &mut sink, progress);
        if decrypted.is_ok() {
            sink.pass_on();
        }
        // Closes the channel, which ends the writer.
        drop(sink);
        let outcome = writer.join().expect("the writer does not panic");
        outcome.map_err(StreamError::Write).and(decrypted)
    })
}

/// Step 2.
fn decrypt(
    source: Source,
    keys: Vec<CaptureKey>,
    sink: &mut Sink,
    mut progress: impl FnMut() -> ControlFlow<()>,
) -> Result<Decrypted, StreamError> {
    let mut decap = if sink.learner.has_secrets() {
        Decap::learning(keys)
    } else {
        Decap::new(keys)
    };
    let mut decoder = Decoder::default();
    let (mut other_link_type, mut octets_read, mut told) = (0, 0, 0);
    let mut unread = Unread::default();
    let outcome = loop {
        let mut batch = decap.batch();
        let mut at = 0;
        let octets = unread.octets();
        let step = loop {
            match decoder.step(&octets[at..]) {
                Err(error) => break Err(error),
                Ok(Step::Need(len)) => break Ok(len),
                Ok(Step::Skip(len)) => at += len,
                Ok(Step::Record(link_type, record, len)) => {
                    at += len;
                    if captured::is_known(link_type) {
                        // The batch counts skipped records.
                        let _ = batch.push(link_type, &record, sink);
                        continue;
                    }
                    // No interface has 802.11 frames, so the rest of the file is not read.
                    if !decoder.link_types().iter().any(|&one| captured::is_known(one)) {
                        return Err(StreamError::LinkType(link_type));
                    }
                    other_link_type += 1;
                }
            }
        };
        let _ = batch.finish(sink);
        unread.range.start += at;
        let needed = match step {
            Err(error) => break Err(error.into()),
            Ok(len) => len,
        };
        if sink.is_broken {
            // The writer returns the actual error.
            return Err(StreamError::Stopped);
        }
        let is_slow = match source.arrived.recv() {
            // The end of the capture.
            Err(_) => break decoder.finish(unread.range.len()).map_err(Broken::from),
            Ok(Ok(next)) => {
                let len = next.range.len();
                octets_read += len as u64;
                // Fails harmlessly when nothing more is read.
                let _ = source.free.send(unread.join(next, needed));
                len < READ_OCTETS
            }
            // Interrupted by a signal, which may be the user's, or no data arrived.
            Ok(Err(error)) if error.kind() == ErrorKind::Interrupted => true,
            Ok(Err(error)) => match error.downcast::<BadCompression>() {
                Ok(bad) => break Err(bad.into()),
                Err(error) => return Err(StreamError::Read(error)),
            },
        };
        if is_slow || octets_read - told >= TOLD_OCTETS {
            told = octets_read;
            if progress().is_break() {
                return Err(StreamError::Stopped);
            }
        }
    };
    let mut link_types = decoder.link_types().iter().copied();
    match (link_types.next(), outcome) {
        (None, Err(error)) => return Err(StreamError::Broken(error)),
        (Some(first), _) if !captured::is_known(first) && !link_types.any(captured::is_known) => {
            return Err(StreamError::LinkType(first));
        }
        _ => {}
    }
    Ok(Decrypted {
        counts: decap.counts().clone(),
        other_link_type,
        broken: outcome.err(),
        stations: sink.learner.stations(decap.links()),
        other_links: decap.other_links(),
        ssids: sink.learner.ssids(),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use wlan_ciphers::Wep;
    use wlan_frames::pcap::PcapError;

    use crate::decap::CaptureKey;

    use super::*;

    const WEP40: [u8; 5] = [0x1f, 0x2e, 0x3d, 0x4c, 0x5b];

    fn through(mut capture: &[u8]) -> (Result<Decrypted, StreamError>, Vec<u8>) {
        let mut out = Vec::new();
        let keys = vec![CaptureKey::from(Wep::new(&WEP40).unwrap())];
        let outcome = stream(&mut capture, &mut out, keys.into(), || ControlFlow::Continue(()));
        (outcome, out)
    }

    #[test]
    fn a_truncated_capture_is_decrypted_up_to_its_end() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
        let whole = fs::read(folder.join("wep40.pcap")).unwrap();
        let complete = through(&whole).1;
        for len in 0..whole.len() {
            let (outcome, out) = through(&whole[..len]);
            assert!(complete.starts_with(&out), "{len}");
            match outcome {
                Ok(decrypted) => {
                    assert!(len >= 24);
                    let frames = pcap::records(&out)
                        .inspect(|record| assert!(record.is_ok()))
                        .count();
                    assert_eq!(frames as u64, decrypted.counts.frames);
                    let Some(broken) = decrypted.broken else { continue };
                    let Broken::Capture(PcapError::Truncated {
                        record, offset, have, ..
                    }) = broken
                    else {
                        panic!("{len}: {broken}")
                    };
                    assert_eq!(offset + have as u64, len as u64);
                    assert_eq!(record, decrypted.counts.records + 1);
                }
                Err(StreamError::Broken(error)) => {
                    assert_eq!(error, Broken::Capture(PcapError::NoHeader { have: len }));
                    assert!(len < 24);
                }
                Err(other) => panic!("{len}: {other:?}"),
            }
        }
    }

    /// Returns one octet per read, each after an interruption, like a slow pipe.
    struct Trickle<'a>(&'a [u8], bool);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(ErrorKind::Interrupted.into());
            }
            self.0.read(&mut buffer[..1])
        }
    }

    #[test]
    fn a_capture_that_arrives_in_small_reads_is_read_to_its_end() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
        let whole = fs::read(folder.join("wep40.pcap")).unwrap();
        let (expected, complete) = through(&whole);
        let mut out = Vec::new();
        let keys = vec![CaptureKey::from(Wep::new(&WEP40).unwrap())];
        let outcome = stream(&mut Trickle(&whole, false), &mut out, keys.into(), || {
            ControlFlow::Continue(())
        });
        assert_eq!(outcome.unwrap(), expected.unwrap());
        assert_eq!(out, complete);
    }
}
