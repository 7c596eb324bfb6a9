//! The user as whom programs run that require no privileges, although the agent is root: they read what arrives from the
//! network.

use std::env;
use std::fs;
use std::io;

use nix::unistd::{Gid, Uid, fchown, geteuid, setgroups, setresgid, setresuid};

/// The number of the user and of the group that own nothing.
const NOBODY: u32 = 65534;

/// Changes from root to the user who called sudo(8), or to nobody. The change cannot be undone.
///
/// Has no effect unless this process is root, nor in a user namespace that lacks the user: there, root is the user who
/// made the namespace.
///
/// # Errors
/// The kernel refuses the change.
pub fn give_up_root() -> io::Result<()> {
    let (user, group) = caller().unwrap_or((NOBODY, NOBODY));
    if !geteuid().is_root() || !has("uid_map", user)? || !has("gid_map", group)? {
        return Ok(());
    }
    let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
    // A program may open its output by name (/dev/stdout), which only the owner of the pipe may do.
    fchown(io::stdout(), Some(user), None)?;
    fchown(io::stderr(), Some(user), None)?;
    setgroups(&[])?;
    setresgid(group, group, group)?;
    setresuid(user, user, user)?;
    env::set_current_dir("/")
}

/// The user who called sudo(8), and that user's group; none if it is root.
fn caller() -> Option<(u32, u32)> {
    let number = |name: &str| {
        env::var(name)
            .ok()?
            .parse::<u32>()
            .ok()
            .filter(|&number| number != 0)
    };
    Some((number("SUDO_UID")?, number("SUDO_GID")?))
}

/// Whether a map of this user namespace contains the number (user_namespaces(7)).
fn has(map: &str, number: u32) -> io::Result<bool> {
    let map = fs::read_to_string(format!("/proc/self/{map}"))?;
    Ok(map.lines().any(|line| {
        let mut fields = line.split_whitespace().map(str::parse::<u64>);
        let (Some(Ok(first)), Some(_), Some(Ok(count))) = (fields.next(), fields.next(), fields.next())
        else {
            return false;
        };
        (first..first + count).contains(&number.into())
    }))
}
