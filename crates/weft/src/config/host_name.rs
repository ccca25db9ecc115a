//! Host names, as the operator writes them.
//!
//! Must not know what they are for. Invariant: a name that is accepted is in small letters.

use std::net::Ipv6Addr;

/// The longest host name (RFC 1035 section 2.3.4).
const NAME_BYTES_MAX: usize = 253;

/// A host name in small letters; one that begins with `*.` is for all below a domain.
pub fn host_name(text: &str) -> Result<String, String> {
    let name = text.to_ascii_lowercase();
    let domain = name.strip_prefix("*.").unwrap_or(&name);
    let wrong = |why: &str| Err(format!("\"{text}\" {why}"));
    if name == "*" {
        return wrong("is no host name: write default = true for a site that gets all other hosts");
    }
    if domain.contains("://") || domain.contains('/') {
        return wrong("is a URL: write only its host name");
    }
    if domain.starts_with('[') && domain.ends_with(']') {
        return match domain[1..domain.len() - 1].parse::<Ipv6Addr>() {
            Ok(_) => Ok(name),
            Err(_) => wrong("is not an IPv6 address in brackets"),
        };
    }
    if domain.contains(':') {
        return wrong("has a port: a site has its names at every address");
    }
    if !domain.is_ascii() {
        return wrong("is not ASCII: write it as DNS does, beginning with xn--");
    }
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    if name.len() > NAME_BYTES_MAX || !domain.split('.').all(label) {
        return wrong("is not a host name: write a.example or *.a.example");
    }
    Ok(name)
}

/// Whether it means this machine, wherever it is used (RFC 6761 section 6.3): no authority certifies it.
pub fn is_local(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

/// Whether it is an IP address.
pub fn is_address(name: &str) -> bool {
    name.starts_with('[') || name.parse::<std::net::Ipv4Addr>().is_ok()
}

/// Whether a certificate for it can be had without further settings: it is no address, and not a whole domain.
pub fn is_certifiable(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    !name.starts_with("*.") && !name.starts_with('[') && !last.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::{host_name, is_certifiable, is_local};

    #[test]
    fn addresses_and_domains_are_not_certified() {
        for (name, is_own, local) in [
            ("a.example", true, false),
            ("localhost", true, true),
            ("app.localhost", true, true),
            ("notlocalhost", true, false),
            ("*.a.example", false, false),
            ("192.0.2.1", false, false),
            ("[::1]", false, false),
        ] {
            let name = host_name(name).unwrap();
            assert_eq!((is_certifiable(&name), is_local(&name)), (is_own, local), "{name}");
        }
    }
}
