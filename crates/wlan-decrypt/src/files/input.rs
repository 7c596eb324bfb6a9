//! Reads the capture without blocking for long, so that the user can interrupt at any time, and decompresses it.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Cursor, ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;
use nix::libc::O_NONBLOCK;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Maximum wait for data of a pipe. A signal just before the wait does not interrupt it, so this is also the maximum
/// delay of a user's Ctrl-C.
const WAIT_MS: u8 = 100;

/// A file or a pipe. A read returns [`ErrorKind::Interrupted`] if no data is available yet.
pub(super) struct Input {
    file: File,
    metadata: Metadata,
    octets_read: Arc<AtomicU64>,
}

impl Input {
    /// Opens a file, or a pipe that may have no writer yet.
    pub(super) fn open(path: &Path) -> io::Result<Input> {
        // Without this flag, opening a pipe blocks until it has a writer.
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(O_NONBLOCK)
            .open(path)?;
        let metadata = file.metadata()?;
        Ok(Input {
            file,
            metadata,
            octets_read: Arc::default(),
        })
    }

    pub(super) fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The number of octets that were read so far, before decompression.
    pub(super) fn octets_read(&self) -> Arc<AtomicU64> {
        self.octets_read.clone()
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Reading a regular file never blocks.
        if !self.metadata.is_file() {
            let mut waited = [PollFd::new(self.file.as_fd(), PollFlags::POLLIN)];
            if poll(&mut waited, PollTimeout::from(WAIT_MS))? == 0 {
                return Err(ErrorKind::Interrupted.into());
            }
        }
        match self.file.read(buffer) {
            // Another process took the data from the same pipe.
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(ErrorKind::Interrupted.into()),
            read => {
                let octets = *read.as_ref().unwrap_or(&0) as u64;
                self.octets_read.fetch_add(octets, Ordering::Relaxed);
                read
            }
        }
    }
}

/// The compressed data is damaged or truncated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the {0} data is damaged or truncated")]
pub struct BadCompression(&'static str);

/// The first octets of a gzip file (RFC 1952 section 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The first octets of a Zstandard file (RFC 8878 section 3.1.1).
const ZSTANDARD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A capture, decompressed if its first octets are those of gzip or Zstandard, whatever its name.
pub(super) struct Decompressed {
    /// The input until its first octets are known, and these octets so far.
    unknown: Option<(Input, Vec<u8>)>,
    /// Then the capture, and the format of the compressed data.
    capture: Box<dyn Read + Send>,
    format: Option<&'static str>,
}

impl Decompressed {
    pub(super) fn new(input: Input) -> Decompressed {
        Decompressed {
            unknown: Some((input, Vec::new())),
            capture: Box::new(io::empty()),
            format: None,
        }
    }
}

impl Read for Decompressed {
    /// A read returns the errors of the input, and [`BadCompression`] in an error.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some((input, first)) = &mut self.unknown {
            let mut octet = [0];
            if first.len() < ZSTANDARD.len() && input.read(&mut octet)? == 1 {
                first.push(octet[0]);
                continue;
            }
            let Some((input, first)) = self.unknown.take() else {
                continue;
            };
            let (is_gzip, is_zstandard) = (first.starts_with(&GZIP), first == ZSTANDARD);
            let whole = Cursor::new(first).chain(input);
            self.format = if is_gzip {
                self.capture = Box::new(MultiGzDecoder::new(whole));
                Some("gzip")
            } else if is_zstandard {
                self.capture = Box::new(zstd::Decoder::new(whole)?);
                Some("Zstandard")
            } else {
                self.capture = Box::new(whole);
                None
            };
        }
        self.capture.read(buffer).map_err(|error| match self.format {
            // The errors of the decoders have no number of the system.
            Some(format) if error.raw_os_error().is_none() && error.kind() != ErrorKind::Interrupted => {
                io::Error::other(BadCompression(format))
            }
            _ => error,
        })
    }
}
