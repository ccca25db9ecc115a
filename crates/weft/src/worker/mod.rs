//! A worker: one process, one thread that touches Zend, one loop.
//!
//! It boots the application, then serves until its master tells it to drain, its master is gone, or SIGTERM arrives. It
//! must not know how it was forked. Invariant: everything that has a descriptor or a thread is created here, after the
//! fork.

mod crash;
mod descriptors;
mod drain;
mod insight;
mod late;
mod listen;
pub mod lost;
mod mappings;
mod recycle;
mod signals;
mod slow;
mod stuck;
mod surplus;

use std::cell::{Cell, RefCell};
use std::os::fd::AsRawFd;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use weft_rt::reactor::Event;
use weft_rt::runtime::DRIVER_KEY;
use weft_rt::urgency::Urgency;
use weft_rt::{Driver, Job, MILLISECOND, Nanos, Runtime, SECOND, clock};
use weft_serve::{Relay, Server};
use weft_zend::{Engine, InstanceSwitch};

use self::drain::Drain;
use self::late::Late;
use self::mappings::within_mappings;
use self::recycle::Recycle;
use self::signals::Signals;
pub use self::signals::busy_with;
use self::slow::Slow;
use self::surplus::Surplus;
use crate::admin::{self, Admin};
use crate::board::{Board, Page};
use crate::bus::{self, Bus, Presence};
use crate::config::{Config, Mode};
use crate::master::WorkerSetup;
use crate::master::control::{ControlEnd, EVERY_SLOT, Received, Status, ToMaster, ToWorker};
use crate::master::listen::BoundListener;
use crate::php;
use crate::profile;
use crate::tls::Ready;

/// Keys of the worker's own descriptors; the server's are above.
const CONTROL_KEY: u64 = DRIVER_KEY;
const SIGNAL_KEY: u64 = DRIVER_KEY + 1;
const BUS_KEY: u64 = DRIVER_KEY + 2;

/// How often the worker reports to the master, and considers recycling.
const STATUS_EVERY: Nanos = SECOND;
/// How long an instance waits at least before it returns memory that it does not need meanwhile; at most twice as long.
/// Each page that is used again is a fault: shorter intervals would pay that too often.
const LOOK_EVERY: Nanos = 100 * MILLISECOND;

/// Boots the application and serves; the exit code is the process's.
pub fn run(setup: WorkerSetup) -> ExitCode {
    let control = Rc::new(setup.control);
    let sockets = (setup.listeners, setup.https_port, setup.tls);
    let booted = Worker::boot(
        Arc::clone(&setup.config),
        Rc::clone(&control),
        sockets,
        setup.relay,
        (setup.board, setup.page, setup.bus, setup.slot),
    );
    let worker = match booted {
        Ok(worker) => worker,
        Err(message) => {
            tracing::error!("{message}");
            let _ = control.send(&ToMaster::Fatal { message });
            crate::log::finish();
            return ExitCode::FAILURE;
        }
    };
    let _ = control.send(&ToMaster::Ready);
    worker.runtime.run(&worker);
    worker.end()
}

/// The loop's driver: the server, the connection to the master, signals, and what happens every second.
struct Worker {
    runtime: &'static Runtime,
    server: &'static Server,
    /// The numbers of what it serves, also for others.
    services: Vec<u32>,
    control: Rc<ControlEnd>,
    signals: Signals,
    drain: RefCell<Drain>,
    /// How long the next drain lets tunnels stay.
    keep_ms: Cell<u64>,
    recycle: RefCell<Recycle>,
    late: Late,
    slow: Slow,
    surplus: Surplus,
    urgency: Arc<Urgency>,
    next_status: Cell<Nanos>,
    next_look: Cell<Nanos>,
    look_again: Cell<bool>,
    config: Arc<Config>,
    page: &'static Page,
    presence: &'static Presence,
    admin: Option<&'static Admin>,
}

