//! Joins the three crates: a request of weft-serve becomes a job of weft-rt, which weft-zend runs.
//!
//! Invariant: each request that is handed over is answered: by its job, or here if it cannot be started.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::time::Duration;

use weft_rt::{Job, Nanos, Runtime, Spawn};
use weft_serve::{Error, Handler, Peer, Refusal, RequestKey, Root, Server, Stats, Summary};
use weft_zend::{Engine, JobKind};

use super::facts::{Facts, Scratch};
use super::file_status::status_of;
use super::forked::ForkedHost;
use super::gate::{Gate, gate};
use super::server_host::ServerHost;
use crate::admin::Admin;
use crate::classic::{Docroot, Route};
use crate::config::{Config, LimitSettings, Mode};
use crate::log::{self, Access};
use crate::shares::Arrival;

/// Requests that begin in one turn because others have ended; answers are sent in between.
const PER_TURN: usize = 64;
/// The Retry-After of refused requests, in seconds.
const RETRY_AFTER: u32 = 1;

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
    application: &Path,
    https_port: Option<u16>,
    (admin, stats): (Option<Admin>, &'static Stats),
) -> Result<&'static Server, String> {
    let mode = Mode::of(config);
    let docroot = mode.is_one_at_a_time().then(|| Docroot::open(application, config)).transpose()?;
    let docroot: Option<&'static Docroot> = docroot.map(|docroot| &*Box::leak(Box::new(docroot)));
    let begin = if docroot.is_some() { u64::MAX } else { config.limits.body_begin_bytes };
    let handler = Requests {
        runtime,
        docroot,
        coroutines_max: config.limits.coroutines_max,
        scratch: RefCell::default(),
        refusals: log::Sparse::default(),
        proxies: log::Sparse::default(),
        admin,
        redirects_to: https_port.filter(|_| config.tls.redirect),
    };
    let mut defaults = limits(&config.limits);
    // What a rule allows must pass the parser; the handler says what holds for a path.
    defaults.http.body_bytes_max = config.body_bytes_max();
    let limits = weft_serve::ServerLimits {
        http2_streams_max: if config.server.http2 { defaults.http2_streams_max } else { 0 },
        hsts_s: config.tls.hsts_s,
        compress_bytes_min: config.classic.compress_bytes_min,
        // A script of a document root finds the whole body when it begins.
        body_begin_bytes: begin,
        ..defaults
    };
    let server = Server::counting(runtime, limits, Box::new(handler), stats);
    let has_shares = !config.limits.shares.is_empty();
    let host: &'static ServerHost =
        Box::leak(Box::new(ServerHost::new(server, config.trust.clone(), docroot, has_shares)));
    SERVER.set(Some(server));
    HOST.set(Some(host));
    FORKED.set(Some(Box::leak(Box::new(ForkedHost::new(server, host)))));
    weft_zend::host::install(host);
    Gate::install(runtime, server, host, kind_of(mode), &config.limits);
    if mode == Mode::Resident {
        // One instance boots before the first request; others do when they are needed. It is not refused, because
        // nothing runs yet.
        let _ = runtime.spawn(JobKind::Resident.job(0));
    }
    Ok(server)
}

/// What a request becomes.
fn kind_of(mode: Mode) -> JobKind {
    match mode {
        Mode::Classic => JobKind::Classic,
        Mode::Resident => JobKind::Resident,
        Mode::Coroutine => JobKind::Request,
    }
}

fn limits(limits: &LimitSettings) -> weft_serve::ServerLimits {
    weft_serve::ServerLimits {
        http: weft_proto::RequestLimits {
            head_bytes_max: limits.head_bytes_max,
            header_count_max: limits.header_count_max,
            target_bytes_max: limits.target_bytes_max,
            body_bytes_max: limits.body_bytes_max,
            ..weft_proto::RequestLimits::default()
        },
        connections_max: limits.connections_max,
        head_timeout_ms: limits.head_timeout_ms,
        queue_max: limits.queue_max,
        queue_timeout_ms: limits.queue_timeout_ms,
        idle_timeout_ms: limits.idle_timeout_ms,
        body_timeout_ms: limits.body_timeout_ms,
        body_rate_bytes_min: limits.body_rate_bytes_min,
        write_timeout_ms: limits.write_timeout_ms,
        body_memory_bytes_max: limits.body_memory_bytes_max,
        spool_bytes_max: limits.spool_bytes_max,
        write_buffer_bytes_max: limits.response_buffer_bytes_max,
        ..weft_serve::ServerLimits::default()
    }
}

