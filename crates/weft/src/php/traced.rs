//! What is recorded of this worker's requests, and the spans that are made of it.
//!
//! Must not know how spans are written or sent. Invariants: without a collector, `request_slow_ms` and development nothing is
//! recorded; a request's own span, and those within it, are told once each, when they have ended.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use weft_proto::Version;
use weft_rt::{Detail, Job, ListedWait, Nanos, Record, Runtime, WaitKind, clock};
use weft_serve::{RequestKey, Summary};
use weft_zend::JobKind;

use super::facts::Facts;
use super::job::request_of;
use super::server_host::ServerHost;
use crate::config::{Config, Environment};
use crate::routes::routes;
use crate::trace::{Counts, Exemplar, Exemplars, Exporter, Kind, Place, Span, Value};
use crate::wait_names::{Service, name_of};

/// A request that began later than this after its first byte had to wait for a coroutine or an instance: a span of its own.
const ADMISSION_MIN: Nanos = 100_000;
/// How long a worker that ends waits for the collector.
const FINISH_PATIENCE: Duration = Duration::from_secs(2);
/// The methods that may be the name of a span (RFC 9110 section 9.3, RFC 5789).
const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];

/// A request that runs, and whose trace is recorded.
struct Live {
    place: Place,
    arrived: Nanos,
}

thread_local! {
    static SUMS: Cell<bool> = const { Cell::new(false) };
    static HOST: Cell<Option<&'static ServerHost>> = const { Cell::new(None) };
    static EXPORTER: Cell<Option<&'static Exporter>> = const { Cell::new(None) };
    static EXEMPLARS: Cell<Option<&'static Exemplars>> = const { Cell::new(None) };
    static LIVE: RefCell<HashMap<RequestKey, Live>> = RefCell::default();
}

/// Begins with it in this slot's worker, before the first request; where spans have gone is counted in `counts`, and `exemplars`
/// are requests that have some.
///
/// # Errors
/// One line: no authority is trusted, or there is no thread.
pub fn begin(
    runtime: &Runtime,
    config: &Config,
    slot: usize,
    (counts, exemplars): (&'static Counts, &'static Exemplars),
) -> Result<(), String> {
    let is_development = config.dev.mode == Environment::Development;
    SUMS.set(config.limits.request_slow_ms > 0 || is_development);
    let exporter = Exporter::start(&config.trace, slot, counts)?;
    EXEMPLARS.set(Some(exemplars));
    EXPORTER.set(exporter.map(|exporter| &*Box::leak(Box::new(exporter))));
    if SUMS.get() || is_traced() {
        runtime.keep_records(detail, job_ended);
    }
    Ok(())
}

/// From here on there are requests, of this host.
pub fn serves(host: &'static ServerHost) {
    HOST.set(Some(host));
}

/// Whether spans are recorded.
pub fn is_traced() -> bool {
    EXPORTER.get().is_some()
}

/// Sends what is left, for a while: the worker ends.
pub fn finish() {
    if let Some(exporter) = EXPORTER.get() {
        exporter.finish(FINISH_PATIENCE);
    }
}

/// How much is recorded of a job that begins.
fn detail(job: Job) -> Detail {
    let begins = || {
        let (host, key) = (HOST.get()?, request_of(job)?);
        let place = host.place(key.0).filter(|place| place.own.sampled)?;
        host.server.mark_of(key);
        let arrived = host.server.with_request(key, |request| request.started())?;
        LIVE.with_borrow_mut(|live| live.insert(key, Live { place, arrived }));
        Some(Detail::Waits)
    };
    let sums = if SUMS.get() && !JobKind::Task.is_of(job) { Detail::Sums } else { Detail::Nothing };
    if is_traced() { begins().unwrap_or(sums) } else { sums }
}

/// Tells what a job did within its request: for how long it waited to begin, how long its code ran, and each wait of that.
fn job_ended(job: Job, began: Nanos, record: Record) {
    let live = request_of(job).and_then(|key| Some((key, LIVE.with_borrow_mut(|live| live.remove(&key))?)));
    let (Some(exporter), Some(host), Some((key, live))) = (EXPORTER.get(), HOST.get(), live) else { return };
    let within = |number| host.spans.within(key.0, number);
    let request = Span {
        trace: live.place.own.trace,
        id: within(0),
        parent: Some(live.place.own.span),
        name: "php",
        kind: Kind::Internal,
        began,
        ended: clock::now(),
        attributes: of_record(&record),
        failed: false,
    };
    let (mut list, mut count) = (String::new(), 1);
    request.write(&mut list);
    if began > live.arrived + ADMISSION_MIN {
        let (id, began, ended, attributes) = (within(1), live.arrived, began, Vec::new());
        Span { id, name: "admission", began, ended, attributes, ..request }.write(&mut list);
        count += 1;
    }
    for (number, wait) in (2..).zip(&record.waits) {
        Span {
            id: within(number),
            parent: Some(within(0)),
            name: name_of(wait.kind),
            kind: side_of(wait.kind),
            began: wait.began,
            ended: wait.began + wait.took,
            attributes: of_wait(wait),
            ..request
        }
        .write(&mut list);
        count += 1;
    }
    exporter.send(&list, count);
}

