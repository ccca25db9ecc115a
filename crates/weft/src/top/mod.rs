//! `weft top`: what a running server does at this moment, again and again.
//!
//! Must not know how the server counts. Invariant: it changes nothing there.
//!
//! # Layout, in reading order
//! - `looks` asks an address for the operator; `sample` and `requests` are what it says; `verdict`: what holds the server back.
//! - `tables`: lines and tables of that; `table`: how one becomes lines.
//! - `page`: all of it as text or as JSON; `screen`: a part of it in a terminal, by `terminal`.

mod looks;
mod page;
mod requests;
mod sample;
mod screen;
mod table;
mod tables;
mod terminal;
mod verdict;

use std::io::{IsTerminal, stdin, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use self::looks::Looks;
use self::tables::Sort;
use crate::config::{self, ListenAddress};
use crate::{operator, print};

/// What held the server back between two answers of `/status`, so many seconds apart, in one sentence.
pub fn held_back_by(before: &serde_json::Value, now: &serde_json::Value, seconds: f64) -> String {
    verdict::of(&sample::Sample::between(before, now, seconds))
}

/// What `weft top` is told.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The server: an admin address at which it listens [the first of server.listen]
    #[arg(long, value_name = "ADDRESS")]
    at: Option<ListenAddress>,
    /// The time between two looks at it, of which each picture shows the difference
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = seconds)]
    seconds: f64,
    /// Print one picture, and exit
    #[arg(long)]
    once: bool,
    /// Print JSON, one object a line, for programs
    #[arg(long)]
    json: bool,
    /// How the routes are sorted at first
    #[arg(long, value_name = "BY", value_enum, default_value_t = Sort::Time)]
    sort: Sort,
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
    let mut looks = Looks::begin(address, config.admin.token.as_deref())?;
    let order = arguments.sort.order();
    let is_seen = stdout().is_terminal() && stdin().is_terminal();
    if is_seen && !arguments.once && !arguments.json {
        return terminal::show(looks, arguments.seconds, order);
    }
    loop {
        let picture = looks.next(arguments.seconds, true)?;
        let text = if arguments.json { page::json(&picture) } else { page::text(&picture, order) };
        let gap = if arguments.json || arguments.once { "" } else { "\n" };
        if !print::print_or_end(&format!("{text}{gap}")) || arguments.once {
            return Ok(());
        }
    }
}
