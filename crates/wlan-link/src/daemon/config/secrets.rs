//! Files with a secret.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use wlan_host::os_error::words;
use zeroize::Zeroizing;

use super::ConfigError;

/// Maximum octets of a file with a secret: a private key of RSA with 8192 bits has some 6 kB.
const SECRET_FILE_B: usize = 16 * 1024;

/// Reads a file with a secret, which only its owner may access.
pub fn file(path: &Path, what: &str) -> Result<Zeroizing<Vec<u8>>, ConfigError> {
    let wrong = |what: &str| ConfigError::of(path, what);
    let mut file = File::open(path).map_err(|error| wrong(&words(&error)))?;
    let mode = file.metadata().map_err(|error| wrong(&words(&error)))?.mode();
    if mode & 0o077 != 0 {
        let mode = mode & 0o777;
        return Err(wrong(&format!(
            "group or others can access this {what} file (mode {mode:04o}); run chmod 600"
        )));
    }
    // Allocated once, because reallocation would leave copies of the secret in memory.
    let mut octets = Zeroizing::new(Vec::with_capacity(SECRET_FILE_B));
    let read = file.by_ref().take(SECRET_FILE_B as u64).read_to_end(&mut octets);
    read.map_err(|error| wrong(&words(&error)))?;
    Ok(octets)
}

/// The first line of a file with a secret.
pub fn line(path: &Path, what: &str) -> Result<Zeroizing<Vec<u8>>, ConfigError> {
    let mut octets = file(path, what)?;
    let end = octets
        .iter()
        .position(|octet| matches!(octet, b'\n' | b'\r'))
        .unwrap_or(octets.len());
    octets.truncate(end);
    if octets.is_empty() {
        return Err(ConfigError::of(
            path,
            &format!("the first line is empty; expected the {what}"),
        ));
    }
    Ok(octets)
}
