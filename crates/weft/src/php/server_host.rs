//! The server as PHP sees it: answers each question of weft-zend's [`Host`] from weft-serve.
//!
//! Invariant: slices given to PHP lie in a connection's buffer, in a detached copy, or in `scratch`; each is unchanged
//! until the host is called again. Nothing is borrowed while a method parks.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use weft_rt::Runtime;
use weft_serve::{BodyRead, Endpoint, Error, RequestKey, Server, TunnelKey, Waited};
use weft_zend::abi::{Accepted, Asked, CLIENT_GONE, MessageSent, Remembered};
use weft_zend::host::{Accept, HeaderLine};
use weft_zend::{Event, Field, Host, JobKind, LogLevel, RequestId, SettingKind, Slice};

use super::boot_host::Boot;
use super::detached::{Detached, wall_time};
use super::facts::{Facts, Scratch};
use super::file_status::status_of;
use super::front::Front;
use super::lent::Lent;
use super::site_settings::setting_at;
use super::timing::server_timing;
use super::topics::WorkerTopics;
use crate::admin;
use crate::bus::Presence;
use crate::classic::{Script, Sites};
use crate::config::{Config, Environment, Trust};
use crate::tls::{self, Variables};
use crate::trace::{Place, Spans};

/// The names of this worker's requests in logs and for PHP, for any thread.
pub fn request_names(presence: &Presence) -> impl Fn(RequestId) -> String + Send + 'static {
    let prefix = prefix_of(presence);
    move |request| name_of(&prefix, request)
}

fn prefix_of(presence: &Presence) -> String {
    format!("{:x}", presence.post.member.owner)
}

fn name_of(prefix: &str, request: RequestId) -> String {
    format!("{prefix}-{request:x}")
}

/// The host's own state besides the server.
pub struct ServerHost {
    pub(super) server: &'static Server,
    trust: Trust,
    pub(super) topics: WorkerTopics,
    /// Random for each worker, so that request ids of two workers differ.
    pub(super) id_prefix: String,
    pub(super) scratch: RefCell<Scratch>,
    /// The variables of TLS of the request that was asked for them last.
    variables: RefCell<Variables>,
    detached: RefCell<HashMap<RequestId, Detached>>,
    replacement: Cell<Option<String>>,
    /// Classic and resident mode: the scripts of requests that have not ended.
    pub(super) scripts: RefCell<HashMap<RequestId, Script>>,
    pub(super) sites: Option<&'static Sites>,
    front: &'static Front,
    asks_first: bool,
    pub(super) lent: Lent,
    /// The places of its requests in their traces.
    pub(super) spans: Spans,
    /// Whether responses say where the time of their requests went.
    times: bool,
}

impl ServerHost {
    /// Makes the host of this worker; `asks_first` if more than `front` has a say about each request before PHP gets it.
    pub fn new(
        (server, presence): (&'static Server, &'static Presence),
        config: &Config,
        front: &'static Front,
        asks_first: bool,
    ) -> ServerHost {
        ServerHost {
            server,
            topics: WorkerTopics::new(server, presence, config),
            trust: config.trust.clone(),
            id_prefix: prefix_of(presence),
            scratch: RefCell::default(),
            variables: RefCell::default(),
            detached: RefCell::default(),
            replacement: Cell::new(None),
            scripts: RefCell::default(),
            sites: front.sites,
            front,
            asks_first,
            lent: Lent::default(),
            spans: Spans::new(if config.trace.url.is_some() { config.trace.ratio } else { 0.0 }),
            times: config.dev.mode == Environment::Development,
        }
    }

    /// Why this worker should be replaced; returned once.
    pub fn take_replacement(&self) -> Option<String> {
        self.replacement.take()
    }

    /// The name of a request in logs and for PHP.
    pub fn id(&self, request: RequestId) -> String {
        name_of(&self.id_prefix, request)
    }

