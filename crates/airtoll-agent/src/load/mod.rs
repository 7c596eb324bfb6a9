//! Latency and responsiveness of a link under load: round trips per minute in working conditions, after
//! draft-ietf-ippm-responsiveness (its TCP-only case, without TLS), and the delay of datagrams at a fixed interval.
//!
//! The client opens connections that carry data in one direction, one more in each interval, until the throughput of
//! all connections together is stable (`saturation`). The link is then in working conditions, and the window opens: no
//! connection is added, and probes measure the time of a TCP handshake, of a request on a new connection, and of a
//! request between the data of a connection of the load. Datagrams at a fixed interval measure the delay from the start
//! on. Unlike a ping-pong, they do not wait for an answer, which would sample quiet moments more often than busy ones.
//!
//! - `protocol`: messages on the connections, and datagrams
//! - `server`: the end that answers
//! - `client`: the end that loads the link and measures; `connection`: a connection of the load;
//!   `echo`: datagrams
//! - `stream`: the common parts of both ends of a connection
//! - `report`: what the client prints

mod client;
mod connection;
mod echo;
mod protocol;
mod report;
mod saturation;
mod server;
mod stream;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use client::{Client, Settings};
use protocol::Direction;

use crate::program::{self, ProgramError, milliseconds, parse, while_doing};

const USAGE: &str = "serve ADDRESS:PORT IDLE_MS, or measure ADDRESS:PORT up|down INTERVAL_MS CONNECTIONS LIMIT_MS WINDOW_MS PROBE_MS \
                     ECHO_MS ECHO_OCTETS";

/// The command: `serve ADDRESS:PORT IDLE_MS`, or
/// `measure ADDRESS:PORT up|down INTERVAL_MS CONNECTIONS LIMIT_MS WINDOW_MS PROBE_MS ECHO_MS ECHO_OCTETS`. Returns the
/// exit status: 0, 1 for a failure, 2 for an invalid command line. The reason is printed to stderr on one line.
///
/// `serve` answers on a TCP and a UDP port until no connection has been open for `IDLE_MS`. `measure` loads the link with
/// at most `CONNECTIONS` connections. If the throughput is not stable after `LIMIT_MS`, it ends; otherwise it measures
/// for `WINDOW_MS`. It prints the lines of `report`.
pub fn run(args: impl IntoIterator<Item = String>) -> i32 {
    program::run("load", USAGE, args, command)
}

fn command(args: &[String]) -> Result<(), ProgramError> {
    let [action, address, more @ ..] = args else {
        return Err(ProgramError::usage("too few arguments"));
    };
    let address: SocketAddr = parse(address, "an address with a port")?;
    match (action.as_str(), more) {
        ("serve", [idle]) => {
            let idle = milliseconds(idle)?;
            let server = server::Server::bind(address)?;
            server
                .serve(idle)
                .map_err(while_doing(format!("serving on {address}")))
        }
        (
            "measure",
            [
                direction,
                interval,
                connections,
                limit,
                window,
                probe,
                echo,
                echo_len_b,
            ],
        ) => {
            let direction = match direction.as_str() {
                "up" => Direction::Up,
                "down" => Direction::Down,
                other => return Err(ProgramError::usage(format!("'{other}' is not up or down"))),
            };
            let settings = Settings {
                direction,
                interval: milliseconds(interval)?,
                connections: parse(connections, "a number of connections")?,
                limit: milliseconds(limit)?,
                window: milliseconds(window)?,
                probe: milliseconds(probe)?,
                echo: milliseconds(echo)?,
                echo_len_b: parse(echo_len_b, "a number of octets")?,
            };
            if settings.connections == 0 {
                return Err(ProgramError::usage("at least one connection is required"));
            }
            if !(protocol::ECHO_MIN_B..=protocol::ECHO_MAX_B).contains(&settings.echo_len_b) {
                return Err(ProgramError::usage(format!(
                    "a datagram of {} octets is out of range ({} to {})",
                    settings.echo_len_b,
                    protocol::ECHO_MIN_B,
                    protocol::ECHO_MAX_B
                )));
            }
            let measured = Client::new(address, settings).measure()?;
            report::write(&settings, address, &measured, io::stdout().lock()).map_err(while_doing("writing"))
        }
        _ => Err(ProgramError::usage(format!(
            "'{action}' with {} arguments",
            args.len() - 1
        ))),
    }
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
