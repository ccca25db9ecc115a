//! The figures in README.md and BENCHMARKING.md: each names the run from which it comes.
//!
//! A paragraph `Source: …` applies to the paragraphs and tables below it, up to the next one or the next heading. It
//! has one of two forms:
//!
//! - a link to a file below bench/results, as `bench/run --out bench/results` writes it. Then every number below must
//!   be in that file, rounded as it is quoted;
//! - a command in a code span and a date, for a run whose samples were not kept. The command must exist.
//!
//! Must not know what a figure means, or whether it is good.

use std::path::Path;

use serde_json::Value;

use crate::markdown::{Document, root};

/// A number that is followed by one of these was measured. Gigabytes are not among them: they describe machines.
const UNITS: [&str; 10] = ["us", "µs", "ns", "ms", "KiB", "MiB", "KB", "MB", "%", "requests/s"];

/// Lines of prose that belong together: a paragraph, a list or a table.
struct Paragraph {
    line: usize,
    text: String,
}

fn paragraphs(document: &Document) -> Vec<Paragraph> {
    let mut found: Vec<Paragraph> = Vec::new();
    let mut last = 0;
    for (line, text) in document.prose() {
        match found.last_mut() {
            Some(paragraph) if line == last + 1 && !paragraph.text.is_empty() && !text.trim().is_empty() => {
                paragraph.text.push('\n');
                paragraph.text.push_str(text);
            }
            _ => found.push(Paragraph { line, text: text.trim().to_string() }),
        }
        last = line;
    }
    found.retain(|paragraph| !paragraph.text.is_empty());
    found
}

/// The text without its code spans: they hold commands, names and versions.
fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// The numbers of a text as they are written, without commas between thousands.
fn numbers(text: &str) -> Vec<String> {
    let text = without_code(text);
    let spelled = text.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == ','));
    let trimmed = spelled.map(|word| word.trim_matches(['.', ',']).replace(',', ""));
    trimmed.filter(|word| !word.is_empty()).collect()
}

