//! What the operating system says, as people are told it.

use std::fmt::Display;
use std::io;

use nix::errno::Errno;

/// The words of an error, without its number.
pub fn words(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(number) => Errno::from_raw(number).desc().into(),
        None => error.to_string(),
    }
}

/// Has an error say what it is about.
pub fn about(what: impl Display) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{what}: {}", words(&error)))
}
