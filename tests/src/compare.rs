//! Compares two servers' responses to the same request: status, headers and body must match, except for parts that come
//! from chance or the clock.
//!
//! Where two texts differ, both must have one of these in the same place: a nonce (10, 16, 32, 40 or 64 hexadecimal
//! digits), a time (part of it beside a colon, seconds or milliseconds since 1970, or the digits of a date and a time), or what one of the application's masks covers.

use crate::Response;
use crate::services::is_own;

/// The text between these two is not compared.
pub type Mask = (&'static str, &'static str);

/// # Panics
/// If they differ; the message says where.
pub fn same(what: &str, ours: &Response, theirs: &Response, masks: &[Mask]) {
    if ours.status != theirs.status {
        panic!("{what}: {} here, {} with php-fpm; here:\n{}", ours.status, theirs.status, ours.text());
    }
    let (ours_told, theirs_told) = (masked(told(ours), masks), masked(told(theirs), masks));
    if let Some(why) = difference(&ours_told, &theirs_told) {
        panic!("{what}: headers: {why}\nhere:\n{ours_told}\nwith php-fpm:\n{theirs_told}");
    }
    if ours.body == theirs.body {
        return;
    }
    if let Some(why) = difference(&masked(ours.text(), masks), &masked(theirs.text(), masks)) {
        panic!("{what}: {why}");
    }
}

/// The headers that matter, sorted. Cookies are reduced to name and attributes.
fn told(response: &Response) -> String {
    let mut lines: Vec<String> = response
        .headers
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value))
        .filter(|(name, _)| !is_own(name))
        .map(|(name, value)| match name.as_str() {
            "set-cookie" => {
                let (pair, attributes) = value.split_once(';').unwrap_or((value, ""));
                let cookie = pair.split('=').next().unwrap_or_default();
                format!(
                    "{name}: {cookie}={}",
                    masked(attributes.to_ascii_lowercase(), &[("expires=", "gmt"), ("max-age=", ";")])
                )
            }
            _ => format!("{name}: {value}"),
        })
        .collect();
    lines.sort();
    lines.join("\n")
}

fn masked(mut text: String, masks: &[Mask]) -> String {
    for (before, after) in masks {
        let mut rest = text.as_str();
        let mut kept = String::new();
        while let Some((head, tail)) = rest.split_once(before) {
            kept += head;
            kept += before;
            rest = tail.find(after).map_or("", |end| &tail[end..]);
        }
        text = kept + rest;
    }
    text
}

/// Splits into words (letters and digits) and the characters between them, one by one.
fn tokens(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let mut begin = 0;
    let is_word = |c: char| c.is_ascii_alphanumeric();
    let mut in_word = false;
    for (at, c) in text.char_indices() {
        if at > begin && !(in_word && is_word(c)) {
            all.push(&text[begin..at]);
            begin = at;
        }
        in_word = is_word(c);
    }
    all.push(&text[begin..]);
    all
}

/// The first difference that nothing explains.
fn difference(ours: &str, theirs: &str) -> Option<String> {
    let (a, b) = (tokens(ours), tokens(theirs));
    for at in 0..a.len().max(b.len()) {
        let (one, other) = (a.get(at).copied().unwrap_or(""), b.get(at).copied().unwrap_or(""));
        if one != other && !is_chance(one, other) && !is_time(&a, &b, at) {
            let around =
                |all: &[&str]| all[at.saturating_sub(40).min(all.len())..(at + 40).min(all.len())].concat();
            return Some(format!(
                "{one:?} here, {other:?} with php-fpm; here:\n{}\nwith php-fpm:\n{}",
                around(&a),
                around(&b)
            ));
        }
    }
    None
}

fn is_chance(one: &str, other: &str) -> bool {
    let hexadecimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    one.len() == other.len()
        && ([10, 16, 32, 40, 64].contains(&one.len()) && hexadecimal(one) && hexadecimal(other)
            || is_moment(one) && is_moment(other) && one[..5] == other[..5])
}

/// Milliseconds since 1970, the digits of a date and a time, or what PHP's uniqid() makes of the time.
fn is_moment(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || text.len() == 13 && byte.is_ascii_hexdigit();
    [13, 14].contains(&text.len()) && text.bytes().all(is_digit)
}

/// Two digits beside a colon, which may be escaped.
fn is_time(a: &[&str], b: &[&str], at: usize) -> bool {
    let digits = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    let plain = |text: &str| text.strip_prefix("3A").unwrap_or(text).trim_end_matches('Z').to_owned();
    let beside = |all: &[&str], place: Option<usize>| {
        place.and_then(|place| all.get(place)).is_some_and(|c| *c == ":")
    };
    let (one, other) = (plain(a[at.min(a.len() - 1)]), plain(b[at.min(b.len() - 1)]));
    let escaped = a[at.min(a.len() - 1)].starts_with("3A");
    digits(&one) && digits(&other) && (escaped || beside(a, at.checked_sub(1)) || beside(a, Some(at + 1)))
}

#[test]
fn only_differences_by_chance_or_clock_are_ignored() {
    let alike = [
        ("nonce=0123456789&x", "nonce=abcdef0123&x"),
        ("at 18:59:59", "at 19:00:00"),
        ("18%3A59", "18%3A58"),
        ("18:00:59Z", "18:01:00Z"),
        ("at 1795404870000", "at 1795404898000"),
        ("20261123235959", "20261123240000"),
        ("id_6b03e70f08579", "id_6b03e71051f2f"),
    ];
    alike.iter().for_each(|(one, other)| assert_eq!(difference(one, other), None));
    let unlike = [
        ("12 posts", "13 posts"),
        ("a", "a b"),
        ("nonce=0123456789", "nonce=012345678"),
        ("1795404870000", "1895404898000"),
        ("x", ""),
    ];
    unlike.iter().for_each(|(one, other)| assert!(difference(one, other).is_some(), "{one} {other}"));
    assert_eq!(masked("a [1] b [2] c".into(), &[("[", "]")]), "a [] b [] c");
}