impl Worker {
    fn boot(
        config: Arc<Config>,
        control: Rc<ControlEnd>,
        (listeners, https_port, tls): (Vec<BoundListener>, Option<u16>, Option<Ready>),
        relay: Relay,
        (board, page, bus, slot): (&'static Board, Option<&'static Page>, &'static Bus, usize),
    ) -> Result<Worker, String> {
        descriptors::make_room();
        let signals = Signals::block()?;
        let booted = php::boot(&config)?;
        let (coroutines_max, tasks_max) =
            within_mappings(config.limits.coroutines_max, config.limits.tasks_max);
        let defaults = weft_rt::SchedulerLimits::default();
        let limits = weft_rt::SchedulerLimits {
            coroutines_max: booted.instances.unwrap_or(coroutines_max),
            idle_max: booted.instances.unwrap_or(defaults.idle_max),
            tasks_max,
            queue_max: config.limits.queue_max,
            queue_wait_max: config.limits.queue_timeout_ms.saturating_mul(MILLISECOND),
            slice: slice(&config),
            run_max: config.limits.request_timeout_ms.saturating_mul(MILLISECOND),
            ..defaults
        };
        let failed = |error: rustix::io::Errno| format!("the event loop cannot be made: {error}");
        let page: &'static Page = page.unwrap_or_else(|| Box::leak(Box::default()));
        page.room.set(limits.coroutines_max);
        let runtime =
            Runtime::start_counting(booted.switch, limits, &page.counted.runtime).map_err(failed)?;
        weft_rt::hook::keep_families_apart();
        let mode = Mode::of(&config);
        let hands_over = mode.workers(&config) + mode.extra_workers(&config) > 1;
        let reporter = hands_over.then(|| control.hold_reporter()).transpose();
        let (reporter, tell) = reporter.map_err(|error| format!("no descriptor: {error}"))?.unzip();
        // Each of them MUST stay open: a forked child loses what has the number.
        let own = [Some(control.fd().as_raw_fd()), Some(signals.fd()), reporter];
        weft_rt::hook::on_forked_child_begin(move || {
            crate::log::become_forked();
            php::become_forked().into_iter().chain(own.into_iter().flatten()).collect()
        });
        weft_rt::hook::yield_at_calls(config.dev.yield_at_calls);
        weft_rt::hook::on_connect(php::service_of_connection);
        if steps(&config) {
            InstanceSwitch::step(config.dev.yield_at_instructions);
            runtime.end_each_slice();
        }
        if !config.sites.is_empty() {
            runtime.limit_runs(php::run_max);
        }
        insight::begin(runtime, &config, (board, page, slot))?;
        admin::tell_php(&config, board);
        runtime.start_slices().map_err(|error| format!("no thread for time slices: {error}"))?;
        weft_rt::hook::on_forked_child_end(|| signals::exit_now(i32::from(Engine::exit_status())));
        let presence: &'static Presence = Box::leak(Box::new(Presence::join(bus)));
        let admin = Admin::new(&config, board, presence.post).map(|admin| &*Box::leak(Box::new(admin)));
        let server = php::serve(
            runtime,
            &config,
            (https_port, tls.as_ref()),
            (admin, &page.counted.server, presence),
        )?;
        php::start_tasks();
        let listening = listen::listen(server, listeners, tls.as_ref(), &config)?;
        let urgency = Arc::new(Urgency::of_this_thread());
        if let Some(mut tell) = tell {
            let of_loop = Arc::clone(&urgency);
            let deputy = server.hand_over(
                relay,
                Box::new(move |is_held| {
                    of_loop.set_held(is_held);
                    tell(is_held);
                }),
            );
            deputy
                .and_then(|deputy| weft_rt::held::watch(runtime, deputy))
                .map_err(|error| format!("no deputy for the loop: {error}"))?;
        } else {
            server.leave_at_failure(relay).map_err(|error| format!("no way out of this worker: {error}"))?;
        }
        crash::prepare(runtime, server, control.fd().as_raw_fd());
        RUNTIME.set(Some(runtime));
        lost::serving(control.fd().as_raw_fd(), &listening.sockets, requests);
        let add = |fd, key| runtime.with_reactor(|reactor| reactor.add(fd, key)).map_err(failed);
        add(control.fd().as_raw_fd(), CONTROL_KEY)?;
        add(signals.fd(), SIGNAL_KEY)?;
        let post = presence.post;
        post.member.bells().try_for_each(|bell| add(bell.as_raw_fd(), BUS_KEY))?;
        server.watch_topics(move |topic, has_subscribers| match has_subscribers {
            true => post.begin_topic(topic),
            false => post.member.end_topic(topic),
        });
        stuck::watch(&config, php::request_names(presence))
            .start(runtime.heartbeat)
            .map_err(|error| format!("no thread for the watch: {error}"))?;
        let recycle = RefCell::new(Recycle::new(&config.recycle));
        let next_status = Cell::new(clock::now() + STATUS_EVERY);
        Ok(Worker {
            runtime,
            server,
            services: listening.services,
            control,
            signals,
            drain: RefCell::default(),
            keep_ms: Cell::default(),
            recycle,
            late: Late::new(&config),
            slow: Slow::new(config.limits.request_slow_ms),
            surplus: Surplus::new(board, page),
            urgency,
            next_status,
            next_look: Cell::default(),
            look_again: Cell::default(),
            config,
            page,
            presence,
            admin,
        })
    }

    /// Handles the master's messages. EOF means that the master is gone: then the worker has nothing to serve
    /// for.
    fn hear(&self) {
        loop {
            match self.control.receive() {
                Received::Nothing => return,
                Received::Message(ToWorker::Drain { deadline_ms }) => self.begin_drain(deadline_ms),
                Received::Message(ToWorker::Keep { ms }) => self.keep_ms.set(ms),
                Received::Message(ToWorker::Leave { deadline_ms }) => {
                    let way_out = self.server.way_out();
                    self.begin_drain(deadline_ms);
                    if let Some(way_out) = way_out {
                        self.server.leave_idle(&way_out);
                    }
                }
                Received::Message(ToWorker::Stop) => return self.drain.borrow_mut().stop(),
                Received::Message(ToWorker::ReopenLogs) => crate::log::reopen(),
                Received::Message(ToWorker::StandIn { slot, service }) => self.stand_in(slot, service),
                Received::Message(ToWorker::StopStandingIn { slot }) => {
                    self.server.stop_standing_in((slot != EVERY_SLOT).then_some(slot));
                }
                Received::Message(ToWorker::AcceptSingly) => self.others_compute(true),
                Received::Message(ToWorker::AcceptAll) => self.others_compute(false),
                Received::Closed => {
                    tracing::warn!("the master is gone; this worker finishes its requests and ends");
                    let _ =
                        self.runtime.with_reactor(|reactor| reactor.delete(self.control.fd().as_raw_fd()));
                    return self.begin_drain(self.config.server.drain_timeout_ms);
                }
            }
        }
    }

    /// There are further workers, because computations hold others, or there are none any more.
    fn others_compute(&self, they_do: bool) {
        self.server.accept_singly(they_do);
        self.urgency.set_others_compute(they_do);
    }

    /// Accepts on behalf of a worker that cannot, or may be held.
    fn stand_in(&self, slot: u64, service: u64) {
        let Some(socket) = self.control.take_socket().filter(|_| self.drain.borrow().is_serving()) else {
            return;
        };
        let address = rustix::net::getsockname(&socket).ok().and_then(|address| address.try_into().ok());
        let Some(address) = address else { return };
        let service = usize::try_from(service).ok().and_then(|place| self.services.get(place));
        let Some(service) = service else {
            tracing::warn!("cannot accept for worker {slot}: {address} is not configured here");
            return;
        };
        if let Err(error) = self.server.stand_in(socket, weft_serve::Endpoint::Tcp(address), (*service, slot))
        {
            tracing::warn!("cannot accept for worker {slot}: {error}");
        }
    }

    fn begin_drain(&self, deadline_ms: u64) {
        lost::sockets_are_closed();
        self.server.stop_accepting();
        let keep = self.keep_ms.take().min(deadline_ms) * MILLISECOND;
        self.server.drain(keep);
        self.drain.borrow_mut().begin(clock::now() + deadline_ms * MILLISECOND, keep);
        // If the socket is full, the master does not read; it waits for this only for a while.
        let _ = self.control.send(&ToMaster::AcceptsNoMore);
    }

    fn status(&self) -> Status {
        let shares = php::gate().map_or(0, |gate| gate.waiting());
        Status {
            requests: self.server.stats.requests.get(),
            live: self.runtime.stats.live.get() as u64,
            connections: self.server.connections() as u64,
            queued: (self.runtime.queued() + self.server.unread() + shares) as u64,
            memory_bytes: weft_rt::memory::resident_bytes(),
            blocked: self.runtime.stats.blocked.get(),
        }
    }

    fn every_second(&self) {
        bus::look(self.presence, self.server);
        let status = self.status();
        // A full socket only means that the master is busy; the next figures follow in a second.
        let _ = self.control.send(&ToMaster::Status(status));
        InstanceSwitch::trim(Duration::from_millis(self.config.classic.instances_idle_ms));
        self.runtime.trim_contexts();
        self.runtime.offer_place();
        if let Some(admin) = self.admin {
            admin.every_second(self.runtime, self.server);
        }
        if let Some(reason) = self.recycle.borrow_mut().due(&status) {
            self.ask_for_replacement(reason);
        }
    }

    fn ask_for_replacement(&self, reason: String) {
        let _ = self.control.send(&ToMaster::Recycle { reason });
    }

    /// After the loop: the application's shutdown functions and destructors, then the logs.
    fn end(&self) -> ! {
        self.presence.post.member.leave();
        let report = self.drain.borrow().report(self.runtime);
        drain::report_calls();
        let untaken = self.server.untaken();
        if untaken > 0 {
            tracing::warn!(
                "the worker ends: {untaken} responses were cut off before their clients had read them completely"
            );
        }
        if let Some(report) = &report {
            tracing::error!("{report}");
        } else {
            Runtime::forget();
            php::end();
        }
        php::finish_traces();
        crate::log::finish();
        // No exit handlers: those of the libraries that PHP loaded expect PHP to be shut down, which parked coroutines
        // forbid.
        signals::exit_now(i32::from(report.is_some()))
    }
}

impl Driver for Worker {
    fn event(&self, event: Event) {
        match event.key {
            CONTROL_KEY => self.hear(),
            SIGNAL_KEY => {
                if self.signals.take() {
                    self.begin_drain(self.config.server.drain_timeout_ms);
                }
            }
            BUS_KEY => self.presence.post.hear_bell(),
            _ => self.server.event(event),
        }
    }

