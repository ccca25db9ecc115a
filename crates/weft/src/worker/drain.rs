//! The end of a worker: it finishes the requests in flight, cancels those that do not finish in time, and
//! reports what kept running.
//!
//! ```text
//! serving ── begin ──► draining ── no request left ──► tasks are told ── nothing left ──► finished
//!                         └── deadline ──► cancelling ── nothing left, or a second ──► finished
//! ```

use weft_rt::{CoroutineId, Job, Nanos, Runtime, SECOND};
use weft_serve::Server;

/// How long cancelled coroutines have to answer.
const CANCEL_GRACE: Nanos = SECOND;

/// The progress of the end.
#[derive(Debug, Default)]
pub enum Drain {
    /// Not begun.
    #[default]
    Serving,
    /// Nothing new is accepted; running requests may finish until the deadline.
    Draining {
        /// When the rest is cancelled.
        deadline: Nanos,
        /// When requests are cancelled that still run while tunnels stay longer.
        requests_until: Nanos,
        /// Whether no request is left, and the tasks were told to end.
        tasks_told: bool,
    },
    /// The rest was cancelled.
    Cancelling {
        /// When the worker ends in any case.
        deadline: Nanos,
    },
    /// The loop returns.
    Finished,
}

impl Drain {
    /// Begins the drain, which ends at this time, that of requests earlier by `keep`; a second call can only make it earlier.
    pub fn begin(&mut self, at: Nanos, keep: Nanos) {
        match self {
            Drain::Serving => {
                *self = Drain::Draining { deadline: at, requests_until: at - keep, tasks_told: false };
            }
            Drain::Draining { deadline, .. } => *deadline = at.min(*deadline),
            Drain::Cancelling { .. } | Drain::Finished => {}
        }
    }

    /// Ends at once.
    pub fn stop(&mut self) {
        *self = Drain::Finished;
    }

    /// Whether it has not begun.
    pub fn is_serving(&self) -> bool {
        matches!(self, Drain::Serving)
    }

    /// Whether the loop should return.
    pub fn finished(&self) -> bool {
        matches!(self, Drain::Finished)
    }

    /// When something has to happen.
    pub fn deadline(&self) -> Option<Nanos> {
        match self {
            Drain::Draining { deadline, requests_until, .. } => Some(*deadline.min(requests_until)),
            Drain::Cancelling { deadline } => Some(*deadline),
            Drain::Serving | Drain::Finished => None,
        }
    }

    /// Continues as far as possible now.
    pub fn turn(&mut self, now: Nanos, runtime: &Runtime, server: &Server) {
        let requests_done = runtime.stats.live.get() <= runtime.stats.tasks.get()
            && server.connections() + server.tunnels() + server.datagrams_waiting() == 0;
        let done = requests_done && runtime.stats.tasks.get() == 0;
        match self {
            Drain::Draining { .. } | Drain::Cancelling { .. } if done => *self = Drain::Finished,
            Drain::Draining { deadline, .. } if now >= *deadline => {
                for (id, _, _) in runtime.live() {
                    runtime.cancel(id);
                }
                crate::php::turn_all_away();
                let datagrams = server.drop_datagrams();
                if datagrams > 0 {
                    tracing::warn!(
                        "the drain deadline has passed: {datagrams} datagrams were not given to their services"
                    );
                }
                let dropped = server.cut_tunnels();
                if dropped > 0 {
                    tracing::warn!(
                        "the drain deadline has passed: {dropped} messages of WebSocket clients were not given to their services"
                    );
                }
                *self = Drain::Cancelling { deadline: now + CANCEL_GRACE };
            }
            Drain::Draining { requests_until: until, .. } if now >= *until => {
                *until = Nanos::MAX;
                let requests = runtime.live().into_iter().filter(|(_, job, _)| crate::php::is_request(*job));
                for (id, ..) in requests {
                    runtime.cancel(id);
                }
                crate::php::turn_all_away();
            }
            // The tasks that requests or the boot have started: no request can need them any more.
            Drain::Draining { tasks_told: told @ false, .. } if requests_done => {
                *told = true;
                crate::php::end_tasks();
            }
            Drain::Cancelling { deadline } if now >= *deadline => *self = Drain::Finished,
            _ => {}
        }
    }

    /// What was still running when the worker ended; `None` if nothing was.
    pub fn report(&self, runtime: &Runtime) -> Option<String> {
        let live = runtime.live();
        if live.is_empty() {
            return None;
        }
        Some(format!(
            "the drain deadline has passed: {} requests and tasks were cut off: {}",
            live.len(),
            in_hand(&live)
        ))
    }
}

/// The first running jobs, with the time each has run.
pub fn in_hand(live: &[(CoroutineId, Job, Nanos)]) -> String {
    const SHOWN_MAX: usize = 5;
    let now = weft_rt::clock::now();
    let name = |(_, job, since): &(_, Job, Nanos)| {
        let seconds = now.saturating_sub(*since) as f64 / SECOND as f64;
        format!("{} for {seconds:.1} s", crate::php::describe(*job))
    };
    live.iter().take(SHOWN_MAX).map(name).collect::<Vec<_>>().join("; ")
}

/// Logs which functions of libc blocked this worker and how often, and which were made by its threads.
pub fn report_calls() {
    let list = |calls: &mut dyn Iterator<Item = (&'static str, u64)>| {
        calls.map(|(name, count)| format!("{name}() {count}")).collect::<Vec<_>>().join(", ")
    };
    let blocked = list(&mut weft_rt::hook::blocked_calls());
    if !blocked.is_empty() {
        tracing::warn!("calls that blocked this worker: {blocked}");
    }
    let offloaded = list(&mut weft_rt::hook::offloaded_calls());
    if !offloaded.is_empty() {
        tracing::info!("calls made by threads of this worker: {offloaded}");
    }
}
