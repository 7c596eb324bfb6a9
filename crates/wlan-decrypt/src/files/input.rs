//! Reads the capture without blocking for long, so that the user can interrupt at any time.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::libc::O_NONBLOCK;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Maximum wait for data of a pipe. A signal just before the wait does not interrupt it, so this is also the maximum
/// delay of a user's Ctrl-C.
const WAIT_MS: u8 = 100;

/// A file or a pipe. A read returns [`ErrorKind::Interrupted`] if no data is available yet.
pub(super) struct Input {
    file: File,
    metadata: Metadata,
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
        Ok(Input { file, metadata })
    }

    pub(super) fn metadata(&self) -> &Metadata {
        &self.metadata
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
            read => read,
        }
    }
}
