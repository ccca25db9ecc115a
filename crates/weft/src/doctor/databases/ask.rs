//! Asks a server by PHP's own client, in a process of its own: `weft php`, with the extensions that these settings load.
//!
//! Must not know what is asked (`ask.php` does) or what the answer means. Invariants: whom to ask goes through a pipe, so that no list of
//! processes shows a password; the process ends within a time, whatever the server does.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::answer::Answer;
use super::target::Target;

/// How long a client may take to connect, and to wait for one answer.
const CONNECT_SECONDS: u64 = 5;
/// How long it may take in all.
const ANSWER: Duration = Duration::from_secs(20);
/// How often it is looked whether PHP has ended: too rarely to cost anything, and too often for somebody to notice.
const LOOK: Duration = Duration::from_millis(20);

const SCRIPT: &str = include_str!("ask.php");

/// Settings without which code of the application could run, or PHP could speak where the answer is.
const ALONE: [&str; 5] =
    ["auto_prepend_file=", "auto_append_file=", "opcache.enable_cli=0", "display_errors=0", "log_errors=0"];

/// What the server at `target` says; `ini` are settings of PHP.
pub fn ask(target: &Target, ini: &[(String, String)]) -> Answer {
    match answer_of(target, ini) {
        Ok(text) => Answer::parse(&text),
        Err(why) => Answer::Failed(why),
    }
    .without(&target.password)
}

fn answer_of(target: &Target, ini: &[(String, String)]) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("PHP cannot be started: {error}");
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.arg("php");
    for (name, value) in ini {
        command.arg("-d").arg(format!("{name}={value}"));
    }
    for setting in ALONE {
        command.args(["-d", setting]);
    }
    command.arg("-r").arg(SCRIPT.trim_start_matches("<?php"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        // If it has ended already, its answer is missing, too.
        let _ = stdin.write_all(request(target).as_bytes());
    }
    let mut stdout = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        // What came before an error is no answer, and is said to be none.
        let _ = stdout.as_mut().map(|stdout| stdout.read_to_string(&mut text));
        text
    });
    let is_ended = ends_in_time(&mut child);
    let text = reader.join().unwrap_or_default();
    if is_ended { Ok(text) } else { Err(format!("no answer within {} s", ANSWER.as_secs())) }
}

/// Waits for the end of PHP, and makes it.
fn ends_in_time(child: &mut Child) -> bool {
    let deadline = Instant::now() + ANSWER;
    loop {
        if !matches!(child.try_wait(), Ok(None)) {
            return true;
        }
        if Instant::now() > deadline {
            // It may end at this moment; then there is nothing to kill.
            let _ = child.kill();
            let _ = child.wait();
            return false;
        }
        std::thread::sleep(LOOK);
    }
}

fn request(target: &Target) -> String {
    let (host, port) = target.address();
    json!({
        "kind": target.kind.name(),
        "host": host,
        "port": port,
        "user": target.user,
        "password": target.password,
        "database": target.database,
        "tls": target.is_tls,
        "local": target.is_local(),
        "seconds": CONNECT_SECONDS,
    })
    .to_string()
}
