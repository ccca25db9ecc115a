//! From configuration to the first fork, the first time and after each reload.
//!
//! Must not know what happens to workers later. Invariant: before a first start every problem is reported with one line
//! and exit code 1; after a reload no problem ends the server, because old workers are serving: a failure is kept and
//! reported.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit, setrlimit};

use super::console::{Console, Daemon, daemonize};
use super::control::{MasterEnd, ToMaster};
use super::extras_state::Extras;
use super::handover::{Handover, Heir};
use super::identity::{self, Identity};
use super::launch::Launch;
use super::link_state::Link;
use super::listen::Listener;
use super::notify::Notify;
use super::pidfile::PidFile;
use super::reload_state::Reload;
use super::renewal_state::Renewal;
use super::signal::{Signals, prepare_worker};
use super::worker_process::{Stage, Worker, WorkerSlot};
use super::{Master, MasterTls, Outcome, WorkerSetup, fork};
use crate::acme::{self, Challenges, Storage};
use crate::board::Board;
use crate::bus::Bus;
use crate::config::{Config, ListenAddress, Mode, RunAs};
use crate::flags::Settings;
use crate::link::LinkSetup;
use crate::tls::{self, Stamps, Tickets};
use crate::watch::Watch;
use crate::{guarded_path, link, log, php, worker};
use weft_serve::Relay;

/// The extra time of an orphaned worker on top of its drain deadline before its alarm ends it.
const ORPHAN_GRACE_S: u64 = 5;

/// What a service manager tells the master alone.
const SERVICE_VARIABLES: [&str; 3] = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"];

/// Runs `weft serve`: this process is the master, and its forked children also return from here.
pub fn serve(settings: Settings) -> ExitCode {
    let prepared = match (Launch::of_this_process(), Handover::take()) {
        (Err(e), _) => Err(format!("cannot find out how weft was started: {e}")),
        (_, Err(why)) => Err(why),
        (Ok(launch), Ok(None)) => first_start(settings, launch),
        (Ok(launch), Ok(Some(handover))) => next_image(settings, launch, handover).map(Ok),
    };
    let mut master = match prepared {
        Ok(Ok(master)) => master,
        Ok(Err(code)) => return code,
        Err(why) => {
            eprintln!("weft: {why}");
            return ExitCode::FAILURE;
        }
    };
    match master.run() {
        Outcome::Exit(code) => {
            master.clean_up();
            code
        }
        Outcome::Worker(setup) => {
            let identity = master.identity.take();
            // Closes all of the master's descriptors: above all other workers' control ends, because those workers
            // learn of the master's death when they are closed.
            drop(master);
            run_worker(setup, identity.as_ref())
        }
        Outcome::Link(setup) => {
            let identity = master.identity.take();
            drop(master);
            run_link(setup, identity.as_ref())
        }
    }
}

/// The first start; an `Err` inside is the exit code of a daemon's parent.
fn first_start(settings: Settings, launch: Launch) -> Result<Result<Master, ExitCode>, String> {
    let config = settings.load().map_err(|mistakes| mistakes.join("\nweft: "))?;
    php::check_application(&config)?;
    let identity = look_up(&config)?;
    let console = match config.server.daemon.then(daemonize) {
        None => Console::Stderr,
        Some(Ok(Daemon::Inside(console))) => console,
        Some(Ok(Daemon::Outside(code))) => return Ok(Err(code)),
        Some(Err(e)) => return Err(format!("cannot go into the background: {e}")),
    };
    raise_descriptor_limit();
    let mode = Mode::of(&config);
    let mut master = Master::new(config, launch, console, mode, None)?;
    master.identity = identity;
    // From here on a daemon's output goes to its parent.
    match master.set_up(None).and_then(|()| master.start_engine()) {
        Ok(()) => {
            let tls = master.tls.as_ref().map(|tls| tls::uncovered(&master.config, &tls.ready.certificates));
            let warnings = tls.into_iter().flatten().chain(php::warnings_of_application(&master.config));
            warnings.for_each(|line| tracing::warn!("{line}"));
            master.want_everywhere();
            master.say_screen();
            Ok(Ok(master))
        }
        Err(why) => {
            master.console.say(&format!("weft: {why}\n"));
            master.clean_up();
            Ok(Err(ExitCode::FAILURE))
        }
    }
}