    /// "GET /path", for reports to the operator.
    pub fn describe(&self, request: RequestId) -> String {
        let text = |facts: &Facts<'_>| {
            let text = String::from_utf8_lossy;
            format!("{} {}", text(facts.head.method(facts.bytes)), text(facts.head.target(facts.bytes)))
        };
        self.look(request, text).unwrap_or_else(|| "a request that has been answered".to_owned())
    }

    /// Whether a request's client uses TLS, according to trusted proxies.
    pub fn is_https(&self, facts: &Facts<'_>) -> bool {
        facts.is_https(&self.trust)
    }

    /// The client's address for the access log.
    pub fn client(&self, facts: &Facts<'_>, scratch: &mut Scratch) {
        facts.made(Field::Client, &self.trust, None, scratch);
    }

    fn look<T>(&self, request: RequestId, with: impl FnOnce(&Facts<'_>) -> T) -> Option<T> {
        let mut with = Some(with);
        let live = self.server.with_request(RequestKey(request), |view| {
            let facts = Facts::of(view);
            with.take().map(|with| with(&facts))
        });
        if let Some(result) = live {
            return result;
        }
        let detached = self.detached.borrow();
        let kept = detached.get(&request)?;
        let with = with.take()?;
        let secure = !kept.variables.is_empty();
        Some(with(&Facts { head: &kept.head, bytes: &kept.bytes, peer: kept.peer, secure }))
    }

    /// Where a request stands in its trace; `None` once its head is gone.
    pub(super) fn place(&self, request: RequestId) -> Option<Place> {
        self.look(request, |facts| self.spans.place(request, facts.head, facts.bytes))
    }

    /// What a request passes on to those whom it asks.
    fn traceparent(&self, request: RequestId) -> Slice {
        use std::io::Write;
        let Some(place) = self.place(request) else { return Slice::NONE };
        let mut scratch = self.scratch.borrow_mut();
        scratch.clear();
        let _ = write!(scratch, "{}", place.own);
        Slice::of(&scratch)
    }

    /// In development: the response says where the time went until now.
    #[cold]
    fn say_time(&self, request: RequestId) {
        if let Some(timing) = server_timing() {
            self.server.add_field(RequestKey(request), (b"Server-Timing".to_vec(), timing.into_bytes()));
        }
    }

    fn local(&self, request: RequestId) -> Option<std::net::SocketAddr> {
        let local = self.server.with_request(RequestKey(request), |view| view.local().ok())??;
        match local {
            Endpoint::Tcp(address) => Some(address),
            Endpoint::Unix(_) => None,
        }
    }

    pub(super) fn logged(&self, request: RequestId, result: Result<(), Error>) -> bool {
        match result {
            Ok(()) => true,
            Err(Error::Gone) => false,
            Err(error) => {
                tracing::error!(request = self.id(request), "the response could not be sent: {error}");
                // Never leaves a client without an answer.
                let _ = self.server.respond_error(RequestKey(request), 500, None);
                false
            }
        }
    }
}

impl Host for ServerHost {
    fn field(&self, request: RequestId, field: Field) -> Slice {
        match field {
            Field::Id => {
                use std::io::Write;
                let mut scratch = self.scratch.borrow_mut();
                scratch.clear();
                let _ = write!(scratch, "{}-{request:x}", self.id_prefix);
                Slice::of(&scratch)
            }
            Field::Traceparent => self.traceparent(request),
            Field::Script | Field::ScriptName | Field::PathInfo | Field::Root => self.script(request, field),
            // Only rules make them.
            Field::User if self.rules_are_on() => self.script(request, field),
            Field::User => Slice::NONE,
            Field::Query if self.rules_are_on() && self.is_rewritten(request) => self.script(request, field),
            Field::Method | Field::Path | Field::Query | Field::Version => self
                .look(request, |facts| facts.received(field).map(Slice::of))
                .flatten()
                .unwrap_or(Slice::NONE),
            _ => {
                let local =
                    matches!(field, Field::Server | Field::ServerPort).then(|| self.local(request)).flatten();
                let make =
                    |facts: &Facts<'_>| facts.made(field, &self.trust, local, &mut self.scratch.borrow_mut());
                let value = self.look(request, make).unwrap_or(Slice::NONE);
                self.own_name(request, field).unwrap_or(value)
            }
        }
    }

    fn header_at(&self, request: RequestId, index: u32) -> Option<(Slice, Slice)> {
        let line =
            |facts: &Facts<'_>| facts.header_at(index as usize, &self.trust, &mut self.scratch.borrow_mut());
        self.look(request, line)?
    }

    fn variable_at(&self, request: RequestId, index: u32) -> Option<(Slice, Slice)> {
        let mut variables = self.variables.borrow_mut();
        if index == 0 {
            let live = |view: &weft_serve::RequestView<'_>| view.session().map(tls::variables);
            let live = self.server.with_request(RequestKey(request), live).map(Option::unwrap_or_default);
            let kept = || self.detached.borrow().get(&request).map(|kept| kept.variables.clone());
            *variables = live.or_else(kept).unwrap_or_default();
        }
        let (name, value) = variables.get(index as usize)?;
        // The name's NUL lies behind it.
        Some((Slice::of(&name[..name.len() - 1]), Slice::of(value)))
    }