/// Whether a text has a number followed by a unit.
fn has_figure(text: &str) -> bool {
    let text = without_code(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(2).any(|pair| {
        let unit = pair[1].trim_matches(|c: char| !c.is_alphanumeric() && c != '%');
        pair[0].ends_with(|c: char| c.is_ascii_digit()) && UNITS.contains(&unit)
    })
}

/// All numbers of a record that may be quoted: its summary, its settings, and those in its names (`c=100`).
fn quotable(value: &Value, into: &mut Vec<f64>) {
    match value {
        Value::Number(number) => into.extend(number.as_f64()),
        Value::String(text) => {
            into.extend(numbers(text).iter().filter_map(|number| number.parse::<f64>().ok()))
        }
        Value::Array(values) => values.iter().for_each(|value| quotable(value, into)),
        Value::Object(values) => values.values().for_each(|value| quotable(value, into)),
        Value::Null | Value::Bool(_) => (),
    }
}

/// The source of the figures of some paragraphs.
enum Source {
    Record { path: String, numbers: Vec<f64> },
    NotKept,
}

impl Source {
    /// Reads the text after `Source: `.
    fn read(text: &str) -> Result<Source, String> {
        match text.split_once("](").and_then(|(_, rest)| rest.split_once(')')) {
            Some((path, _)) => Source::record(path),
            None => Source::not_kept(text),
        }
    }

    fn record(path: &str) -> Result<Source, String> {
        if !path.starts_with("bench/results/") {
            return Err(format!("{path} is not below bench/results"));
        }
        let text = std::fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}"))?;
        let record: Value = serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"))?;
        for key in ["command", "started", "machine", "summary"] {
            if record[key].is_null() {
                return Err(format!("{path} does not say its {key}"));
            }
        }
        let mut numbers = Vec::new();
        for key in ["summary", "settings"] {
            quotable(&record[key], &mut numbers);
        }
        Ok(Source::Record { path: path.to_string(), numbers })
    }

    fn not_kept(text: &str) -> Result<Source, String> {
        let command = text.split('`').nth(1).ok_or("neither a record nor a command")?;
        let program = command.split_whitespace().next().unwrap_or_default();
        if program.contains('/') && !root().join(program).is_file() {
            return Err(format!("no {program}"));
        }
        if program == "bench/run" {
            let known = scenarios();
            let named = command.split_whitespace().skip(1).take_while(|word| !word.starts_with("--"));
            for name in named {
                if !known.contains(&format!("Scenario(\"{name}\"")) {
                    return Err(format!("bench/run has no scenario {name}"));
                }
            }
        }
        let is_date = |word: &str| {
            let parts: Vec<&str> = word.split('-').collect();
            parts.iter().map(|part| part.len()).eq([4, 2, 2])
                && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let dated = text.split([' ', '\n', ',', ';', '.']).any(is_date);
        if dated { Ok(Source::NotKept) } else { Err("no date".to_string()) }
    }

    /// The numbers of a text that the source does not have.
    fn missing(&self, text: &str) -> Vec<String> {
        let Source::Record { path, numbers: known } = self else { return Vec::new() };
        let is_known = |written: &str| {
            let decimals = written.split_once('.').map_or(0, |(_, digits)| digits.len());
            known.iter().any(|number| format!("{number:.decimals$}") == written)
        };
        let unknown = numbers(text).into_iter().filter(|written| !is_known(written));
        unknown.map(|written| format!("{written} is not in {path}")).collect()
    }
}

/// The files that name the scenarios of bench/run.
fn scenarios() -> String {
    let files = std::fs::read_dir(root().join("bench/lab")).expect("the benchmarks");
    files
        .map(|file| std::fs::read_to_string(file.expect("an entry can be read").path()).unwrap_or_default())
        .collect()
}

/// What is wrong with the figures of a document.
fn objections(document: &Document) -> Vec<String> {
    let mut wrong = Vec::new();
    let (mut source, mut in_results) = (None, false);
    for Paragraph { line, text } in paragraphs(document) {
        let place = format!("{}:{line}", document.path.display());
        if text.starts_with('#') {
            in_results = text == "## Results" || in_results && text.starts_with("###");
            source = None;
        } else if let Some(text) = text.strip_prefix("Source: ") {
            match Source::read(text) {
                Ok(read) => source = Some(read),
                Err(error) => wrong.push(format!("{place}: {error}")),
            }
        } else if let Some(source) = &source {
            wrong.extend(source.missing(&text).into_iter().map(|error| format!("{place}: {error}")));
        } else if in_results && text.starts_with('|')
            || needs_source(document, in_results) && has_figure(&text)
        {
            wrong.push(format!(
                "{place}: figures without a source: {}",
                text.lines().next().unwrap_or_default()
            ));
        }
    }
    wrong
}

/// BENCHMARKING.md describes goals and methods above its results; every other document has only results.
fn needs_source(document: &Document, in_results: bool) -> bool {
    in_results || document.path != Path::new("BENCHMARKING.md")
}

#[test]
fn every_figure_names_the_run_it_comes_from() {
    let wrong: Vec<String> =
        ["README.md", "BENCHMARKING.md"].iter().flat_map(|path| objections(&Document::read(path))).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_wrong_figure_would_be_found() {
    assert!(
        has_figure("it took 4.35 us") && has_figure("1 ms.") && !has_figure("24 GB") && !has_figure("`1 ms`")
    );
    assert_eq!(numbers("| 11,682 (0.10) | `5` c=100."), ["11682", "0.10", "100"]);
    let record = Source::Record { path: "a record".into(), numbers: vec![4.3512, 11_682.0] };
    assert!(record.missing("4.35, 4.4 and 11,682").is_empty());
    assert_eq!(record.missing("4.36").len(), 1);
    assert!(Source::read("`bench/run hello --rounds 5`, 2026-11-21; the samples were not kept.").is_ok());
    for wrong in
        ["`bench/run nonsense`, 2026-11-21", "`bench/run hello`", "2026-11-21", "[x](bench/results/no.json)"]
    {
        assert!(Source::read(wrong).is_err(), "{wrong}");
    }
}