/// The new image of a running master.
fn next_image(settings: Settings, launch: Launch, handover: Handover) -> Result<Master, String> {
    let (config, mistakes) = match settings.load() {
        Ok(config) => (config, None),
        // It was valid when it was checked a moment ago.
        Err(mistakes) => (Config::default(), Some(mistakes.join("; "))),
    };
    let mode = Mode::of(&config);
    // Another version of weft may have another one: then what old workers publish reaches only them.
    let bus = Bus::adopt(handover.bus);
    let mut master = Master::new(config, launch, Console::Parent(None), mode, bus)?;
    guarded_path::distrust(handover.user);
    master.generation = handover.generation + 1;
    master.reload = Reload::continued(handover.begun, handover.pending, handover.slots);
    master.announced = true;
    master.workers = handover.workers.into_iter().map(adopt).collect();
    master.pid_file = handover.pid_file.map(|(path, fd)| PidFile::adopt(path, fd));
    master.retired = handover.listeners;
    let started = match mistakes {
        Some(mistakes) => Err(mistakes),
        None => {
            let prepared = look_up(&master.config)
                .map(|identity| master.identity = identity)
                .and_then(|()| master.set_up(handover.tickets));
            // Started even if something else failed, because dead workers must be replaced.
            let engine = master.start_engine();
            prepared.and(engine)
        }
    };
    match started {
        Ok(()) => master.want_everywhere(),
        Err(why) => {
            // The log itself may be what failed.
            let _ = log::start_master(&master.config, master.identity.as_ref());
            master.fail_reload(&why);
        }
    }
    Ok(master)
}

fn adopt(heir: Heir) -> Worker {
    let stage = match heir.drain_left_ms {
        Some(ms) => Stage::Draining { until: Instant::now() + Duration::from_millis(ms) },
        None => Stage::Ready,
    };
    Worker::new(heir.pid, heir.slot, heir.generation, stage, MasterEnd::adopt(heir.control))
}

fn look_up(config: &Config) -> Result<Option<Identity>, String> {
    let identity = identity::of_workers(config)?;
    if let Some(identity) = &identity {
        guarded_path::distrust(identity.uid);
    }
    Ok(identity)
}

/// The soft limit on descriptors is a default for programs that use select(2); ours is the hard one.
fn raise_descriptor_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Raising to the hard limit is always allowed; if a sandbox forbids it, the screen shows the actual limit.
    let _ = setrlimit(Resource::Nofile, limit);
}

impl Master {
    fn new(
        config: Config,
        launch: Launch,
        console: Console,
        mode: Mode,
        bus: Option<Bus>,
    ) -> Result<Self, String> {
        let signals = Signals::take().map_err(|e| format!("cannot watch signals: {e}"))?;
        let notify = Notify::from_environment();
        let relay = Relay::new().map_err(|e| format!("no sockets between workers: {e}"))?;
        let board = Board::new().map_err(|e| format!("no memory that workers share: {e}"))?;
        let workers = mode.workers(&config) + mode.extra_workers(&config);
        let bus = bus.map_or_else(|| Bus::new(config.topics.bytes, workers), Ok);
        let bus = bus.map_err(|e| format!("no memory for topics: {e}"))?;
        let master = Master {
            extras: Extras::default(),
            relay,
            board,
            bus: Box::leak(Box::new(bus)),
            mode,
            launch,
            engine: None,
            identity: None,
            signals,
            listeners: Vec::new(),
            retired: Vec::new(),
            pid_file: None,
            tls: None,
            renewal: Renewal::new(),
            link: Link::new(),
            slots: (0..mode.workers(&config)).map(|_| WorkerSlot::default()).collect(),
            workers: Vec::new(),
            generation: 1,
            reload: Reload::default(),
            stopping: false,
            announced: false,
            failure: None,
            next_alive: notify.watchdog.map(|every| Instant::now() + every),
            notify,
            watch: None,
            console,
            config: Arc::new(config),
        };
        master.introduce();
        Ok(master)
    }