    fn site(&self, request: RequestId) -> u32 {
        self.number_of_site(request)
    }

    fn setting_at(&self, site: u32, index: u32) -> Option<(SettingKind, Slice, Slice)> {
        setting_at(self.settings_of_site(site as usize)?, index)
    }

    fn trailer_at(&self, request: RequestId, index: u32) -> Option<(Slice, Slice)> {
        let line = self.server.trailers(RequestKey(request)).into_iter().nth(index as usize)?;
        let mut scratch = self.scratch.borrow_mut();
        scratch.clear();
        scratch.extend_from_slice(&line.0);
        scratch.extend_from_slice(&line.1);
        let (name, value) = scratch.split_at(line.0.len());
        Some((Slice::of(name), Slice::of(value)))
    }

    fn time(&self, request: RequestId) -> f64 {
        let started = self.server.with_request(RequestKey(request), |view| view.started());
        match started {
            Some(started) => wall_time(started),
            None => self.detached.borrow().get(&request).map_or(0.0, |kept| kept.time),
        }
    }

    fn aborted(&self, request: RequestId) -> bool {
        self.server.aborted(RequestKey(request))
    }

    fn next_request(&self) -> Option<RequestId> {
        if self.asks_first {
            return None; // it may be for a file, or have to wait for its share
        }
        let arrived = || loop {
            let key = self.server.next_arrived()?;
            if !self.front.answer(self.server, key) {
                return Some(JobKind::Request.job(key.0));
            }
        };
        Runtime::get()?.next_job(arrived).map(|job| job.argument)
    }

    fn body_read(&self, request: RequestId, offset: u64, buffer: &mut [u8]) -> Result<usize, u16> {
        let key = RequestKey(request);
        loop {
            match self.server.read_body(key, offset, buffer) {
                BodyRead::Data(length) => return Ok(length),
                BodyRead::End => return Ok(0),
                BodyRead::Failed(status) => return Err(status),
                BodyRead::Gone => return Err(CLIENT_GONE),
                BodyRead::Pending => match self.server.wait_body(key, offset, None) {
                    Waited::Ready => {}
                    Waited::TimedOut | Waited::Cancelled | Waited::Gone => return Err(CLIENT_GONE),
                },
            }
        }
    }

    fn body_wait(&self, request: RequestId) -> Result<u64, u16> {
        let key = RequestKey(request);
        let waited = self.server.wait_whole_body(key, None);
        if let Some(status) = self.server.body_failed(key) {
            return Err(status);
        }
        if waited != Waited::Ready {
            return Err(CLIENT_GONE);
        }
        self.server.with_body(key, |body| body.length()).ok_or(CLIENT_GONE)
    }

    fn detach(&self, request: RequestId) {
        let time = self.time(request);
        let keep = self.server.with_request(RequestKey(request), |view| Detached::of(view, time));
        if let Some(kept) = keep {
            self.detached.borrow_mut().insert(request, kept);
        }
    }

    fn release(&self, request: RequestId) {
        self.detached.borrow_mut().remove(&request);
        self.forget_script(request);
    }

    fn respond(&self, request: RequestId, status: u16, headers: &[HeaderLine], body: &[u8]) -> Option<usize> {
        if self.times {
            self.say_time(request);
        }
        match self.server.respond_first(RequestKey(request), status, headers, body) {
            Ok(taken) => Some(taken),
            Err(error) => {
                self.logged(request, Err(error));
                None
            }
        }
    }

    fn respond_rest(&self, request: RequestId, rest: &[u8]) -> bool {
        self.logged(request, self.server.respond_rest(RequestKey(request), rest))
    }

    fn respond_file(
        &self,
        request: RequestId,
        status: u16,
        headers: &[HeaderLine],
        path: &[u8],
    ) -> Result<(), u16> {
        if self.times {
            self.say_time(request);
        }
        let name = Path::new(OsStr::from_bytes(path));
        let sent = self.server.respond_file(RequestKey(request), status, headers, name);
        self.sent_or_status(request, sent, name)
    }

    fn delegations(&self, request: RequestId) -> u32 {
        self.delegations_on(request)
    }

    fn send_file(
        &self,
        request: RequestId,
        status: u16,
        headers: &[HeaderLine],
        path: &[u8],
    ) -> Result<(), u16> {
        self.delegate_to_file(request, status, headers, path)
    }

