//! The status socket and its path. Only a link's own socket is ever deleted there.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, create_dir, create_dir_all};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::os::unix::fs::{OpenOptionsExt as _, fchown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use nix::fcntl::AtFlags;
use nix::libc::{O_DIRECTORY, O_NOFOLLOW};
use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, socket};
use nix::sys::stat::{FileStat, Mode, SFlag, fchmod, fstatat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use wlan_host::os_error::words;

use crate::privileges::UserIds;

/// A listening socket, which is removed from the file system on drop.
pub struct StatusSocket {
    listener: UnixListener,
    path: PathBuf,
    /// Kept open, because an unprivileged user may have no access to the path.
    folder: File,
    name: OsString,
    /// Device and inode number, which identify the socket on drop.
    identity: (u64, u64),
}

impl StatusSocket {
    /// Binds a socket that only its owner may use. Replaces an abandoned socket at `path`, which a killed process
    /// leaves behind. Creates a missing directory and gives it to `owner`, who must be able to remove the socket.
    ///
    /// # Errors
    /// Another process listens at the path, the path is not a socket, or a system call fails.
    pub fn bind(path: &Path, owner: Option<UserIds>) -> io::Result<Self> {
        let name = path
            .file_name()
            .ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "the path has no file name"))?
            .to_owned();
        let folder = open_folder(path.parent().unwrap_or(Path::new("")), owner)?;
        let listener = match listen(path) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                remove_abandoned(&folder, &name, path)?;
                listen(path)?
            }
            other => other?,
        };
        let found = look(&folder, &name)?;
        let socket = Self {
            listener,
            path: path.to_owned(),
            folder,
            name,
            identity: identity(&found),
        };
        Ok(socket)
    }

    /// Accepts a connection.
    ///
    /// # Errors
    /// No connection is pending.
    pub fn accept(&self) -> io::Result<UnixStream> {
        self.listener.accept().map(|(stream, _)| stream)
    }
}

impl AsFd for StatusSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for StatusSocket {
    fn drop(&mut self) {
        let is_own = |found: FileStat| identity(&found) == self.identity;
        if !look(&self.folder, &self.name).is_ok_and(is_own) {
            return;
        }
        if let Err(errno) = unlinkat(&self.folder, self.name.as_os_str(), UnlinkatFlags::NoRemoveDir) {
            let (path, why) = (self.path.display(), words(&errno.into()));
            eprintln!("airtoll link: cannot remove the status socket {path}: {why}");
        }
    }
}

/// A socket that only its owner can use from the start. Linux creates its file with the mode that the socket has before
/// bind(2). To change the mode of the path later would follow a link, which the owner of the folder can put there.
fn listen(path: &Path) -> io::Result<UnixListener> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    fchmod(&socket, Mode::S_IRUSR | Mode::S_IWUSR)?;
    bind(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    nix::sys::socket::listen(&socket, Backlog::MAXCONN)?;
    Ok(socket.into())
}

fn open_folder(path: &Path, owner: Option<UserIds>) -> io::Result<File> {
    if path.as_os_str().is_empty() {
        return File::open(".");
    }
    if let Some(above) = path.parent() {
        create_dir_all(above)?;
    }
    let is_new = match create_dir(path) {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
        Err(error) => return Err(error),
    };
    let mut options = OpenOptions::new();
    options.read(true);
    if is_new {
        // Not what the owner of the folder above put in its place.
        options.custom_flags(O_DIRECTORY | O_NOFOLLOW);
    }
    let folder = options.open(path)?;
    if let (true, Some(UserIds { uid, gid })) = (is_new, owner) {
        // If this fails, changing to that user fails too.
        let _ = fchown(&folder, Some(uid), Some(gid));
    }
    Ok(folder)
}

/// Removes a socket without a listener.
fn remove_abandoned(folder: &File, name: &OsString, path: &Path) -> io::Result<()> {
    let in_use = |why| Err(io::Error::new(ErrorKind::AddrInUse, why));
    if SFlag::from_bits_truncate(look(folder, name)?.st_mode) & SFlag::S_IFMT != SFlag::S_IFSOCK {
        return in_use("the file is not a socket");
    }
    match UnixStream::connect(path) {
        Ok(_) => {
            in_use("a link of this name is running on this machine; set `status_socket` for the second one")
        }
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            Ok(unlinkat(folder, name.as_os_str(), UnlinkatFlags::NoRemoveDir)?)
        }
        Err(error) => Err(error),
    }
}

fn look(folder: &File, name: &OsString) -> io::Result<FileStat> {
    Ok(fstatat(folder, name.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW)?)
}

fn identity(found: &FileStat) -> (u64, u64) {
    (found.st_dev, found.st_ino)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::net::UnixDatagram;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// A directory that is removed on drop.
    struct Folder(PathBuf);

    impl Folder {
        fn new(of: &str) -> Self {
            let path = std::env::temp_dir().join(format!("airtoll-{of}-{}", std::process::id()));
            create_dir(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn only_a_socket_without_a_listener_is_replaced() {
        let folder = Folder::new("status-bind");
        let at = |name: &str| folder.0.join(name);
        std::fs::write(at("file"), "kept").unwrap();
        create_dir(at("folder")).unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        let _other_kind = UnixDatagram::bind(at("datagrams")).unwrap();
        let running = StatusSocket::bind(&at("running"), None).unwrap();
        for (name, says) in [
            ("file", "not a socket"),
            ("folder", "not a socket"),
            ("link", "not a socket"),
            ("datagrams", "wrong type"),
            ("running", "set `status_socket`"),
        ] {
            let error = StatusSocket::bind(&at(name), None).map(drop).unwrap_err();
            assert!(error.to_string().to_lowercase().contains(says), "{name}: {error}");
            assert!(at(name).symlink_metadata().is_ok(), "{name} is gone");
        }
        assert_eq!(std::fs::read_to_string(at("file")).unwrap(), "kept");
        drop(running);
        drop(UnixListener::bind(at("abandoned")).unwrap());
        assert!(at("abandoned").exists());
        drop(StatusSocket::bind(&at("abandoned"), None).unwrap());
        assert!(!at("abandoned").exists());
    }

    #[test]
    fn the_owner_of_the_folder_cannot_turn_a_new_socket_into_a_link_to_a_file_whose_mode_changes() {
        let folder = Folder::new("status-mode");
        let (path, victim) = (folder.0.join("office.sock"), folder.0.join("victim"));
        std::fs::write(&victim, "").unwrap();
        std::fs::set_permissions(&victim, std::fs::Permissions::from_mode(0o644)).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    if std::fs::remove_file(&path).is_ok() {
                        let _ = std::os::unix::fs::symlink(&victim, &path);
                    }
                }
            });
            for _ in 0..300 {
                let _ = std::fs::remove_file(&path);
                let _ = StatusSocket::bind(&path, None);
            }
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(victim.metadata().unwrap().permissions().mode() & 0o777, 0o644);
    }

    #[test]
    fn a_file_that_replaced_the_socket_is_kept() {
        let folder = Folder::new("status-drop");
        let path = folder.0.join("new/office.sock");
        let socket = StatusSocket::bind(&path, None).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "another's").unwrap();
        drop(socket);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "another's");
    }
}
