//! Why a name was not certified, in one line, and when to try again.
//!
//! Must not know orders. Invariant: a refusal is never answered with another attempt at once, because authorities count them.

use std::time::Duration;

use instant_acme::{Error, Problem};

use super::client::Later;

/// After a refusal: authorities allow some five failures of a name in an hour.
const REFUSED_MIN: Duration = Duration::from_secs(15 * 60);
const REFUSED_MAX: Duration = Duration::from_secs(24 * 3600);
/// While the authority cannot be reached.
const UNREACHED_MIN: Duration = Duration::from_secs(60);
const UNREACHED_MAX: Duration = Duration::from_secs(3600);
/// The beginning of every type of problem (RFC 8555 section 6.7).
const PREFIX: &str = "urn:ietf:params:acme:error:";
const NO_ADDRESS: &str = "its name has no address: check acme.directory and this host's DNS";
/// A reason for the log.
const TEXT_CHARS_MAX: usize = 600;

/// Why it failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// One line: what is wrong, and what to do.
    pub text: String,
    /// Whether the authority has said no; else it was not reached, or this host has a problem of its own.
    pub is_refusal: bool,
    /// When the authority wants to be asked again.
    pub later: Option<Duration>,
    /// What the authority calls the problem; empty if it is none of its own.
    pub kind: String,
}

impl Failure {
    /// A problem of this host.
    pub fn own(text: impl Into<String>) -> Failure {
        Failure { text: text.into(), is_refusal: false, later: None, kind: String::new() }
    }

    /// What the authority answered, or why it did not.
    pub fn of(error: &Error, later: &Later) -> Failure {
        match error {
            Error::Api(problem) => Failure::of_problem(problem, later),
            Error::Other(inner) => match inner.downcast_ref::<ureq::Error>() {
                Some(error) => Failure { later: later.take(), ..Failure::own(unreached(error)) },
                None => Failure::own(one_line(&error.to_string())),
            },
            Error::Json(_) => Failure::own(
                "the authority's answer is not ACME: check acme.directory, and what may lie between",
            ),
            error => Failure::own(one_line(&error.to_string())),
        }
    }

    /// A refusal, with what can be done about it.
    pub fn of_problem(problem: &Problem, later: &Later) -> Failure {
        let kind = kind_of(problem).unwrap_or_default();
        let said = problem.detail.clone().unwrap_or_else(|| kind.to_owned());
        let of_names = problem.subproblems.iter().filter_map(|one| one.detail.clone());
        let said = of_names.fold(said, |said, more| format!("{said}; {more}"));
        let hint = match kind {
            "dns" => "let the A and AAAA records of the name lead to this server",
            "connection" | "tls" => "the authority must reach this server at the name's ports 80 and 443",
            "unauthorized" | "incorrectResponse" => {
                "another server answered for the name: let its A and AAAA records lead here only"
            }
            "caa" => "the name's CAA record forbids this authority",
            "rejectedIdentifier" => "the authority certifies no such name",
            "rateLimited" => "the authority limits how often it is asked",
            "externalAccountRequired" => {
                "the authority wants an account that was made with it, which weft does not do"
            }
            "userActionRequired" => "the authority's terms of service have changed",
            _ => "",
        };
        let text = if hint.is_empty() { one_line(&said) } else { format!("{} ({hint})", one_line(&said)) };
        Failure { text, is_refusal: true, later: later.take(), kind: kind.to_owned() }
    }

    /// How long to wait after so many failures in a row.
    pub fn pause(&self, failures: u32) -> Duration {
        let (least, most) =
            if self.is_refusal { (REFUSED_MIN, REFUSED_MAX) } else { (UNREACHED_MIN, UNREACHED_MAX) };
        let grown = least.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(most);
        self.later.unwrap_or_default().max(grown)
    }
}

/// The last word of a problem's type.
pub fn kind_of(problem: &Problem) -> Option<&str> {
    problem.r#type.as_deref()?.strip_prefix(PREFIX)
}

/// Whether an answer is a problem of this kind.
pub fn is(error: &Error, kind: &str) -> bool {
    matches!(error, Error::Api(problem) if kind_of(problem) == Some(kind))
}

fn unreached(error: &ureq::Error) -> String {
    let is_lost = |error: &std::io::Error| error.to_string().contains("failed to lookup address");
    let what = match error {
        ureq::Error::HostNotFound => NO_ADDRESS.to_owned(),
        // So std reports getaddrinfo(3).
        ureq::Error::Io(error) if is_lost(error) => NO_ADDRESS.to_owned(),
        ureq::Error::Timeout(_) => "it did not answer in time".to_owned(),
        ureq::Error::Rustls(error) => distrusted(error),
        ureq::Error::Io(error) if of_tls(error).is_some() => {
            of_tls(error).map(distrusted).unwrap_or_default()
        }
        ureq::Error::Io(error) => format!("{error}; this host must reach it by HTTPS"),
        error => error.to_string(),
    };
    one_line(&format!("the authority cannot be reached: {what}"))
}

/// What TLS has against the authority's server.
fn of_tls(error: &std::io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

fn distrusted(error: &rustls::Error) -> String {
    format!("its own certificate is not trusted ({error}): name its authority in acme.ca, or check the clock")
}

fn one_line(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(plain).take(TEXT_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(kind: &str, detail: &str) -> Problem {
        let text = serde_json::json!({ "type": format!("{PREFIX}{kind}"), "detail": detail }).to_string();
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let text = |kind| Failure::of_problem(&problem(kind, "No valid\nA records"), &Later::default()).text;
        assert_eq!(
            text("dns"),
            "No valid A records (let the A and AAAA records of the name lead to this server)"
        );
        assert_eq!(text("malformed"), "No valid A records");
    }

    #[test]
    fn failures_of_all_kinds_are_one_line() {
        let of = |error: ureq::Error| Failure::of(&Error::Other(Box::new(error)), &Later::default());
        let lost = of(ureq::Error::HostNotFound);
        assert_eq!(
            (lost.text.as_str(), lost.is_refusal),
            (
                "the authority cannot be reached: its name has no address: check acme.directory and this host's DNS",
                false
            )
        );
        let refused = std::io::Error::from_raw_os_error(111);
        assert!(of(ureq::Error::Io(refused)).text.contains("Connection refused"));
    }

    #[test]
    fn pauses_grow_up_to_a_day_and_heed_the_authority() {
        let refusal = Failure::of_problem(&problem("rateLimited", "too many"), &Later::default());
        let minutes = |failure: &Failure, count| failure.pause(count).as_secs() / 60;
        assert_eq!([1, 2, 3, 99].map(|count| minutes(&refusal, count)), [15, 30, 60, 1440]);
        let own = Failure::own("no network");
        assert_eq!([1, 2, 99].map(|count| minutes(&own, count)), [1, 2, 60]);
        let later = Failure { later: Some(Duration::from_secs(7 * 86_400)), ..refusal };
        assert_eq!(later.pause(1).as_secs(), 7 * 86_400);
    }
}
