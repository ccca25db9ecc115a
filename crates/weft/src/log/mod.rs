//! Error log (through `tracing`) and access log of this process.
//!
//! Must not know requests, coroutines or PHP. Invariant: the master writes directly, because it must stay
//! single-threaded to fork. A worker passes lines to a writer thread and never waits for a file. A child that a
//! worker's request has forked has no such thread, and writes directly as well. To the code that logs, all are the
//! same. A forked child takes no lock of a queue: a thread may have held it at the fork, and does not exist there to
//! release it.
#![allow(unsafe_code)]

mod access;
mod access_log;
mod clock;
mod line;
mod output;
mod queue;
mod sparse;

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use tracing::level_filters::LevelFilter;
use tracing::span;

pub use access::{Access, request_line};
use access_log::AccessLog;
use output::{Output, Target};
use queue::Queue;
pub use sparse::Sparse;

use crate::config::{Config, Format, Level, Log, LogTarget};
use crate::master::identity::Identity;

/// How long a process that ends waits for its logs.
const FINISH_PATIENCE: Duration = Duration::from_secs(2);

/// The destination of this process's error log.
enum Sink {
    /// With the number of lines dropped since the last written one.
    Direct(Output, AtomicU64),
    /// With the target that a forked child uses instead.
    Queue(Arc<Queue>, Target<'static>, AtomicU64),
}

struct Process {
    sink: Sink,
    name: String,
    form: Format,
}

impl Process {
    fn name(&self) -> Cow<'_, str> {
        if is_forked() { format!("child of {}", self.name).into() } else { self.name.as_str().into() }
    }

