//! Which account the running coroutine is charged to, and since when it has had the loop.
//!
//! Must not know what an account is for. Invariants: no clock is read for it unless somebody asked for accounts or for records;
//! a job is asked for its account once at most, when its first wait begins, or it ends, and nobody has named one until then.

use std::cell::Cell;

use crate::coroutine::Job;
use crate::stopwatch::{Stopwatch, Tick};
use crate::{Account, Nanos};

/// Which account a job is charged to; `None`: to nobody's.
pub type AccountOf = fn(Job) -> Option<&'static Account>;

/// The accounts of a runtime, if it keeps some.
#[derive(Default)]
pub(crate) struct Accounts {
    of: Cell<Option<AccountOf>>,
    /// What measures for how long coroutines have the loop, if somebody wants to know.
    stopwatch: Cell<Stopwatch>,
    /// When the running coroutine got the loop.
    entered: Cell<Tick>,
    /// What it is charged to, if that is known.
    running: Cell<Option<&'static Account>>,
}

impl Accounts {
    pub fn keep(&self, of: AccountOf) {
        self.of.set(Some(of));
        self.measure();
    }

    /// From here on it is measured for how long coroutines have the loop.
    pub fn measure(&self) {
        if self.stopwatch.get() == Stopwatch::NONE {
            self.stopwatch.set(Stopwatch::new());
        }
    }

    /// The account of a job for which none has been named.
    #[cold]
    pub fn of(&self, job: Job) -> Option<&'static Account> {
        self.of.get()?(job)
    }

    /// Whether jobs are charged to accounts.
    #[inline]
    pub fn are_kept(&self) -> bool {
        self.of.get().is_some()
    }

    /// A coroutine gets the loop that is charged to this, as far as is known.
    #[inline]
    pub fn enter(&self, account: Option<&'static Account>) {
        let stopwatch = self.stopwatch.get();
        if stopwatch != Stopwatch::NONE {
            self.running.set(account);
            self.entered.set(stopwatch.now());
        }
    }

    /// From here on the running coroutine is charged to this.
    #[inline]
    pub fn charge_to(&self, account: Option<&'static Account>) {
        self.running.set(account);
    }

    /// The running coroutine goes on with another job.
    #[inline]
    pub fn go_on(&self) {
        self.enter(None);
    }

    /// What the running coroutine is charged to.
    #[inline]
    pub fn running(&self) -> Option<&'static Account> {
        self.running.get()
    }

    /// For how long it has had the loop, if that is measured.
    #[inline]
    pub fn spent(&self) -> Option<Nanos> {
        let stopwatch = self.stopwatch.get();
        if stopwatch == Stopwatch::NONE {
            return None;
        }
        Some(stopwatch.between(self.entered.get(), stopwatch.now()))
    }
}
