//! What weft says of itself to the operator: the answers at `admin://` addresses.
//!
//! It must not know PHP, nor how a connection came. Invariants: nothing here waits, so an answer never stands behind the
//! application's requests; whoever does not have the token learns whether the server lives and is ready, and no more: the live page has no data in it. What a browser sends for a page of
//! another site is refused.

mod answer;
mod asking;
mod bodies;
mod fpm_status;
mod guard;
mod insides;
mod insides_json;
mod insides_metrics;
mod insides_totals;
mod metrics;
mod page;
mod profile;
mod publish;
mod requests;
mod routes;
mod snapshot;
mod status;
mod verdict;

use std::cell::Cell;

use weft_rt::{Nanos, Runtime};
use weft_serve::{RequestKey, RequestView, Server};

use self::answer::{Answer, TEXT};
use self::page::Page;
use self::profile::Profiles;
use self::publish::Publications;
use self::requests::Requests;
use self::snapshot::Snapshot;
use self::verdict::Verdicts;
use crate::board::{Board, Stage};
use crate::bus::Post;
use crate::config::{Config, ListenAddress, Mode};

thread_local! {
    /// Where this worker's PHP code finds the numbers of all workers: the board, the mode, and the bound of the queue.
    static OWN: Cell<Option<(&'static Board, &'static str, usize)>> = const { Cell::new(None) };
}

/// From here on PHP code of this worker can ask for [`fpm_status`].
pub fn tell_php(config: &Config, board: &'static Board) {
    OWN.set(Some((board, Mode::of(config).name(), config.limits.queue_max)));
}

/// What `fpm_get_status()` returns, as JSON; nothing in a process that serves nobody.
pub fn fpm_status() -> Option<String> {
    let (board, mode, queue_max) = OWN.get()?;
    Some(fpm_status::for_php(&Snapshot::take(board, mode, queue_max)))
}

const PATHS: &str = "/ (for browsers)\n/healthz\n/readyz\n/metrics\n/status\n/requests\n/held-back-by (POST)\n/fpm-status (?json, ?xml, ?full)\n/publish (POST, ?topic=NAME)\n\
    /profile (POST, ?seconds=10&rate=99)\n";

/// The answers.
pub struct Admin {
    board: &'static Board,
    token: Option<String>,
    mode: &'static str,
    queue_max: usize,
    page: Page,
    publications: Publications,
    profiles: Profiles,
    requests: Requests,
    verdicts: Verdicts,
    /// Whether a request may wait for its answer.
    waits: Cell<bool>,
}

/// Who answers a request.
enum Answers {
    /// This is the answer.
    Now(Answer),
    /// The live page; `true`: the client has it.
    Page(bool),
    Publications,
    Profiles,
    Requests,
    Verdicts,
}

impl Admin {
    /// The answers of this server, if it has an address for them.
    pub fn new(config: &Config, board: &'static Board, post: &'static Post) -> Option<Admin> {
        let is_wanted = config.server.listen.iter().any(ListenAddress::is_admin);
        is_wanted.then(|| Admin {
            board,
            token: config.admin.token.clone(),
            mode: Mode::of(config).name(),
            queue_max: config.limits.queue_max,
            page: Page::new(),
            publications: Publications::new(post),
            profiles: Profiles::new(post),
            requests: Requests::new(post),
            verdicts: Verdicts::default(),
            waits: Cell::default(),
        })
    }

    /// Answers a request, if it came to such an address.
    #[inline]
    pub fn answer(&self, server: &Server, key: RequestKey) -> bool {
        let is_admin = server.is_admin(key);
        if is_admin {
            self.give_answer(server, key);
        }
        is_admin
    }

    #[cold]
    fn give_answer(&self, server: &Server, key: RequestKey) {
        self.waits.set(true);
        match server.with_request(key, |request| self.who_answers(server, request)) {
            Some(Answers::Now(answer)) => answer.send(server, key),
            Some(Answers::Page(is_known)) => self.page.send(server, key, is_known),
            Some(Answers::Publications) => self.publications.take(server, key),
            Some(Answers::Profiles) => self.profiles.take(server, key),
            Some(Answers::Requests) => self.requests.take(server, key),
            Some(Answers::Verdicts) => self.verdicts.take(server, key),
            None => (),
        }
    }

