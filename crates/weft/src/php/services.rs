//! The services of streams and datagrams that the application has declared while it booted, by their paths.
//!
//! Must not know connections. Invariant: an address of the configuration is served only by a service that was declared for its
//! path; anything else is an error that names both.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use weft_proto::framing::{Framing, Prefix};
use weft_serve::{Overflow, StreamService};
use weft_zend::abi::OverflowPolicy;
use weft_zend::host::{DeclaredFraming, DeclaredStream};

use crate::config::Config;

thread_local! {
    static DECLARED: RefCell<BTreeMap<String, Rc<StreamService>>> = RefCell::default();
    /// Numbers of those for datagrams.
    static DATAGRAMS: RefCell<BTreeMap<String, u32>> = RefCell::default();
}

/// An overflow policy in the server's words.
pub fn overflow_of(policy: OverflowPolicy) -> Overflow {
    match policy {
        OverflowPolicy::Close => Overflow::Close,
        OverflowPolicy::DropOldest => Overflow::DropOldest,
        OverflowPolicy::DropNewest => Overflow::DropNewest,
        OverflowPolicy::KeepNewest => Overflow::KeepNewest,
    }
}

/// Keeps what the application has said of a service.
pub fn declare(path: &[u8], declared: &DeclaredStream<'_>) {
    if declared.takes_datagrams {
        let path = String::from_utf8_lossy(path).into_owned();
        DATAGRAMS.with_borrow_mut(|all| all.insert(path, declared.service));
        return;
    }
    let framing = match declared.framing {
        DeclaredFraming::Raw => Framing::Raw,
        DeclaredFraming::Delimited(delimiter) => Framing::Delimited(delimiter.into()),
        DeclaredFraming::Prefixed { bytes, is_little_endian, counts_itself } => {
            Framing::Prefixed(Prefix { bytes, is_little_endian, counts_itself })
        }
    };
    let service = StreamService {
        service: declared.service,
        overflow: overflow_of(declared.overflow),
        wants_drained: declared.wants_drained,
        is_owned: declared.is_owned,
        framing: Rc::new(framing),
    };
    let path = String::from_utf8_lossy(path).into_owned();
    DECLARED.with_borrow_mut(|all| all.insert(path, Rc::new(service)));
}

/// The service for the streams of an address.
///
/// # Errors
/// The application has none with this path.
pub fn stream_service(path: &str) -> Result<Rc<StreamService>, String> {
    DECLARED.with_borrow(|all| all.get(path).map(Rc::clone).ok_or_else(|| unknown(path, "TCP", all.keys())))
}

/// The number of the service for the datagrams of an address.
///
/// # Errors
/// The application has none with this path.
pub fn datagram_service(path: &str) -> Result<u32, String> {
    DATAGRAMS.with_borrow(|all| all.get(path).copied().ok_or_else(|| unknown(path, "UDP", all.keys())))
}

fn unknown<'k>(path: &str, kind: &str, known: impl Iterator<Item = &'k String>) -> String {
    let known: Vec<&str> = known.map(String::as_str).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    format!(
        "listen names the service {path}, which the application does not have: its {kind} services are {known}; return \
         them by path in Weft\\Application"
    )
}

/// Checks that the application has the services that the addresses name.
///
/// # Errors
/// It does not have this one.
pub fn check(config: &Config) -> Result<(), String> {
    config.server.listen.iter().filter_map(|address| Some((address.udp(), address.service()?))).try_for_each(
        |(udp, path)| match udp {
            Some(_) => datagram_service(path).map(drop),
            None => stream_service(path).map(drop),
        },
    )
}
