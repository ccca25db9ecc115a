//! What the process that sees to certificates tells its master, line by line.
//!
//! Must not know how it is sent. Invariant: a notice is one line, and every other line is none.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Something that the master should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// For the log.
    Info(String),
    /// The same, and somebody should do something.
    Warn(String),
    /// There is a new certificate for this name.
    Certified(String),
    /// Nothing is due before this time has passed.
    Next(Duration),
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |text: &str| text.replace(['\n', '\r'], " ");
        match self {
            Notice::Info(text) => write!(f, "info {}", line(text)),
            Notice::Warn(text) => write!(f, "warn {}", line(text)),
            Notice::Certified(name) => write!(f, "certified {name}"),
            Notice::Next(span) => write!(f, "next {}", span.as_secs()),
        }
    }
}

impl FromStr for Notice {
    type Err = ();

    fn from_str(line: &str) -> Result<Notice, ()> {
        match line.split_once(' ').ok_or(())? {
            ("info", text) => Ok(Notice::Info(text.to_owned())),
            ("warn", text) => Ok(Notice::Warn(text.to_owned())),
            ("certified", name) => Ok(Notice::Certified(name.to_owned())),
            ("next", seconds) => seconds.parse().map(Duration::from_secs).map(Notice::Next).map_err(drop),
            _ => Err(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_a_line() {
        for notice in [
            Notice::Info("a b".into()),
            Notice::Warn("why".into()),
            Notice::Certified("a.example".into()),
            Notice::Next(Duration::from_secs(60)),
        ] {
            assert_eq!(notice.to_string().parse(), Ok(notice));
        }
        assert_eq!(Notice::Warn("a\nb".into()).to_string(), "warn a b");
        for line in ["", "info", "next soon", "thread 'main' panicked"] {
            assert_eq!(line.parse::<Notice>(), Err(()));
        }
    }
}
