//! Joins the three crates: a request of weft-serve becomes a job of weft-rt, which weft-zend runs.
//!
//! Invariant: each request that is handed over is answered: by its job, or here if it cannot be started.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use weft_proto::{Head, Traceparent};
use weft_rt::{Account, Job, MILLISECOND, Nanos, Runtime, Spawn};
use weft_serve::{
    Handler, Peer, Refusal, RequestKey, RequestView, Server, Stats, Summary, TunnelKey, UNKNOWN,
};
use weft_zend::{Engine, JobKind};

use super::answers::{self, RETRY_AFTER};
use super::facts::{Facts, Scratch};
use super::forked::ForkedHost;
use super::front::Front;
use super::gate::{Gate, gate};
use super::job::request_of;
use super::marks;
use super::secure::Secure;
use super::server_host::ServerHost;
use super::server_limits::limits;
use super::site_choice::SiteChoice;
use super::traced;
use crate::admin::Admin;
use crate::bus::Presence;
use crate::classic::{Docroot, Route, Script, Served, Sites};
use crate::config::{Config, Mode, pools};
use crate::log::{self, Access};
use crate::routes::routes;
use crate::shares::Arrival;
use crate::tls::Ready;

/// Requests that begin in one turn because others have ended; answers are sent in between.
const PER_TURN: usize = 64;

thread_local! {
    static SERVER: Cell<Option<&'static Server>> = const { Cell::new(None) };
    static HOST: Cell<Option<&'static ServerHost>> = const { Cell::new(None) };
    static FORKED: Cell<Option<&'static ForkedHost>> = const { Cell::new(None) };
}

/// The host of this worker, once it serves.
pub fn host() -> Option<&'static ServerHost> {
    HOST.get()
}

/// In a child that a request has forked: from here on PHP finds no server. Returns the descriptors of the worker's
/// listeners and connections, which do not belong to the child.
pub fn become_forked() -> Vec<std::os::fd::RawFd> {
    if let Some(forked) = FORKED.get() {
        weft_zend::host::install(forked);
    }
    SERVER.get().map(Server::descriptors).unwrap_or_default()
}

/// Creates this worker's server and PHP's host.
///
/// # Errors
/// Why a document root cannot be served.
pub fn start(
    runtime: &'static Runtime,
    config: &Config,
    (https_port, tls): (Option<u16>, Option<&Ready>),
    (admin, stats, presence): (Option<&'static Admin>, &'static Stats, &'static Presence),
) -> Result<&'static Server, String> {
    let mode = Mode::of(config);
    let sites = mode.is_one_at_a_time().then(|| Sites::open(config)).transpose();
    let sites = sites.map_err(|mistakes| mistakes.join("; "))?;
    let sites: Option<&'static Sites> = sites.map(|sites| &*Box::leak(Box::new(sites)));
    let files = config.server.files.as_deref().map(|path| Docroot::of_files(path, config)).transpose()?;
    let begin = if sites.is_some() { u64::MAX } else { config.limits.body_begin_bytes };
    let secure = Secure::new(config, https_port);
    let hsts_s = secure.hsts_s();
    let challenges = tls.and_then(|tls| tls.challenges.clone());
    let front = Front { admin, challenges, secure, sites, trust: config.trust.clone() };
    let front = &*Box::leak(Box::new(front));
    let asks_first = files.is_some() || Gate::is_wanted(config);
    let choice = |sites| SiteChoice {
        sites,
        certificates: tls.map(|tls| Arc::clone(&tls.certificates)),
        trust: config.trust.clone(),
        scratch: RefCell::default(),
    };
    let handler = Requests {
        runtime,
        choice: sites.map(choice),
        files,
        coroutines_max: config.limits.coroutines_max,
        scratch: RefCell::default(),
        refusals: log::Sparse::default(),
        proxies: log::Sparse::default(),
        front,
    };
    let mut defaults = limits(config);
    // What a rule allows must pass the parser; the handler says what holds for a path.
    defaults.http.body_bytes_max = config.body_bytes_max();
    let limits = weft_serve::ServerLimits {
        http2_streams_max: if config.server.http2 { defaults.http2_streams_max } else { 0 },
        hsts_s,
        compress_bytes_min: config.classic.compress_bytes_min,
        compress_responses: config.server.compress_responses,
        // A script of a document root finds the whole body when it begins.
        body_begin_bytes: begin,
        ..defaults
    };
    let server = Server::counting(runtime, limits, Box::new(handler), stats);
    let host = ServerHost::new((server, presence), config, front, asks_first);
    let host = &*Box::leak(Box::new(host));
    if let Some(routes) = routes() {
        server.count_by_mark(routes.tallies());
    }
    SERVER.set(Some(server));
    HOST.set(Some(host));
    traced::serves(host);
    FORKED.set(Some(Box::leak(Box::new(ForkedHost::new(server, host)))));
    weft_zend::host::install(host);
    Gate::install(runtime, server, host, config);
    for pool in config.pools() {
        // One instance of each boots before the first request; others do when they are needed. It is not refused, because
        // nothing but the others runs yet.
        let boot = JobKind::Resident.job_in(pool.number, 0);
        if let Some(gate) = gate() {
            gate.boots(boot, runtime.turn_time());
        }
        let _ = runtime.spawn(boot);
    }
    Ok(server)
}