    /// Neither a full disk nor a stuck reader may stop the process.
    fn write_direct(&self, output: Target<'_>, lost: &AtomicU64, text: &str) {
        let before = lost.load(Ordering::Relaxed);
        if before > 0 {
            let told = line::plain(self.form, "WARN", &self.name(), &dropped_text(before, "error_log"));
            if output.write_soon(told.as_bytes()).is_err() {
                lost.fetch_add(1, Ordering::Relaxed);
                return;
            }
            lost.store(0, Ordering::Relaxed);
        }
        if output.write_soon(text.as_bytes()).is_err() {
            lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Written only while the process has one thread, and only read from then on: so a fork never happens during a
/// write.
static PROCESS: RwLock<Option<Process>> = RwLock::new(None);
/// Whether this is a child that a request has forked.
static FORKED: AtomicBool = AtomicBool::new(false);
static ACCESS: OnceLock<AccessLog> = OnceLock::new();

/// Starts the master's error log: direct, no thread. Creates the files to which workers will write, and gives the new
/// ones to the workers' user.
///
/// # Errors
/// One line with the path that cannot be written.
pub fn start_master(config: &Config, identity: Option<&Identity>) -> Result<(), String> {
    let log = &config.log;
    let output = Output::open(&log.error_log, config.server.daemon)?;
    give_away(&output, identity)?;
    prepare_access(config, identity)?;
    let sink = Sink::Direct(output, AtomicU64::new(0));
    install(log, Process { sink, name: "master".into(), form: log.format });
    Ok(())
}

/// Starts a worker's logs, each with its writer thread. Called once in the child, after the fork and after privileges
/// were dropped.
///
/// # Errors
/// One line with the path that cannot be written, or why a thread could not be started.
pub fn start_worker(config: &Config, slot: usize) -> Result<(), String> {
    let log = &config.log;
    let no_thread = |e: std::io::Error| format!("no thread for a log: {e}");
    let (form, name) = (log.format, format!("worker {slot}"));
    let dropped_by = name.clone();
    let dropped = Box::new(move |n| line::plain(form, "WARN", &dropped_by, &dropped_text(n, "error_log")));
    let output = Output::open(&log.error_log, config.server.daemon)?;
    // SAFETY: the writer thread owns it, and ends when the process does.
    let target = unsafe { output.forever() };
    let queue = Queue::start("weft-log", vec![output], log.queue_bytes_max, Duration::ZERO, dropped)
        .map_err(no_thread)?;
    install(log, Process { sink: Sink::Queue(queue, target, AtomicU64::new(0)), name, form });
    let dropped = |lines| tracing::warn!("{}", dropped_text(lines, "access_log"));
    if let Some(access) = AccessLog::start(config, slot, dropped)? {
        // A process becomes a worker once.
        let _ = ACCESS.set(access);
    }
    Ok(())
}

/// Starts the log of the link to other hosts: direct, no thread. Called once in the child, after privileges were dropped.
///
/// # Errors
/// One line with the path that cannot be written.
pub fn start_link(config: &Config) -> Result<(), String> {
    let log = &config.log;
    let output = Output::open(&log.error_log, config.server.daemon)?;
    install(
        log,
        Process { sink: Sink::Direct(output, AtomicU64::new(0)), name: "link".into(), form: log.format },
    );
    Ok(())
}

/// In a child that a request has forked: from here on its lines are written directly, and it has no access log.
pub fn become_forked() {
    FORKED.store(true, Ordering::Relaxed);
}

/// Whether this is a child that a request has forked: it has none of the worker's threads.
pub fn is_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

fn dropped_text(lines: u64, log: &str) -> String {
    format!("{lines} lines dropped: {log} is written faster than its target accepts it")
}

/// Logs one answered request; never waits. Does nothing while the access log is off.
pub fn access(access: &Access<'_>) {
    if let Some(log) = ACCESS.get().filter(|_| !is_forked()) {
        log.write(access);
    }
}

/// Whether [`access()`] does anything, for callers that would have to collect its values.
pub fn access_is_on() -> bool {
    ACCESS.get().is_some()
}

/// Reopens a worker's log files after they were renamed; the writer threads do it.
pub fn reopen() {
    if let Some(log) = ACCESS.get() {
        log.queue.reopen();
    }
    let process = PROCESS.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(Process { sink: Sink::Queue(queue, ..), .. }) = &*process {
        queue.reopen();
    }
}

/// Reopens the master's log file and creates the new files for the workers, before these are told to open them.
pub fn reopen_master(config: &Config, identity: Option<&Identity>) {
    let mut process = PROCESS.write().unwrap_or_else(PoisonError::into_inner);
    let mut given = Ok(());
    if let Some(Process { sink: Sink::Direct(output, _), .. }) = process.as_mut() {
        output.reopen();
        given = give_away(output, identity);
    }
    // Released, because the following code logs.
    drop(process);
    if let Err(why) = given.and_then(|()| prepare_access(config, identity)) {
        tracing::warn!("{why}");
    }
}

/// Creates the access log's files, to which only workers write, so that they can be given to their user.
fn prepare_access(config: &Config, identity: Option<&Identity>) -> Result<(), String> {
    let files = access_log::targets(config).into_iter().filter(|target| matches!(target, LogTarget::File(_)));
    files.map(Output::open_access).try_for_each(|output| give_away(&output?, identity))
}

/// Waits briefly until everything logged is written. Called before a process ends.
pub fn finish() {
    if is_forked() {
        return;
    }
    if let Some(log) = ACCESS.get() {
        log.queue.finish(FINISH_PATIENCE);
    }
    let process = PROCESS.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(Process { sink: Sink::Queue(queue, ..), .. }) = &*process {
        queue.finish(FINISH_PATIENCE);
    }
}

fn install(log: &Log, process: Process) {
    *PROCESS.write().unwrap_or_else(PoisonError::into_inner) = Some(process);
    let level = if log.error_log == LogTarget::Off { LevelFilter::OFF } else { filter(log.level) };
    // The second time, in a worker, the master's subscriber still exists and finds the new process.
    let _ = tracing::subscriber::set_global_default(Lines(level));
}

fn filter(level: Level) -> LevelFilter {
    match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    }
}

fn give_away(output: &Output, identity: Option<&Identity>) -> Result<(), String> {
    let Some(identity) = identity.filter(|_| rustix::process::geteuid().is_root()) else { return Ok(()) };
    // An existing file has the owner that the operator wants, or another process has put it there.
    let Some(file) = output.new_file() else { return Ok(()) };
    let (uid, gid) = (rustix::fs::Uid::from_raw(identity.uid), rustix::fs::Gid::from_raw(identity.gid));
    rustix::fs::fchown(file, Some(uid), Some(gid))
        .map_err(|e| format!("cannot make the workers' user the owner of a log: {e}"))
}

/// The process's `tracing` subscriber: each event becomes a line at once; spans are dropped.
struct Lines(LevelFilter);

impl tracing::Subscriber for Lines {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        // What libraries say matters to those who look into weft; what follows from it, weft says itself.
        let is_ours = metadata.target().starts_with("weft") || self.0 >= LevelFilter::DEBUG;
        *metadata.level() <= self.0 && is_ours
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.0)
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let process = PROCESS.read().unwrap_or_else(PoisonError::into_inner);
        let Some(process) = process.as_ref() else { return };
        let text = line::format(event, &process.name(), process.form);
        match &process.sink {
            Sink::Direct(output, lost) => process.write_direct(output.target(), lost, &text),
            Sink::Queue(_, target, lost) if is_forked() => process.write_direct(*target, lost, &text),
            Sink::Queue(queue, ..) => queue.push(0, |out| out.extend_from_slice(text.as_bytes())),
        }
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}
