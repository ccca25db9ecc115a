//! A worker's book of routes: which route a request belongs to, and what is counted of it.
//!
//! It must not know PHP. Invariants: a path that only an attacker thinks of becomes no route, because a path's name is added
//! only once a request for it has succeeded or failed by the server's fault; the mark of a request is its route's number, plus 1.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use weft_rt::Account;
use weft_serve::{Tally, UNKNOWN};

use super::figures::Figures;
use super::name::of_path;
use super::names::{Names, OTHER};
use crate::config::RoutePattern;

/// The route of files, which no code answers.
pub const FILES: &[u8] = b"files";

/// FNV-1a: names are short, and there are never more than a table holds, so nobody can make them collide in numbers.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    /// The length of a slice, which its bytes tell.
    fn write_usize(&mut self, _: usize) {}
    fn finish(&self) -> u64 {
        self.0
    }
}

/// The book.
pub struct Routes {
    names: &'static Names,
    figures: &'static Figures,
    patterns: Vec<RoutePattern>,
    known: RefCell<HashMap<Box<[u8]>, u16, BuildHasherDefault<Fnv>>>,
    name: RefCell<Vec<u8>>,
}

thread_local! {
    static ROUTES: Cell<Option<&'static Routes>> = const { Cell::new(None) };
}

/// This worker's, if it keeps one.
#[inline]
pub fn routes() -> Option<&'static Routes> {
    ROUTES.get()
}

impl Routes {
    /// Opens the book of this worker.
    pub fn open(names: &'static Names, figures: &'static Figures, patterns: Vec<RoutePattern>) {
        let (known, name) = (RefCell::default(), RefCell::default());
        ROUTES.set(Some(Box::leak(Box::new(Routes { names, figures, patterns, known, name }))));
    }

    /// The figures of all routes: a mark is the number of one, plus 1.
    pub fn tallies(&self) -> &'static [Tally] {
        &self.figures.0
    }

    /// The name of the route with this mark; `None` for those that have none of their own.
    pub fn name_of(&self, mark: u16) -> Option<String> {
        let number = usize::from(mark).checked_sub(1).filter(|number| *number != OTHER)?;
        self.names.get(number)
    }

    /// The mark of a request by its path as sent.
    pub fn mark_of_path(&self, path: &[u8]) -> u16 {
        if let Some(mark) = self.mark_of_pattern(path) {
            return mark;
        }
        let mut name = self.name.borrow_mut();
        let known = of_path(path, &mut name).and_then(|()| self.known(&name));
        known.unwrap_or(UNKNOWN)
    }

    /// The mark of a request that a script answers, or a file. `site` names its site, where there are several.
    pub fn mark_of_script(&self, site: &[u8], script: &[u8], path: &[u8]) -> u16 {
        if let Some(mark) = self.mark_of_pattern(path) {
            return mark;
        }
        let mut name = self.name.borrow_mut();
        name.clear();
        name.extend_from_slice(site);
        name.extend_from_slice(script);
        let is_plain = name.iter().copied().all(super::name::is_plain);
        is_plain.then(|| self.known_or_new(&name)).flatten().unwrap_or(UNKNOWN)
    }

    fn mark_of_pattern(&self, path: &[u8]) -> Option<u16> {
        let pattern = self.patterns.iter().find(|pattern| pattern.fits(path))?;
        self.known_or_new(pattern.text().as_bytes())
    }

    fn known(&self, name: &[u8]) -> Option<u16> {
        if let Some(mark) = self.known.borrow().get(name) {
            return Some(*mark);
        }
        self.remember(name, self.names.find(name)?)
    }

    fn known_or_new(&self, name: &[u8]) -> Option<u16> {
        self.known(name).or_else(|| self.remember(name, self.names.add(name)?))
    }

    fn remember(&self, name: &[u8], number: usize) -> Option<u16> {
        let mark = u16::try_from(number).ok()? + 1;
        self.known.borrow_mut().insert(name.into(), mark);
        Some(mark)
    }

    /// The account of a mark.
    pub fn account(&self, mark: u16) -> Option<&'static Account> {
        let number = usize::from(mark.checked_sub(1)?);
        self.figures.0.get(number).map(|route| &route.account)
    }

    /// The mark of a request of no known route, now that its status is known.
    pub fn mark_of_answer(&self, path: &[u8], status: u16) -> u16 {
        let makes_a_route = matches!(status, 100..=299 | 304 | 500..);
        makes_a_route.then(|| self.new_of_path(path)).flatten().unwrap_or(UNKNOWN)
    }

    fn new_of_path(&self, path: &[u8]) -> Option<u16> {
        let mut name = self.name.borrow_mut();
        of_path(path, &mut name)?;
        self.known_or_new(&name)
    }
}
