//! Compares two copies of an application, one under weft, one under nginx with php-fpm, of which it is told how a copy is made, how
//! a visitor logs in, and what differs by chance.
//!
//! Must not know any application. Invariant: neither copy is ever served by the other server.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use weft_tests::services::Fpm;
use weft_tests::{Response, Server};

use super::place::Place;
use super::walk::{Route, Side, step, walk};
use weft_tests::compare::Mask;
use weft_tests::visitor::Visitor;

pub const PASSWORD: &str = "a long pass phrase";

/// The walk ends after so many pages.
const PAGES_MAX: usize = 120;

/// PHP settings for both servers, in addition to Debian's php.ini. nginx takes what php-fpm logs for a part of the response's head,
/// which then is too long.
const SETTINGS: [(&str, &str); 4] = [
    ("sendmail_path", "/bin/true"),
    ("date.timezone", "UTC"),
    ("session.gc_probability", "0"),
    ("error_log", "/dev/null"),
];

pub struct Application {
    /// Makes a copy in an empty place.
    pub prepare: fn(&Place),
    pub log_in: fn(&mut Visitor) -> Response,
    pub starts: &'static [&'static str],
    pub avoids: &'static [&'static str],
    pub masks: &'static [Mask],
    /// So many pages there are at least.
    pub pages_min: usize,
}

/// What both servers are told about an application's paths, each in its own words.
pub struct Paths<'a> {
    /// weft's configuration file.
    pub weft: &'a str,
    /// Blocks of nginx's configuration; without any, a front controller gets what has no file.
    pub nginx: Option<&'a str>,
    /// What both refuse with this status, each with a page of its own.
    pub refused: &'a [(&'a str, u16)],
}

/// What else happens in weft's worker while the pages are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strain {
    /// Every hooked call yields, and every page of PHP's memory is compared.
    Verified,
    /// Code computes for 0.1 ms at a time, by turns with that of [`COMPANIONS`] other visitors.
    Sliced,
}

/// Other visitors of weft's copy, who ask for the first pages again and again.
const COMPANIONS: usize = 3;

pub fn compare(application: &Application) {
    compare_with(application, &Paths { weft: "", nginx: None, refused: &[] });
}

pub fn compare_with(application: &Application, paths: &Paths<'_>) {
    compare_under(Strain::Verified, application, paths);
}

pub fn compare_in_slices(application: &Application) {
    compare_under(Strain::Sliced, application, &Paths { weft: "", nginx: None, refused: &[] });
}

fn compare_under(strain: Strain, application: &Application, paths: &Paths<'_>) {
    let places = [Place::new(), Place::new()];
    std::thread::scope(|scope| {
        for place in &places {
            scope.spawn(|| (application.prepare)(place));
        }
    });
    let mut server = Server::of(&places[0].docroot())
        .with_file("weft.toml", paths.weft)
        .with("--instances", "8")
        .with("--queue-timeout-ms", "100000");
    for (name, value) in SETTINGS {
        server = server.with("--define", &format!("{name}={value}"));
    }
    let server = match strain {
        Strain::Verified => server.with_flag("--verify-instances").with_flag("--yield-at-calls"),
        Strain::Sliced => server.with("--slice-ms", "0.1"),
    };
    let weft = server.start();
    let docroot = places[1].docroot();
    let fpm = match paths.nginx {
        Some(locations) => Fpm::start_with(&docroot, 4, &SETTINGS, locations),
        None => Fpm::start(&docroot, 4, &SETTINGS),
    };
    let [ours, theirs] = &places;
    let mut sides = [
        Side { place: ours, visitor: Visitor::of(weft.address) },
        Side { place: theirs, visitor: Visitor::of(fpm.address) },
    ];
    step(&mut sides, "logging in", application.masks, application.log_in);
    let route = Route {
        starts: application.starts,
        avoids: application.avoids,
        masks: application.masks,
        pages_max: PAGES_MAX,
    };
    // What PHP says when it compiles a file, its first reader sees: of these pages that is the same visitor on both sides.
    for start in application.starts.iter().filter(|_| strain == Strain::Sliced) {
        step(&mut sides, start, application.masks, |visitor| visitor.get(start));
    }
    let is_done = AtomicBool::new(false);
    let pages = std::thread::scope(|scope| {
        let companions = if strain == Strain::Sliced { COMPANIONS } else { 0 };
        let others: Vec<_> = (0..companions)
            .map(|_| scope.spawn(|| accompany(application, Visitor::of(weft.address), &is_done)))
            .collect();
        let ends = Ends(&is_done);
        let pages = walk(&mut sides, &route);
        drop(ends);
        for other in others {
            let seen = other.join().expect("they are answered, too");
            // How many is a matter of speed.
            assert!(seen > 0, "no page beside {pages}");
        }
        pages
    });
    for (target, status) in paths.refused {
        let statuses = sides.each_mut().map(|side| side.visitor.get(target).status);
        assert_eq!(statuses, [*status; 2], "{target}");
    }
    assert!(pages >= application.pages_min, "{pages} pages");
    println!("{pages} pages");
    let log = weft.log();
    assert!(!log.contains("instances:") && !log.contains("panicked"), "{log}");
}

/// Asks for the first pages until the end; returns how many there were.
fn accompany(application: &Application, mut visitor: Visitor, is_done: &AtomicBool) -> usize {
    (application.log_in)(&mut visitor);
    let again = application.starts.iter().cycle().take_while(|_| !is_done.load(Relaxed));
    again
        .map(|start| {
            let response = visitor.get(start);
            assert_eq!(response.status, 200, "{start}: {}", response.text());
        })
        .count()
}

/// Tells the companions also when the walk has failed.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}
