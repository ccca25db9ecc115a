//! php-src's own tests, by stock PHP and by weft: `php-src WORK-DIRECTORY [--only-command] [DIRECTORY…]`; tools/phpt
//! prepares the work directory.
//!
//! Must not know what a test is about. Invariant: a test on which the two differ is in the list of this PHP version
//! (`8.2.txt`) with the reason, or the run fails; an entry that no longer differs is named.
//!
//! First the php command and `weft php` run the same tests with php-src's run-tests.php. What passes there and needs no
//! command then runs as requests: one after the other under php-fpm, hundreds at once under weft. `--only-command` leaves
//! these out: which of them are beside each other is chance, and a gate must not depend on chance.

mod command;
mod list;
mod outcome;
mod requests;

use std::path::Path;
use std::process::ExitCode;

use list::{List, Way};

/// What is run if nothing else is asked for: the language, and the parts of the library that its runtime shows most in.
const DIRECTORIES: [&str; 12] = [
    "Zend/tests",
    "tests",
    "ext/standard",
    "ext/spl",
    "ext/reflection",
    "ext/date",
    "ext/pcre",
    "ext/json",
    "ext/session",
    "ext/ctype",
    "ext/tokenizer",
    "ext/filter",
];

const ONLY_COMMAND: &str = "--only-command";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(work) = arguments.next() else {
        eprintln!("usage: php-src WORK-DIRECTORY [--only-command] [DIRECTORY…]; tools/phpt calls it");
        return ExitCode::from(2);
    };
    let (flags, wanted): (Vec<String>, Vec<String>) = arguments.partition(|word| word == ONLY_COMMAND);
    let wanted = if wanted.is_empty() { DIRECTORIES.map(str::to_owned).to_vec() } else { wanted };
    match run(Path::new(&work), &wanted, flags.is_empty()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("php-src: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether every difference is listed.
fn run(work: &Path, wanted: &[String], as_requests: bool) -> Result<bool, String> {
    let version = weft_tests::php::version();
    let list = List::of(&version)?;
    println!("{} test directories under php{version} and under weft php", wanted.len());
    let outcomes = command::run(work, wanted)?;
    let differing = outcome::differences(&outcomes);
    let tests = outcomes.tests();
    let mut new = list.judge(Way::Command, &tests, &differing);

    if !as_requests {
        println!("{} passed, {new} failed", tests.len() - new);
        return Ok(new == 0);
    }
    let scripts = requests::scripts(&outcomes);
    println!("{} of the tests as requests to php-fpm and to weft", scripts.len());
    let answers = requests::run(work, &scripts)?;
    new += list.judge(Way::Requests, &answers.tests, &answers.differing);
    println!("{} passed, {new} failed", tests.len() + answers.tests.len() - new);
    Ok(new == 0)
}