/// What a coroutine does, for reports to the operator: "GET /path", or "task 7, started at app.php:12".
pub fn describe(job: Job) -> String {
    if JobKind::Task.is_of(job) {
        return Engine::describe_task(job.argument);
    }
    if JobKind::Resident.is_of(job) && job.argument == 0 {
        return "a worker script that loads".to_owned();
    }
    let Some(host) = host() else { return String::new() };
    if JobKind::Event.is_of(job) { host.describe_event(job.argument) } else { host.describe(job.argument) }
}

/// Whether a job answers a request.
pub fn is_request(job: Job) -> bool {
    request_of(job).is_some()
}

/// How long a job may run where there are sites; 0: for any time.
pub fn run_max(job: Job) -> Nanos {
    let of_pool = |host: &'static ServerHost| host.settings_of_site(pools::site_of(job.pool)?);
    let of_request = |host: &'static ServerHost| host.settings_of(request_of(job)?.0);
    let site = host().and_then(|host| of_pool(host).or_else(|| of_request(host)));
    site.map_or(0, |site| site.config.limits.request_timeout_ms.saturating_mul(MILLISECOND))
}

/// What a job is charged to: the account of its request's route.
#[inline]
pub fn account_of(job: Job) -> Option<&'static Account> {
    marks::account_of(job, SERVER.get())
}

/// Why PHP wants this worker to be replaced; returned once.
pub fn replacement_wanted() -> Option<String> {
    host().and_then(ServerHost::take_replacement)
}

/// Whether a job that waited for a coroutine is still this worker's: a request may have been passed on to another.
pub fn takes_up(job: Job) -> bool {
    let Some(key) = request_of(job) else { return true };
    let is_ours = SERVER.get().is_none_or(|server| server.reclaim(key));
    if !is_ours {
        forget(job);
    }
    is_ours
}

/// Passes a job that waits for a coroutine on to another worker; false: it stays.
pub fn pass_on(job: Job) -> bool {
    let is_gone = request_of(job).zip(SERVER.get()).is_some_and(|(key, server)| server.pass_on(key));
    if is_gone {
        forget(job);
    }
    is_gone
}

/// A request will not begin here.
fn forget(job: Job) {
    if let Some(host) = HOST.get() {
        host.forget_script(job.argument);
    }
    if let Some(gate) = gate() {
        gate.ended(job);
    }
}

/// Begins the requests whose share has become free, and answers those that have waited too long for it.
pub fn admit_waiting(runtime: &Runtime, now: Nanos) {
    let Some(gate) = gate() else { return };
    for _ in 0..gate.due().min(PER_TURN) {
        if let Some(job) = gate.take_due().filter(|job| takes_up(*job)) {
            begin(runtime, job);
        }
    }
    while let Some(job) = gate.expired(now) {
        turn_away(job);
    }
}

/// Answers all that wait for their share: the worker ends.
pub fn turn_all_away() {
    let waiting = gate().map(Gate::all_waiting).unwrap_or_default();
    waiting.into_iter().for_each(turn_away);
}

