//! Many visitors are logged in at once, and each of their pages waits for a slow server. Every page equals the one that
//! php-fpm makes, and no visitor sees anything of another.

use serde_json::json;
use weft_tests::services::{Fpm, MariaDb, Upstream};
use weft_tests::{Response, Running};

use super::journey::{MASKS, PASSWORD, install, log_in, rest_nonce};
use super::site::{SETTINGS, Site};
use crate::crowd::each;
use weft_tests::compare::same;
use weft_tests::visitor::Visitor;

/// How long the slow server takes to answer.
const LATE_MS: u64 = 500;

const PAGES: [&str; 8] = [
    "/",
    "/?p=1",
    "/?s=hello",
    "/?feed=rss2",
    "/?page_id=404",
    "/index.php?rest_route=/wp/v2/posts",
    "/wp-admin/profile.php",
    "/wp-admin/edit.php",
];

fn name(number: usize) -> String {
    format!("visitor{number:02}x")
}

/// The site with this many authors.
fn populated(weft: &Running, count: usize) -> Vec<Visitor> {
    let mut boss = Visitor::of(weft.address);
    assert!(install(&mut boss).text().contains("WordPress has been installed"));
    assert_eq!(log_in(&mut boss, "boss").status, 302);
    let nonce = rest_nonce(&mut boss);
    boss.set_header("X-WP-Nonce", &nonce);
    for number in 0..count {
        let name = name(number);
        let user = json!({"username": name, "email": format!("{name}@site.test"), "password": PASSWORD, "roles": ["author"]});
        let made = boss.json("POST", "/index.php?rest_route=/wp/v2/users", &user);
        assert_eq!(made.status, 201, "{}", made.text());
    }
    // All at once: passwords are checked and sessions are written.
    each(count, count, |number| {
        let mut visitor = Visitor::of(weft.address).with_header("X-Visitor", &name(number));
        assert_eq!(log_in(&mut visitor, &name(number)).status, 302);
        visitor
    })
}

/// Every visitor opens every page: it shows the visitor's own name and no other.
fn visit(visitors: &[Visitor], at: std::net::SocketAddr, at_once: usize, late_ms: u64) -> Vec<Response> {
    each(visitors.len() * PAGES.len(), at_once, |number| {
        // Requests that follow each other come from different visitors and ask for different pages.
        let (own, page) = (number % visitors.len(), PAGES[(number / visitors.len() + number) % PAGES.len()]);
        let mut visitor = visitors[own].at(at).with_header("X-Late", &late_ms.to_string());
        let response = visitor.get(page);
        let text = response.text();
        assert_eq!(response.header("x-visitor"), Some(name(own).as_str()), "{page}: {text}");
        let strange =
            (0..visitors.len()).filter(|other| *other != own).find(|other| text.contains(&name(*other)));
        assert_eq!(strange, None, "{page}: {} sees another visitor: {text}", name(own));
        if !page.contains("feed") && !page.contains("rest_route") {
            assert!(text.contains(&name(own)), "{page}: {text}");
        }
        response
    })
}

fn crowd(count: usize, flags: &[&str]) {
    let (database, upstream) = (MariaDb::start(), Upstream::start());
    let site = Site::new("crowd", &database, &upstream);
    let server = flags.iter().fold(site.server("20"), |server, flag| server.with_flag(flag));
    let weft = server.start();
    let visitors = populated(&weft, count);
    let fpm = Fpm::start(&site.docroot(), 4, &SETTINGS);
    let expected = visit(&visitors, fpm.address, 4, 0);
    visit(&visitors[..1], weft.address, 1, 0); // compiles the page once
    let got = visit(&visitors, weft.address, count, LATE_MS);
    for (number, (ours, theirs)) in got.iter().zip(&expected).enumerate() {
        same(&format!("request {number}"), ours, theirs, MASKS);
    }
    assert!(upstream.most_at_once() > 1, "{} pages waited for each other", got.len());
    assert_eq!(weft.workers().len(), 1, "one process");
    assert!(!weft.log().contains("instances:"), "{}", weft.log());
}

#[test]
fn visitors_wait_together_and_see_nothing_of_each_other() {
    if crate::all() {
        crowd(50, &[]);
        crowd(20, &["--verify-instances"]);
        crowd(20, &["--yield-at-calls"]);
        crowd(20, &["--slice-ms=0.1"]);
    } else {
        crowd(20, &[]);
    }
}
