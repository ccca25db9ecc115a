//! The listeners of a worker, and why they accept nothing now.
//!
//! Must not know how a connection is accepted. Invariant: a listener's number stays its own while others are closed.

use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;

use rustls::ServerConfig;
use weft_rt::Nanos;

use crate::address::Endpoint;
use crate::tunnel::stream_service::StreamService;

/// Tells whether an address is believed.
pub type Trusts = Arc<dyn Fn(IpAddr) -> bool>;

/// What connections speak, and whose they are.
#[derive(Clone, Default)]
pub struct Service {
    /// TLS, with this configuration; HTTP/1.1 follows.
    pub tls: Option<Arc<ServerConfig>>,
    /// Whether a header of the PROXY protocol comes first, and which peers may send one. A peer by a Unix socket may.
    pub proxied: Option<Trusts>,
    /// Whether its requests are the operator's: [`RequestView::is_admin`](crate::RequestView::is_admin) says so to the
    /// handler, and they never wait for room.
    pub is_admin: bool,
    /// The service whose streams its connections are, in place of HTTP.
    pub stream: Option<Rc<StreamService>>,
}

/// One listener.
pub(crate) struct Listener {
    /// The number in its events. It does not change when another listener is closed.
    pub number: u32,
    pub fd: OwnedFd,
    /// Where it listens; `None` for the relay, from which connections of other workers come.
    pub endpoint: Option<Endpoint>,
    /// The number of its connections' service.
    pub service: u32,
    /// The worker for which this one serves the socket, if it belongs to another worker.
    pub stands_in_for: Option<u64>,
}

/// Why the server accepts no connection now.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// `connections_max` is reached. The server tries again when a connection closes, or at this time, because
    /// one may have become idle.
    Full(Nanos),
    /// Out of descriptors or memory. The server tries again at this time.
    Until(Nanos),
    /// Other workers have room and this one has none, until this time.
    Others(Nanos),
}

/// The listeners of a worker.
pub(crate) struct Listeners {
    pub open: Vec<Listener>,
    /// By number; the first is plain HTTP.
    pub services: Vec<Service>,
    pub numbers: u32,
    pub pause: Option<Pause>,
    pub full_reported: bool,
    pub exhausted_reported: bool,
}

impl Default for Listeners {
    fn default() -> Listeners {
        let (open, services) = (Vec::new(), vec![Service::default()]);
        Listeners { open, services, numbers: 0, pause: None, full_reported: false, exhausted_reported: false }
    }
}

impl Listeners {
    pub(crate) fn find(&self, number: u32) -> Option<&Listener> {
        self.open.iter().find(|listener| listener.number == number)
    }

    pub(crate) fn resume_at(&self) -> Option<Nanos> {
        match self.pause {
            Some(Pause::Until(at) | Pause::Full(at) | Pause::Others(at)) => Some(at),
            None => None,
        }
    }
}
