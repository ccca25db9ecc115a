//! One finding of the doctor: what there is, why it matters here, and what to do.
//!
//! Must not know how it was found, nor how it is shown. Invariant: whoever is told that something is wrong is told what to do, and
//! how it stays so after a restart of the machine.

use serde_json::{Value, json};

/// How bad it is; the worst is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// As it should be.
    Fine,
    /// Worth knowing; nothing has to be done.
    Note,
    /// Under load it costs time, or requests.
    Warning,
    /// What the configuration promises cannot be.
    Serious,
}

impl Severity {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Fine => "fine",
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Serious => "serious",
        }
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// What was looked at: `descriptors`, `net.core.somaxconn`.
    pub subject: &'static str,
    pub severity: Severity,
    /// What was found, with its value.
    pub found: String,
    /// Why that matters for this configuration.
    pub why: String,
    /// What to do, as a command or a setting; empty if there is nothing to do.
    pub fix: String,
    /// How that stays; empty if it does so of itself.
    pub keep: String,
}

impl Advice {
    /// Something that is as it should be, or only worth knowing.
    pub fn note(subject: &'static str, severity: Severity, found: impl Into<String>) -> Advice {
        let (why, fix, keep) = Default::default();
        Advice { subject, severity, found: found.into(), why, fix, keep }
    }

    /// The same with a reason.
    pub fn because(mut self, why: impl Into<String>) -> Advice {
        self.why = why.into();
        self
    }

    /// The same with a remedy that stays of itself, such as a setting in a file.
    pub fn fix(mut self, fix: impl Into<String>) -> Advice {
        self.fix = fix.into();
        self
    }

    /// The same with a setting of the kernel as the remedy.
    pub fn sysctl(self, key: &str, value: impl std::fmt::Display) -> Advice {
        let fix = format!("sysctl -w {key}='{value}'");
        let keep = format!("echo '{key} = {value}' >> /etc/sysctl.d/60-weft.conf");
        Advice { fix, keep, ..self }
    }

    /// For programs.
    pub fn json(&self) -> Value {
        json!({
            "subject": self.subject,
            "severity": self.severity.name(),
            "found": self.found,
            "why": self.why,
            "fix": self.fix,
            "keep": self.keep,
        })
    }
}
