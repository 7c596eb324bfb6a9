//! The capture as it is read: never so long in one call that nobody could end the work.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::libc::O_NONBLOCK;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// How long a read waits for octets of a pipe. A signal that comes just before the wait does not end it, so this is
/// also how late a user's Ctrl-C may be seen.
const WAIT_MS: u8 = 100;

/// A file or a pipe. [`ErrorKind::Interrupted`] from a read says that there is nothing yet.
pub(super) struct Input {
    file: File,
    metadata: Metadata,
}

impl Input {
    /// Opens a file, or a pipe that nobody writes yet.
    pub(super) fn open(path: &Path) -> io::Result<Input> {
        // Without the flag, opening a pipe waits for its writer.
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
        // A regular file never lets anyone wait for more of it.
        if !self.metadata.is_file() {
            let mut waited = [PollFd::new(self.file.as_fd(), PollFlags::POLLIN)];
            if poll(&mut waited, PollTimeout::from(WAIT_MS))? == 0 {
                return Err(ErrorKind::Interrupted.into());
            }
        }
        match self.file.read(buffer) {
            // Another reader of the same pipe was faster.
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(ErrorKind::Interrupted.into()),
            read => read,
        }
    }
}
