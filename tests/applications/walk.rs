//! A walk through an application, page by page, under weft and under nginx with php-fpm: from the first pages to those they link to,
//! in order, until there are enough.
//!
//! Must not know any application. Invariant: each page is asked for on both sides one after the other, by the same visitor, so that
//! both copies live through the same.

use std::collections::{BTreeSet, VecDeque};

use weft_tests::Response;

use super::place::Place;
use weft_tests::compare::{Mask, same};
use weft_tests::visitor::{HOST, Visitor};

/// What is walked, and what to leave out.
pub struct Route<'a> {
    pub starts: &'a [&'a str],
    /// Links that contain one of these are not followed.
    pub avoids: &'a [&'a str],
    pub masks: &'a [Mask],
    pub pages_max: usize,
}

/// One copy of the application and its visitor.
pub struct Side<'a> {
    pub place: &'a Place,
    pub visitor: Visitor,
}

impl Side<'_> {
    fn look(&self, mut response: Response) -> Response {
        // An error may be sent as the type that was asked for.
        let is_text = std::str::from_utf8(&response.body).is_ok()
            || response.header("content-type").is_none_or(|kind| {
                ["text/", "json", "javascript", "xml"].iter().any(|part| kind.contains(part))
            });
        if is_text {
            response.body = self.place.anonymous(&response.text()).into_bytes();
        }
        for (_, value) in &mut response.headers {
            *value = self.place.anonymous(value);
        }
        response
    }
}

/// Does one step on both sides; returns the answers.
pub fn step(
    [ours, theirs]: &mut [Side<'_>; 2],
    what: &str,
    masks: &[Mask],
    work: impl Fn(&mut Visitor) -> Response,
) -> [Response; 2] {
    let answers = [work(&mut ours.visitor), work(&mut theirs.visitor)];
    same(what, &ours.look(answers[0].clone()), &theirs.look(answers[1].clone()), masks);
    answers
}

/// Walks from page to page; returns how many it has seen.
pub fn walk(sides: &mut [Side<'_>; 2], route: &Route<'_>) -> usize {
    let mut known = BTreeSet::new();
    let mut next: VecDeque<[String; 2]> =
        route.starts.iter().map(|start| [(*start).to_owned(), (*start).to_owned()]).collect();
    let mut pages = 0;
    while let Some([ours, theirs]) = next.pop_front().filter(|_| pages < route.pages_max) {
        pages += 1;
        let answers = [sides[0].visitor.get(&ours), sides[1].visitor.get(&theirs)];
        let looked = [sides[0].look(answers[0].clone()), sides[1].look(answers[1].clone())];
        same(&format!("GET {ours}"), &looked[0], &looked[1], route.masks);
        let [mine, yours] = [links(&answers[0], &ours), links(&answers[1], &theirs)];
        assert_eq!(mine.len(), yours.len(), "{ours}: links");
        for (mine, yours) in mine.into_iter().zip(yours) {
            let avoided = route.avoids.iter().any(|part| mine.contains(part));
            if !avoided && known.insert(without_chance(&mine)) {
                next.push_back([mine, yours]);
            }
        }
    }
    pages
}

/// The pages of the same site that a page links to, as targets of requests.
fn links(response: &Response, at: &str) -> Vec<String> {
    if !response.header("content-type").is_some_and(|kind| kind.starts_with("text/html")) {
        return Vec::new();
    }
    let text = response.text();
    let mut found = Vec::new();
    for before in ["href=\"", "href='", "src=\""] {
        let end = before.chars().last().expect("it is not empty");
        for rest in text.split(before).skip(1) {
            let Some((link, _)) = rest.split_once(end) else { continue };
            found.extend(target(&link.replace("&amp;", "&").replace("&#38;", "&"), at));
        }
    }
    found
}

/// Where a link leads to, if that is this site (RFC 3986 section 5.2, without dots in the middle).
fn target(link: &str, at: &str) -> Option<String> {
    let link = link.split('#').next().unwrap_or_default();
    let own = format!("http://{HOST}");
    let link = link.strip_prefix(&own).map_or(link, |rest| {
        let rest = rest.trim_start_matches(|c: char| c == ':' || c.is_ascii_digit());
        if rest.is_empty() { "/" } else { rest }
    });
    if link.is_empty()
        || link.starts_with("//")
        || link.contains(' ')
        || link.split(['/', '?']).next()?.contains(':')
    {
        return None;
    }
    if link.starts_with('/') {
        return Some(link.to_owned());
    }
    let page = at.split('?').next().unwrap_or_default();
    if link.starts_with('?') {
        return Some(format!("{page}{link}"));
    }
    let mut directory = page.rsplit_once('/').map_or("", |(directory, _)| directory);
    let mut rest = link.strip_prefix("./").unwrap_or(link);
    while let Some(shorter) = rest.strip_prefix("../") {
        directory = directory.rsplit_once('/').map_or("", |(directory, _)| directory);
        rest = shorter;
    }
    Some(format!("{directory}/{rest}"))
}

/// A target with every long hexadecimal or decimal number taken out: tokens, and versions by time.
fn without_chance(target: &str) -> String {
    let words = target.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    let is_chance = |word: &str| word.len() >= 10 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    words.filter(|word| !is_chance(word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()))).collect()
}

pub fn links_lead_where_a_browser_would_go() {
    let cases = [
        ("/a/b?c=1", "/x", Some("/a/b?c=1")),
        ("b.php?c", "/dir/x.php?y", Some("/dir/b.php?c")),
        ("../b", "/dir/sub/x", Some("/dir/b")),
        ("?d=1", "/dir/x.php?y", Some("/dir/x.php?d=1")),
        ("http://site.test/q#part", "/", Some("/q")),
        ("http://site.test:8080/q", "/", Some("/q")),
        ("http://elsewhere.test/q", "/", None),
        ("//elsewhere.test/q", "/", None),
        ("javascript:x", "/", None),
        ("#top", "/", None),
    ];
    for (link, at, expected) in cases {
        assert_eq!(target(link, at).as_deref(), expected, "{link} at {at}");
    }
    assert_eq!(without_chance("/x?token=0123456789abcdef&y=1"), "/x?token=y=1");
}
