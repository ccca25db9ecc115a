//! Effects beyond PHP: child processes, locks, shared memory, databases.

use crate::common::{Worker, alone};

fn all_answer(page: &str, count: usize) {
    let directory = std::env::temp_dir().join(format!("weft-outside-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let place = directory.to_str().expect("a path in UTF-8");
    let worker = Worker::start(
        20,
        &[("display_errors", "1"), ("apc.enabled", "1"), ("html_errors", "0"), ("ffi.enable", "1")],
    );
    let asked: Vec<_> = (0..count).map(|n| worker.ask(page, &format!("n={n}&in={place}"))).collect();
    worker.serve();
    for (n, id) in asked.into_iter().enumerate() {
        let response = worker.response(id);
        assert_eq!(response.body, format!("OK {n}"), "{response:?}, {:?}", worker.web.log.borrow());
    }
    std::fs::remove_dir_all(&directory).expect("the directory can be removed");
}

#[test]
fn child_processes_get_the_instance_environment_and_directory() {
    alone("outside::child_processes_get_the_instance_environment_and_directory", || {
        all_answer("children.php", 60);
    });
}

#[test]
fn locks_are_waited_for_across_instances() {
    alone("outside::locks_are_waited_for_across_instances", || all_answer("locks.php", 100));
}

#[test]
fn sqlite_is_waited_for_and_kept() {
    alone("outside::sqlite_is_waited_for_and_kept", || all_answer("sqlite.php", 60));
}

#[test]
fn forked_children_are_of_their_own_instance() {
    alone("outside::forked_children_are_of_their_own_instance", || all_answer("fork.php", 30));
}

#[test]
fn every_extension_keeps_to_its_instance() {
    alone("outside::every_extension_keeps_to_its_instance", || all_answer("extensions.php", 40));
}
