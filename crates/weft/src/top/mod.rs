//! `weft top`: what a running server does at this moment, again and again.
//!
//! It asks an address for the operator, twice for each picture, and shows the difference. Must not know how the server counts.
//! Invariant: it changes nothing there, and asks as seldom as it shows.
//!
//! # Layout, in reading order
//! - `sample`: what two answers say together; `verdict`: what holds the server back; `view`: all of it as text.

mod sample;
mod verdict;
mod view;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::Value;

use self::sample::Sample;
use crate::config::{self, ListenAddress};
use crate::{operator, print};

/// An answer with all routes and 256 workers has less.
const STATUS_BYTES_MAX: u64 = 16 << 20;
/// Moves the cursor to the top, and clears what follows.
const CLEAR: &str = "\x1b[H\x1b[J";

/// What `weft top` is told.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The server: an admin address at which it listens [the first of server.listen]
    #[arg(long, value_name = "ADDRESS")]
    at: Option<ListenAddress>,
    /// The time between two looks at it, of which each picture shows the difference
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = seconds)]
    seconds: f64,
    /// Show one picture, and exit
    #[arg(long)]
    once: bool,
    /// Print JSON, one object a line, for programs
    #[arg(long)]
    json: bool,
    /// How the routes are sorted
    #[arg(long, value_name = "BY", value_enum, default_value_t = view::Sort::Time)]
    sort: view::Sort,
    /// Read settings from FILE instead of ./weft.toml
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.05..=3600.0).contains(seconds));
    seconds.ok_or_else(|| "from 0.05 to 3600 seconds".to_owned())
}

/// Runs `weft top`.
pub fn run(arguments: Arguments) -> ExitCode {
    match top(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("weft: {why}");
            ExitCode::FAILURE
        }
    }
}

fn top(arguments: Arguments) -> Result<(), String> {
    let config = config::load(arguments.config, std::env::vars_os(), Vec::new())
        .map_err(|mistakes| mistakes.join("\nweft: "))?;
    let address = operator::address_for(arguments.at, &config)?;
    let request = format!(
        "GET /status HTTP/1.1\r\nHost: weft\r\nConnection: close\r\n{}\r\n",
        operator::authorization(config.admin.token.as_deref())
    );
    let look = || -> Result<(Instant, Value), String> {
        let (status, body) = operator::ask(&address, request.as_bytes(), STATUS_BYTES_MAX)?;
        let value = serde_json::from_str(&body).ok().filter(|_| status == 200);
        Ok((Instant::now(), value.ok_or_else(|| format!("{address} is no server of weft: {status}"))?))
    };
    let clear = if std::io::stdout().is_terminal() && !arguments.json { CLEAR } else { "" };
    let mut before = look()?;
    loop {
        std::thread::sleep(Duration::from_secs_f64(arguments.seconds));
        let now = look()?;
        let sample = Sample::between(&before.1, &now.1, (now.0 - before.0).as_secs_f64());
        let text = if arguments.json { view::json(&sample) } else { view::text(&sample, arguments.sort) };
        let clear = if arguments.once { "" } else { clear };
        if !print::print_or_end(&format!("{clear}{text}")) || arguments.once {
            return Ok(());
        }
        before = now;
    }
}
