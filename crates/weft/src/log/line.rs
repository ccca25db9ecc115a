//! One event of the error log as one line, text or JSON.
//!
//! Must not know where lines go. Invariant: a line is one line: the content of a message cannot forge another.

use std::fmt::{self, Write};

use tracing::Event;
use tracing::field::{Field, Visit};

use super::clock;
use crate::config::Format;

/// Formats `event` of the process called `process`, newline included.
pub fn format(event: &Event<'_>, process: &str, form: Format) -> String {
    let mut fields = Fields { form, message: String::new(), others: String::new() };
    event.record(&mut fields);
    let level = event.metadata().level().as_str();
    whole(form, level, process, &fields.message, &fields.others)
}

/// A line from the log itself.
pub fn plain(form: Format, level: &str, process: &str, message: &str) -> String {
    let mut escaped = String::new();
    escape(form, &mut escaped, message);
    whole(form, level, process, &escaped, "")
}

fn whole(form: Format, level: &str, process: &str, message: &str, others: &str) -> String {
    let (time, pid) = (clock::rfc3339(clock::now()), std::process::id());
    match form {
        Format::Text => format!("{time} {level:<5} {process}[{pid}] {message}{others}\n"),
        Format::Json => {
            format!(
                r#"{{"time":"{time}","level":"{level}","process":"{process}","pid":{pid},"message":"{message}"{others}}}"#
            ) + "\n"
        }
    }
}

/// Collects an event's fields, already escaped.
struct Fields {
    form: Format,
    message: String,
    others: String,
}

impl Fields {
    fn add(&mut self, field: &Field, value: &str, quoted: bool) {
        if field.name() == "message" {
            return escape(self.form, &mut self.message, value);
        }
        let Fields { form, others, .. } = self;
        match form {
            Format::Text => others.push_str(&format!(" {}=", field.name())),
            Format::Json => others.push_str(&format!(",\"{}\":", field.name())),
        }
        let quote = if quoted && *form == Format::Json { "\"" } else { "" };
        others.push_str(quote);
        escape(*form, others, value);
        others.push_str(quote);
    }
}

impl Visit for Fields {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, &value.to_string(), false);
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, &value.to_string(), false);
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, &value.to_string(), false);
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value, true);
    }
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, &format!("{value:?}"), true);
    }
}

/// Appends `text` so that it stays inside its line, and inside its quotes in JSON. In text, line breaks become
/// indented lines, because people read PHP stack traces.
fn escape(form: Format, out: &mut String, text: &str) {
    for character in text.chars() {
        // Writing to a String cannot fail.
        let _ = match (form, character) {
            (Format::Text, '\n') => out.write_str("\n    "),
            (Format::Text, '\t') => out.write_char('\t'),
            (Format::Json, '"' | '\\') => write!(out, "\\{character}"),
            (Format::Json, '\n') => out.write_str("\\n"),
            (_, c) if c.is_control() => match form {
                Format::Text => write!(out, "\\x{:02x}", c as u32),
                Format::Json => write!(out, "\\u{:04x}", c as u32),
            },
            (_, c) => out.write_char(c),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_pid(line: &str) -> String {
        line.split_once("] ").map_or(line, |(_, rest)| rest).to_string()
    }

    #[test]
    fn a_message_cannot_forge_a_line() {
        let evil = "a\nERROR b\r\x1b[31m";
        assert_eq!(after_pid(&plain(Format::Text, "INFO", "master", evil)), "a\n    ERROR b\\x0d\\x1b[31m\n");
        let json = plain(Format::Json, "INFO", "master", "say \"hi\"\\\n\x01");
        assert!(json.ends_with("\"message\":\"say \\\"hi\\\"\\\\\\n\\u0001\"}\n"), "{json}");
        assert_eq!(json.matches('\n').count(), 1);
    }
}