fn of_record(record: &Record) -> Vec<(&'static str, Value<'static>)> {
    let micros = |nanos: Nanos| Value::Number((nanos / 1_000) as i64);
    let mut said = vec![("weft.ran_us", micros(record.own.ran))];
    if record.tasks.ran > 0 {
        said.push(("weft.tasks_ran_us", micros(record.tasks.ran)));
    }
    if record.unlisted > 0 {
        said.push(("weft.waits_left_out", Value::Number(i64::from(record.unlisted))));
    }
    said
}

fn side_of(kind: WaitKind) -> Kind {
    let is_asked = matches!(kind, WaitKind::Service(_) | WaitKind::Server | WaitKind::Dns);
    if is_asked { Kind::Client } else { Kind::Internal }
}

/// By the names of OpenTelemetry's semantic conventions, as far as they have one.
fn of_wait(wait: &ListedWait) -> Vec<(&'static str, Value<'_>)> {
    const DATABASES: [Service; 4] = [Service::MySql, Service::PostgreSql, Service::Redis, Service::Memcached];
    let mut said = Vec::new();
    if DATABASES.iter().any(|service| service.kind() == wait.kind) {
        said.push(("db.system.name", Value::Text(name_of(wait.kind))));
    }
    if let Some(peer) = wait.peer.as_deref() {
        let socket = peer.parse::<std::net::SocketAddr>().ok();
        let address = socket.and_then(|_| peer.rsplit_once(':')).map_or(peer, |(address, _)| address);
        said.push(("network.peer.address", Value::Text(address.trim_matches(['[', ']']))));
        said.extend(socket.map(|socket| ("network.peer.port", Value::Number(i64::from(socket.port())))));
    }
    if !wait.is_own {
        said.push(("weft.task", Value::Flag(true)));
    }
    said
}

/// Tells the span of a request that has been answered, if its trace is recorded.
pub fn answered(summary: &Summary<'_>, host: &ServerHost, facts: &Facts<'_>, client: &str) {
    let Some(exporter) = EXPORTER.get() else { return };
    let request = &summary.request;
    let place = host.spans.place(summary.key.0, request.head(), request.bytes());
    if !place.own.sampled {
        return;
    }
    let text = String::from_utf8_lossy;
    let (method, path, agent) =
        (text(request.method()), text(request.path()), request.header("user-agent").map(text));
    let is_method = METHODS.contains(&&*method);
    let route = routes().and_then(|routes| routes.name_of(summary.mark));
    let verb = if is_method { &*method } else { "HTTP" };
    let name = route.as_deref().map_or(verb.to_owned(), |route| format!("{verb} {route}"));
    let failed = summary.status >= 500;
    let status = summary.status.to_string();
    let mut attributes = vec![
        ("http.request.method", Value::Text(if is_method { &method } else { "_OTHER" })),
        ("url.path", Value::Text(&path)),
        ("url.scheme", Value::Text(if host.is_https(facts) { "https" } else { "http" })),
        ("network.protocol.version", Value::Text(version(request.version()))),
        ("http.response.body.size", Value::Number(summary.body_bytes as i64)),
        ("client.address", Value::Text(client)),
    ];
    if summary.status > 0 {
        attributes.push(("http.response.status_code", Value::Number(i64::from(summary.status))));
    }
    attributes.extend(route.as_deref().map(|route| ("http.route", Value::Text(route))));
    attributes.extend(agent.as_deref().map(|agent| ("user_agent.original", Value::Text(agent))));
    attributes.extend(failed.then_some(("error.type", Value::Text(&status))));
    attributes.extend(summary.aborted.then_some(("weft.aborted", Value::Flag(true))));
    let (began, mut list) = (request.started(), String::new());
    Span {
        trace: place.own.trace,
        id: place.own.span,
        parent: place.parent,
        name: &name,
        kind: Kind::Server,
        began,
        ended: began + summary.duration,
        attributes,
        failed,
    }
    .write(&mut list);
    exporter.send(&list, 1);
    if place.parent.is_none() {
        // That of a client's trace was kept when its answer was counted.
        keep_exemplar(place.own.trace, summary.duration);
    }
}

/// A request of a trace that is recorded, here or by its client, has taken so long.
pub fn keep_exemplar(trace: u128, duration: Nanos) {
    if let Some(exemplars) = EXEMPLARS.get() {
        let at_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        exemplars.keep(Exemplar { trace, duration, at_ms });
    }
}

fn version(version: Version) -> &'static str {
    match version {
        Version::Http10 => "1.0",
        Version::Http11 => "1.1",
        Version::Http2 => "2",
    }
}
