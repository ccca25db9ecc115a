//! What an instance returns while it waits, and what it shares with the others.

use std::cell::Cell;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use weft_rt::reactor::Event;
use weft_rt::{Driver, Nanos, WaitKind};
use weft_zend::{InstanceOptions, InstanceSwitch};

use crate::common::{OPTIONS, Worker, alone, resident_kib};

const WAITING: usize = 24;

/// When all have reached the lock: checks, reports what that has returned, and lets them continue.
struct Looks<'a> {
    worker: &'a Worker,
    directory: &'a Path,
    lock: Cell<Option<File>>,
    given_back_kib: Cell<u64>,
}

impl Looks<'_> {
    /// All have arrived, none waits for the disk any more, and none is about to try the lock again: it is another process's for
    /// them, so each tries from time to time.
    fn all_wait(&self) -> bool {
        let arrived =
            fs::metadata(self.directory.join("arrived")).is_ok_and(|file| file.len() == WAITING as u64);
        let (stacks, _) = self.worker.runtime.stacks(0, WAITING);
        let waiting = stacks.iter().filter(|found| found.waits_for == Some(WaitKind::Lock)).count();
        arrived && waiting == WAITING
    }

    fn look(&self) {
        let before = resident_kib();
        assert!(InstanceSwitch::look(), "the first look has seen them, the second is worth while");
        assert!(resident_kib() + 1_000 > before, "nothing is given back at once");
        assert!(!InstanceSwitch::look(), "nobody is left for a third");
        self.given_back_kib.set(before.saturating_sub(resident_kib()));
        assert!(!InstanceSwitch::look());
    }
}

impl Driver for Looks<'_> {
    fn event(&self, _: Event) {}
    fn turn(&self, _: Nanos) {
        if let Some(lock) = self.lock.take() {
            if self.all_wait() {
                return self.look();
            }
            self.lock.set(Some(lock));
        }
    }
    fn deadline(&self) -> Option<Nanos> {
        None
    }
    fn finished(&self) -> bool {
        self.worker.has_served()
    }
}

fn directory() -> PathBuf {
    let directory = std::env::temp_dir().join(format!("weft-waiting-{}", std::process::id()));
    fs::create_dir_all(&directory).expect("a directory");
    directory
}

fn wait_and_look(options: InstanceOptions) -> u64 {
    let directory = directory();
    let lock = File::create(directory.join("lock")).expect("a file");
    lock.lock().expect("nobody else has it");
    let worker = Worker::start_with(InstanceOptions { instances_max: WAITING as u32, ..options }, &[]);
    let place = directory.to_str().expect("a path in UTF-8");
    let asked: Vec<_> = (0..WAITING).map(|n| worker.ask("waits.php", &format!("n={n}&in={place}"))).collect();
    let looks = Looks {
        worker: &worker,
        directory: &directory,
        lock: Cell::new(Some(lock)),
        given_back_kib: Cell::default(),
    };
    worker.runtime.run(&looks);
    for (n, id) in asked.into_iter().enumerate() {
        let response = worker.response(id);
        assert_eq!(response.body, format!("calm {n}"), "{:?}", worker.web.log.borrow());
    }
    assert!(worker.web.replacements.borrow().is_empty());
    fs::remove_dir_all(&directory).expect("the directory can be removed");
    looks.given_back_kib.get()
}

#[test]
fn who_waits_for_long_gives_back_what_is_free() {
    alone("waiting::who_waits_for_long_gives_back_what_is_free", || {
        let each = wait_and_look(OPTIONS) / WAITING as u64;
        assert!(each > 1_200, "{each} KiB each");
    });
}

#[test]
fn nobody_else_has_what_was_given_back() {
    alone("waiting::nobody_else_has_what_was_given_back", || {
        wait_and_look(InstanceOptions { verify: true, ..OPTIONS });
    });
}

fn round(worker: &Worker, query: &str, count: usize) {
    let asked: Vec<_> = (0..count).map(|n| worker.ask("patterns.php", &format!("n={n}{query}"))).collect();
    worker.serve();
    for (n, id) in asked.into_iter().enumerate() {
        let response = worker.response(id);
        assert_eq!(response.body, format!("calm {n}"), "{:?}", worker.web.log.borrow());
    }
}

#[test]
fn regular_expressions_are_compiled_once_for_all() {
    alone("waiting::regular_expressions_are_compiled_once_for_all", || {
        let worker = Worker::start(51, &[]);
        round(&worker, "", 1);
        InstanceSwitch::trim(std::time::Duration::ZERO);
        let one = resident_kib();
        round(&worker, "", 51);
        InstanceSwitch::trim(std::time::Duration::ZERO);
        let each = resident_kib().saturating_sub(one) / 50;
        assert_eq!(InstanceSwitch::figures().instances, 51);
        assert!(each < 400, "{each} KiB each");
    });
}

#[test]
fn regular_expressions_of_one_are_forgotten_while_others_use_them() {
    alone("waiting::regular_expressions_of_one_are_forgotten_while_others_use_them", || {
        let worker = Worker::start_with(InstanceOptions { verify: true, instances_max: 8, ..OPTIONS }, &[]);
        round(&worker, "", 20);
        round(&worker, "&own=1", 24);
        round(&worker, "", 20);
        assert!(worker.web.replacements.borrow().is_empty());
    });
}
