//! What weft says of itself to the operator: the answers at `admin://` addresses.
//!
//! It must not know PHP, nor how a connection came. Invariants: nothing here waits, so an answer never stands behind the
//! application's requests; whoever does not have the token learns whether the server lives and is ready, and no more.

mod fpm_status;
mod metrics;
mod snapshot;
mod status;

use weft_serve::{RequestKey, RequestView, Server};

use self::snapshot::Snapshot;
use crate::board::{Board, Stage};
use crate::config::{Config, ListenAddress, Mode};

const TEXT: &str = "text/plain; charset=utf-8";
const PATHS: &str = "/healthz\n/readyz\n/metrics\n/status\n/fpm-status (?json, ?xml, ?full)\n";

/// The answers.
pub struct Admin {
    board: &'static Board,
    token: Option<String>,
    mode: &'static str,
    queue_max: usize,
}

/// One of them.
struct Answer {
    status: u16,
    media_type: &'static str,
    body: String,
}

impl Answer {
    fn new(status: u16, media_type: &'static str, body: impl Into<String>) -> Answer {
        Answer { status, media_type, body: body.into() }
    }
}

impl Admin {
    /// The answers of this server, if it has an address for them.
    pub fn new(config: &Config, board: &'static Board) -> Option<Admin> {
        let is_wanted = config.server.listen.iter().any(ListenAddress::is_admin);
        is_wanted.then(|| Admin {
            board,
            token: config.admin.token.clone(),
            mode: Mode::of(config).name(),
            queue_max: config.limits.queue_max,
        })
    }

    /// Answers a request, if it came to such an address.
    pub fn answer(&self, server: &Server, key: RequestKey) -> bool {
        let answer = server.with_request(key, |request| request.is_admin().then(|| self.answer_to(request)));
        let Some(Some(answer)) = answer else { return false };
        let mut headers: Vec<(&[u8], &[u8])> =
            vec![(b"Content-Type", answer.media_type.as_bytes()), (b"Cache-Control", b"no-store")];
        match answer.status {
            401 => headers.push((b"WWW-Authenticate", b"Bearer")),
            405 => headers.push((b"Allow", b"GET, HEAD")),
            _ => {}
        }
        // Gone means that no client waits for the answer.
        let _ = server.respond(key, answer.status, &headers, answer.body.as_bytes());
        true
    }

    fn answer_to(&self, request: &RequestView<'_>) -> Answer {
        if !matches!(request.method(), b"GET" | b"HEAD") {
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
                Answer::new(200, format.media_type(), metrics::render(&self.snapshot(), format))
            }
            b"/status" => Answer::new(200, "application/json", status::render(&self.snapshot())),
            b"/fpm-status" => {
                let format = fpm_status::Format::of(request.query().unwrap_or_default());
                Answer::new(200, format.media_type(), fpm_status::render(&self.snapshot(), format))
            }
            b"/" => Answer::new(200, TEXT, PATHS),
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

    fn snapshot(&self) -> Snapshot {
        Snapshot::take(self.board, self.mode, self.queue_max)
    }
}
