//! Which account a job is charged to, and since when the running coroutine has had the loop.
//!
//! Must not know what an account is for. Invariant: the clock is read for it only where somebody asked for accounts
//! or for records.

use std::cell::Cell;

use crate::coroutine::Job;
use crate::{Account, Nanos, clock};

/// Which account a job is charged to; `None`: to nobody's.
pub type AccountOf = fn(Job) -> Option<&'static Account>;

/// The accounts of a runtime, if it keeps some.
#[derive(Default)]
pub(crate) struct Accounts {
    of: Cell<Option<AccountOf>>,
    /// Whether somebody wants to know for how long coroutines have the loop.
    measured: Cell<bool>,
    /// When the running coroutine got the loop, or the last one that ran has lost it.
    entered: Cell<Nanos>,
}

impl Accounts {
    pub fn keep(&self, of: AccountOf) {
        self.of.set(Some(of));
        self.measure();
    }

    /// From here on the clock is read where coroutines get the loop and lose it.
    pub fn measure(&self) {
        self.measured.set(true);
    }

    /// Whether it is.
    #[inline]
    pub fn are_measured(&self) -> bool {
        self.measured.get()
    }

    /// The account of a job that begins.
    #[inline]
    pub fn of(&self, job: Job) -> Option<&'static Account> {
        self.of.get()?(job)
    }

    /// A coroutine gets the loop.
    #[inline]
    pub fn enter(&self) {
        if self.are_measured() {
            self.entered.set(clock::now());
        }
    }

    /// When the clock was last read for this; 0: never.
    #[inline]
    pub fn last_reading(&self) -> Nanos {
        self.entered.get()
    }

    /// For how long it has had the loop; from here on that is counted anew.
    #[inline]
    pub fn spent(&self) -> Nanos {
        let now = clock::now();
        now.saturating_sub(self.entered.replace(now))
    }
}
