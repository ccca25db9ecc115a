//! What the doctor finds out, before it becomes a report.
//!
//! Must not know how it was found, or how a report looks. Invariant: the functions of one object are in one list each.

use std::collections::BTreeMap;

use super::instances::Judged;
use super::thread_local::PerThread;
use crate::php::Unisolated;

/// The role of an object in PHP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// libphp itself, with the compiled-in extensions.
    Php,
    /// The file of an extension.
    Extension,
    /// A library that one of the others needs.
    Library,
}

/// The findings about one object.
#[derive(Debug)]
pub struct Finding {
    /// Its file, without the directory.
    pub name: String,
    /// Its file.
    pub path: String,
    /// Its role in PHP.
    pub part: Part,
    /// What needs it: libphp or extensions; empty for those themselves.
    pub needed_by: Vec<String>,
    /// Functions it calls that park the coroutine.
    pub cooperative: Vec<String>,
    /// Functions it calls that a thread executes.
    pub offloaded: Vec<String>,
    /// Functions it calls that block the worker when they wait; these are reviewed, with the reason.
    pub blocking: BTreeMap<String, &'static str>,
    /// Functions it calls whose names suggest that they wait, and that are not reviewed: they bypass the hooks.
    pub unknown: Vec<String>,
    /// What is known of the state that it keeps for each thread, if it keeps any.
    pub per_thread: Option<PerThread>,
    /// Whether it starts threads, whose waits block nothing.
    pub threads: bool,
}

impl Finding {
    /// Whether it calls no function that waits.
    pub fn is_quiet(&self) -> bool {
        self.cooperative.is_empty()
            && self.offloaded.is_empty()
            && self.blocking.is_empty()
            && self.unknown.is_empty()
    }
}

/// All findings.
#[derive(Debug)]
pub struct Findings {
    /// PHP's version.
    pub php: String,
    /// The number of loaded extensions, including compiled-in ones.
    pub extensions: usize,
    /// By part, then by name.
    pub objects: Vec<Finding>,
    /// Whether each loaded extension may be in PHP instances, by name.
    pub instances: Vec<Judged>,
    /// What coroutine mode cannot isolate.
    pub unisolated: Unisolated,
    /// Why coroutine mode does not start with these extensions and settings.
    pub refused: Option<String>,
}

impl Findings {
    /// Functions that bypass the hooks, with their callers.
    pub fn unknown(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut unknown: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for object in &self.objects {
            for name in &object.unknown {
                unknown.entry(name).or_default().push(&object.name);
            }
        }
        unknown
    }
}
