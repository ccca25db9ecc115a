//! Tests as requests: one after the other to php-fpm, hundreds at once to weft in classic mode.
//!
//! Must not know the list of differences. Invariants: only tests that stock PHP passes take part, and none that needs a
//! command line or settings of its own; an answer is the same if its status is and if its body is, or matches what the
//! test expects on both sides.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use weft_tests::Server;
use weft_tests::expectation;
use weft_tests::services::Fpm;

use crate::outcome::{Outcomes, plain, shown};

/// Connections at once to weft.
const AT_ONCE: usize = 200;
/// What run-tests.php sets, as far as it shows in a response, as a directory's settings: scripts may change them.
const SETTINGS: [(&str, &str); 12] = [
    ("error_reporting", "32767"),
    ("display_errors", "1"),
    ("log_errors", "0"),
    ("html_errors", "0"),
    ("output_buffering", "0"),
    ("implicit_flush", "0"),
    ("precision", "14"),
    ("serialize_precision", "-1"),
    ("memory_limit", "128M"),
    ("short_open_tag", "0"),
    ("zend.exception_ignore_args", "0"),
    ("zend.exception_string_param_max_len", "15"),
];
/// Sections of a test that runs as it is when it is asked for.
const SECTIONS: [&str; 9] =
    ["TEST", "DESCRIPTION", "CREDITS", "EXTENSIONS", "SKIPIF", "FILE", "EXPECT", "EXPECTF", "EXPECTREGEX"];
/// A test with one of these words is about the command, about the server's process, or writes files.
const WORDS: [&str; 18] = [
    "PHP_BINARY",
    "TEST_PHP_EXECUTABLE",
    "STDIN",
    "STDOUT",
    "STDERR",
    "$argv",
    "$argc",
    "pcntl_",
    "php://std",
    "sleep(",
    "posix_kill",
    "unlink(",
    "mkdir(",
    "tempnam(",
    "file_put_contents(",
    "php_sapi_name",
    "assert(",
    "get_defined_functions",
];

/// A test that can be asked for.
#[derive(Debug)]
pub struct Script {
    test: String,
    code: String,
    expected: Expected,
}

#[derive(Debug)]
enum Expected {
    Text(String),
    Pattern(String),
    /// An expression: only the other side tells.
    Unknown,
}

/// What the requests showed.
#[derive(Debug, Default)]
pub struct Answers {
    pub tests: BTreeSet<String>,
    pub differing: BTreeMap<String, String>,
}

/// The tests that can be asked for.
pub fn scripts(outcomes: &Outcomes) -> Vec<Script> {
    let passed = outcomes.php.results.iter().filter(|(_, result)| *result == "PASSED");
    passed
        .filter_map(|(test, _)| {
            let text = std::fs::read(outcomes.php.tree.join(test)).ok()?;
            script(test, std::str::from_utf8(&text).ok()?)
        })
        .collect()
}

fn script(test: &str, text: &str) -> Option<Script> {
    let mut sections: BTreeMap<&str, String> = BTreeMap::new();
    let mut current = "";
    for line in text.split_inclusive('\n') {
        let name = line.trim_end().strip_prefix("--").and_then(|rest| rest.strip_suffix("--"));
        match name.filter(|name| name.len() > 2 && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'))
        {
            Some(name) => current = name,
            None => sections.entry(current).or_default().push_str(line),
        }
    }
    let code = sections.get("FILE")?.clone();
    if sections.keys().any(|name| !SECTIONS.contains(name)) || WORDS.iter().any(|word| code.contains(word)) {
        return None;
    }
    let expected = match (sections.remove("EXPECT"), sections.remove("EXPECTF")) {
        (Some(text), _) => Expected::Text(text),
        (None, Some(pattern)) if is_understood(&pattern) => Expected::Pattern(pattern),
        _ => Expected::Unknown,
    };
    Some(Script { test: test.to_owned(), code, expected })
}

/// Whether the pattern has only placeholders that are known here; "%r", for example, begins an expression.
fn is_understood(pattern: &str) -> bool {
    pattern.split('%').skip(1).all(|rest| rest.is_empty() || rest.starts_with(|c| "difxwsSaAce".contains(c)))
}

/// Asks both servers for all of them.
///
/// # Errors
/// The scripts cannot be written.
pub fn run(work: &Path, scripts: &[Script]) -> Result<Answers, String> {
    let trees = ["php", "weft"].map(|side| work.join(side).join("src"));
    let settings: String = SETTINGS.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    for tree in &trees {
        std::fs::write(tree.join(".user.ini"), &settings)
            .map_err(|error| format!("{}: {error}", tree.display()))?;
        for script in scripts {
            let path = tree.join(&script.test).with_extension("php");
            std::fs::write(&path, &script.code).map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    let [of_php, of_weft] = &trees;
    let fpm = Fpm::start(of_php, 2, &[]);
    let theirs = ask(fpm.address, of_php, scripts, 2);
    drop(fpm);
    let server = Server::of(of_weft).with("--workers", "2").with("--instances", &(AT_ONCE / 2).to_string());
    let server = server.with("--queue-timeout-ms", "600000");
    let weft = server.start();
    let ours = ask(weft.address, of_weft, scripts, AT_ONCE);
    let log = work.join("weft/server.log");
    std::fs::write(&log, weft.log()).map_err(|error| format!("{}: {error}", log.display()))?;
    let mut answers = Answers::default();
    for (script, (theirs, ours)) in scripts.iter().zip(theirs.iter().zip(&ours)) {
        answers.tests.insert(script.test.clone());
        if theirs != ours && !(theirs.0 == ours.0 && script.expects(&theirs.1) && script.expects(&ours.1)) {
            let said = |(status, body): &(u16, String)| format!("{status}\n{}", shown(body));
            let how = format!("php-fpm: {}\nweft: {}", said(theirs), said(ours));
            answers.differing.insert(script.test.clone(), how);
        }
    }
    Ok(answers)
}

impl Script {
    fn expects(&self, body: &str) -> bool {
        match &self.expected {
            Expected::Text(text) => text.trim() == body.trim(),
            Expected::Pattern(pattern) => expectation::matches(pattern, body),
            Expected::Unknown => false,
        }
    }
}

/// The answers, in the order of the scripts; status 0 for none.
fn ask(address: SocketAddr, tree: &Path, scripts: &[Script], at_once: usize) -> Vec<(u16, String)> {
    let next = Mutex::new(0..scripts.len());
    let answers = Mutex::new(vec![(0, String::new()); scripts.len()]);
    std::thread::scope(|scope| {
        for _ in 0..at_once.min(scripts.len()) {
            scope.spawn(|| {
                loop {
                    let Some(at) = next.lock().expect("no holder panics").next() else { return };
                    let answer = get(address, &scripts[at].test)
                        .unwrap_or_else(|error| (0, error.to_string().into_bytes()));
                    let answer = (answer.0, plain(&answer.1, tree));
                    answers.lock().expect("no holder panics")[at] = answer;
                }
            });
        }
    });
    answers.into_inner().expect("no holder panics")
}

/// HTTP/1.0: the end of the body is the end of the connection.
fn get(address: SocketAddr, test: &str) -> std::io::Result<(u16, Vec<u8>)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(120)))?;
    let path = test.replace(".phpt", ".php");
    write!(stream, "GET /{path} HTTP/1.0\r\nHost: site.test\r\n\r\n")?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").map_or(bytes.len(), |at| at + 4);
    let status = String::from_utf8_lossy(&bytes[..end]).split(' ').nth(1).and_then(|code| code.parse().ok());
    Ok((status.unwrap_or(0), bytes.split_off(end)))
}
