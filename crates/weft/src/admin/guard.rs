//! Requests that a browser makes for somebody else's page.
//!
//! A page of any site may send requests to addresses that only this machine reaches, and by a name of its own that suddenly
//! means 127.0.0.1 (DNS rebinding) it may read the answers. Must not know the token, nor for which requests that matters.
//! Invariant: what such a page sends is refused before its body or its query is looked at.

use std::net::{Ipv4Addr, Ipv6Addr};

use weft_serve::RequestView;

/// Why a request is refused, if it is.
pub fn refusal(request: &RequestView<'_>, has_token: bool) -> Option<&'static str> {
    if !request.is_of_own_origin() {
        return Some("403 Forbidden: this request comes from a page of another site\n");
    }
    let host = request.authority().unwrap_or_default();
    // Who has to know a token gets nothing by a name.
    (!has_token && !is_own_name(host)).then_some(
        "403 Forbidden: without admin.token this address is asked by an IP address, localhost or a name without dots, \
         because any other name may be another site's\n",
    )
}

/// Whether no other site can have this name: `HOST` or `HOST:PORT`.
fn is_own_name(authority: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(authority) else { return false };
    if let Some(rest) = text.strip_prefix('[') {
        return rest.split(']').next().is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    }
    let name = text.split(':').next().unwrap_or_default();
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    !name.contains('.') || name.ends_with(".localhost") || name.parse::<Ipv4Addr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_another_site_may_have_are_not_own() {
        for own in [
            "",
            "weft",
            "localhost:9180",
            "LOCALHOST.",
            "a.localhost",
            "127.0.0.1:9180",
            "[::1]:9180",
            "10.0.0.7",
        ] {
            assert!(is_own_name(own.as_bytes()), "{own}");
        }
        for other in [
            "evil.example",
            "evil.example:9180",
            "127.0.0.1.evil.example",
            "[::1.evil.example]",
            "localhost.evil.example.",
            "\u{e9}.de",
        ] {
            assert!(!is_own_name(other.as_bytes()), "{other}");
        }
    }
}
