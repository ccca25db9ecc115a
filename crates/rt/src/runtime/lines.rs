//! The lines in which jobs wait for a coroutine: one for a place, and one for each size.
//!
//! Must not know when a job leaves its line: that is `queue.rs`. Invariant: a line is in the order in which jobs came.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use crate::Nanos;
use crate::coroutine::Start;
use crate::sizes::{CLASSES, class_of};

/// The line of those that wait for the end of another; those of the classes follow.
pub(super) const FOR_A_PLACE: usize = 0;

#[derive(Default)]
pub(crate) struct Lines {
    /// With the moment at which each came.
    lines: RefCell<[VecDeque<(Start, Nanos)>; 1 + CLASSES]>,
    /// How many wait in all of them: mostly none, and each turn of the loop asks.
    waiting: Cell<usize>,
    /// Jobs of each class that have left their line and have not begun.
    leaving: Cell<[usize; CLASSES]>,
}

impl Lines {
    #[inline]
    pub fn len(&self) -> usize {
        self.waiting.get()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether nobody waits for a place.
    #[inline]
    pub fn is_free(&self) -> bool {
        self.is_empty() || self.lines.borrow()[FOR_A_PLACE].is_empty()
    }

    pub fn holds(&self, class: usize) -> bool {
        !self.lines.borrow()[1 + class].is_empty()
    }

    /// The longest wait of each line.
    pub fn first(&self, line: usize) -> Option<(Start, Nanos)> {
        self.lines.borrow()[line].front().copied()
    }

    /// The line whose first job has waited longest, of those that fit.
    pub fn longest(&self, fits: impl Fn(usize) -> bool) -> Option<usize> {
        let waiting = (0..=CLASSES).filter_map(|line| Some((self.first(line)?.1, line)));
        waiting.filter(|(_, line)| fits(*line)).min().map(|(_, line)| line)
    }

    pub fn push(&self, line: usize, start: Start, now: Nanos) {
        self.waiting.set(self.waiting.get() + 1);
        self.lines.borrow_mut()[line].push_back((start, now));
    }

    /// How many of a class have left their line and have not begun.
    pub fn leaving(&self, class: usize) -> usize {
        self.leaving.get()[class]
    }

    pub fn take(&self, line: usize) -> Option<Start> {
        let (start, _) = self.lines.borrow_mut()[line].pop_front()?;
        self.waiting.set(self.waiting.get() - 1);
        Some(start)
    }

    pub fn count_leaving(&self, start: &Start, change: impl Fn(usize) -> usize) {
        if let Some(class) = class_of(start.expected) {
            let mut leaving = self.leaving.get();
            leaving[class] = change(leaving[class]);
            self.leaving.set(leaving);
        }
    }
}
