//! Requests leave nothing behind, and idle instances keep little memory.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};
use std::time::Duration;

use weft_rt::reactor::Event;
use weft_rt::{Driver, Nanos};
use weft_zend::{InstanceOptions, InstanceSwitch};

use crate::common::{OPTIONS, Worker, alone, resident_kib};

fn round(worker: &Worker, page: &str, count: usize) {
    let asked: Vec<_> = (0..count).map(|n| worker.ask(page, &format!("n={n}"))).collect();
    worker.serve();
    for (n, id) in asked.into_iter().enumerate() {
        assert_eq!(worker.response(id).body, format!("calm {n}"));
    }
}

#[test]
fn it_is_flat_after_thousands_of_requests() {
    alone("memory::it_is_flat_after_thousands_of_requests", || {
        let worker = Worker::start(20, &[("log_errors", "0")]);
        round(&worker, "calm.php", 500);
        let before = resident_kib();
        for _ in 0..4 {
            round(&worker, "calm.php", 500);
        }
        let grown = resident_kib().saturating_sub(before);
        assert!(grown < 2_000, "{grown} KiB more after 2,000 requests, from {before}");
    });
}

/// Chunks of the heap move from one request to the next; their old contents must not matter any more.
#[test]
fn blocks_in_chunks_of_earlier_requests_have_one_owner() {
    alone("memory::blocks_in_chunks_of_earlier_requests_have_one_owner", || {
        let worker = Worker::start(4, &[("log_errors", "0"), ("memory_limit", "128M")]);
        for _ in 0..5 {
            round(&worker, "blocks.php", 20);
        }
    });
}

#[test]
fn idle_instances_give_their_memory_back() {
    alone("memory::idle_instances_give_their_memory_back", || {
        let worker = Worker::start(51, &[("log_errors", "0")]);
        assert_eq!(worker.get("calm.php", "n=1").body, "calm 1");
        let alone = resident_kib();
        round(&worker, "large.php", 51);
        let busy = resident_kib();
        InstanceSwitch::trim(Duration::ZERO);
        let idle = resident_kib();
        let figures = InstanceSwitch::figures();
        assert_eq!(figures.instances, 51);
        let each = idle.saturating_sub(alone) / 50;
        assert!(each < 512, "{each} KiB each: {alone} KiB with one, {busy} busy, {idle} idle: {figures:?}");
        round(&worker, "calm.php", 200);
    });
}

/// An application's declarations have enlarged tables; an idle instance has those of start-up again.
#[test]
fn tables_of_an_application_go_back_with_the_rest() {
    alone("memory::tables_of_an_application_go_back_with_the_rest", || {
        let worker = Worker::start(20, &[("log_errors", "0")]);
        assert_eq!(worker.get("calm.php", "n=1").body, "calm 1");
        let alone = resident_kib();
        let mut idle = Vec::new();
        for _ in 0..3 {
            round(&worker, "declares.php", 60);
            InstanceSwitch::trim(Duration::ZERO);
            idle.push(resident_kib().saturating_sub(alone) / 20);
            round(&worker, "calm.php", 40);
        }
        assert!(idle.iter().all(|each| *each < 400), "{idle:?} KiB each");
    });
}

/// The first instances add to the tables of start-up, and write to pages that nobody changes once all have their own.
#[test]
fn pages_of_tables_that_have_moved_are_compared_no_more() {
    alone("memory::pages_of_tables_that_have_moved_are_compared_no_more", || {
        let worker = Worker::start(8, &[("log_errors", "0")]);
        round(&worker, "calm.php", 16);
        let light = InstanceSwitch::figures().pages;
        round(&worker, "declares.php", 16);
        let first = InstanceSwitch::figures().pages;
        assert!(
            first > light + 10,
            "{light} pages, then {first}: the script has written to few pages of the tables"
        );
        for _ in 0..3 {
            round(&worker, "declares.php", 16);
            InstanceSwitch::trim(Duration::ZERO);
            let later = InstanceSwitch::figures().pages;
            assert!(later < light + 10, "{light} pages, {first} and then {later}");
            round(&worker, "calm.php", 16);
        }
        round(&worker, "declares.php", 16);
        let moved = InstanceSwitch::figures().pages;
        assert!(
            moved < light + 10,
            "{light} pages, {first} and then {moved}: idle instances have moved no tables"
        );
    });
}

/// Looks for such pages at each turn once requests have written to others, which come later in the list; and notes whether there
/// were some while they waited.
struct Trims<'a> {
    worker: &'a Worker,
    before: u32,
    found: Cell<bool>,
}

impl Driver for Trims<'_> {
    fn event(&self, _: Event) {}
    fn turn(&self, _: Nanos) {
        let pages = InstanceSwitch::figures().pages;
        if pages > self.before || self.found.get() {
            InstanceSwitch::trim(Duration::ZERO);
        }
        if InstanceSwitch::figures().pages < pages && !self.worker.has_served() {
            self.found.set(true);
        }
    }
    fn deadline(&self) -> Option<Nanos> {
        None
    }
    fn finished(&self) -> bool {
        self.worker.has_served()
    }
}

#[test]
fn who_waits_meanwhile_keeps_what_it_has() {
    alone("memory::who_waits_meanwhile_keeps_what_it_has", || {
        let options = InstanceOptions { verify: true, instances_max: 8, ..OPTIONS };
        let worker = Worker::start_with(options, &[("log_errors", "0")]);
        round(&worker, "declares.php", 24);
        let before = InstanceSwitch::figures().pages;
        let trims = Trims { worker: &worker, before, found: Cell::new(false) };
        let asked: Vec<_> = (0..24).map(|n| worker.ask("settings.php", &format!("n={n}"))).collect();
        worker.runtime.run(&trims);
        for (n, id) in asked.into_iter().enumerate() {
            assert_eq!(worker.response(id).body, format!("calm {n}"), "{:?}", worker.web.log.borrow());
        }
        assert!(trims.found.get(), "nobody waited while pages were found");
        round(&worker, "declares.php", 24);
        assert!(worker.web.replacements.borrow().is_empty(), "{:?}", worker.web.log.borrow());
    });
}

/// Acts as an extension that keeps something for each function. opcache, which is loaded, does that only for functions
/// of scripts.
#[allow(unsafe_code)]
fn reserve(module: &CStr) {
    unsafe extern "C" {
        fn zend_get_op_array_extension_handle(module: *const c_char) -> c_int;
    }
    // SAFETY: a string of static storage; the engine runs, on this thread, between two requests.
    unsafe { zend_get_op_array_extension_handle(module.as_ptr()) };
}

#[test]
fn functions_of_extensions_have_run_time_caches_when_somebody_wants_them() {
    alone("memory::functions_of_extensions_have_run_time_caches_when_somebody_wants_them", || {
        let worker = Worker::start(2, &[("log_errors", "0")]);
        let used = || {
            let said = worker.get("used.php", "").body;
            let mut figures = said.split(' ').map(|figure| figure.parse::<usize>().expect("a number"));
            let mut next = |what| figures.next().expect(what);
            (next("bytes"), next("functions"), next("a version"))
        };
        used(); // compiled now
        let (without, functions, version) = used();
        reserve(c"Zend OPcache");
        assert_eq!(used().0, without);
        reserve(c"another");
        let (with, ..) = used();
        if version < 80_400 {
            assert!(with >= without + 8 * functions, "{functions} functions: {without} bytes, then {with}");
        } else {
            // They have words of their own, reserved by another function, and caches that are made once.
            assert_eq!(with, without);
        }
        round(&worker, "calm.php", 20);
    });
}