/// What a coroutine does, for reports to the operator: "GET /path", or "task 7, started at app.php:12".
pub fn describe(job: Job) -> String {
    if JobKind::Task.is_of(job) {
        return Engine::describe_task(job.argument);
    }
    host().map_or_else(String::new, |host| host.describe(job.argument))
}

/// Why PHP wants this worker to be replaced; returned once.
pub fn replacement_wanted() -> Option<String> {
    host().and_then(ServerHost::take_replacement)
}

/// Whether a job that waited for a coroutine is still this worker's: a request may have been passed on to another.
pub fn takes_up(job: Job) -> bool {
    let is_request = !JobKind::Task.is_of(job) && job.argument != 0;
    let is_ours = !is_request || SERVER.get().is_none_or(|server| server.reclaim(RequestKey(job.argument)));
    if !is_ours {
        forget(job);
    }
    is_ours
}

/// A request will not begin here.
fn forget(job: Job) {
    if let Some(host) = HOST.get() {
        host.forget_script(job.argument);
    }
    if let Some(gate) = gate() {
        gate.ended(RequestKey(job.argument));
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
    } else if let Some(server) = SERVER.get()
        && takes_up(job)
    {
        forget(job);
        // Gone means that no client waits for the answer.
        let _ = server.respond_error(RequestKey(job.argument), 503, Some(RETRY_AFTER));
    }
}

/// Turns requests into jobs.
struct Requests {
    runtime: &'static Runtime,
    /// In classic mode.
    docroot: Option<&'static Docroot>,
    coroutines_max: usize,
    scratch: RefCell<Scratch>,
    refusals: log::Sparse,
    proxies: log::Sparse,
    /// The answers for the operator, if there is an address for them.
    admin: Option<Admin>,
    /// The port to which requests without TLS are sent.
    redirects_to: Option<u16>,
}

impl Requests {
    fn spawn(&self, kind: JobKind, key: RequestKey) {
        let job = kind.job(key.0);
        let arrival = gate().map_or(Arrival::Runs, |gate| gate.pass(key, self.runtime.turn_time()));
        match arrival {
            Arrival::Runs => return begin(self.runtime, job),
            Arrival::Refused => return turn_away(job),
            Arrival::Displaces(other) => turn_away(kind.job(other.0)),
            Arrival::Waits => (),
        }
        // Until its turn comes another worker may take it.
        if let Some(server) = SERVER.get() {
            server.offer_waiting(key);
        }
    }