fn begin(runtime: &Runtime, job: Job) {
    match runtime.spawn(job) {
        Spawn::Started => (),
        // Until its turn comes another worker may take it.
        Spawn::Queued => {
            if let Some(server) = SERVER.get() {
                server.offer_waiting(RequestKey(job.argument));
            }
        }
        Spawn::Refused => turn_away(job),
    }
}

/// Answers for a job that got no coroutine, or none in time.
pub fn turn_away(job: Job) {
    if JobKind::Task.is_of(job) {
        Engine::abandon_task(job.argument);
    } else if JobKind::Event.is_of(job) {
        if let Some(server) = SERVER.get() {
            server.postpone_event(TunnelKey(job.argument));
        }
    } else if let Some(server) = SERVER.get()
        && takes_up(job)
    {
        forget(job);
        if JobKind::Request.is_of(job) {
            server.mark_of(RequestKey(job.argument));
        }
        // Gone means that no client waits for the answer.
        let _ = server.respond_error(RequestKey(job.argument), 503, Some(RETRY_AFTER));
    }
}

/// Turns requests into jobs.
struct Requests {
    runtime: &'static Runtime,
    /// In classic and resident mode.
    choice: Option<SiteChoice>,
    /// A directory whose files are sent before a script is asked.
    files: Option<Docroot>,
    coroutines_max: usize,
    scratch: RefCell<Scratch>,
    refusals: log::Sparse,
    proxies: log::Sparse,
    front: &'static Front,
}

impl Requests {
    fn spawn(&self, job: Job) {
        let key = RequestKey(job.argument);
        let arrival = gate().map_or(Arrival::Runs, |gate| gate.pass(key, self.runtime.turn_time()));
        match arrival {
            Arrival::Runs => return begin(self.runtime, job),
            Arrival::Refused => return turn_away(job),
            Arrival::Displaces(other) => turn_away(Job { argument: other.0, ..job }),
            Arrival::Waits => (),
        }
        // Until its turn comes another worker may take it.
        if let Some(server) = SERVER.get() {
            server.offer_waiting(key);
        }
    }

    /// Lets the site of a request's host answer it.
    fn serve_site(&self, choice: &SiteChoice, key: RequestKey) {
        let Some(server) = SERVER.get() else { return };
        let found = server.with_request(key, |request| choice.of_request(request));
        match found.flatten() {
            Some((number, served)) => self.serve_docroot(served, number, key),
            // Gone means that no client waits for the answer.
            None => drop(server.respond_error(key, 421, None)),
        }
    }

    /// Sends a file, or runs a script.
    fn serve_docroot(&self, served: &Served, site: usize, key: RequestKey) {
        let (Some(server), Some(host)) = (SERVER.get(), HOST.get()) else { return };
        let docroot = &served.docroot;
        let found = |request: &RequestView<'_>| (docroot.route(request), request.session().is_some());
        let Some((answer, is_secure)) = server.with_request(key, found) else { return };
        let fields = answer.fields;
        if let Some(fields) = if is_secure { self.front.secure.promise(site, fields) } else { fields } {
            server.add_fields(key, fields);
        }
        marks::by_route(server, key, served, &answer.route);
        match answer.route {
            Route::Script(script) => {
                host.keep_script(key.0, Script { site, ..script });
                self.spawn(host.job_of(key.0));
            }
            route => answers::give(server, key, docroot, route),
        }
    }
}

impl Handler for Requests {
    fn request(&self, key: RequestKey) {
        let Some(server) = SERVER.get() else { return };
        if self.front.answer(server, key) {
            return;
        }
        if let Some(files) = &self.files {
            marks::as_file(server, key);
            if answers::give_beside(server, files, key) {
                return;
            }
            server.mark(key, 0);
        }
        match &self.choice {
            None => self.spawn(JobKind::Request.job(key.0)),
            Some(choice) => self.serve_site(choice, key),
        }
    }

    /// A document root's files are sent while all instances are busy, so requests are read to see whether they are
    /// for files.
    fn room(&self) -> usize {
        if self.choice.is_some() || self.files.is_some() { usize::MAX } else { self.runtime.room() }
    }

    fn event_room(&self) -> usize {
        self.runtime.room()
    }

    fn tunnel(&self, key: TunnelKey) {
        let job = JobKind::Event.job(key.0);
        if self.runtime.spawn(job) == Spawn::Refused {
            turn_away(job);
        }
    }

