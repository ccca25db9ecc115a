//! The list of known differences, one file for each PHP version, and what a run says about it.
//!
//! Must not know how tests are run. Invariant: every entry belongs to a group with a reason.
//!
//! A group begins with `[command] reason` or `[requests] reason`; the tests follow, one in a line. The tests of a group
//! whose reason begins with "by chance: " may differ or not: their output is random, or two of them use the same file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// How tests are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// By the php command and by `weft php`.
    Command,
    /// As requests to php-fpm and to weft.
    Requests,
}

const BY_CHANCE: &str = "by chance: ";

/// The known differences of a PHP version.
#[derive(Debug, Default)]
pub struct List {
    reasons: BTreeMap<(Way, String), String>,
}

impl List {
    /// The list of this version; empty if the version has none yet.
    ///
    /// # Errors
    /// A line outside of a group, a group without a reason, a test that is named twice.
    pub fn of(version: &str) -> Result<List, String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("php-src/{version}.txt"));
        match std::fs::read_to_string(&path) {
            Ok(text) => List::read(&text).map_err(|why| format!("{}: {why}", path.display())),
            Err(_) => {
                println!("{} does not exist: every difference is new", path.display());
                Ok(List::default())
            }
        }
    }

    fn read(text: &str) -> Result<List, String> {
        let mut list = List::default();
        let mut group: Option<(Way, &str)> = None;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            let begins = [("[command] ", Way::Command), ("[requests] ", Way::Requests)];
            let begun = begins.iter().find_map(|(name, way)| Some((*way, line.strip_prefix(name)?)));
            if line.is_empty() || line.starts_with('#') {
                continue;
            } else if begun.is_some() {
                group = begun;
            } else if let (Some((way, reason)), false) = (group, line.starts_with('[')) {
                if list.reasons.insert((way, line.to_owned()), reason.to_owned()).is_some() {
                    return Err(format!("line {number}: {line} is named twice"));
                }
            } else {
                return Err(format!(
                    "line {number}: neither a test in a group, nor [command] or [requests] and a reason"
                ));
            }
        }
        Ok(list)
    }

    /// Says what is new and what is gone, and returns how many differences are new. `tests` are those that ran.
    pub fn judge(&self, way: Way, tests: &BTreeSet<String>, differing: &BTreeMap<String, String>) -> usize {
        let reason = |test: &String| self.reasons.get(&(way, test.clone()));
        let new: Vec<_> = differing.iter().filter(|(test, _)| reason(test).is_none()).collect();
        for (test, how) in &new {
            println!("\nNEW DIFFERENCE: {test}\n{how}");
        }
        let gone = self.reasons.iter().filter(|((of, test), reason)| {
            *of == way
                && tests.contains(test)
                && !differing.contains_key(test)
                && !reason.starts_with(BY_CHANCE)
        });
        let gone =
            gone.map(|((_, test), _)| println!("no longer different, so not for the list: {test}")).count();
        let known = differing.len() - new.len();
        println!("{} tests: {} new differences, {known} known ones, {gone} gone", tests.len(), new.len());
        new.len()
    }
}
