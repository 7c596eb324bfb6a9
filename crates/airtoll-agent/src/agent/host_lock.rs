//! The lock of a host, so that no second airtoll takes the settings of the first one for the host's own.
//!
//! The owner of the lock is a measurement, which may have several agents on the host: it may have several roles, or an
//! agent of a lost connection may still run. Each process of an agent therefore holds a shared flock(2) on a file that
//! names the owner, and the kernel releases it with the process. An exclusive flock(2) on the folder guards the file while
//! a process compares or replaces the owner.
//!
//! A host is a network namespace, because network interfaces belong to one. Only this user can open the folder, so no other
//! user can hold the lock. Agents of root and of another user do not exclude each other; only root changes a radio.

use std::env;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access, geteuid};

use super::files;

/// The lock, which ends with this value or with its process.
#[derive(Debug)]
pub struct HostLock(#[expect(dead_code, reason = "closing the file releases the lock")] File);

impl HostLock {
    /// Locks this host for the owner. `words`, one line, describe the owner to others.
    ///
    /// # Errors
    /// Another owner has the lock, which the error describes, or the file cannot be locked.
    pub fn take(owner: &str, words: &str) -> io::Result<Self> {
        Self::take_in(&folder()?, &name_of_host()?, owner, words)
    }

    fn take_in(folder: &Path, host: &str, owner: &str, words: &str) -> io::Result<Self> {
        files::create(folder)?;
        let guard = File::open(folder)?;
        guard.lock()?;
        let path = folder.join(host);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)?;
        match file.try_lock() {
            Ok(()) => {
                file.set_len(0)?;
                file.write_all(format!("{owner}\n{words}\n").as_bytes())?;
            }
            Err(TryLockError::WouldBlock) => {
                let mut content = String::new();
                file.read_to_string(&mut content)?;
                let (holder, words) = content.split_once('\n').unwrap_or_default();
                if holder != owner {
                    let words = words.trim_end();
                    return Err(io::Error::new(
                        ErrorKind::ResourceBusy,
                        format!("another airtoll measures with this host: {words}"),
                    ));
                }
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        file.lock_shared()?;
        remove_abandoned(folder, &path);
        Ok(Self(file))
    }
}

/// The folder of the locks of this user, whose parent exists.
fn folder() -> io::Result<PathBuf> {
    let run = Path::new("/run");
    if geteuid().is_root() && access(run, AccessFlags::W_OK).is_ok() {
        return Ok(run.join("airtoll-agent"));
    }
    let absolute = |name: &str| Some(PathBuf::from(env::var_os(name)?)).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    let own = cache
        .ok_or_else(|| io::Error::other("the lock of this host requires HOME"))?
        .join("airtoll");
    DirBuilder::new().recursive(true).mode(0o700).create(&own)?;
    Ok(own.join("hosts"))
}

/// Hosts may share the home of a user, so the name includes the machine.
fn name_of_host() -> io::Result<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let network = fs::read_link("/proc/self/ns/net")?;
    Ok(format!("{}-{}", boot.trim(), network.display()))
}

/// Removes the files of network namespaces that no agent uses any more.
fn remove_abandoned(folder: &Path, own: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path != own && File::open(&path).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::files::Folder;
    use super::*;

    #[test]
    fn agents_of_one_owner_share_a_host_and_another_owner_waits_for_the_last_of_them() {
        let folder = Folder::create().unwrap();
        let take = |host, owner| HostLock::take_in(&folder.path().join("hosts"), host, owner, "Ann");
        let (first, second) = (take("a", "1").unwrap(), take("a", "1").unwrap());
        let refused = take("a", "2").unwrap_err();
        assert_eq!(
            refused.to_string(),
            "another airtoll measures with this host: Ann"
        );
        drop(first);
        assert!(take("a", "2").is_err());
        let other_host = take("b", "2").unwrap();
        drop(second);
        let _third = take("a", "2").unwrap();
        assert!(take("a", "1").is_err());
        drop(other_host);
        assert!(folder.path().join("hosts/b").exists());
        let _fourth = take("c", "1").unwrap();
        assert!(!folder.path().join("hosts/b").exists());
        assert!(folder.path().join("hosts/a").exists());
    }

    #[test]
    fn a_folder_that_another_user_could_have_made_is_refused() {
        let folder = Folder::create().unwrap();
        let target = folder.path().join("target");
        files::create(&target).unwrap();
        let link = folder.path().join("hosts");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(HostLock::take_in(&link, "a", "1", "Ann").is_err());
        assert_eq!(fs::read_dir(target).unwrap().count(), 0);
    }
}
