//! What the measuring programs have in common: their command lines, and what sockets say.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

/// Why a program could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// Another socket has the port to listen on.
    #[error("port {} is in use", .0.port())]
    PortInUse(SocketAddr),
    /// The system refused something else.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: String,
        /// What the system said.
        source: io::Error,
    },
    /// The command line makes no sense.
    #[error("{0}")]
    Usage(String),
    /// What the program itself found.
    #[error(transparent)]
    Own(Box<dyn Error + Send + Sync>),
}

impl ProgramError {
    /// The command line has this wrong.
    pub fn usage(problem: impl Into<String>) -> ProgramError {
        ProgramError::Usage(problem.into())
    }

    /// Listening on an address failed.
    #[must_use]
    pub fn listening(address: SocketAddr, error: io::Error) -> ProgramError {
        match error.kind() {
            ErrorKind::AddrInUse => ProgramError::PortInUse(address),
            _ => while_doing(format!("listening on {address}"))(error),
        }
    }
}

/// Says of the system's error what was being done.
pub fn while_doing(doing: impl Into<String>) -> impl FnOnce(io::Error) -> ProgramError {
    let doing = doing.into();
    move |source| ProgramError::Io { doing, source }
}

/// Runs a program with its command line; the exit status: 0, 1 for a failure, 2 for a wrong command line. The reason is
/// one line on stderr.
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

/// An argument; `what` says what it ought to be.
///
/// # Errors
/// [`ProgramError::Usage`].
pub fn parse<T: FromStr>(text: &str, what: &str) -> Result<T, ProgramError> {
    text.parse()
        .map_err(|_| ProgramError::usage(format!("'{text}' is not {what}")))
}

/// An argument that is a number of milliseconds above 0: as a read timeout that would mean none (socket(7),
/// `SO_RCVTIMEO`).
///
/// # Errors
/// [`ProgramError::Usage`].
pub fn milliseconds(text: &str) -> Result<Duration, ProgramError> {
    match parse::<u32>(text, "a number of milliseconds")? {
        0 => Err(ProgramError::usage("0 ms is no time")),
        number => Ok(Duration::from_millis(number.into())),
    }
}

/// Whether a read ended because its time was over.
#[must_use]
pub fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Whether an error says nothing of the socket itself: a signal, or the ICMP message of a peer that has gone.
#[must_use]
pub fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Interrupted | ErrorKind::ConnectionRefused
    )
}
