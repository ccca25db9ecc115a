//! Host names without a certificate that is for them.
//!
//! Must not know files. Invariant: names that are yet to be certified by themselves, and addresses, count as covered.

use super::resolver::ByName;
use crate::config::{Config, is_address};

/// What an operator should know, one line each: names whose clients get a certificate that they refuse.
pub fn uncovered(config: &Config, certificates: &ByName) -> Vec<String> {
    if !config.wants_tls() {
        return Vec::new();
    }
    let automatic = config.automatic_names();
    let is_bare = |name: &&str| !automatic.contains(name) && !is_address(name) && !certificates.is_for(name);
    let of_addresses = ("listen", &config.server.names);
    let of_sites = config.sites.iter().map(|site| (&site.place[..], &site.names));
    let lines = std::iter::once(of_addresses).chain(of_sites).filter_map(|(place, names)| {
        let bare: Vec<&str> = names.iter().map(String::as_str).filter(is_bare).collect();
        let given = certificates.names_for(bare.first()?);
        let given = if given.is_empty() { "no name".to_owned() } else { given.join(", ") };
        Some(format!(
            "{place}: no certificate is for {}: clients get the one for {given}, and refuse it",
            bare.join(", ")
        ))
    });
    lines.collect()
}
