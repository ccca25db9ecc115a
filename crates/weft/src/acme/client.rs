//! How the authority is asked: one request after the other, by HTTPS.
//!
//! Must not know ACME. Invariant: a request has a deadline, its answer a limit, and what it says about when to ask again is
//! kept.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::Request;
use http_body::Body;
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};
use ureq::Agent;

use crate::authorities;
use crate::config::Acme;

/// How long one request may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// No answer of an authority is longer.
const ANSWER_BYTES_MAX: u64 = 1 << 20;
/// How much later than now an authority may ask us to come back.
const LATER_MAX: Duration = Duration::from_secs(30 * 86_400);
/// When the authority wants to be asked again, if its last answer said so (RFC 9110 section 10.2.3).
#[derive(Debug, Clone, Default)]
pub struct Later(Arc<Mutex<Option<SystemTime>>>);

impl Later {
    /// The time from now; taken once.
    pub fn take(&self) -> Option<Duration> {
        let at = self.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let span = at.duration_since(SystemTime::now()).unwrap_or_default();
        Some(span.min(LATER_MAX))
    }

    fn note(&self, at: Option<SystemTime>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }
}

/// What asks.
pub struct Client {
    agent: Agent,
    later: Later,
}

impl Client {
    /// Trusts the authorities of `acme.ca`, or those of the system.
    ///
    /// # Errors
    /// One line: there are none.
    pub fn new(acme: &Acme) -> Result<(Client, Later), String> {
        let tls = authorities::believed(acme.ca.as_deref(), Some("acme.ca"))?;
        let agent = Agent::config_builder()
            .tls_config(tls)
            .https_only(true)
            .http_status_as_error(false)
            .timeout_global(Some(REQUEST_TIMEOUT))
            .build()
            .new_agent();
        let later = Later::default();
        Ok((Client { agent, later: later.clone() }, later))
    }

    fn ask(&self, request: Request<BodyWrapper<Bytes>>) -> Result<BytesResponse, Error> {
        let (parts, mut body) = request.into_parts();
        let mut sent = Vec::new();
        let mut context = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut body).poll_frame(&mut context) {
            sent.extend_from_slice(&frame.into_data().unwrap_or_default());
        }
        let failed = |error: ureq::Error| Error::Other(Box::new(error));
        let answer = self.agent.run(Request::from_parts(parts, sent)).map_err(failed)?;
        let (parts, body) = answer.into_parts();
        let at = parts.headers.get("retry-after").and_then(|value| moment(value.to_str().ok()?));
        self.later.note(at);
        let content = body.into_with_config().limit(ANSWER_BYTES_MAX).read_to_vec().map_err(failed)?;
        let body = Box::new(Bytes::from(content));
        Ok(BytesResponse { parts, body })
    }
}

impl HttpClient for Client {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>> {
        // It has been answered when this returns: this process has nothing else to do meanwhile.
        Box::pin(std::future::ready(self.ask(request)))
    }
}

/// The result of a call that waits for nothing but [`Client`].
pub fn done<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return result;
        }
    }
}

/// Seconds from now, or a date.
fn moment(text: &str) -> Option<SystemTime> {
    match text.trim().parse::<u64>() {
        Ok(seconds) => SystemTime::now().checked_add(Duration::from_secs(seconds)),
        Err(_) => httpdate::parse_http_date(text.trim()).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_to_ask_again_is_a_span_or_a_date() {
        let later = Later::default();
        later.note(moment("120"));
        let span = later.take().unwrap();
        assert!((119..=120).contains(&span.as_secs()) && later.take().is_none());
        later.note(moment("Fri, 31 Dec 1999 23:59:59 GMT"));
        assert_eq!(later.take(), Some(Duration::ZERO));
        later.note(moment("99999999999"));
        assert_eq!(later.take(), Some(LATER_MAX));
        assert_eq!(moment("soon"), None);
    }
}