    /// Sets up TLS, pid file, sockets, logs and watch. `tickets` are those of an earlier image.
    fn set_up(&mut self, tickets: Option<OwnedFd>) -> Result<(), String> {
        let config = Arc::clone(&self.config);
        let wants_tls = config.wants_tls();
        let set_up = || MasterTls::set_up(&config, tickets);
        self.tls = wants_tls.then(set_up).transpose()?;
        if let (None, Some(path)) = (&self.pid_file, &config.server.pid_file) {
            self.pid_file = Some(PidFile::acquire(path)?);
        }
        self.bind(&config)?;
        log::start_master(&config, self.identity.as_ref())?;
        self.say_what_stays();
        if !config.dev.watch.is_empty() {
            let of_sites = config.sites.iter().map(|site| &site.config);
            let of_sites = of_sites.flat_map(|own| [&own.server.application, &own.resident.script]);
            let applications = of_sites.chain([&config.server.application]).flatten();
            self.watch = Some(Watch::start(&config.dev.watch, applications)?);
        }
        Ok(())
    }

    fn start_engine(&mut self) -> Result<(), String> {
        let started = php::engine_start(&self.config);
        let engine = started.map_err(|why| format!("PHP did not start: {why}"))?;
        php::Support::warning()
            .into_iter()
            .chain(engine.unisolated.warning())
            .for_each(|line| tracing::warn!("{line}"));
        php::check_settings(&self.config)?;
        let without_instances = engine.without_instances.clone();
        self.engine = Some(engine);
        without_instances.map_or(Ok(()), |reason| self.do_without_instances(&reason))
    }

    /// Uses workers that have one request in PHP at a time, and more of them if weft chooses the number.
    fn do_without_instances(&mut self, reason: &str) -> Result<(), String> {
        if self.config.has_site_applications() {
            return Err(format!("no PHP instances: {reason}; each site with an application needs its own"));
        }
        tracing::warn!("no PHP instances: {reason}; each worker runs one request at a time");
        let config = Arc::make_mut(&mut self.config);
        config.classic.instances_max = 1;
        if self.mode == Mode::Resident {
            // The mode may have followed from the number of instances alone.
            config.server.run_as = RunAs::Resident;
        }
        let (workers, backlog) = (self.mode.workers(&self.config), self.config.server.backlog);
        self.slots.resize_with(workers, WorkerSlot::default);
        self.listeners.iter_mut().try_for_each(|listener| listener.spread(workers, backlog))
    }

    /// A reload keeps the pid file, because commands that wait for the outcome look there.
    fn say_what_stays(&self) {
        let Some(held) = self.pid_file.as_ref().map(PidFile::path) else { return };
        let configured = self.config.server.pid_file.as_deref().and_then(|p| std::path::absolute(p).ok());
        if configured.as_deref() != Some(held) {
            tracing::warn!("pid_file stays {} until the next start", held.display());
        }
    }

    /// Binds the configured addresses, and takes over the sockets of an earlier image.
    fn bind(&mut self, config: &Config) -> Result<(), String> {
        let (workers, backlog) = (self.slots.len(), config.server.backlog);
        for address in &config.server.listen {
            if self.retired.iter().any(|l| is_other_kind(&l.configured, address)) {
                return Err(format!(
                    "{address}: the port was for {} until now; restart instead of reloading, or choose another port",
                    if address.is_admin() { "clients" } else { "the operator" }
                ));
            }
            let Some(known) = self.retired.iter().position(|l| l.configured.is_same_place(address)) else {
                let shares_port =
                    address.port().is_some() && self.ports().any(|port| Some(port) == address.port());
                self.listeners.push(Listener::bind(address, workers, backlog, shares_port)?);
                continue;
            };
            // Kept even if a later step fails, because old workers accept from it.
            let listener = self.retired.remove(known);
            self.listeners.push(listener);
            let listener = self.listeners.last_mut().expect("it was just pushed");
            listener.rename(address)?;
            listener.spread(workers, backlog)?;
        }
        Ok(())
    }

    /// The ports that an earlier image bound.
    fn ports(&self) -> impl Iterator<Item = u16> {
        self.retired.iter().filter_map(|listener| listener.configured.port())
    }

