//! Looks at a running server: each asks its address for the operator, and says what happened since the last.
//!
//! Must not know how it is shown. Invariant: it changes nothing there, and asks as seldom as it shows.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::requests::Requests;
use super::sample::Sample;
use crate::config::ListenAddress;
use crate::operator;

/// An answer with all routes and 256 workers has less.
const ANSWER_BYTES_MAX: u64 = 16 << 20;

/// What a look has seen.
pub struct Picture {
    pub sample: Sample,
    /// Nothing if they were not asked for, or cannot be listed now.
    pub requests: Option<Requests>,
}

/// The server, and what it said last.
pub struct Looks {
    address: ListenAddress,
    /// The field that says who asks, with its line end.
    authorization: String,
    last: (Instant, Value),
}

impl Looks {
    /// The first look, with which later ones are compared.
    ///
    /// # Errors
    /// No server answers there; what to do.
    pub fn begin(address: ListenAddress, token: Option<&str>) -> Result<Looks, String> {
        let mut looks = Looks {
            address,
            authorization: operator::authorization(token),
            last: (Instant::now(), Value::Null),
        };
        looks.last = looks.status()?;
        Ok(looks)
    }

    /// The next look, after so many seconds.
    ///
    /// # Errors
    /// As [`Looks::begin`]; a later one may succeed.
    pub fn next(&mut self, seconds: f64, with_requests: bool) -> Result<Picture, String> {
        std::thread::sleep(Duration::from_secs_f64(seconds));
        let now = self.status()?;
        let sample = Sample::between(&self.last.1, &now.1, (now.0 - self.last.0).as_secs_f64());
        self.last = now;
        let requests = with_requests.then(|| self.ask("/requests")).transpose()?.flatten();
        Ok(Picture { sample, requests: requests.as_ref().map(Requests::of) })
    }

    fn status(&self) -> Result<(Instant, Value), String> {
        let value = self.ask("/status")?;
        Ok((Instant::now(), value.ok_or_else(|| format!("{} is no server of weft", self.address))?))
    }

    /// What an answer says, if it is one.
    fn ask(&self, path: &str) -> Result<Option<Value>, String> {
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: weft\r\nConnection: close\r\n{}\r\n", self.authorization);
        let (status, body) = operator::ask(&self.address, request.as_bytes(), ANSWER_BYTES_MAX)?;
        Ok(serde_json::from_str(&body).ok().filter(|_| status == 200))
    }
}