    fn turn(&self, now: Nanos) {
        php::admit_waiting(self.runtime, now);
        if let Some(gate) = php::gate() {
            self.page.waiting.set(gate.waiting());
        }
        bus::turn(self.presence, self.server, now);
        if let Some(admin) = self.admin {
            admin.turn(self.server, now);
        }
        self.server.turn(now);
        bus::note_ended(self.presence, self.server);
        InstanceSwitch::turn();
        if let Some(reason) = php::replacement_wanted() {
            self.ask_for_replacement(reason);
        }
        if now >= self.next_status.get() {
            self.next_status.set(now + STATUS_EVERY);
            self.every_second();
        }
        self.late.turn(now, self.runtime);
        self.slow.turn(now, self.runtime);
        self.surplus.turn(now, (self.runtime, self.server));
        profile::turn(now);
        if now >= self.next_look.get() {
            self.next_look.set(now + LOOK_EVERY);
            self.look_again.set(InstanceSwitch::look());
        }
        self.drain.borrow_mut().turn(now, self.runtime, self.server);
    }

    fn deadline(&self) -> Option<Nanos> {
        if let Some(soon) = self.presence.post.deadline(self.runtime.turn_time()) {
            return Some(soon);
        }
        let look = self.look_again.get().then(|| self.next_look.get());
        let shares = php::gate().and_then(|gate| gate.deadline());
        let slow = self.slow.deadline(self.runtime);
        let (late, surplus) =
            (self.late.deadline(self.runtime), self.surplus.deadline((self.runtime, self.server)));
        let (drain, server) = (self.drain.borrow().deadline(), self.server.deadline());
        // Not flatten(): the compiler would compare what is not there before it asks, which memcheck reports.
        let others = [look, drain, server, shares, late, slow, surplus, Some(profile::deadline())]
            .map(|deadline| deadline.unwrap_or(Nanos::MAX));
        Some(others.into_iter().fold(self.next_status.get(), Nanos::min))
    }

    fn expired(&self, job: Job) {
        php::turn_away(job);
    }

    fn takes_up(&self, job: Job) -> bool {
        php::takes_up(job)
    }

    fn finished(&self) -> bool {
        self.drain.borrow().finished()
    }
}

/// Whether slices have only a few instructions, for tests.
fn steps(config: &Config) -> bool {
    config.dev.yield_at_instructions > 0 && Mode::of(config) != Mode::Coroutine
}

/// How long PHP code computes before others run, where a request has PHP to itself.
fn slice(config: &Config) -> Nanos {
    match Mode::of(config) {
        Mode::Coroutine => 0,
        // Switches everywhere, also in the middle of code that computes.
        _ if config.dev.yield_at_calls && !config.dev.verify_instances || steps(config) => 1,
        _ => u64::try_from(config.classic.slice_ms.as_nanos()).unwrap_or(Nanos::MAX),
    }
}

thread_local! {
    /// For the handler that asks for the worker's current requests.
    static RUNTIME: Cell<Option<&'static Runtime>> = const { Cell::new(None) };
}

/// The worker's current requests.
fn requests() -> String {
    RUNTIME.get().map_or_else(String::new, |runtime| drain::in_hand(&runtime.live()))
}
