//! Descriptions of operating system errors for users.

use std::fmt::Display;
use std::io;

use nix::errno::Errno;

/// The description of an error, without its number.
pub fn words(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(number) => Errno::from_raw(number).desc().into(),
        None => error.to_string(),
    }
}

/// Returns a function that prefixes an error with its subject.
pub fn about(what: impl Display) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{what}: {}", words(&error)))
}
