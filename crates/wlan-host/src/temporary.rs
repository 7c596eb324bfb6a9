//! Files that appear under their name as a whole.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process;

/// A file with a temporary name in the directory of its target. It is removed unless it is published.
#[derive(Debug)]
pub struct Temporary {
    path: PathBuf,
    /// The open file.
    pub file: File,
}

impl Temporary {
    /// Creates a temporary file for `target` with a mode, from which the umask removes bits.
    ///
    /// # Errors
    /// The file cannot be created, or `target` has no file name.
    pub fn create(target: &Path, mode: u32) -> io::Result<Self> {
        let target_name = target.file_name().ok_or(ErrorKind::InvalidInput)?;
        let mut number = 0;
        loop {
            let mut name = OsString::from(".tmp-");
            name.push(target_name);
            name.push(format!(".{}.{number}", process::id()));
            let path = target.with_file_name(name);
            // Never opens what exists: its mode, or the target of a link, would be wrong.
            match OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(mode)
                .open(&path)
            {
                Ok(file) => return Ok(Self { path, file }),
                // Belongs to another thread, or a crash left it behind.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Renames the file to `target`. An existing target is replaced only after the new file is on disk. Without an
    /// existing target, the system writes the file back later, as for any other copy.
    ///
    /// # Errors
    /// The file cannot be written to the disk or renamed.
    pub fn publish(self, target: &Path) -> io::Result<()> {
        if target.exists() {
            self.file.sync_all()?;
        }
        fs::rename(&self.path, target)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Fails after a rename, because the temporary name no longer exists.
        let _ = fs::remove_file(&self.path);
    }
}
