//! PHP's settings by name, as numbers, sizes and switches.
//!
//! Must not know how they are read, nor what they mean for a server. Invariant: a setting that PHP does not have is `None`, or off.

/// What PHP has loaded, and one of its settings by name; "" if there is none.
pub struct Php<'a> {
    pub extensions: &'a [String],
    pub setting: &'a dyn Fn(&str) -> String,
}

impl Php<'_> {
    pub(super) fn is_on(&self, name: &str) -> bool {
        !matches!((self.setting)(name).to_ascii_lowercase().as_str(), "" | "0" | "off" | "no" | "false")
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        (self.setting)(name).trim().parse().ok()
    }

    /// `128M` in bytes; `None` for none and for -1.
    pub(super) fn bytes(&self, name: &str) -> Option<u64> {
        let text = (self.setting)(name);
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let scale = match text[digits.len()..].to_ascii_lowercase().as_str() {
            "k" => 10,
            "m" => 20,
            "g" => 30,
            _ => 0,
        };
        digits.parse::<u64>().ok().map(|number| number << scale)
    }

    pub(super) fn has(&self, extension: &str) -> bool {
        self.extensions.iter().any(|name| name.eq_ignore_ascii_case(extension))
    }
}
