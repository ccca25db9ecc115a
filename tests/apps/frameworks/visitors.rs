//! Many visitors are logged in at once, and each of their pages waits for a slow server; then all of them write
//! at once.

use std::net::SocketAddr;

use weft_tests::services::{Fpm, MariaDb, Upstream};
use weft_tests::{Response, Server};

use super::journey::{fill, log_in};
use super::site::{Framework, SETTINGS, Site};
use crate::crowd::each;
use weft_tests::compare::same;
use weft_tests::visitor::Visitor;

const LATE_MS: u64 = 300;
const PAGES: [&str; 5] = ["/notes/new", "/notes/1", "/api/notes", "/login", "/missing"];

fn name(number: usize) -> String {
    format!("visitor{number:02}x")
}

fn visit(visitors: &[Visitor], at: SocketAddr, at_once: usize, late_ms: u64) -> Vec<Response> {
    each(visitors.len() * PAGES.len(), at_once, |number| {
        let (own, page) = (number % visitors.len(), PAGES[(number / visitors.len() + number) % PAGES.len()]);
        let mut visitor = visitors[own].at(at).with_header("X-Late", &late_ms.to_string());
        let response = visitor.get(page);
        let text = response.text();
        let strange =
            (0..visitors.len()).filter(|other| *other != own).find(|other| text.contains(&name(*other)));
        assert_eq!(strange, None, "{page}: {} sees another visitor: {text}", name(own));
        if page != "/missing" {
            assert_eq!(response.header("x-visitor"), Some(name(own).as_str()), "{page}: {text}");
        }
        if page.contains("notes/") && !page.contains("api") {
            assert!(text.contains(&format!("<p class=\"user\">{}</p>", name(own))), "{page}: {text}");
        }
        response
    })
}

/// All visitors write a note at once, and each sees their own.
fn write(visitors: &[Visitor], at_once: usize) {
    each(visitors.len(), at_once, |number| {
        let mut visitor = visitors[number].clone().with_header("X-Late", "100");
        let title = format!("A note of {}", name(number));
        let kept = fill(&mut visitor, "/notes/new", &[("title", &title), ("text", "some text")]);
        assert_eq!(kept.status, 302, "{}", kept.text());
        let to = kept.header("location").expect("a redirect");
        let page = visitor.get(to.strip_prefix("http://site.test").unwrap_or(to)).text();
        assert!(
            page.contains(&format!("“{title}” is kept.")) && page.contains(&format!("<h1>{title}</h1>")),
            "{page}"
        );
        for visit in 1..=3 {
            let page = visitor.get("/").text();
            assert!(page.contains(&format!("Visit {visit};")), "{title}: {page}");
        }
    });
}

fn crowd(framework: Framework, serve: fn(&Site) -> Server, count: usize, flags: &[&str]) {
    let (database, upstream) = (MariaDb::start(), Upstream::start());
    let site = Site::new(framework, "crowd", &database, &upstream);
    let fpm = Fpm::start(&site.docroot(), 4, &SETTINGS);
    // Laravel writes a compiled template in place, so a request that includes it meanwhile answers with half a page,
    // also under php-fpm. One visitor therefore opens every page before the crowd arrives.
    let mut early = Visitor::of(fpm.address);
    assert_eq!(log_in(&mut early, &name(99), "secret").status, 302);
    for page in ["/login", "/notes/new", "/missing", "/"] {
        early.get(page);
    }
    let weft = flags.iter().fold(serve(&site), |server, flag| server.with_flag(flag)).start();
    // All at once, at a server that has compiled nothing yet.
    let visitors = each(count, count, |number| {
        let mut visitor = Visitor::of(weft.address);
        assert_eq!(log_in(&mut visitor, &name(number), "secret").status, 302);
        visitor.with_header("X-Visitor", &name(number))
    });
    let first = fill(&mut visitors[0].clone(), "/notes/new", &[("title", "The first"), ("text", "text")]);
    assert_eq!(first.status, 302, "{}", first.text());
    visitors[0].clone().get("/notes/1"); // a flash message is shown only once
    let expected = visit(&visitors, fpm.address, 4, 0);
    let got = visit(&visitors, weft.address, count, LATE_MS);
    for (number, (ours, theirs)) in got.iter().zip(&expected).enumerate() {
        same(&format!("{framework:?}: request {number}"), ours, theirs, framework.masks());
    }
    assert!(upstream.most_at_once() > 1, "{} pages waited for each other", got.len());
    write(&visitors, count);
    assert_eq!(weft.workers().len(), 1, "one process");
    assert!(!weft.log().contains("instances:"), "{}", weft.log());
}

fn crowds(framework: Framework, serve: fn(&Site) -> Server) {
    if crate::all() {
        crowd(framework, serve, 50, &[]);
        crowd(framework, serve, 20, &["--verify-instances"]);
        crowd(framework, serve, 20, &["--yield-at-calls"]);
        crowd(framework, serve, 20, &["--slice-ms=0.1"]);
    } else {
        crowd(framework, serve, 20, &[]);
    }
}

#[test]
fn visitors_of_symfony_wait_together_and_see_nothing_of_each_other() {
    crowds(Framework::Symfony, |site| site.server("20"));
}

#[test]
fn visitors_of_laravel_wait_together_and_see_nothing_of_each_other() {
    crowds(Framework::Laravel, |site| site.server("20"));
}

#[test]
fn visitors_of_a_symfony_that_stays_loaded_see_nothing_of_each_other() {
    crowds(Framework::Symfony, |site| site.resident("20"));
}
