//! What is known of a PHP version: how far weft was tried with it, and until when PHP supports it.
//!
//! Invariant: docs/guide/install.md has the same rows; `tests/docs/support.rs` compares them.

use super::version;

/// How far weft was tried with a PHP version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trial {
    /// The gate runs the suites with it.
    InTheGate,
    /// It was run by hand.
    ByHand,
    /// It is made as likely as reading can.
    None,
}

impl Trial {
    fn name(self) -> &'static str {
        match self {
            Trial::InTheGate => "tested in the gate",
            Trial::ByHand => "tried",
            Trial::None => "untried",
        }
    }
}

/// A PHP version and its support.
#[derive(Debug, Clone, Copy)]
pub struct Support {
    series: &'static str,
    tried: Trial,
    /// The last day of PHP's own security fixes, as PHP announces it.
    until: Option<&'static str>,
}

/// A row of [`KNOWN`].
const fn php(series: &'static str, tried: Trial, until: Option<&'static str>) -> Support {
    Support { series, tried, until }
}

const KNOWN: [Support; 5] = [
    php("8.2", Trial::InTheGate, Some("31 December 2026")),
    php("8.3", Trial::ByHand, Some("31 December 2027")),
    php("8.4", Trial::InTheGate, Some("31 December 2028")),
    php("8.5", Trial::ByHand, Some("31 December 2029")),
    php("8.6", Trial::None, None),
];

impl Support {
    /// That of the PHP this process runs on.
    fn here() -> Option<&'static Support> {
        let series = weft_zend::loaded::php().series();
        KNOWN.iter().find(|known| known.series == series)
    }

    /// "PHP 8.4.2 (/usr/lib/libphp8.4.so), tested in the gate, supported by PHP until …".
    pub fn line() -> String {
        let file = weft_zend::loaded::php().file.display();
        let tried = Support::here().map_or(Trial::None, |known| known.tried).name();
        let until = Support::here().and_then(|known| known.until);
        let until = until.map_or(String::new(), |until| format!(", supported by PHP until {until}"));
        format!("PHP {} ({file}), {tried}{until}", version())
    }

    /// What the log says if the gate does not test this PHP.
    pub fn warning() -> Option<String> {
        let known = Support::here();
        (known.is_none_or(|known| known.tried != Trial::InTheGate)).then(|| {
            let tried = known.map_or(Trial::None, |known| known.tried).name();
            format!("PHP {} is {tried} with this weft (docs/guide/install.md)", version())
        })
    }
}
