//! Where to listen, as the operator writes it: an address, or the host name of a site with TLS.
//!
//! Must not know sockets. Invariant: a name stands for addresses of all interfaces, `localhost` for the loopback.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use super::ListenAddress;
use super::host_name::{host_name, is_certifiable, is_local};
use crate::machine;

/// One entry of `server.listen`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// As it is.
    Address(ListenAddress),
    /// `https://NAME`, or `https://NAME:PORT`.
    Name {
        /// The host name, in small letters.
        name: String,
        /// The port; without one 443, and 80 for those who come without TLS.
        port: Option<u16>,
    },
}

impl Place {
    /// The addresses that it stands for.
    fn addresses(&self) -> Vec<ListenAddress> {
        let (name, port) = match self {
            Place::Address(address) => return vec![address.clone()],
            Place::Name { name, port } => (name, *port),
        };
        if is_local(name) {
            return vec![ListenAddress::Https((Ipv4Addr::LOCALHOST, port.unwrap_or(443)).into())];
        }
        let mut addresses: Vec<_> = everywhere(port.unwrap_or(443)).map(ListenAddress::Https).collect();
        if port.is_none() {
            addresses.extend(everywhere(80).map(ListenAddress::Tcp));
        }
        addresses
    }

    /// Whether who comes without TLS is sent to the address with it.
    fn redirects(&self) -> bool {
        matches!(self, Place::Name { name, port: None } if !is_local(name))
    }
}

/// All interfaces. A port that the kernel chooses would be another one for each family.
fn everywhere(port: u16) -> impl Iterator<Item = SocketAddr> {
    let six = (port != 0 && machine::has_ipv6()).then(|| (Ipv6Addr::UNSPECIFIED, port).into());
    std::iter::once((Ipv4Addr::UNSPECIFIED, port).into()).chain(six)
}

impl FromStr for Place {
    type Err = String;

    /// Everything that [`ListenAddress`] accepts; with `https://` also a host name, with or without a port.
    fn from_str(text: &str) -> Result<Self, String> {
        let named = text.strip_prefix("https://").map(|rest| rest.trim_end_matches('/'));
        let (host, port) = match named.map(|rest| (rest, rest.rsplit_once(':'))) {
            Some((_, Some((host, digits)))) => (host, Some(digits)),
            Some((host, None)) => (host, None),
            None => return text.parse().map(Place::Address),
        };
        let is_name = host.bytes().any(|byte| byte.is_ascii_alphabetic()) && !host.contains([':', '[', '/']);
        if !is_name {
            return text.parse().map(Place::Address);
        }
        let port = match port.map(str::parse::<u16>) {
            None => None,
            Some(Ok(port)) => Some(port),
            Some(Err(_)) => return Err(format!("\"{text}\": write https://NAME, or https://NAME:PORT")),
        };
        let name = host_name(host)?;
        if !is_certifiable(&name) {
            return Err(format!(
                "\"{text}\": an address has one host name; a site may have names for a whole domain, and certificate files for it"
            ));
        }
        Ok(Place::Name { name, port })
    }
}

/// What a list of places comes to.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Where to listen; names that share an address have it once.
    pub addresses: Vec<ListenAddress>,
    /// The host names.
    pub names: Vec<String>,
    /// Whether who comes without TLS is sent to the address with it.
    pub redirects: bool,
}

impl Places {
    /// Takes them together.
    pub fn of(places: &[Place]) -> Places {
        let mut all = Places::default();
        for place in places {
            let is_name = matches!(place, Place::Name { .. });
            for address in place.addresses() {
                if !is_name || !all.addresses.contains(&address) {
                    all.addresses.push(address);
                }
            }
            all.redirects |= place.redirects();
            if let Place::Name { name, .. } = place
                && !all.names.contains(name)
            {
                all.names.push(name.clone());
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, Places};

    fn places(texts: &[&str]) -> Result<Places, String> {
        let places: Result<Vec<Place>, String> = texts.iter().map(|text| text.parse()).collect();
        places.map(|places| Places::of(&places))
    }

    fn four(places: &Places) -> Vec<String> {
        let texts = places.addresses.iter().map(ToString::to_string);
        texts.filter(|text| !text.contains('[')).collect()
    }

    #[test]
    fn a_name_alone_is_both_ports() {
        let found = places(&["https://A.example", "https://b.example/"]).unwrap();
        assert_eq!(four(&found), ["https://0.0.0.0:443", "0.0.0.0:80"]);
        assert_eq!((found.names, found.redirects), (vec!["a.example".into(), "b.example".into()], true));
    }

    #[test]
    fn a_port_stands_for_itself_and_localhost_for_the_loopback() {
        let found = places(&["https://a.example:8443", "https://localhost:444", "127.0.0.1:80"]).unwrap();
        assert_eq!(four(&found), ["https://0.0.0.0:8443", "https://127.0.0.1:444", "127.0.0.1:80"]);
        assert!(!found.redirects);
        assert_eq!(four(&places(&["https://localhost"]).unwrap()), ["https://127.0.0.1:443"]);
    }

    #[test]
    fn what_is_no_name_is_an_address_or_refused() {
        let found = places(&["https://127.0.0.1:443", "https://:444", "https://[::1]:445"]).unwrap();
        assert_eq!((found.addresses.len(), found.names.len()), (3, 0));
        for wrong in [
            "https://a.example:",
            "https://a.example:x",
            "https://*.a.example",
            "https://a_.b:70000",
            "a.example:80",
        ] {
            assert!(places(&[wrong]).is_err(), "{wrong}");
        }
    }
}
