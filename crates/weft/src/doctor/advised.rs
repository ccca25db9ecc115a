//! The form of the doctor's advice: text for people, JSON for programs, an exit code for scripts.
//!
//! Must not know what was looked at. Invariant: all three say the same.

use std::fmt::Write;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::checks::{Advice, Severity};

/// The width at which text is wrapped.
const WIDTH: usize = 110;
/// Where the text of a line begins.
const INDENT: usize = 14;

/// For people: what is wrong first, each with what to do; what is fine in one line each.
pub fn text(all: &[Advice]) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for advice in all {
        let head = format!("{:<9}{}: {}", advice.severity.name(), advice.subject, advice.found);
        wrapped(&mut text, "", &head);
        for (name, words) in [("why", &advice.why), ("fix", &advice.fix), ("to keep it", &advice.keep)] {
            if !words.is_empty() {
                wrapped(&mut text, name, words);
            }
        }
    }
    let count = |severity| all.iter().filter(|advice| advice.severity == severity).count();
    let (serious, warnings) = (count(Severity::Serious), count(Severity::Warning));
    let _ = writeln!(text, "\n{serious} serious, {warnings} warnings, {} notes", count(Severity::Note));
    text
}

fn wrapped(text: &mut String, name: &str, words: &str) {
    let mut line = if name.is_empty() { String::new() } else { format!("{name:>11}  ") };
    let first = line.len();
    for word in words.split(' ') {
        if line.len() > first && line.len() + word.len() >= WIDTH {
            text.push_str(line.trim_end());
            line = format!("\n{:INDENT$}", "");
        }
        line.push_str(word);
        line.push(' ');
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

/// For programs.
pub fn json(all: &[Advice]) -> String {
    let advice: Vec<Value> = all.iter().map(Advice::json).collect();
    let worst = all.iter().map(|advice| advice.severity).max().unwrap_or(Severity::Fine);
    format!("{:#}\n", json!({ "worst": worst.name(), "advice": advice }))
}

/// 0: nothing is worse than a note; 1: a warning; 3: something is serious. 2 is for mistakes in the settings.
pub fn exit_code(all: &[Advice]) -> ExitCode {
    match all.iter().map(|advice| advice.severity).max() {
        Some(Severity::Serious) => ExitCode::from(3),
        Some(Severity::Warning) => ExitCode::from(1),
        _ => ExitCode::SUCCESS,
    }
}
