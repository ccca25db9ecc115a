//! Three hundred sites in one weft: each answers as itself, and together they need little more than one.

use std::fmt::Write;
use std::thread;

use weft_tests::{Running, Server, process};

use crate::get;

const SITES: usize = 300;
const PAGE: &str = "<?php include 'part.php'; echo basename($_SERVER['DOCUMENT_ROOT']), ' ', NUMBER, ' ', getenv('NUMBER'), ' ', ini_get('precision'), ' ', basename(realpath('part.php'));";

/// A server with this many sites.
fn server(count: usize) -> Server {
    let mut text = String::new();
    for number in 0..count {
        let _ = write!(
            text,
            "[[site]]\nnames = [\"site{number}.example\", \"*.site{number}.example\"]\nroot = \"root{number}\"\naccess_log = \"{number}.log\"\n\
             shares = [\"path / 20\"]\n[site.ini]\nprecision = {}\n[site.environment]\nNUMBER = \"{number}\"\n\
             [[site.rule]]\npath = \"/no\"\ndeny = 403\n",
            number % 17 + 1
        );
    }
    (0..count).fold(Server::configured().with_file("weft.toml", &text), |server, number| {
        server
            .with_file(&format!("root{number}/index.php"), PAGE)
            .with_file(&format!("root{number}/part.php"), &format!("<?php const NUMBER = {number};"))
    })
}

fn ask(weft: &Running, number: usize) {
    let host = if number.is_multiple_of(2) {
        format!("site{number}.example")
    } else {
        format!("www.site{number}.example")
    };
    let expected = format!("root{number} {number} {number} {} part.php", number % 17 + 1);
    assert_eq!(get(weft, &host, "/x").text(), expected, "{host}");
}

/// Memory of its own that its worker has, in KiB.
fn memory(weft: &Running) -> u64 {
    process::private_bytes(weft.workers()[0]) >> 10
}

#[test]
fn each_of_many_sites_is_itself() {
    let weft = server(SITES).with("--queue-timeout-ms", "100000").start();
    let all = &weft;
    thread::scope(|scope| {
        for client in 0..4 {
            scope.spawn(move || (0..SITES).for_each(|number| ask(all, (number * 7 + client * 75) % SITES)));
        }
    });
    assert_eq!(get(&weft, "site17.example", "/no/x").status, 403);
    weft_tests::until("each site's log", || {
        (0..SITES).all(|number| weft.read(&format!("{number}.log")).lines().count() >= 4).then_some(())
    });
}

#[test]
fn a_site_needs_little_memory() {
    let with = |count: usize| {
        let weft = server(count).with("--instances", "4").start();
        let begun = memory(&weft);
        (0..SITES).for_each(|number| ask(&weft, number % count));
        (begun, memory(&weft))
    };
    let (few, many) = (with(1), with(SITES));
    // A site's configuration, roots, rules and log; and of what its pages need, their entries in the tables of PHP.
    let kib = |many: u64, few: u64| many.saturating_sub(few) / SITES as u64;
    assert!(kib(many.0, few.0) <= 64, "{few:?} {many:?}");
    assert!(kib(many.1, few.1) <= 128, "{few:?} {many:?}");
}
