//! Character classes and list syntax of RFC 9110 section 5.6, shared by every parser of this crate.
//!
//! Must not know any field. Invariant: all parsers use one table, so two of them cannot disagree on what a
//! token is.

const TCHAR: u8 = 1;
const REG_NAME: u8 = 2;

static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        if b.is_ascii_alphanumeric() {
            table[byte] = TCHAR | REG_NAME;
        }
        byte += 1;
    }
    // RFC 9110 5.6.2
    mark(&mut table, b"!#$%&'*+-.^_`|~", TCHAR);
    // RFC 3986 3.2.2: unreserved, pct-encoded, sub-delims
    mark(&mut table, b"-._~%!$&'()*+,;=", REG_NAME);
    table
}

const fn mark(table: &mut [u8; 256], members: &[u8], class: u8) {
    let mut i = 0;
    while i < members.len() {
        table[members[i] as usize] |= class;
        i += 1;
    }
}

/// A character of a token (RFC 9110 5.6.2).
pub(crate) fn is_tchar(byte: u8) -> bool {
    CLASS[byte as usize] & TCHAR != 0
}

/// A non-empty token.
pub(crate) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|&b| is_tchar(b))
}

/// Length of the reg-name at the start (RFC 3986 3.2.2), which may be empty.
pub(crate) fn reg_name_bytes(bytes: &[u8]) -> usize {
    bytes.iter().position(|&b| CLASS[b as usize] & REG_NAME == 0).unwrap_or(bytes.len())
}

/// `OWS`: space and tab (RFC 9110 5.6.3).
pub(crate) fn is_ows(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// Removes leading and trailing OWS.
pub(crate) fn trim_ows(mut bytes: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = bytes
        && is_ows(*first)
    {
        bytes = rest;
    }
    while let [rest @ .., last] = bytes
        && is_ows(*last)
    {
        bytes = rest;
    }
    bytes
}

/// The members of a comma-separated list without quoted strings, trimmed. Empty members are included.
pub(crate) fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&b| b == b',').map(trim_ows)
}

/// `1*DIGIT` that fits 64 bits; no sign, no space.
pub(crate) fn decimal(bytes: &[u8]) -> Option<u64> {
    if bytes.is_empty() {
        return None;
    }
    bytes.iter().try_fold(0u64, |sum, &b| {
        let digit = b.checked_sub(b'0').filter(|&d| d <= 9)?;
        sum.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// Appends a number in decimal.
pub(crate) fn push_decimal(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_digits_only_and_fit() {
        assert_eq!(decimal(b"0"), Some(0));
        assert_eq!(decimal(b"00042"), Some(42));
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        for bad in [&b""[..], b"18446744073709551616", b"+1", b"-1", b" 1", b"1 ", b"0x1", b"1,1", b"1.0"] {
            assert_eq!(decimal(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn token_characters_are_those_of_the_rfc() {
        let tokens = (0..=255).filter(|&b| is_tchar(b)).count();
        assert_eq!(tokens, 10 + 26 + 26 + 15);
        assert!(!is_token(b"") && is_token(b"X-a_1") && !is_token(b"a b"));
    }

    #[test]
    fn lists_are_trimmed_and_keep_empty_members() {
        let members: Vec<_> = list(b" a ,\tb,, c").collect();
        assert_eq!(members, [&b"a"[..], b"b", b"", b"c"]);
    }
}