    /// Sends a file, or runs a script.
    fn serve_docroot(&self, docroot: &Docroot, key: RequestKey) {
        let (Some(server), Some(host)) = (SERVER.get(), HOST.get()) else { return };
        let Some(answer) = server.with_request(key, |request| docroot.route(request)) else { return };
        if let Some(fields) = answer.fields {
            server.add_fields(key, fields);
        }
        // Gone means that no client waits for the answer.
        let _ = match answer.route {
            Route::Script(script) => {
                host.keep_script(key.0, script);
                self.spawn(if docroot.is_resident() { JobKind::Resident } else { JobKind::Classic }, key);
                Ok(())
            }
            Route::File { tree, name } => send_file(server, key, docroot.root_of(tree), &name),
            Route::Redirect(path) => redirect(server, key, path),
            Route::Moved(status, location) => {
                server.respond(key, status, &[(b"Location", &location), PLAIN], b"Moved\n")
            }
            Route::Challenge(realm) => challenge(server, key, &realm),
            // RFC 9110 9.3.7: a ping; only a script can know whether it supports other methods.
            Route::Server => {
                server.respond(key, 204, &[(b"Allow", b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")], b"")
            }
            Route::Refused(405) => {
                server.respond(key, 405, &[(b"Allow", b"GET, HEAD"), PLAIN], b"405 Method Not Allowed\n")
            }
            Route::Refused(503) => server.respond_error(key, 503, Some(RETRY_AFTER)),
            Route::Refused(status) => server.respond_error(key, status, None),
        };
    }
}

const PLAIN: (&[u8], &[u8]) = (b"Content-Type", b"text/plain; charset=utf-8");

fn send_file(server: &Server, key: RequestKey, root: &Root, name: &[u8]) -> Result<(), Error> {
    match server.respond_site_file(key, root, name) {
        Ok(_) => Ok(()),
        Err(error) => server.respond_error(key, status_of(error, &root.below(name))?, None),
    }
}

/// Asks for a name and a password (RFC 7617).
fn challenge(server: &Server, key: RequestKey, realm: &str) -> Result<(), Error> {
    let challenge = format!("Basic realm=\"{realm}\", charset=\"UTF-8\"");
    let fields: [(&[u8], &[u8]); 2] = [(b"WWW-Authenticate", challenge.as_bytes()), PLAIN];
    server.respond(key, 401, &fields, b"401 Unauthorized\n")
}

/// Redirects to a directory's path with its final slash; the query is kept.
fn redirect(server: &Server, key: RequestKey, path: String) -> Result<(), Error> {
    let query = server.with_request(key, |request| request.query().map(<[u8]>::to_vec)).flatten();
    let location = match query {
        Some(query) => [path.as_bytes(), b"?", &query].concat(),
        None => path.into_bytes(),
    };
    let get = server.with_request(key, |request| matches!(request.method(), b"GET" | b"HEAD"));
    let status = if get == Some(true) { 301 } else { 308 };
    server.respond(key, status, &[(b"Location", &location), PLAIN], b"Moved\n")
}

/// Sends a request that came without TLS to the address with it; returns whether it did. Clients of a Unix socket, and
/// those whose proxy speaks TLS for them, are where they should be.
fn redirect_to_https(key: RequestKey, port: u16) -> bool {
    let (Some(server), Some(host)) = (SERVER.get(), HOST.get()) else { return false };
    let target = server.with_request(key, |request| {
        let facts = Facts::of(request);
        if request.peer() == Peer::Unix || host.is_https(&facts) {
            return None;
        }
        let authority = weft_proto::split_authority(request.authority().unwrap_or_default());
        let name = authority.map_or(&b""[..], |authority| authority.host).to_vec();
        let is_get = matches!(request.method(), b"GET" | b"HEAD");
        Some((name, request.head().origin(request.bytes()).into_owned(), is_get))
    });
    let Some((name, origin, is_get)) = target.flatten() else { return false };
    // Gone means that no client waits for the answer.
    let _ = if name.is_empty() || !origin.starts_with(b"/") {
        server.respond_error(key, 400, None)
    } else {
        let port = if port == 443 { String::new() } else { format!(":{port}") };
        let location = [b"https://", &name[..], port.as_bytes(), &origin].concat();
        let status = if is_get { 301 } else { 308 };
        server.respond(key, status, &[(b"Location", &location), PLAIN], b"This site is served over https.\n")
    };
    true
}

impl Handler for Requests {
    fn request(&self, key: RequestKey) {
        if let (Some(admin), Some(server)) = (&self.admin, SERVER.get())
            && admin.answer(server, key)
        {
            return;
        }
        if let Some(port) = self.redirects_to
            && redirect_to_https(key, port)
        {
            return;
        }
        match &self.docroot {
            None => self.spawn(JobKind::Request, key),
            Some(docroot) => self.serve_docroot(docroot, key),
        }
    }

    /// A document root's files are sent while all instances are busy, so requests are read to see whether they are
    /// for files.
    fn room(&self) -> usize {
        if self.docroot.is_some() { usize::MAX } else { self.runtime.room() }
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
        self.docroot.is_some()
    }

    fn body_bytes_max(&self, path: &[u8]) -> u64 {
        let rules = self.docroot.and_then(Docroot::rules);
        rules.map_or(u64::MAX, |rules| rules.body_bytes_max(path))
    }

    fn wants_summaries(&self) -> bool {
        log::access_is_on()
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
        log::access(&Access {
            request_id: &host.id(summary.key.0),
            peer: std::str::from_utf8(&scratch).unwrap_or("-"),
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
            referer: request.header("referer").unwrap_or_default(),
            user_agent: request.header("user-agent").unwrap_or_default(),
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
            referer: b"",
            user_agent: b"",
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
