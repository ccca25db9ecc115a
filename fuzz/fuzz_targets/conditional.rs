//! Preconditions, entity tags and dates: laws that hold for every value.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weft_proto::{Conditions, EntityTag, Outcome, Validators, format_date, parse_date};

fuzz_target!(|data: &[u8]| {
    let mut lines = data.split(|&b| b == b'\n');
    let mut line = || lines.next().filter(|line| !line.is_empty());
    let current = Validators { etag: line(), last_modified: line().and_then(parse_date) };
    let conditions = Conditions {
        if_match: line().into_iter().collect(),
        if_none_match: line().into_iter().collect(),
        if_modified_since: line(),
        if_unmodified_since: line(),
        if_range: line(),
    };
    let get = conditions.evaluate(b"GET", Some(&current));
    let put = conditions.evaluate(b"PUT", Some(&current));
    assert_eq!(get, conditions.evaluate(b"HEAD", Some(&current)));
    // Only reading methods get 304; a lost update is an error for every method.
    assert_ne!(put, Outcome::NotModified);
    assert!(get != Outcome::PreconditionFailed || put == Outcome::PreconditionFailed);
    // A missing representation fails If-Match and nothing else.
    let absent = conditions.evaluate(b"PUT", None);
    assert_eq!(absent == Outcome::PreconditionFailed, !conditions.if_match.is_empty());
    if conditions.range_applies(&current, 0) {
        assert!(conditions.if_range.is_none_or(|value| EntityTag::parse(value).is_some_and(|tag| !tag.weak)));
    }

    if let Some(tag) = current.etag.and_then(EntityTag::parse) {
        assert!(tag.weak_eq(tag) && tag.strong_eq(tag) != tag.weak);
        let own = Conditions { if_none_match: current.etag.into_iter().collect(), ..Conditions::default() };
        assert_eq!(own.evaluate(b"GET", Some(&current)), Outcome::NotModified);
        let own = Conditions { if_match: current.etag.into_iter().collect(), ..Conditions::default() };
        assert_eq!(own.evaluate(b"PUT", Some(&current)) == Outcome::Proceed, !tag.weak);
    }
    if let Some(secs) = parse_date(data) {
        assert_eq!(parse_date(&format_date(secs)), Some(secs));
    }
});