    fn redirect(&self, request: RequestId, headers: &[HeaderLine], uri: &[u8]) -> Result<bool, u16> {
        self.delegate_to_uri(request, headers, uri)
    }

    fn open_source(&self, request: RequestId, path: &[u8]) -> Option<Result<(OwnedFd, PathBuf), u16>> {
        let opened = self.docroot_of(request)?.source(path)?;
        Some(opened.map_err(|error| status_of(error, Path::new(OsStr::from_bytes(path))).unwrap_or(500)))
    }

    fn stream_start(&self, request: RequestId, status: u16, headers: &[HeaderLine]) -> bool {
        if self.times {
            self.say_time(request);
        }
        let result = self.server.start(RequestKey(request), status, headers, None);
        self.logged(request, result)
    }

    fn stream_at_pace(&self, request: RequestId) {
        self.server.keep_pace(RequestKey(request));
    }

    fn stream_write(&self, request: RequestId, chunk: &[u8]) -> bool {
        let key = RequestKey(request);
        self.logged(request, self.server.write_all(key, chunk)) && !self.server.aborted(key)
    }

    fn stream_end(&self, request: RequestId, trailers: &[HeaderLine], failed: bool) {
        let key = RequestKey(request);
        if failed {
            self.server.abort(key);
        } else if let Err(error) = self.server.finish(key, trailers) {
            self.logged(request, Err(error));
        }
    }

    fn asks_for_websocket(&self, request: RequestId) -> Asked {
        self.asked(request)
    }

    fn accept_websocket(&self, request: RequestId, accept: &Accept<'_>) -> (Accepted, Slice) {
        self.accept(request, accept)
    }

    fn next_event(&self) -> Option<u64> {
        let due = || self.server.next_due().map(|key| JobKind::Event.job(key.0));
        Runtime::get()?.next_job(due).map(|job| job.argument)
    }

    fn take_event(&self, tunnel: u64) -> Option<Event> {
        self.event_of(tunnel)
    }

    fn event_done(&self, tunnel: u64, failed: bool) {
        self.end_event(tunnel, failed);
    }

    fn postpone_event(&self, tunnel: u64) {
        self.server.postpone_event(TunnelKey(tunnel));
    }

    fn websocket_send(&self, name: &[u8], is_binary: bool, message: &[u8], key: &[u8]) -> MessageSent {
        self.send_to(name, is_binary, message, key)
    }

    fn websocket_close(&self, name: &[u8], code: u16, reason: &[u8]) -> bool {
        self.close_one(name, code, reason)
    }

    fn websocket_waiting(&self, name: &[u8]) -> Option<usize> {
        self.waiting_for(name)
    }

    fn websocket_attribute(&self, name: &[u8], attribute: &[u8]) -> Slice {
        self.attribute_of(name, attribute)
    }

    fn websocket_remember(&self, name: &[u8], attribute: &[u8], value: Option<&[u8]>) -> Remembered {
        self.remember(name, attribute, value)
    }

    fn connections(&self) -> Option<&dyn weft_zend::Connections> {
        Some(self)
    }

    fn fpm_status(&self) -> Slice {
        // It reads files of the kernel, for which a coroutine may park.
        let json = admin::fpm_status().unwrap_or_default();
        let mut scratch = self.scratch.borrow_mut();
        scratch.clear();
        scratch.extend_from_slice(json.as_bytes());
        Slice::of(&scratch)
    }

    fn topics(&self) -> Option<&dyn weft_zend::Topics> {
        Some(&self.topics)
    }

    fn early_hints(&self, request: RequestId, headers: &[HeaderLine]) -> bool {
        self.server.early_hints(RequestKey(request), headers).is_ok()
    }

    fn log(&self, level: LogLevel, request: RequestId, message: &[u8]) {
        if request == 0 {
            return Boot.log(level, request, message);
        }
        let (message, id) = (String::from_utf8_lossy(message), self.id(request));
        match level {
            LogLevel::Error => tracing::error!(request = id, "{message}"),
            LogLevel::Warning => tracing::warn!(request = id, "{message}"),
            LogLevel::Notice => tracing::info!(request = id, "{message}"),
        }
    }

    fn output(&self, bytes: &[u8]) {
        Boot.output(bytes);
    }

    fn cancel_status(&self) -> u16 {
        if self.server.draining() { 503 } else { 504 }
    }

    fn replace(&self, reason: &[u8]) {
        self.replacement.set(Some(String::from_utf8_lossy(reason).into_owned()));
    }
}
