//! The field `traceparent`: which trace a message belongs to (<https://www.w3.org/TR/trace-context/>, section 3.2).
//!
//! Must not know who decides what is traced. Invariant: a value that breaks a rule is no value: ids are never zero.

use std::fmt;

use crate::Head;

/// The name of the field.
pub const NAME: &str = "traceparent";

/// The bytes of a value of version 00.
const LENGTH: usize = 55;
/// The version that must not be.
const FORBIDDEN: u8 = 0xff;
/// The flag that says whether the sender records the trace.
const SAMPLED: u8 = 1;

/// A place in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traceparent {
    /// The trace.
    pub trace: u128,
    /// The span that the sender calls its own.
    pub span: u64,
    /// Whether the sender records it.
    pub sampled: bool,
}

impl Traceparent {
    /// Reads a value. Of later versions it reads what all have in common (section 3.2.4).
    pub fn parse(value: &[u8]) -> Option<Traceparent> {
        let (known, rest) = value.split_at_checked(LENGTH)?;
        let version = hex(&known[..2])? as u8;
        let ends = rest.is_empty() || version != 0 && rest[0] == b'-';
        let is_divided = [2, 35, 52].iter().all(|&dash| known[dash] == b'-');
        if version == FORBIDDEN || !ends || !is_divided {
            return None;
        }
        let (trace, span) = (hex(&known[3..35])?, hex(&known[36..52])? as u64);
        let flags = hex(&known[53..])? as u8;
        (trace != 0 && span != 0).then_some(Traceparent { trace, span, sampled: flags & SAMPLED != 0 })
    }

    /// That of a request. Several fields are as none: which of them to believe is not said.
    pub fn of_head(head: &Head, bytes: &[u8]) -> Option<Traceparent> {
        let mut values = head.get_all(bytes, NAME);
        let first = values.next()?;
        values.next().is_none().then(|| Traceparent::parse(first))?
    }
}

/// As a value of version 00.
impl fmt::Display for Traceparent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace, self.span, u8::from(self.sampled))
    }
}

/// Lower-case digits only, as the specification demands.
fn hex(digits: &[u8]) -> Option<u128> {
    digits.iter().try_fold(0, |value, digit| {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(value << 4 | u128::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_value_is_read_and_written() {
        let read = Traceparent::parse(VALUE.as_bytes()).unwrap();
        let (trace, span) = (0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c, 0xb7ad_6b71_6920_3331);
        assert_eq!(read, Traceparent { trace, span, sampled: true });
        assert_eq!(read.to_string(), VALUE);
        let other = VALUE.replace("-01", "-fe");
        assert_eq!(Traceparent::parse(other.as_bytes()), Some(Traceparent { sampled: false, ..read }));
    }

    #[test]
    fn what_breaks_a_rule_is_no_value() {
        let zeros = |count: usize| "0".repeat(count);
        for broken in [
            String::new(),
            VALUE[..54].to_owned(),
            format!("{VALUE}-"),
            format!("{VALUE}-00"),
            format!(" {VALUE}"),
            VALUE.to_uppercase(),
            VALUE.replace("00-", "0-"),
            VALUE.replace("00-", "ff-"),
            VALUE.replace("00-", "+0-"),
            VALUE.replace("-01", "-0g"),
            VALUE.replace("-01", "_01"),
            VALUE.replace("0af7651916cd43dd8448eb211c80319c", &zeros(32)),
            VALUE.replace("b7ad6b7169203331", &zeros(16)),
            VALUE.replace('7', "é"),
        ] {
            assert_eq!(Traceparent::parse(broken.as_bytes()), None, "{broken}");
        }
    }

    #[test]
    fn a_later_version_may_have_more() {
        let later = VALUE.replacen("00-", "cc-", 1);
        let read = Traceparent::parse(VALUE.as_bytes());
        for (text, expected) in
            [(later.clone(), read), (format!("{later}-what"), read), (format!("{later}what"), None)]
        {
            assert_eq!(Traceparent::parse(text.as_bytes()), expected, "{text}");
        }
    }
}
