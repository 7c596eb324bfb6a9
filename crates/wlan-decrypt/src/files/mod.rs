//! Decrypting capture files of any size: a capture of 802.11 frames in, one of the Ethernet frames within out.
//!
//! 1. read a piece of the capture, and take the records off its front ([`Decoder`](wlan_frames::pcap::Decoder));
//! 2. decrypt them in batches ([`Decap`](crate::decap::Decap)), and learn keys from the handshakes among them;
//! 3. on a thread of its own: write what comes out under a temporary name;
//! 4. at the end of the capture rename. Whatever goes wrong before, nothing bears the output's name that did not before.

mod input;
mod learner;
mod secrets;
mod stations;
mod stream;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process;

use wlan_frames::pcap::{self, PcapError};

use crate::decap::Counts;

use input::Input;
pub use secrets::{Passphrase, SecretError, Secrets};
pub use stations::{Finding, Station};
use stream::{StreamError, stream};
use wlan_host::os_error::words;

/// What became of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decrypted {
    /// What became of the 802.11 records. If no frame came out of them there is no output.
    pub counts: Counts,
    /// Records of other link types, which a pcapng file may hold beside them.
    pub other_link_type: u64,
    /// Where the capture breaks off, if it does; all of the above is about what comes before that.
    pub broken: Option<PcapError>,
    /// What was learned of each station, and of each access point's group keys, by address; nothing if there was nothing to
    /// learn with.
    pub stations: Vec<Station>,
    /// SSIDs that were seen in the capture, the first 4096 of them, in the order of their octets.
    pub ssids: Vec<Vec<u8>>,
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

fn named(link_type: u32) -> String {
    match pcap::link_type_name(link_type) {
        Some(name) => format!("{link_type} ({name})"),
        None => link_type.to_string(),
    }
}

/// Decrypts the file `capture`, pcap or pcapng, with these secrets into the pcap file `out`, which is replaced if there is
/// one. A capture that breaks off is decrypted up to there.
///
/// `progress` is told, now and then, how many octets of the capture were read, and can end the work.
///
/// # Errors
/// [`DecryptError`].
pub fn decrypt(
    capture: &Path,
    out: &Path,
    secrets: impl Into<Secrets>,
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
    let from = input.metadata();
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

    let mut output = &temporary.file;
    let decrypted =
        stream(&mut input, &mut output, secrets.into(), progress).map_err(|error| match error {
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

    /// Gives the file its name. An older one is not given up before this one is on the disk; where there is none, the
    /// system writes it back in its own time, as that of any other copy.
    fn publish(self, target: &Path) -> io::Result<()> {
        if target.exists() {
            self.file.sync_all()?;
        }
        fs::rename(&self.path, target)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After a rename there is no such file.
        let _ = fs::remove_file(&self.path);
    }
}
