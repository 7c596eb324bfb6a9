//! `airtoll-peers`: the engine beside OpenSSL and libipsec-mb and, with the feature `crates`, AWS-LC and ring.

mod goals;
mod serve;

use std::env;
use std::io::{self, BufReader};

const USAGE: &str = "usage: airtoll-peers serve | goals [--rounds N] [--all | --markdown]";

fn main() {
    let mut arguments = env::args().skip(1);
    match (arguments.next().as_deref(), arguments) {
        (Some("serve"), rest) if rest.len() == 0 => {
            if let Err(error) = serve::serve(BufReader::new(io::stdin()), io::stdout()) {
                fail(&error.to_string());
            }
        }
        (Some("goals"), rest) => goals::run(rest),
        _ => fail(USAGE),
    }
}

fn fail(message: &str) -> ! {
    eprintln!("airtoll-peers: {message}");
    std::process::exit(2)
}
