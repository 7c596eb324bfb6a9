//! Shared parts of the measurement programs: command lines, and errors of sockets.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

/// Reason why a program failed.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// Another socket uses the port.
    #[error("port {} is in use", .0.port())]
    PortInUse(SocketAddr),
    /// Any other system call failed.
    #[error("{doing}: {source}")]
    Io {
        /// The operation that failed.
        doing: String,
        /// The system's error.
        source: io::Error,
    },
    /// The command line is invalid.
    #[error("{0}")]
    Usage(String),
    /// An error of the program itself.
    #[error(transparent)]
    Own(Box<dyn Error + Send + Sync>),
}

impl ProgramError {
    /// An error in the command line.
    pub fn usage(problem: impl Into<String>) -> ProgramError {
        ProgramError::Usage(problem.into())
    }

    /// An error while listening on an address.
    #[must_use]
    pub fn listening(address: SocketAddr, error: io::Error) -> ProgramError {
        match error.kind() {
            ErrorKind::AddrInUse => ProgramError::PortInUse(address),
            _ => while_doing(format!("listening on {address}"))(error),
        }
    }
}

/// Adds the operation in progress to a system error.
pub fn while_doing(doing: impl Into<String>) -> impl FnOnce(io::Error) -> ProgramError {
    let doing = doing.into();
    move |source| ProgramError::Io { doing, source }
}

/// Runs a program with its command line. Returns the exit status: 0, 1 for a failure, 2 for an invalid command line.
/// The reason is printed to stderr on one line.
pub fn run(
    name: &str,
    usage: &str,
    args: impl IntoIterator<Item = String>,
    command: impl FnOnce(&[String]) -> Result<(), ProgramError>,
) -> i32 {
    let args: Vec<String> = args.into_iter().collect();
    match command(&args) {
        Ok(()) => 0,
        Err(error @ ProgramError::Usage(_)) => {
            eprintln!("{name}: {error}; usage: {usage}");
            2
        }
        Err(error) => {
            eprintln!("{name}: {error}");
            1
        }
    }
}

/// Parses an argument; `what` describes the expected value.
///
/// # Errors
/// [`ProgramError::Usage`].
pub fn parse<T: FromStr>(text: &str, what: &str) -> Result<T, ProgramError> {
    text.parse()
        .map_err(|_| ProgramError::usage(format!("'{text}' is not {what}")))
}

/// Parses a time in seconds, which may be a fraction.
///
/// # Errors
/// [`ProgramError::Usage`].
pub fn seconds(text: &str) -> Result<Duration, ProgramError> {
    Duration::try_from_secs_f64(parse(text, "a number of seconds")?)
        .map_err(|error| ProgramError::usage(error.to_string()))
}

/// Parses a positive number of milliseconds. As a read timeout, 0 would mean no timeout (socket(7), `SO_RCVTIMEO`).
///
/// # Errors
/// [`ProgramError::Usage`].
pub fn milliseconds(text: &str) -> Result<Duration, ProgramError> {
    match parse::<u32>(text, "a number of milliseconds")? {
        0 => Err(ProgramError::usage("a time of 0 ms is invalid")),
        number => Ok(Duration::from_millis(number.into())),
    }
}

/// Whether a read timed out.
#[must_use]
pub fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Whether an error is transient and does not concern the socket itself: a signal, or an ICMP message because the
/// peer has gone.
#[must_use]
pub fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Interrupted | ErrorKind::ConnectionRefused
    )
}
