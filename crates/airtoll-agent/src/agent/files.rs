//! Files of the host: the agent's own folder, and files that the controller reads and writes.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::unistd::{geteuid, mkdtemp};
use wlan_host::temporary::Temporary;

use super::frame::BODY_MAX_B;

/// The first part of the names of agents' folders, before letters that mkdtemp(3) draws.
const NAME: &str = "airtoll-agent-";
const DRAWN: &str = "XXXXXX";

/// A folder that only this user can access. It is removed with everything in it when the value is dropped.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Creates a folder with a random name in memory (/dev/shm), else in the folder for temporary files.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn create() -> io::Result<Self> {
        // Other users can write to these places. mkdtemp(3) never takes a folder that exists, and sets mode 0700.
        let create_in = |place: &Path| mkdtemp(&place.join(format!("{NAME}{DRAWN}")));
        let [memory, temporary] = places();
        let folder = create_in(&memory).or_else(|_| create_in(&temporary))?;
        Ok(Self(folder))
    }

    /// Whether the path is the folder of an agent of this user: its place and its name are those of `create`, and only
    /// this user can access it.
    ///
    /// # Errors
    /// Nothing has the path, or this user may not look.
    pub fn is_one(path: &Path) -> io::Result<bool> {
        let drawn = path
            .file_name()
            .and_then(OsStr::to_str)
            .and_then(|name| name.strip_prefix(NAME));
        let is_name =
            |drawn: &str| drawn.len() == DRAWN.len() && drawn.bytes().all(|b| b.is_ascii_alphanumeric());
        Ok(drawn.is_some_and(is_name)
            && places().iter().any(|place| path.parent() == Some(place))
            && is_own(path)?)
    }

    /// The folder that another process has created.
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
        if is_own(&self.0).unwrap_or(false) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// Where agents make their folders: in memory, else in the folder for temporary files.
fn places() -> [PathBuf; 2] {
    ["/dev/shm".into(), std::env::temp_dir()]
}

/// Creates a folder that only this user can access. An existing folder must be such a folder.
///
/// # Errors
/// The folder cannot be created, something else has its name, or another user can access it.
pub fn create(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => check_own(folder),
        created => created,
    }
}

/// Whether the path is a folder, and no symbolic link, that belongs to this user and that no other user can access.
///
/// # Errors
/// Nothing has the path, or this user may not look.
pub fn is_own(folder: &Path) -> io::Result<bool> {
    let found = folder.symlink_metadata()?;
    Ok(found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o077 == 0)
}

/// Fails unless the path is a folder that only this user can access (`is_own`).
///
/// # Errors
/// The path is not such a folder.
pub fn check_own(folder: &Path) -> io::Result<()> {
    if is_own(folder)? {
        return Ok(());
    }
    Err(io::Error::new(
        ErrorKind::PermissionDenied,
        format!(
            "{} is not a folder that only this user can access",
            folder.display()
        ),
    ))
}

/// Writes a file as a whole: readers see the old content or the new one.
///
/// # Errors
/// The file cannot be written.
pub fn put(path: &Path, mode: u32, content: &[u8]) -> io::Result<()> {
    let mut new = Temporary::create(path, mode)?;
    new.file.write_all(content)?;
    new.publish(path)
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
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use nix::unistd::geteuid;

    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_and_the_folder_leaves_nothing() {
        let folder = Folder::create().unwrap();
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
        let folder = Folder::create().unwrap();
        assert!(put(&folder.path().join("missing/file"), 0o600, b"x").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn neither_a_link_nor_a_file_that_a_killed_agent_left_receives_the_content() {
        let folder = Folder::create().unwrap();
        let at = |name: &str| folder.path().join(name);
        let left = |number: u32| at(&format!(".tmp-secret.{}.{number}", std::process::id()));
        fs::write(at("victim"), "kept").unwrap();
        symlink(at("victim"), left(0)).unwrap();
        fs::write(left(1), "a part").unwrap();
        fs::set_permissions(left(1), fs::Permissions::from_mode(0o644)).unwrap();
        put(&at("secret"), 0o600, b"passphrase").unwrap();
        assert_eq!(get(&at("victim"), 0).unwrap(), b"kept");
        assert_eq!(get(&left(1), 0).unwrap(), b"a part");
        assert_eq!(at("secret").metadata().unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn only_a_folder_that_no_other_user_can_access_is_this_users_own() {
        let folder = Folder::create().unwrap();
        assert!(is_own(folder.path()).unwrap());
        let at = |name: &str| folder.path().join(name);
        symlink(folder.path(), at("link")).unwrap();
        fs::write(at("file"), "").unwrap();
        for mode in [0o701, 0o710, 0o720, 0o777] {
            let open = at(&format!("{mode:o}"));
            create(&open).unwrap();
            fs::set_permissions(&open, fs::Permissions::from_mode(mode)).unwrap();
        }
        if geteuid().is_root() {
            create(&at("nobody's")).unwrap();
            chown(at("nobody's"), Some(65534), None).unwrap();
        }
        for entry in fs::read_dir(folder.path()).unwrap() {
            let path = entry.unwrap().path();
            assert!(!is_own(&path).unwrap(), "{}", path.display());
            assert!(create(&path).is_err(), "{}", path.display());
        }
    }
}