    fn turn_away(&self, key: RequestKey) {
        turn_away(JobKind::Request.job(key.0));
    }

    /// Half of the coroutines are reserved for requests that do not have to wait for their client.
    fn is_busy(&self) -> bool {
        self.runtime.room() < self.coroutines_max / 2
    }

    /// An instance serves one request at a time and should not wait for a slow client.
    fn spools_streams(&self) -> bool {
        self.choice.is_some()
    }

    fn body_bytes_max(&self, head: &Head, bytes: &[u8], peer: Peer) -> u64 {
        let Some(choice) = &self.choice else {
            return self.files.as_ref().map_or(u64::MAX, |files| files.body_bytes_max(head.path(bytes)));
        };
        let served = choice.of_head(head, bytes, peer);
        served.map_or(u64::MAX, |served| served.docroot.body_bytes_max(head.path(bytes)))
    }

    fn wants_summaries(&self) -> bool {
        log::access_is_on() || traced::is_traced()
    }

    fn mark(&self, path: &[u8]) -> u16 {
        routes().map_or(0, |routes| routes.mark_of_path(path))
    }

    fn mark_answered(&self, path: &[u8], status: u16) -> u16 {
        routes().map_or(UNKNOWN, |routes| routes.mark_of_answer(path, status))
    }

    fn traced(&self, trace: u128, duration: Nanos) {
        traced::keep_exemplar(trace, duration);
    }

    fn finished(&self, summary: &Summary<'_>) {
        let Some(host) = HOST.get() else { return };
        let request = &summary.request;
        if request.is_admin() {
            return;
        }
        let facts = Facts::of(request);
        let mut scratch = self.scratch.borrow_mut();
        host.client(&facts, &mut scratch);
        let peer = std::str::from_utf8(&scratch).unwrap_or("-");
        traced::answered(summary, host, &facts, peer);
        if !log::access_is_on() {
            return;
        }
        log::access(&Access {
            request_id: &host.id(summary.key.0),
            peer,
            method: request.method(),
            target: request.target(),
            protocol: match request.version() {
                weft_proto::Version::Http10 => "HTTP/1.0",
                weft_proto::Version::Http11 => "HTTP/1.1",
                weft_proto::Version::Http2 => "HTTP/2.0",
            },
            scheme: if host.is_https(&facts) { "https" } else { "http" },
            status: summary.status,
            bytes: summary.body_bytes,
            duration: Duration::from_nanos(summary.duration),
            site: self.front.number_of_site(&facts),
            referer: request.header("referer").unwrap_or_default(),
            user_agent: request.header("user-agent").unwrap_or_default(),
            trace: Traceparent::of_head(request.head(), request.bytes()).map(|received| received.trace),
        });
    }

    fn refused(&self, refusal: &Refusal) {
        let peer = match refusal.peer {
            Peer::Tcp(address) => address.ip().to_canonical().to_string(),
            Peer::Unix => String::new(),
        };
        let reason = refusal.reject.reason;
        self.refusals.say(|others| match others {
            0 => tracing::info!(peer, status = refusal.reject.status, "a request was refused: {reason}"),
            _ => tracing::info!(
                peer,
                status = refusal.reject.status,
                others,
                "a request was refused: {reason}"
            ),
        });
        let (method, target, protocol) = log::request_line(&refusal.line);
        log::access(&Access {
            request_id: "-",
            peer: &peer,
            method,
            target,
            protocol,
            scheme: "",
            status: refusal.reject.status,
            bytes: refusal.body_bytes,
            duration: Duration::from_nanos(refusal.duration),
            site: None,
            referer: b"",
            user_agent: b"",
            trace: None,
        });
    }

    fn proxy_refused(&self, peer: Peer, reason: &str) {
        let peer = match peer {
            Peer::Tcp(address) => address.ip().to_canonical().to_string(),
            Peer::Unix => "a Unix socket".to_owned(),
        };
        self.proxies.say(|others| {
            tracing::warn!(
                peer,
                others,
                "a connection to an address of server.proxy_protocol was closed: {reason}"
            );
        });
    }

    fn warn(&self, message: &str) {
        tracing::warn!("{message}");
    }
}
