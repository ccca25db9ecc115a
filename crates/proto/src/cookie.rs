//! The Cookie field, split as PHP splits it (php-src main/php_variables.c, php_default_treat_data with PARSE_COOKIE).
//!
//! RFC 6265 section 5.4 says what a browser sends, but an application ported from PHP-FPM expects PHP's reading of
//! it. Must not know zvals, and decodes nothing: percent-decoding, name mangling (`a.b`, `a[]`) and "the first of
//! equal names wins" are left to PHP. Invariant: every name it yields is non-empty, and name and value lie within the
//! input.

/// Name and value pairs of one Cookie field value, in order; see [`cookies`].
#[derive(Debug, Clone)]
pub struct Cookies<'a> {
    rest: &'a [u8],
}

/// Splits a Cookie field value at `;`. Whitespace before a name is dropped. A value runs to the next `;` and keeps
/// its spaces and quotes. A pair without `=` has an empty value. A pair without a name is skipped.
pub fn cookies(value: &[u8]) -> Cookies<'_> {
    Cookies { rest: value }
}

impl<'a> Iterator for Cookies<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            let end = memchr::memchr(b';', self.rest).unwrap_or(self.rest.len());
            let (pair, rest) = self.rest.split_at(end);
            self.rest = rest.get(1..).unwrap_or_default();
            // C's isspace in the "C" locale.
            let start = pair.iter().position(|&b| !matches!(b, b' ' | b'\t'..=b'\r')).unwrap_or(pair.len());
            let pair = &pair[start..];
            let (name, value) = match memchr::memchr(b'=', pair) {
                Some(equals) => (&pair[..equals], &pair[equals + 1..]),
                None => (pair, &pair[pair.len()..]),
            };
            if !name.is_empty() {
                return Some((name, value));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pairs<'a> = &'a [(&'a str, &'a str)];

    #[test]
    fn pairs_are_those_php_registers() {
        let cases: [(&str, Pairs); 12] = [
            ("", &[]),
            ("a=1", &[("a", "1")]),
            ("a=1; b=2", &[("a", "1"), ("b", "2")]),
            ("a=1;b=2;", &[("a", "1"), ("b", "2")]),
            (";;  ; a=1", &[("a", "1")]),
            ("a", &[("a", "")]),
            ("a=", &[("a", "")]),
            ("=1; b=2", &[("b", "2")]),
            ("  =1; \t b = 2 ", &[("b ", " 2 ")]),
            ("a=b=c", &[("a", "b=c")]),
            ("a=\"x y\"; a=2", &[("a", "\"x y\""), ("a", "2")]),
            ("a=1,b=2", &[("a", "1,b=2")]),
        ];
        for (text, pairs) in cases {
            let found: Vec<_> = cookies(text.as_bytes()).collect();
            let wanted: Vec<_> = pairs.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())).collect();
            assert_eq!(found, wanted, "{text:?}");
        }
    }
}
