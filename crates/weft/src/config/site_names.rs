//! Which site a host name belongs to.
//!
//! Must not know requests or certificates. Invariant: a name has one site; among names that begin with a star the longest
//! counts, and an exact one goes before them.

use std::collections::HashMap;

use super::Site;

/// No host name is longer (RFC 1035 section 2.3.4); with a dot at its end.
const NAME_BYTES_MAX: usize = 254;

/// The names of all sites.
#[derive(Debug, Clone, Default)]
pub struct SiteNames {
    exact: HashMap<Box<[u8]>, usize>,
    /// Without the star and its dot.
    below: HashMap<Box<[u8]>, usize>,
    default: Option<usize>,
}

impl SiteNames {
    /// Those of these sites, which have different ones.
    pub fn of(sites: &[Site]) -> SiteNames {
        let mut names = SiteNames::default();
        for (number, site) in sites.iter().enumerate() {
            for name in &site.names {
                let (table, name) = match name.strip_prefix("*.") {
                    Some(domain) => (&mut names.below, domain),
                    None => (&mut names.exact, name.as_str()),
                };
                table.insert(name.as_bytes().into(), number);
            }
            if site.is_default {
                names.default = Some(number);
            }
        }
        names
    }

    /// The site of a host, as a client has written it without the port: the one with the name, else the default.
    pub fn find(&self, host: &[u8]) -> Option<usize> {
        self.named(host).or(self.default)
    }

    /// The site with this name.
    pub fn named(&self, host: &[u8]) -> Option<usize> {
        if host.is_empty() || host.len() > NAME_BYTES_MAX {
            return None;
        }
        let mut room = [0; NAME_BYTES_MAX];
        let name = &mut room[..host.len()];
        name.copy_from_slice(host);
        name.make_ascii_lowercase();
        let name = name.strip_suffix(b".").unwrap_or(name);
        if let Some(site) = self.exact.get(name) {
            return Some(*site);
        }
        if self.below.is_empty() {
            return None;
        }
        let dots = name.iter().enumerate().filter(|(at, byte)| **byte == b'.' && *at > 0);
        dots.into_iter().find_map(|(at, _)| self.below.get(&name[at + 1..]).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::{Site, SiteNames};
    use crate::config::Config;

    fn site(names: &[&str], is_default: bool) -> Site {
        Site {
            place: String::new(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            is_default,
            certificates: Vec::new(),
            keys: Vec::new(),
            ini: Vec::new(),
            admin_ini: Vec::new(),
            environment: Vec::new(),
            config: Config::default(),
        }
    }

    #[test]
    fn the_most_exact_name_counts() {
        let mut sites = vec![
            site(&["a.example", "*.b.example"], false),
            site(&["www.b.example", "*.deep.b.example", "[::1]"], false),
        ];
        let names = SiteNames::of(&sites);
        for (host, expected) in [
            ("a.example", Some(0)),
            ("A.Example.", Some(0)),
            ("www.a.example", None),
            ("b.example", None),
            ("x.b.example", Some(0)),
            ("x.y.b.example", Some(0)),
            ("WWW.b.example", Some(1)),
            ("x.deep.b.example", Some(1)),
            ("deep.b.example", Some(0)),
            (".b.example", None),
            ("xb.example", None),
            ("[::1]", Some(1)),
            ("", None),
            (".", None),
        ] {
            assert_eq!(names.find(host.as_bytes()), expected, "{host}");
        }
        assert_eq!(names.find(&[b'a'; 1000]), None);
        assert_eq!(names.find("x.".repeat(4000).as_bytes()), None);
        sites.push(site(&[], true));
        let names = SiteNames::of(&sites);
        assert_eq!((names.find(b"b.example"), names.find(b""), names.named(b"")), (Some(2), Some(2), None));
    }
}
