//! Jobs that wait for a coroutine: because as many as may be alive are, or because enough others like them compute already.
//!
//! Where many compute about as long, it is quicker for all if few of them are in the midst of it: what they use stays in the
//! processor's caches, and who began first ends first. So a job whose size is known ([`crate::sizes`]) is held back while
//! [`AT_ONCE`] of its class could compute. Who waits for something else does not count, and neither does who has turned out to be
//! longer, so whoever is held back waits for others to compute and for nothing else.
//!
//! Invariants: at most `coroutines_max` coroutines are alive, besides tasks; a new job does not overtake one that waits in
//! the same line; all lines together have a limit, and each job a longest wait.

use super::lines::FOR_A_PLACE;
use super::slice::TICK_MIN;
use super::{Ready, Runtime, Spawn};
use crate::Nanos;
use crate::coroutine::{Job, Start, State};
use crate::sizes::{CLASSES, SizeKeysOf, class_of};

/// How many of a class compute by turns before another one begins: while one of them waits, the next goes on.
const AT_ONCE: usize = 2;

/// A job is held back for this part of the time that it may wait for a coroutine: it shall not be refused for this.
const PATIENCE_PARTS: Nanos = 4;

impl Runtime {
    /// From here on jobs that will probably compute for long are held back while enough others of their size do. It MUST NOT
    /// call the runtime. Without time slices it changes nothing, nor with those of tests, which are shorter than any tick.
    pub fn keep_sizes(&self, of: SizeKeysOf) {
        if self.limits.slice >= TICK_MIN {
            self.sizes.keep(of);
        }
    }

    /// Whether `coroutines_max` coroutines are alive or about to start (tasks do not count), or as many as the switch
    /// admits now.
    pub(super) fn is_full(&self) -> bool {
        self.taken() >= self.limits.coroutines_max || !self.switch.admits(self.taken())
    }

    fn taken(&self) -> usize {
        self.stats.live.get() - self.live_tasks.get() + self.kept.get()
    }

    /// How many jobs would start at once; 0 while others wait for a place.
    pub fn room(&self) -> usize {
        if !self.lines.is_free() {
            return 0;
        }
        self.limits.coroutines_max.saturating_sub(self.taken())
    }

    /// Whether a job of this size is held back, because enough others of its class could compute.
    pub(super) fn holds_back(&self, expected: u32) -> bool {
        class_of(expected).is_some_and(|class| self.lines.holds(class) || self.is_crowded(class))
    }

    fn is_crowded(&self, class: usize) -> bool {
        let coroutines = self.coroutines.borrow();
        let computes = |coroutine: &&crate::coroutine::Coroutine| {
            coroutine.state == State::Ready
                && class_of(coroutine.expected.max(coroutine.computed)) == Some(class)
        };
        let leaving = self.lines.leaving(class);
        leaving >= AT_ONCE || leaving + coroutines.iter().filter(computes).take(AT_ONCE).count() >= AT_ONCE
    }

    /// Has a job wait for a place; one that is held back, for those of its class.
    pub(super) fn enqueue(&self, start: Start) -> Spawn {
        self.join(start, FOR_A_PLACE)
    }

    pub(super) fn hold_back(&self, start: Start) -> Spawn {
        self.join(start, class_of(start.expected).map_or(FOR_A_PLACE, |class| 1 + class))
    }

    fn join(&self, start: Start, line: usize) -> Spawn {
        if self.lines.len() >= self.limits.queue_max && !start.task {
            self.stats.refused.set(self.stats.refused.get() + 1);
            return Spawn::Refused;
        }
        self.lines.push(line, start, self.now.get());
        Spawn::Queued
    }

    /// When the first job of a line has waited too long.
    #[inline]
    pub(super) fn queue_deadline(&self) -> Option<Nanos> {
        if self.lines.is_empty() {
            return None;
        }
        let (_, since) = self.lines.first(self.lines.longest(|_| true)?)?;
        Some(since.saturating_add(self.limits.queue_wait_max))
    }

    pub(super) fn expired_job(&self) -> Option<Job> {
        let late = self.queue_deadline().is_some_and(|deadline| deadline <= self.now.get());
        let start = late.then(|| self.lines.take(self.lines.longest(|_| true)?))??;
        if start.task {
            self.stats.tasks.set(self.stats.tasks.get() - 1);
        }
        Some(start.job)
    }

    /// A coroutine has ended, or memory may be free again. The end of a task frees a stack, but only a task may take
    /// its place.
    #[inline]
    pub fn offer_place(&self) {
        if !self.lines.is_empty() {
            self.offer_place_to_waiting();
        }
    }

    #[cold]
    fn offer_place_to_waiting(&self) {
        let first_is_task = self.lines.first(FOR_A_PLACE).is_some_and(|(start, _)| start.task);
        let is_full = self.is_full();
        if first_is_task || !is_full {
            let fits = |line| line == FOR_A_PLACE || !is_full && self.may_begin(line - 1);
            self.lines.longest(fits).inspect(|line| self.leave_line(*line));
        }
    }

    /// Those that were held back begin as soon as few enough of their class could compute, or when they have waited for long.
    #[inline]
    pub(super) fn release(&self) {
        if !self.lines.is_empty() {
            self.release_waiting();
        }
    }

    #[cold]
    fn release_waiting(&self) {
        for class in 0..CLASSES {
            while self.lines.holds(class) && self.may_begin(class) && !self.is_full() {
                self.leave_line(1 + class);
            }
        }
    }

    fn may_begin(&self, class: usize) -> bool {
        let patience = self.limits.queue_wait_max / PATIENCE_PARTS;
        let has_waited = |(_, since): (Start, Nanos)| since.saturating_add(patience) <= self.now.get();
        !self.is_crowded(class) || self.lines.first(1 + class).is_some_and(has_waited)
    }

