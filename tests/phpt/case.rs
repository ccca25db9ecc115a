//! One phpt file: its sections, its two runs, its result.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};

use weft_tests::command::{self, Output};
use weft_tests::expectation;

/// Settings for both commands, so that a developer's php.ini has no influence: errors are shown as text on stdout.
const SETTINGS: [&str; 7] = [
    "display_errors=1",
    "log_errors=0",
    "html_errors=0",
    "error_reporting=-1",
    "memory_limit=128M",
    "date.timezone=UTC",
    "max_execution_time=60",
];

const SECTIONS: [&str; 12] = [
    "TEST",
    "PHP",
    "INI",
    "ARGS",
    "STDIN",
    "WEFT-ONLY",
    "LIBRARY",
    "FILE",
    "EXPECT",
    "EXPECTF",
    "STDERR",
    "EXITCODE",
];

/// Whether the case is for this version of PHP, major and minor: as its section PHP says, "< 8.4" or ">= 8.4".
///
/// # Errors
/// When the file cannot be read, or says it in another way.
pub fn is_for(file: &Path, version: &str) -> Result<bool, String> {
    let text = std::fs::read_to_string(file).map_err(|e| e.to_string())?;
    let Some(condition) = parse(&text)?.remove("PHP") else {
        return Ok(true);
    };
    let number = |text: &str| {
        let (major, minor) = text.split_once('.')?;
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    };
    let said = condition.trim().split_once(' ');
    match said.and_then(|(sign, bound)| Some((sign, number(version)?, number(bound)?))) {
        Some(("<", this, bound)) => Ok(this < bound),
        Some((">=", this, bound)) => Ok(this >= bound),
        _ => Err(format!("{}: not a condition on PHP's version: {condition}", file.display())),
    }
}

/// Runs the case; an error describes the difference.
pub fn run(file: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|e| e.to_string())?;
    let sections = parse(&text)?;
    let of_weft = run_one(&sections, |directory| {
        let mut weft = command::command(directory);
        weft.arg("php");
        weft
    })?;
    judge(&sections, "weft php", &of_weft)?;
    if sections.contains_key("WEFT-ONLY") {
        return Ok(());
    }
    let of_php = run_one(&sections, |directory| {
        let mut php = Command::new("php");
        php.current_dir(directory);
        if sections.contains_key("LIBRARY") {
            php.args([
                "-d",
                concat!("auto_prepend_file=", env!("CARGO_MANIFEST_DIR"), "/../php/autoload.php"),
            ]);
        }
        php
    })?;
    judge(&sections, "php", &of_php)?;
    if sections.contains_key("EXPECT") && of_php.stdout != of_weft.stdout {
        return Err(format!("php wrote\n{}\nweft php wrote\n{}", of_php.stdout, of_weft.stdout));
    }
    Ok(())
}

fn parse(text: &str) -> Result<HashMap<&str, String>, String> {
    let mut sections: HashMap<&str, String> = HashMap::new();
    let mut current = None;
    for line in text.split_inclusive('\n') {
        let name = line.trim_end().strip_prefix("--").and_then(|rest| rest.strip_suffix("--"));
        match name.filter(|name| is_name(name)) {
            Some(name) if !SECTIONS.contains(&name) => return Err(format!("unknown section {name}")),
            Some(name) => {
                current = Some(name);
                sections.insert(name, String::new());
            }
            None => {
                let name = current.ok_or("text before the first section")?;
                sections.entry(name).or_default().push_str(line);
            }
        }
    }
    if sections.contains_key("EXPECT") == sections.contains_key("EXPECTF") {
        return Err("one of EXPECT and EXPECTF is needed".into());
    }
    Ok(sections)
}

/// Capital letters and hyphens; a line of only hyphens in a script is not a name.
fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_uppercase())
        && text.bytes().all(|b| b.is_ascii_uppercase() || b == b'-')
}

/// Runs the script with one of the commands, in a new directory.
fn run_one(sections: &HashMap<&str, String>, command: impl Fn(&Path) -> Command) -> Result<Output, String> {
    let directory = tempfile::tempdir().map_err(|e| e.to_string())?;
    let script = directory.path().join("test.php");
    std::fs::write(&script, sections.get("FILE").ok_or("no FILE")?).map_err(|e| e.to_string())?;
    let mut command = command(directory.path());
    let own = sections.get("INI").map(String::as_str).unwrap_or_default();
    for setting in SETTINGS.into_iter().chain(own.lines().filter(|line| !line.trim().is_empty())) {
        command.args(["-d", setting]);
    }
    command.arg(&script);
    command.args(sections.get("ARGS").map(String::as_str).unwrap_or_default().split_whitespace());
    command.stdin(match sections.get("STDIN") {
        None => Stdio::null(),
        Some(input) => {
            let path = script.with_file_name("stdin");
            std::fs::write(&path, input).map_err(|e| e.to_string())?;
            std::fs::File::open(path).map_err(|e| e.to_string())?.into()
        }
    });
    Ok(command::finish(&mut command))
}

fn judge(sections: &HashMap<&str, String>, who: &str, output: &Output) -> Result<(), String> {
    let code: i32 = match sections.get("EXITCODE") {
        None => 0,
        Some(text) => text.trim().parse().map_err(|_| format!("not an exit code: {text}"))?,
    };
    let Output { stdout, stderr, .. } = output;
    if output.code != Some(code) {
        return Err(format!(
            "{who} ended with {:?}, not {code}; it wrote\n{stdout}\nand\n{stderr}",
            output.code
        ));
    }
    let (expected, right) = match (sections.get("EXPECT"), sections.get("EXPECTF")) {
        (Some(expected), _) => (expected, expected.trim() == stdout.trim()),
        (None, Some(pattern)) => (pattern, expectation::matches(pattern, stdout)),
        (None, None) => unreachable!("parse demands one"),
    };
    if !right {
        return Err(format!("{who} wrote\n{stdout}\ninstead of\n{expected}\nand on stderr\n{stderr}"));
    }
    match sections.get("STDERR") {
        Some(pattern) if !expectation::matches(pattern, stderr) => {
            Err(format!("{who} wrote on stderr\n{stderr}\ninstead of\n{pattern}"))
        }
        _ => Ok(()),
    }
}
