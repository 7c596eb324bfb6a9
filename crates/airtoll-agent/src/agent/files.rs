//! Files of the host: the agent's own folder, and files that the controller reads and writes.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};
use wlan_host::clock::monotonic_ns;

use super::frame::BODY_MAX_B;

/// A folder that only this user can read, created when it is first needed. It is removed with everything in it when the
/// value is dropped.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// A folder with a new name in memory (/dev/shm), else in the folder for temporary files.
    #[must_use]
    pub fn reserve() -> Self {
        let shared = PathBuf::from("/dev/shm");
        let is_writable = access(&shared, AccessFlags::W_OK).is_ok();
        let parent = if is_writable { shared } else { std::env::temp_dir() };
        // The number of a process is unique only within its PID namespace.
        Self(parent.join(format!("airtoll-{}-{:x}", std::process::id(), monotonic_ns())))
    }

    /// The folder that another process has reserved.
    #[must_use]
    pub fn of_other(path: PathBuf) -> Self {
        Self(path)
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // It may not exist.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Creates a folder that only this user can read, unless it exists.
///
/// # Errors
/// The folder cannot be created, or something else has its name.
pub fn create(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    DirBuilder::new().mode(0o700).create(folder)
}

/// Writes a file as a whole: readers see the old content or the new one.
///
/// # Errors
/// The file cannot be written.
pub fn put(path: &Path, mode: u32, content: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().ok_or(ErrorKind::InvalidInput)?.to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode)
        .open(&new)
        .and_then(|mut file| file.write_all(content))
        .and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

/// Reads at most [`BODY_MAX_B`] octets of a file from an offset. None are left if the result is shorter.
///
/// # Errors
/// The file cannot be read.
pub fn get(path: &Path, offset: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    if offset > 0 {
        file.seek(SeekFrom::Start(offset))?;
    }
    let mut content = Vec::new();
    file.take(BODY_MAX_B as u64).read_to_end(&mut content)?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_and_the_folder_leaves_nothing() {
        let folder = Folder::reserve();
        create(folder.path()).unwrap();
        let path = folder.path().join("hostapd.conf");
        put(&path, 0o600, b"first").unwrap();
        put(&path, 0o600, b"second").unwrap();
        assert_eq!(get(&path, 0).unwrap(), b"second");
        assert_eq!(get(&path, 3).unwrap(), b"ond");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let gone = folder.path().to_owned();
        drop(folder);
        assert!(!gone.exists());
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_no_part() {
        let folder = Folder::reserve();
        create(folder.path()).unwrap();
        assert!(put(&folder.path().join("missing/file"), 0o600, b"x").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
