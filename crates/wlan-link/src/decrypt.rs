//! Decrypting capture files of any size: a capture of 802.11 frames in, one of the Ethernet frames within out.
//!
//! 1. read a piece of the capture;
//! 2. take the records off its front ([`Decoder`]);
//! 3. decrypt each ([`Decap`]) and write what comes out under a temporary name;
//! 4. at the end of the capture flush to the disk and rename. Whatever goes wrong before, nothing bears the output's name
//!    that did not before.

mod input;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process;

use nix::errno::Errno;
use wlan_ciphers::decap::{CaptureKey, Counts, Decap};
use wlan_frames::captured;
use wlan_frames::pcap::{self, Decoder, LINKTYPE_ETHERNET, PcapError, Step};

use self::input::Input;

/// Octets read, and written, at a time.
const PIECE: usize = 1 << 20;

/// What became of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decrypted {
    /// What became of the 802.11 records. If no frame came out of them there is no output.
    pub counts: Counts,
    /// Records of other link types, which a pcapng file may hold beside them.
    pub other_link_type: u64,
    /// Where the capture breaks off, if it does; all of the above is about what comes before that.
    pub broken: Option<PcapError>,
}

/// Why a capture was not decrypted; there is no output then.
#[derive(Debug, thiserror::Error)]
pub enum DecryptError {
    /// The capture cannot be read.
    #[error("{}: {}", path.display(), words(error))]
    Read {
        /// The capture.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The output cannot be written.
    #[error("{}: {}", path.display(), words(error))]
    Write {
        /// The output.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The capture has no octets.
    #[error("{}: the file is empty", .0.display())]
    Empty(PathBuf),
    /// The file is no capture.
    #[error("{}: {error}", path.display())]
    NoCapture {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: PcapError,
    },
    /// The capture is one of something else.
    #[error("{}: link type {}, not 802.11 frames (105, 119, 127, 163 or 192)", path.display(), named(*link_type))]
    LinkType {
        /// The capture.
        path: PathBuf,
        /// Of what it is.
        link_type: u32,
    },
    /// The output would replace the capture.
    #[error("{}: the output would replace the capture", .0.display())]
    Same(PathBuf),
    /// The output is there already, and is no file that could be replaced.
    #[error("{}: not a regular file", .0.display())]
    NotRegular(PathBuf),
    /// The caller wanted no more.
    #[error("stopped")]
    Stopped,
}

/// What the operating system says, without its number.
fn words(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(number) => Errno::from_raw(number).desc().into(),
        None => error.to_string(),
    }
}

fn named(link_type: u32) -> String {
    match pcap::link_type_name(link_type) {
        Some(name) => format!("{link_type} ({name})"),
        None => link_type.to_string(),
    }
}

/// Decrypts the file `capture`, pcap or pcapng, with these keys into the pcap file `out`, which is replaced if there is
/// one. A capture that breaks off is decrypted up to there.
///
/// `progress` is told, now and then, how many octets of the capture were read, and can end the work.
///
/// # Errors
/// [`DecryptError`].
pub fn decrypt(
    capture: &Path,
    out: &Path,
    keys: Vec<CaptureKey>,
    progress: impl FnMut(u64) -> ControlFlow<()>,
) -> Result<Decrypted, DecryptError> {
    let reading = |error| DecryptError::Read {
        path: capture.into(),
        error,
    };
    let writing = |error| DecryptError::Write {
        path: out.into(),
        error,
    };
    let mut input = Input::open(capture).map_err(reading)?;
    let from = input.metadata().map_err(reading)?;
    let target = match fs::metadata(out) {
        Err(error) if error.kind() == ErrorKind::NotFound => out.to_path_buf(),
        Err(error) => return Err(writing(error)),
        Ok(to) if (to.dev(), to.ino()) == (from.dev(), from.ino()) => {
            return Err(DecryptError::Same(out.into()));
        }
        Ok(to) if !to.is_file() => return Err(DecryptError::NotRegular(out.into())),
        // A link is followed, not replaced.
        Ok(_) => out.canonicalize().map_err(writing)?,
    };
    let temporary = Temporary::create(&target).map_err(writing)?;

    let mut output = BufWriter::with_capacity(PIECE, &temporary.file);
    let decrypted = stream(&mut input, &mut output, keys, progress).map_err(|error| match error {
        StreamError::Read(error) => reading(error),
        StreamError::Write(error) => writing(error),
        StreamError::Pcap(PcapError::NoHeader { have: 0 }) => DecryptError::Empty(capture.into()),
        StreamError::Pcap(error) => DecryptError::NoCapture {
            path: capture.into(),
            error,
        },
        StreamError::LinkType(link_type) => DecryptError::LinkType {
            path: capture.into(),
            link_type,
        },
        StreamError::Stopped => DecryptError::Stopped,
    })?;
    output.flush().map_err(writing)?;
    drop(output);
    if decrypted.counts.frames > 0 {
        temporary.publish(&target).map_err(writing)?;
    }
    Ok(decrypted)
}

/// A file under a temporary name, which is removed unless it is published.
struct Temporary {
    path: PathBuf,
    file: File,
}

impl Temporary {
    /// One beside `target`.
    fn create(target: &Path) -> io::Result<Temporary> {
        let mut number = 0;
        loop {
            let mut name = OsString::from(".tmp-");
            name.push(target.file_name().unwrap_or_default());
            name.push(format!(".{}.{number}", process::id()));
            let path = target.with_file_name(name);
            match File::create_new(&path) {
                Ok(file) => return Ok(Temporary { path, file }),
                // Of another thread, or left behind by a crash.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Flushes the file to the disk, then gives it its name.
    fn publish(self, target: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, target)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After a rename there is no such file.
        let _ = fs::remove_file(&self.path);
    }
}

/// What ended [`stream`].
#[derive(Debug)]
enum StreamError {
    Read(io::Error),
    Write(io::Error),
    Pcap(PcapError),
    LinkType(u32),
    Stopped,
}

/// Steps 1 to 3.
fn stream(
    input: &mut impl Read,
    output: &mut impl Write,
    keys: Vec<CaptureKey>,
    mut progress: impl FnMut(u64) -> ControlFlow<()>,
) -> Result<Decrypted, StreamError> {
    output
        .write_all(&pcap::file_header_of(LINKTYPE_ETHERNET))
        .map_err(StreamError::Write)?;
    let mut decap = Decap::new(keys);
    let mut decoder = Decoder::default();
    let (mut other_link_type, mut octets_read) = (0, 0);
    let mut buffer = vec![0; PIECE];
    let mut unread = 0..0;
    let outcome = loop {
        match decoder.step(&buffer[unread.clone()]) {
            Err(error) => break Err(error),
            Ok(Step::Skip(len)) => unread.start += len,
            Ok(Step::Record(link_type, record, len)) => {
                unread.start += len;
                if !captured::is_known(link_type) {
                    // Not even one interface of 802.11: no need to read on.
                    if !decoder.link_types().iter().any(|&one| captured::is_known(one)) {
                        return Err(StreamError::LinkType(link_type));
                    }
                    other_link_type += 1;
                    continue;
                }
                let mut outcome = Ok(());
                // What was skipped is counted.
                let _ = decap.record(link_type, &record, |frame| {
                    if outcome.is_ok() {
                        outcome = output
                            .write_all(&pcap::record_header(record.ts_ns, frame.len()))
                            .and_then(|()| output.write_all(frame));
                    }
                });
                outcome.map_err(StreamError::Write)?;
            }
            Ok(Step::Need(len)) => {
                buffer.copy_within(unread.clone(), 0);
                unread = 0..unread.len();
                if buffer.len() < len {
                    buffer.resize(len, 0);
                }
                match input.read(&mut buffer[unread.end..]) {
                    Ok(0) => break decoder.finish(unread.len()),
                    Ok(len) => {
                        unread.end += len;
                        octets_read += len as u64;
                    }
                    // By a signal, which may be the user's, or nothing came.
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(StreamError::Read(error)),
                }
                if progress(octets_read).is_break() {
                    return Err(StreamError::Stopped);
                }
            }
        }
    };
    let mut link_types = decoder.link_types().iter().copied();
    match (link_types.next(), outcome) {
        (None, Err(error)) => return Err(StreamError::Pcap(error)),
        (Some(first), _) if !captured::is_known(first) && !link_types.any(captured::is_known) => {
            return Err(StreamError::LinkType(first));
        }
        _ => {}
    }
    Ok(Decrypted {
        counts: decap.counts().clone(),
        other_link_type,
        broken: outcome.err(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wlan_ciphers::Wep;

    const WEP40: [u8; 5] = [0x1f, 0x2e, 0x3d, 0x4c, 0x5b];

    fn through(mut capture: &[u8]) -> (Result<Decrypted, StreamError>, Vec<u8>) {
        let mut out = Vec::new();
        let keys = vec![CaptureKey::Wep(Wep::new(&WEP40).unwrap())];
        let outcome = stream(&mut capture, &mut out, keys, |_| ControlFlow::Continue(()));
        (outcome, out)
    }

    #[test]
    fn a_capture_cut_anywhere_is_decrypted_up_to_there() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wlan-ciphers/tests/captures");
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
                    let PcapError::Truncated {
                        record, offset, have, ..
                    } = broken
                    else {
                        panic!("{len}: {broken}")
                    };
                    assert_eq!(offset + have as u64, len as u64);
                    assert_eq!(record, decrypted.counts.records + 1);
                }
                Err(StreamError::Pcap(error)) => {
                    assert_eq!(error, PcapError::NoHeader { have: len });
                    assert!(len < 24);
                }
                Err(other) => panic!("{len}: {other:?}"),
            }
        }
    }

    /// Gives one octet a time, with a signal before each, as a slow pipe might.
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
    fn a_capture_that_trickles_in_is_read_to_its_end() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wlan-ciphers/tests/captures");
        let whole = fs::read(folder.join("wep40.pcap")).unwrap();
        let (expected, complete) = through(&whole);
        let mut out = Vec::new();
        let keys = vec![CaptureKey::Wep(Wep::new(&WEP40).unwrap())];
        let outcome = stream(&mut Trickle(&whole, false), &mut out, keys, |_| {
            ControlFlow::Continue(())
        });
        assert_eq!(outcome.unwrap(), expected.unwrap());
        assert_eq!(out, complete);
    }
}