    fn want_everywhere(&mut self) {
        let now = Instant::now();
        self.slots.iter_mut().for_each(|slot| slot.wanted = Some(now));
    }
}

/// Whether one of two addresses at the same place is for the operator, and one for clients: both would get connections.
fn is_other_kind(one: &ListenAddress, other: &ListenAddress) -> bool {
    one.is_admin() != other.is_admin() && one.port().is_some() && one.tcp() == other.tcp()
}

impl MasterTls {
    fn set_up(config: &Config, tickets: Option<OwnedFd>) -> Result<MasterTls, String> {
        let (tickets, kept) = match tickets.and_then(Tickets::adopt) {
            Some(adopted) => adopted,
            None => Tickets::new()?,
        };
        acme::certify_locally(config)?;
        let has_names = !config.acme_names().is_empty();
        let challenges = has_names
            .then(|| {
                Storage::open(&acme::directory_of(config, false))
                    .and_then(|storage| Challenges::open(&storage))
            })
            .transpose()?
            .map(Arc::new);
        let stamps = Stamps::of(config);
        let ready =
            tls::configure(config, &tickets, challenges).map_err(|mistakes| mistakes.join("\nweft: "))?;
        Ok(MasterTls { ready, tickets, kept, stamps })
    }
}

/// The forked child: drops the master's privileges and settings, then works.
fn run_worker(setup: WorkerSetup, identity: Option<&Identity>) -> ExitCode {
    let prepared = prepare(&setup, identity);
    if let Err(message) = prepared {
        // If the master is gone too, the message has no reader.
        let _ = setup.control.send(&ToMaster::Fatal { message });
        return ExitCode::FAILURE;
    }
    let code = worker::run(setup);
    log::finish();
    code
}

/// The forked child that is the link to other hosts.
fn run_link(setup: LinkSetup, identity: Option<&Identity>) -> ExitCode {
    let name = std::ffi::CString::new(link::NAME).unwrap_or_default();
    let _ = rustix::thread::set_name(&name);
    for variable in SERVICE_VARIABLES {
        fork::remove_variable(variable);
    }
    let assumed = identity
        .map_or(Ok(()), Identity::assume)
        .map_err(|e| format!("cannot become the workers' user: {e}"));
    if let Err(why) = assumed.and_then(|()| log::start_link(&setup.config)) {
        tracing::error!("the link to other hosts cannot start: {why}");
        return ExitCode::FAILURE;
    }
    link::run(setup)
}

fn prepare(setup: &WorkerSetup, identity: Option<&Identity>) -> Result<(), String> {
    let name = format!("weft: worker {}\0", setup.slot);
    if let Ok(name) = std::ffi::CStr::from_bytes_with_nul(name.as_bytes()) {
        // The kernel truncates it to 15 bytes; a wrong name in ps does no harm.
        let _ = rustix::thread::set_name(name);
    }
    for variable in SERVICE_VARIABLES {
        fork::remove_variable(variable);
    }
    if let Some(identity) = identity {
        identity.assume().map_err(|e| format!("cannot become the workers' user: {e}"))?;
        identity.variables().iter().for_each(|(name, value)| fork::set_variable(name, value));
    } else {
        // Service managers may leave them out.
        let missing = |(name, _): &&(&str, OsString)| std::env::var_os(name).is_none();
        let own = identity::own_variables().unwrap_or_default();
        own.iter().filter(missing).for_each(|(name, value)| fork::set_variable(name, value));
    }
    // Where PHP code finds them: php/src/Internal/Publisher.php.
    let topics = &setup.config.topics;
    if let Some(address) = &topics.publish_to {
        fork::set_variable("WEFT_TOPICS_PUBLISH_TO", address.to_string().as_ref());
    }
    if let Some(token) = &topics.publish_token {
        fork::set_variable("WEFT_TOPICS_PUBLISH_TOKEN", token.as_ref());
    }
    // After privileges are dropped, because that clears the parent-death signal (prctl(2)).
    let grace_s = setup.config.server.drain_timeout_ms.div_ceil(1000) + ORPHAN_GRACE_S;
    prepare_worker(u32::try_from(grace_s).unwrap_or(u32::MAX));
    log::start_worker(&setup.config, setup.slot)
}
