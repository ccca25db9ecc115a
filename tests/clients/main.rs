//! Client libraries against real servers: runs every `tests/clients/scripts/*/*.php` with Debian's stock extensions.
//!
//! A script returns `prints`, `waits` and the `seconds` of one wait (0.5 by default). From each script come four tests.
//! The output of `prints` is the same under `php` and `weft php`. It is the same when requests of one worker print at
//! once. It is the same when each request has its own PHP instance in resident mode. And 100 requests that wait in one
//! worker take at most 1.3 times as long as one request (2.5 times if each has a process started, `forks`) plus the
//! time for which the machine worked. A wait whose length is not exact also has `secondsAtMost`. If the work besides
//! the wait takes much time, the script has a longer wait, so that the waits dominate. `cut/*/*.php` are about
//! conversations that are cut short (cut.rs).
//!
//! Must not know what a script is about: its directory says which server it needs. Invariant: each server is started
//! once, when the first script needs it, and ends with this process.

mod cut;
mod machine;
mod script;
mod servers;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};

use script::Script;
use servers::Servers;

/// A test of one script.
type Test = fn(&Script, &Servers);

/// A test of a conversation that is cut short, for the script at this path.
type CutTest = fn(&Path, &Servers);

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // The tests wait for servers most of the time.
    arguments.test_threads.get_or_insert(4);
    let servers = Arc::new(Servers::default());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients");
    let scripts = scripts_below(&root.join("scripts"));
    assert!(!scripts.is_empty(), "no scripts below {}", root.display());
    let mut trials = Vec::new();
    for path in scripts {
        let script = Arc::new(Script::new(&root, path));
        let tests: [(&str, Test); 4] = [
            ("prints", Script::prints_the_same),
            ("prints_at_once", Script::prints_the_same_at_once),
            ("prints_in_instances", Script::prints_the_same_in_instances),
            ("waits", Script::waits_at_once),
        ];
        for (name, test) in tests {
            let (script, servers) = (Arc::clone(&script), Arc::clone(&servers));
            trials.push(Trial::test(format!("{}::{name}", script.name), move || {
                test(&script, &servers);
                Ok(())
            }));
        }
    }
    for path in scripts_below(&root.join("cut")) {
        let tests: [(&str, CutTest); 3] = [
            ("in_coroutines", cut::in_coroutines),
            ("in_instances", cut::in_instances),
            ("in_a_crowd", cut::in_a_crowd),
        ];
        let name = path.strip_prefix(&root).expect("it was found there").with_extension("");
        // What mongod's client finds broken, it lets nobody in the process try again for some seconds.
        let is_lonely = name.ends_with("mongodb/manager");
        for (way, test) in tests.into_iter().filter(|(way, _)| !is_lonely || *way != "in_a_crowd") {
            let (path, servers) = (path.clone(), Arc::clone(&servers));
            trials.push(Trial::test(format!("{}::{way}", name.display()), move || {
                test(&path, &servers);
                Ok(())
            }));
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    servers.stop();
    conclusion.exit_code()
}

/// The scripts, ordered so that neighbours need different servers: while one server starts, others are in use.
fn scripts_below(directory: &Path) -> Vec<PathBuf> {
    let entries = |path: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(path).expect("a directory of this repository");
        entries.map(|entry| entry.expect("an entry can be read").path()).collect()
    };
    let mut scripts: Vec<PathBuf> = entries(directory).iter().flat_map(|path| entries(path)).collect();
    scripts.sort_by_key(|path| (path.file_name().map(ToOwned::to_owned), path.clone()));
    scripts
}
