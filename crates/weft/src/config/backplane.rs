//! The address of what joins the topics of several hosts.
//!
//! Must not know who connects to it. Invariant: neither its user nor its password is shown, wherever it is printed.

use std::fmt;
use std::str::FromStr;

/// Where the backplane is.
#[derive(Clone, PartialEq)]
pub struct Backplane {
    /// As it was written, with user and password.
    pub url: String,
    /// What is there.
    pub kind: BackplaneKind,
    /// Without them.
    shown: String,
}

/// What a backplane is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackplaneKind {
    /// Redis, or what speaks its protocol: `redis://`, with TLS `rediss://`.
    Redis,
    /// NATS: `nats://`, with TLS `tls://`.
    Nats,
}

impl FromStr for Backplane {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (scheme, rest) = text.split_once("://").ok_or_else(expected)?;
        let kind = match scheme {
            "redis" | "rediss" => BackplaneKind::Redis,
            "nats" | "tls" => BackplaneKind::Nats,
            _ => return Err(expected()),
        };
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("contains a space or another character that a URL writes as %20".into());
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, place) =
            authority.rsplit_once('@').map_or((None, authority), |(user, place)| (Some(user), place));
        if user.is_some_and(|user| user.contains('@')) {
            return Err("the user or the password contains an @: write it as %40".into());
        }
        check_place(place)?;
        let is_path = match kind {
            BackplaneKind::Redis => path.is_empty() || path.parse::<u16>().is_ok(),
            BackplaneKind::Nats => path.is_empty(),
        };
        if !is_path {
            return Err(match kind {
                BackplaneKind::Redis => format!("/{path} is no number of a database"),
                BackplaneKind::Nats => format!("a NATS server has no path, got /{path}"),
            });
        }
        let shown = format!("{scheme}://{place}");
        Ok(Backplane { url: text.to_owned(), kind, shown })
    }
}

impl Backplane {
    /// The user and the password.
    pub fn credentials(&self) -> Option<(String, String)> {
        let (_, rest) = self.url.split_once("://")?;
        let (credentials, _) = rest.split('/').next()?.rsplit_once('@')?;
        let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
        Some((decoded(user), decoded(password)))
    }

    /// The address without them.
    pub fn place(&self) -> &str {
        &self.shown
    }
}

/// What a part of a URL stands for: `%40` is an @.
pub fn decoded(text: &str) -> String {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, behind)) = rest.split_first() {
        let hex = behind.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let coded = hex.filter(|_| *byte == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok());
        plain.push(coded.unwrap_or(*byte));
        rest = if coded.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

fn expected() -> String {
    "expected redis://HOST:PORT or nats://HOST:PORT, with TLS rediss:// or tls://".into()
}

/// Checks `HOST` or `HOST:PORT`.
fn check_place(place: &str) -> Result<(), String> {
    let (host, port) = match place.strip_prefix('[') {
        Some(rest) => {
            let (host, behind) =
                rest.split_once(']').ok_or_else(|| "the [ of its address has no ]".to_owned())?;
            (host, behind.strip_prefix(':').or((!behind.is_empty()).then_some("?")))
        }
        None if place.matches(':').count() > 1 => (place, Some("?")),
        None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
    };
    if host.is_empty() {
        return Err("names no host".into());
    }
    match port.map(str::parse::<u16>) {
        None | Some(Ok(1..)) => Ok(()),
        Some(_) => {
            Err(format!("{place} has no valid port: one of 1 to 65535, and IPv6 addresses in brackets"))
        }
    }
}

impl fmt::Display for Backplane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for Backplane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_both_kinds_are_understood() {
        for (text, kind, shown) in [
            ("redis://10.0.0.5", BackplaneKind::Redis, "redis://10.0.0.5"),
            ("redis://user:secret@redis.example:6380/2", BackplaneKind::Redis, "redis://redis.example:6380"),
            ("rediss://:secret@[::1]:6379", BackplaneKind::Redis, "rediss://[::1]:6379"),
            ("nats://user:secret@nats", BackplaneKind::Nats, "nats://nats"),
            ("tls://nats.example:4222", BackplaneKind::Nats, "tls://nats.example:4222"),
        ] {
            let backplane: Backplane = text.parse().unwrap();
            assert_eq!((backplane.kind, backplane.to_string()), (kind, shown.to_owned()), "{text}");
            assert!(!format!("{backplane:?}").contains("secret"));
        }
    }

    #[test]
    fn credentials_are_what_they_stand_for() {
        let credentials = |text: &str| text.parse::<Backplane>().unwrap().credentials();
        let both = |user: &str, password: &str| Some((user.to_owned(), password.to_owned()));
        assert_eq!(credentials("nats://host"), None);
        assert_eq!(credentials("nats://token@host"), both("token", ""));
        assert_eq!(credentials("nats://a%40b:c%3A%2Fd%zz@host:4222"), both("a@b", "c:/d%zz"));
    }

    #[test]
    fn others_are_refused_with_a_reason() {
        for (text, why) in [
            ("localhost:6379", "expected redis://HOST:PORT"),
            ("amqp://localhost", "expected redis://HOST:PORT"),
            ("redis://", "names no host"),
            ("redis://user:p@ss@host", "write it as %40"),
            ("redis://host:port", "no valid port"),
            ("redis://host:0", "no valid port"),
            ("redis://::1", "no valid port"),
            ("redis://[::1", "has no ]"),
            ("redis://host/first", "no number of a database"),
            ("nats://host/subject", "no path"),
            ("nats://a host", "%20"),
        ] {
            let refused = text.parse::<Backplane>().unwrap_err();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
