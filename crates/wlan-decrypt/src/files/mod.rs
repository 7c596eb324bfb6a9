//! Decryption of capture files of any size: reads 802.11 frames, writes Ethernet frames.
//!
//! 1. read the capture in blocks and decompress it, on a separate thread;
//! 2. parse the records of a block ([`Decoder`](wlan_frames::pcap::Decoder)), decrypt them in batches
//!    ([`Decap`](crate::decap::Decap)) and learn keys from handshakes;
//! 3. write the output to a temporary file, on a separate thread;
//! 4. at the end of the capture, rename the temporary file. After an error, an existing output is unchanged and no
//!    new output exists.

mod input;
mod learner;
mod secrets;
mod stations;
mod stream;

use std::fs;
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use wlan_frames::pcap::{self, PcapError};

use crate::decap::{Counts, LinkCounts};

pub use input::BadCompression;
use input::{Decompressed, Input};
pub use secrets::{Passphrase, SecretError, Secrets};
pub use stations::{Finding, Station};
use stream::{StreamError, stream};
use wlan_host::os_error::words;
use wlan_host::temporary::Temporary;

/// The result of decrypting a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decrypted {
    /// Counts of the 802.11 records. If `frames` is 0, there is no output.
    pub counts: Counts,
    /// Records of other link types, which a pcapng file may also contain.
    pub other_link_type: u64,
    /// The position and reason if the capture is truncated or damaged. All other fields describe the records before it.
    pub broken: Option<Broken>,
    /// The keys learned per station, and per access point for group keys, ordered by address. Empty without secrets
    /// from which keys can be learned.
    pub stations: Vec<Station>,
    /// Counts of the protected data frames of stations that are not in `stations`, because the capture has too many.
    pub other_links: LinkCounts,
    /// The first 4096 SSIDs in the capture, ordered by their octets.
    pub ssids: Vec<Vec<u8>>,
}

/// The position and reason if a capture is truncated or damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The octets are not those of a capture.
    #[error(transparent)]
    Capture(#[from] PcapError),
    /// The compressed file gives no more octets.
    #[error(transparent)]
    Compression(#[from] BadCompression),
}

/// Reason why a capture was not decrypted. There is no output.
#[derive(Debug, thiserror::Error)]
pub enum DecryptError {
    /// The capture cannot be read.
    #[error("{}: {}", path.display(), words(error))]
    Read {
        /// Path of the capture.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The output cannot be written.
    #[error("{}: {}", path.display(), words(error))]
    Write {
        /// Path of the output.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The capture is empty.
    #[error("{}: the file is empty", .0.display())]
    Empty(PathBuf),
    /// The file is not a capture.
    #[error("{}: {error}", path.display())]
    NoCapture {
        /// Path of the file.
        path: PathBuf,
        /// The reason.
        error: Broken,
    },
    /// The capture has no 802.11 frames.
    #[error("{}: link type {}, not 802.11 frames (105, 119, 127, 163 or 192)", path.display(), named(*link_type))]
    LinkType {
        /// Path of the capture.
        path: PathBuf,
        /// Its link type.
        link_type: u32,
    },
    /// The output would replace the capture.
    #[error("{}: the output would replace the capture", .0.display())]
    Same(PathBuf),
    /// The output exists and is not a regular file.
    #[error("{}: not a regular file", .0.display())]
    NotRegular(PathBuf),
    /// The caller stopped the work.
    #[error("stopped")]
    Stopped,
}

fn named(link_type: u32) -> String {
    match pcap::link_type_name(link_type) {
        Some(name) => format!("{link_type} ({name})"),
        None => link_type.to_string(),
    }
}

/// Decrypts the pcap or pcapng file `capture`, which may be compressed by gzip or Zstandard, with `secrets` to the pcap
/// file `out`, which is replaced if it exists. A link at `out` is never followed: it is refused or, if it appears later,
/// replaced. A truncated or damaged capture is decrypted up to that point.
///
/// `progress` is called regularly with the number of octets of the file that were read, and can stop the work.
///
/// # Errors
/// [`DecryptError`].
pub fn decrypt(
    capture: &Path,
    out: &Path,
    secrets: impl Into<Secrets>,
    mut progress: impl FnMut(u64) -> ControlFlow<()>,
) -> Result<Decrypted, DecryptError> {
    let reading = |error| DecryptError::Read {
        path: capture.into(),
        error,
    };
    let writing = |error| DecryptError::Write {
        path: out.into(),
        error,
    };
    let input = Input::open(capture).map_err(reading)?;
    let octets_read = input.octets_read();
    let from = input.metadata();
    match fs::symlink_metadata(out) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(writing(error)),
        Ok(to) if (to.dev(), to.ino()) == (from.dev(), from.ino()) => {
            return Err(DecryptError::Same(out.into()));
        }
        Ok(to) if !to.is_file() => return Err(DecryptError::NotRegular(out.into())),
        Ok(_) => {}
    }
    let temporary = Temporary::create(out, 0o666).map_err(writing)?;

    let mut input = Decompressed::new(input);
    let mut output = &temporary.file;
    let progress = || progress(octets_read.load(Ordering::Relaxed));
    let decrypted =
        stream(&mut input, &mut output, secrets.into(), progress).map_err(|error| match error {
            StreamError::Read(error) => reading(error),
            StreamError::Write(error) => writing(error),
            StreamError::Broken(Broken::Capture(PcapError::NoHeader { have: 0 })) => {
                DecryptError::Empty(capture.into())
            }
            StreamError::Broken(error) => DecryptError::NoCapture {
                path: capture.into(),
                error,
            },
            StreamError::LinkType(link_type) => DecryptError::LinkType {
                path: capture.into(),
                link_type,
            },
            StreamError::Stopped => DecryptError::Stopped,
        })?;
    if decrypted.counts.frames > 0 {
        temporary.publish(out).map_err(writing)?;
    }
    Ok(decrypted)
}
