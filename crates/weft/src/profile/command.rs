//! `weft profile`: begins a profile at a running server, waits for its end, and writes what was seen.
//!
//! Must not know how a worker looks. Invariant: it leaves no file behind unless the whole profile is in it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use super::flame;
use super::folded::Folded;
use super::session::{RATE_MAX, SECONDS_MAX};
use crate::config::{self, ListenAddress};
use crate::{operator, print};

/// An answer of 256 workers may have more than one of them holds, but not of one application.
const ANSWER_BYTES_MAX: u64 = 64 << 20;
/// How often workers are asked for what they have seen that do not answer, each time for two seconds.
const TRIES: u32 = 5;
/// Functions that are named of each side.
const TOPS: usize = 5;

/// What `weft profile` is told.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The server: an admin address at which it listens [the first of server.listen]
    #[arg(long, value_name = "ADDRESS")]
    at: Option<ListenAddress>,
    /// For how long
    #[arg(long, value_name = "S", default_value_t = 10.0, value_parser = seconds)]
    seconds: f64,
    /// Samples a second
    #[arg(long, value_name = "HZ", default_value_t = 99, value_parser = clap::value_parser!(u32).range(1..=i64::from(RATE_MAX)))]
    rate: u32,
    /// Write NAME.svg, a flame graph, and NAME.folded, its stacks as text
    #[arg(long, short, value_name = "NAME", default_value = "weft-profile")]
    out: PathBuf,
    /// Print the stacks instead, and write no file
    #[arg(long, conflicts_with = "out")]
    folded: bool,
    /// Read settings from FILE instead of ./weft.toml
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.05..=SECONDS_MAX).contains(seconds));
    seconds.ok_or_else(|| format!("from 0.05 to {SECONDS_MAX} seconds"))
}

/// Runs `weft profile`.
pub fn run(arguments: Arguments) -> ExitCode {
    match profile(arguments) {
        Ok(said) => {
            print::print(&said);
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("weft: {why}");
            ExitCode::FAILURE
        }
    }
}

fn profile(arguments: Arguments) -> Result<String, String> {
    let config = config::load(arguments.config, std::env::vars_os(), Vec::new())
        .map_err(|mistakes| mistakes.join("\nweft: "))?;
    let address = operator::address_for(arguments.at, &config)?;
    let authorization = operator::authorization(config.admin.token.as_deref());
    let ask = |method: &str, query: &str| {
        let request = format!(
            "{method} /profile?{query} HTTP/1.1\r\nHost: weft\r\nConnection: close\r\nContent-Length: 0\r\n{authorization}\r\n"
        );
        operator::ask(&address, request.as_bytes(), ANSWER_BYTES_MAX)
    };
    let refused = |body: &str| format!("{address} has refused it: {}", body.trim_end());
    let number = match ask("POST", &format!("seconds={}&rate={}", arguments.seconds, arguments.rate))? {
        (202, body) => body.trim().to_owned(),
        (404, _) => {
            return Err(format!("{address} is a server that takes no profiles: reload it with this weft"));
        }
        (_, body) => return Err(refused(&body)),
    };
    std::thread::sleep(Duration::from_secs_f64(arguments.seconds));
    let mut tries = 0;
    let lines = loop {
        tries += 1;
        match ask("GET", &format!("number={number}"))? {
            (200, body) => break body,
            (503, _) if tries < TRIES => (),
            (_, body) => return Err(refused(&body)),
        }
    };
    if arguments.folded {
        return Ok(lines);
    }
    let mut folded = Folded::default();
    folded.add_lines(&lines);
    let title = format!("weft profile: {} s at {} samples a second", arguments.seconds, arguments.rate);
    let (svg, text) = (beside(&arguments.out, "svg"), beside(&arguments.out, "folded"));
    write(&text, &lines)?;
    write(&svg, &flame::draw(&folded, &title))?;
    Ok(format!("{}wrote {} and {}\n", summary(&folded), svg.display(), text.display()))
}

/// `NAME.ending`; a name may have dots of its own.
fn beside(name: &Path, ending: &str) -> PathBuf {
    let mut path = name.as_os_str().to_owned();
    path.push(".");
    path.push(ending);
    path.into()
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{} cannot be written: {error}", path.display()))
}

/// The functions in which most was seen.
fn summary(folded: &Folded) -> String {
    let mut text = String::new();
    let sides = [("on-CPU", "on the processor"), ("off-CPU", "waiting")];
    for (kind, said) in sides {
        let total = folded.total_of(kind);
        text += &format!("{kind}: {total} samples {said}\n");
        for (name, count) in folded.tops_of(kind).into_iter().take(TOPS) {
            text += &format!("  {:5.1} %  {name}\n", count as f64 / total as f64 * 100.0);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_names_where_most_was_seen() {
        let mut folded = Folded::default();
        folded.add_lines("on-CPU;a;b 3\non-CPU;a;c 1\noff-CPU;a;curl_exec;[http] 2\n");
        assert_eq!(
            summary(&folded),
            "on-CPU: 4 samples on the processor\n   75.0 %  b\n   25.0 %  c\noff-CPU: 2 samples waiting\n  100.0 %  curl_exec [http]\n"
        );
        assert!(summary(&Folded::default()).starts_with("on-CPU: 0 samples on the processor\noff-CPU: 0"));
    }

    #[test]
    fn files_are_called_by_the_name() {
        assert_eq!(beside(Path::new("a/b.c"), "svg"), Path::new("a/b.c.svg"));
    }
}
