//! Starting a job on a coroutine, and cleaning up when it ends.
//!
//! Invariants: a job runs on a context of its pool; idle contexts are reused last in, first out, so that their stacks are
//! hot; each run of a slot has a generation of its own.

use super::{Ready, Runtime};
use crate::coroutine::{Context, Coroutine, Job, Left, RestSeen, Start, State};
use crate::family::{BITS, FIRST, Family};
use crate::watch::NEVER_LATE;
use crate::{Account, CoroutineId, WaitKind, Wake, hook};

/// The outcome for a spawned job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spawn {
    /// It has run (and may have ended), or runs in this turn.
    Started,
    /// All coroutines are in use; it waits in the queue.
    Queued,
    /// All coroutines are in use and the queue is full, or no stack could be created. The caller answers 503.
    Refused,
}

impl Runtime {
    /// Gives a job to a coroutine. From the loop it starts at once; from a coroutine, in the next turn.
    pub fn spawn(&self, job: Job) -> Spawn {
        let start = Start::of(job);
        if self.is_full() {
            return self.enqueue(start);
        }
        let waits = self.ready.borrow().has_first() || hook::somebody_holds_up();
        if self.current.get().is_some() || self.stepped_out.get() || waits {
            self.ready.borrow_mut().push_back(Ready::Start(start));
            return Spawn::Started;
        }
        self.start_job(start)
    }

    /// Gives a task that a coroutine spawns to another one; it starts in the next turn. Returns false if there are
    /// already `tasks_max`.
    pub fn spawn_task(&self, job: Job) -> bool {
        if self.stats.tasks.get() >= self.limits.tasks_max {
            return false;
        }
        self.stats.tasks.set(self.stats.tasks.get() + 1);
        let of_parent = |id: CoroutineId| {
            let account = self.name_account(id.index);
            (account, self.coroutines.borrow()[id.index as usize].recorder)
        };
        let (account, recorder) = self.current().map_or((None, None), of_parent);
        let start = Start { task: true, family: self.family(), account, recorder, ..Start::of(job) };
        self.ready.borrow_mut().push_back(Ready::Start(start));
        true
    }

    /// The family of a coroutine that starts.
    fn family_of(&self, start: Start) -> Family {
        start.family.unwrap_or_else(|| {
            let next = (self.families.get() + 1) & BITS;
            self.families.set(next.max(FIRST));
            self.families.get()
        })
    }

    pub(super) fn start_job(&self, start: Start) -> Spawn {
        if !start.task && self.is_full() {
            return self.enqueue(start);
        }
        let pool = start.job.pool;
        let taken = self.idle.borrow_mut().take(pool);
        let index = match taken {
            Some(index) => index,
            None => match self.switch.create(pool) {
                Ok(context) => self.insert(context, pool),
                // No memory or mappings are left for another stack: this counts as having reached the limit.
                Err(_) => return self.enqueue(start),
            },
        };
        self.stats.live.set(self.stats.live.get() + 1);
        self.live_tasks.set(self.live_tasks.get() + usize::from(start.task));
        self.stats.jobs.set(self.stats.jobs.get() + 1);
        self.enter(index, Some(start));
        Spawn::Started
    }

    /// The job of the running coroutine has ended. It continues with the job from `next`, as if it had left and been
    /// entered again with it; this saves two switches if many jobs start in one turn. The switch calls this on the
    /// coroutine. `None` if there is no job, or others come first; the coroutine then leaves.
    pub fn next_job(&self, next: impl FnOnce() -> Option<Job>) -> Option<Job> {
        let none_waits = |_: &CoroutineId| self.queue.borrow().is_empty() && !self.ready.borrow().has_first();
        let id = self.current.get().filter(none_waits)?;
        if self.coroutines.borrow()[id.index as usize].task {
            return None;
        }
        let job = next()?;
        self.charge(id.index);
        self.records.hand_out(&self.coroutines, id.index);
        let start = Start::of(job);
        let family = self.family_of(start);
        let now = self.now.get();
        let id = {
            let mut coroutines = self.coroutines.borrow_mut();
            let coroutine = &mut coroutines[id.index as usize];
            let id = coroutine.begin(id.index, start, family, now);
            self.records.begin(coroutine, id, None);
            id
        };
        hook::job_ended(self);
        self.stats.jobs.set(self.stats.jobs.get() + 1);
        self.current.set(Some(id));
        self.heartbeat.enter(id, now);
        self.slices.entered();
        self.accounts.go_on();
        Some(job)
    }