    fn leave_line(&self, line: usize) {
        let Some(start) = self.lines.take(line) else { return };
        self.kept.set(self.kept.get() + usize::from(!start.task));
        self.lines.count_leaving(&start, |leaving| leaving + 1);
        self.ready.borrow_mut().push_back(Ready::Queued(start));
    }

    /// A job that had left its line begins, or will not.
    pub(super) fn has_left(&self, start: &Start) {
        self.kept.set(self.kept.get() - usize::from(!start.task));
        self.lines.count_leaving(start, |leaving| leaving - 1);
    }

    /// Jobs that wait for a coroutine, including those for which a place is kept.
    pub fn queued(&self) -> usize {
        self.lines.len() + self.kept.get()
    }
}

#[cfg(test)]
#[path = "../../tests/common/mod.rs"]
mod common;

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    use super::common::{UntilDone, spawn, start};
    use crate::{MILLISECOND, Runtime, SECOND, SchedulerLimits, SizeKeys, Spawn};

    thread_local! {
        static KEYS: Cell<SizeKeys> = const { Cell::new([0; 3]) };
    }

    const LONG: SizeKeys = [1, 0, 0];
    const SHORT: SizeKeys = [2, 0, 0];

    type Log = Rc<RefCell<Vec<(u32, &'static str)>>>;

    /// A runtime that knows that jobs with the keys `LONG` compute for twenty ticks.
    fn trained(queue_wait_max: crate::Nanos) -> &'static Runtime {
        let limits = SchedulerLimits { slice: 8 * MILLISECOND, queue_wait_max, ..SchedulerLimits::default() };
        let (runtime, _) = start(limits);
        runtime.keep_sizes(|_| KEYS.get());
        KEYS.set(LONG);
        for _ in 0..5 {
            assert_eq!(spawn(runtime, move || compute(runtime, 20)), Spawn::Started);
            runtime.run(&UntilDone(runtime));
        }
        runtime
    }

    /// Ticks pass, as if the coroutine had computed, and it gives way.
    fn compute(runtime: &Runtime, ticks: u32) {
        runtime.slices.board.count(ticks);
        runtime.give_way();
    }

    /// A job that computes for as long as is expected of it, and says when it begins and ends.
    fn long_one(runtime: &'static Runtime, log: &Log, number: u32) -> Spawn {
        let log = Rc::clone(log);
        spawn(runtime, move || {
            log.borrow_mut().push((number, "begins"));
            compute(runtime, 10);
            compute(runtime, 10);
            log.borrow_mut().push((number, "ends"));
        })
    }

    #[test]
    fn of_jobs_that_compute_for_as_long_two_are_in_the_midst_of_it() {
        let (runtime, log) = (trained(SECOND * 600), Log::default());
        let spawned: Vec<Spawn> = (1..=5).map(|number| long_one(runtime, &log, number)).collect();
        use Spawn::{Queued, Started};
        assert_eq!(spawned, [Started, Started, Queued, Queued, Queued]);
        assert_eq!(runtime.queued(), 3);
        runtime.run(&UntilDone(runtime));
        let (mut begun, mut most, mut ended) = (0_u32, 0, Vec::new());
        for (number, what) in log.borrow().iter() {
            begun = if *what == "begins" { begun + 1 } else { begun - 1 };
            most = most.max(begun);
            ended.extend((*what == "ends").then_some(*number));
        }
        assert_eq!((most, ended, runtime.queued()), (2, vec![1, 2, 3, 4, 5], 0));
    }

    #[test]
    fn a_short_one_and_one_of_which_nothing_is_known_are_not_held_back() {
        let (runtime, log) = (trained(SECOND * 600), Log::default());
        for number in 1..=3 {
            long_one(runtime, &log, number);
        }
        for keys in [SHORT, [0; 3]] {
            KEYS.set(keys);
            assert_eq!(spawn(runtime, || ()), Spawn::Started);
        }
        runtime.run(&UntilDone(runtime));
    }

    #[test]
    fn who_waits_for_something_else_holds_nobody_back() {
        let runtime = trained(SECOND * 600);
        let all_begun = Rc::new(Cell::new(0));
        for _ in 0..6 {
            let begun = Rc::clone(&all_begun);
            spawn(runtime, move || {
                begun.set(begun.get() + 1);
                while begun.get() < 6 {
                    runtime.sleep_until(crate::clock::now() + MILLISECOND);
                }
                compute(runtime, 20);
            });
        }
        runtime.run(&UntilDone(runtime));
        assert_eq!(all_begun.get(), 6);
    }

    #[test]
    fn who_computes_for_longer_than_its_like_holds_nobody_back() {
        let runtime = trained(SECOND * 600);
        let begun = Rc::new(Cell::new(0));
        for _ in 0..3 {
            let begun = Rc::clone(&begun);
            spawn(runtime, move || {
                begun.set(begun.get() + 1);
                while begun.get() < 3 {
                    compute(runtime, 8); // it waits for the others as nobody should
                }
            });
        }
        assert_eq!(begun.get(), 2);
        runtime.run(&UntilDone(runtime));
        assert_eq!(begun.get(), 3);
    }

    #[test]
    fn nobody_is_held_back_for_longer_than_a_part_of_the_time_that_it_may_wait() {
        let runtime = trained(SECOND);
        let begun = Rc::new(Cell::new(0));
        for _ in 0..4 {
            let begun = Rc::clone(&begun);
            spawn(runtime, move || {
                begun.set(begun.get() + 1);
                while begun.get() < 4 {
                    compute(runtime, 0);
                }
            });
        }
        runtime.run(&UntilDone(runtime));
        assert_eq!(begun.get(), 4);
    }
}
