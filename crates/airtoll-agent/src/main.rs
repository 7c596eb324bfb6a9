//! `airtoll-agent`: the program that airtoll copies to every host of a measurement.

use std::env;
use std::process::exit;

use airtoll_agent::{agent, engine, ftp, load, pingpong, video};

const USAGE: &str =
    "usage: airtoll-agent serve | version | engine ... | ftp ... | load ... | pingpong ... | video ...";

fn main() {
    let mut args = env::args_os();
    let subcommand = args.nth(1);
    let status = match subcommand.as_deref().and_then(|word| word.to_str()) {
        Some("serve") => agent::supervise(args),
        Some(agent::WORK) => agent::work(args),
        Some(agent::EXEC) => agent::exec(args),
        Some("engine") => engine::run(env::args().skip(2)),
        Some("ftp") => ftp::run(env::args().skip(2)),
        Some("pingpong") => pingpong::run(env::args().skip(2)),
        Some("load") => load::run(env::args().skip(2)),
        Some("video") => video::run(env::args().skip(2)),
        Some("version") => {
            println!("{}", agent::VERSION);
            0
        }
        _ => {
            eprintln!("{USAGE}");
            2
        }
    };
    exit(status);
}