    fn insert(&self, context: Context, pool: u32) -> u32 {
        let mut coroutines = self.coroutines.borrow_mut();
        let vacant = self.vacant.borrow_mut().pop();
        if let Some(index) = vacant {
            (coroutines[index as usize].context, coroutines[index as usize].pool) = (context, pool);
            return index;
        }
        coroutines.push(Coroutine {
            context,
            pool,
            generation: 0,
            state: State::Idle,
            waits_for: WaitKind::Coroutine,
            waits_since: 0,
            wait: 0,
            wake: Wake::TimedOut,
            timer: None,
            cancelled: false,
            interrupted: false,
            task: false,
            job: Job { kind: 0, argument: 0, pool },
            family: 0,
            since: 0,
            computed: 0,
            waits: 0,
            rest_seen: RestSeen::default(),
            rest: 0,
            account: None,
            recorder: None,
            record: None,
            peer: None,
        });
        coroutines.len() as u32 - 1
    }

    pub(crate) fn enter(&self, index: u32, start: Option<Start>) {
        let (context, id, since, account) = {
            let mut coroutines = self.coroutines.borrow_mut();
            let coroutine = &mut coroutines[index as usize];
            if let Some(start) = start {
                let id = coroutine.begin(index, start, self.family_of(start), self.now.get());
                self.records.begin(coroutine, id, start.recorder);
            }
            coroutine.state = State::Running;
            let since = if coroutine.task { NEVER_LATE } else { coroutine.since };
            let id = CoroutineId { index, generation: coroutine.generation };
            (coroutine.context, id, since, coroutine.account)
        };
        self.current.set(Some(id));
        self.heartbeat.enter(id, since);
        self.slices.entered();
        self.accounts.enter(account);
        let left = self.switch.enter(context, start.map(|start| start.job));
        hook::end_forked_child();
        self.current.set(None);
        self.charge(index);
        if self.slices.has_computed() {
            self.slices.count(&mut self.coroutines.borrow_mut()[index as usize]);
        }
        if left != Left::Parked {
            hook::leaves();
            self.ended(index, context, left);
        }
    }

    /// What the running coroutine is charged to, for which its job is asked if nobody has named it yet.
    #[inline]
    pub(crate) fn name_account(&self, index: u32) -> Option<&'static Account> {
        self.accounts
            .running()
            .or_else(|| if self.accounts.are_kept() { self.ask_for_account(index) } else { None })
    }

    #[cold]
    fn ask_for_account(&self, index: u32) -> Option<&'static Account> {
        let (job, task) = {
            let coroutine = &self.coroutines.borrow()[index as usize];
            (coroutine.job, coroutine.task)
        };
        let account = if task { None } else { self.accounts.of(job) }?;
        self.accounts.charge_to(Some(account));
        Some(account)
    }

    /// A coroutine has had the loop.
    #[inline]
    fn charge(&self, index: u32) {
        let Some(spent) = self.accounts.spent() else { return };
        self.stats.ran.add(spent);
        if let Some(account) = self.name_account(index) {
            account.ran.add(spent);
        }
        self.records.ran(&self.coroutines, index, spent);
    }

    fn ended(&self, index: u32, context: Context, left: Left) {
        let (task, job, pool, computed) = {
            let mut coroutines = self.coroutines.borrow_mut();
            let coroutine = &mut coroutines[index as usize];
            coroutine.state = State::Idle;
            (coroutine.task, coroutine.job, coroutine.pool, coroutine.computed)
        };
        if computed > 0 {
            self.slices.usual.ended(computed);
        }
        hook::job_ended(self);
        self.records.hand_out(&self.coroutines, index);
        if let Some(tell) = self.on_ended.get() {
            tell(job);
        }
        self.stats.live.set(self.stats.live.get() - 1);
        self.live_tasks.set(self.live_tasks.get() - usize::from(task));
        self.stats.tasks.set(self.stats.tasks.get() - usize::from(task));
        let keep = left == Left::Ended && self.idle.borrow().len() < self.limits.idle_max;
        if keep {
            self.idle.borrow_mut().keep(pool, index);
        } else {
            self.vacant.borrow_mut().push(index);
            if left == Left::Ended {
                self.switch.destroy(context);
            }
        }
        self.offer_place();
    }
}