    fn who_answers(&self, server: &Server, request: &RequestView<'_>) -> Answers {
        // Monitors name servers by host names; what they read is no more than counts. The page itself holds nothing.
        let is_guarded =
            matches!(request.path(), b"/publish" | b"/profile" | b"/requests" | b"/held-back-by");
        if let Some(why) = guard::refusal(request, self.token.is_some()).filter(|_| is_guarded) {
            return Answers::Now(Answer::new(403, TEXT, why));
        }
        match (request.method(), request.path()) {
            (b"GET" | b"HEAD", b"/") => Answers::Page(self.page.is_known_to(request)),
            (b"POST", b"/publish") if self.knows(request) => Answers::Publications,
            (b"POST" | b"GET", b"/profile") if self.knows(request) => Answers::Profiles,
            (b"GET" | b"HEAD", b"/requests") if self.knows(request) => Answers::Requests,
            (b"POST", b"/held-back-by") if self.knows(request) => Answers::Verdicts,
            _ => Answers::Now(self.answer_to(server, request)),
        }
    }

    /// Goes on with what has not been answered.
    #[inline]
    pub fn turn(&self, server: &Server, now: Nanos) {
        if self.waits.get() {
            self.go_on(server, now);
        }
    }

    #[cold]
    fn go_on(&self, server: &Server, now: Nanos) {
        let publications = self.publications.turn(server, now);
        let (profiles, requests) = (self.profiles.turn(server, now), self.requests.turn(server, now));
        self.waits.set(self.verdicts.turn(server) | publications | profiles | requests);
    }

    fn answer_to(&self, server: &Server, request: &RequestView<'_>) -> Answer {
        // Without the token.
        let posts = request.method() == b"POST"
            && matches!(request.path(), b"/publish" | b"/profile" | b"/held-back-by");
        if !posts && !matches!(request.method(), b"GET" | b"HEAD") {
            return Answer::new(405, TEXT, "405 Method Not Allowed\n");
        }
        match request.path() {
            // That it is answered is the answer.
            b"/healthz" => return Answer::new(200, TEXT, "alive\n"),
            b"/readyz" if self.is_ready() => return Answer::new(200, TEXT, "ready\n"),
            b"/readyz" => return Answer::new(503, TEXT, "not ready\n"),
            _ => {}
        }
        if !self.knows(request) {
            return Answer::new(
                401,
                TEXT,
                "401 Unauthorized: send Authorization: Bearer TOKEN (admin.token)\n",
            );
        }
        match request.path() {
            b"/metrics" => {
                let accept = request.header("accept").unwrap_or_default();
                let is_open = accept.windows(28).any(|part| part == b"application/openmetrics-text");
                let format = if is_open { metrics::Format::OpenMetrics } else { metrics::Format::Prometheus };
                Answer::new(200, format.media_type(), metrics::render(&self.snapshot(server), format))
            }
            b"/status" => Answer::new(200, "application/json", status::render(&self.snapshot(server))),
            b"/fpm-status" => {
                let format = fpm_status::Format::of(request.query().unwrap_or_default());
                Answer::new(200, format.media_type(), fpm_status::render(&self.snapshot(server), format))
            }
            b"/held-back-by" => Answer::new(
                405,
                TEXT,
                "405 Method Not Allowed: POST two answers of /status, and the time between\n",
            ),
            b"/publish" => {
                Answer::new(405, TEXT, "405 Method Not Allowed: POST the message to /publish?topic=NAME\n")
            }
            _ => Answer::new(404, TEXT, format!("404 Not Found; there are:\n{PATHS}")),
        }
    }

    /// Whether the client may see everything.
    fn knows(&self, request: &RequestView<'_>) -> bool {
        let Some(token) = &self.token else { return true };
        let said = request.header("authorization").unwrap_or_default();
        let Some((scheme, said)) = said.split_at_checked(7) else { return false };
        // The time that it takes says nothing of the token.
        scheme.eq_ignore_ascii_case(b"bearer ")
            && aws_lc_rs::constant_time::verify_slices_are_equal(said.trim_ascii(), token.as_bytes()).is_ok()
    }

    fn is_ready(&self) -> bool {
        let serves = self.board.workers().any(|page| page.stage.get() == Stage::Ready as usize);
        serves && self.board.master.ready.get() == 1
    }

    /// Looks at what is not counted as it happens: what connections do, and what coroutines cost.
    pub fn every_second(&self, runtime: &Runtime, server: &Server) {
        runtime.measure_contexts();
        server.count_states();
    }

    fn snapshot(&self, server: &Server) -> Snapshot {
        if let Some(runtime) = Runtime::get() {
            // That of other workers is a second old.
            self.every_second(runtime, server);
        }
        let mut seen = Snapshot::take(self.board, self.mode, self.queue_max);
        seen.sums.datagrams_overflowed = server.datagrams_overflowed();
        seen
    }
}
