//! Which site a request is for.
//!
//! Must not know how a site answers. Invariant: the host decides, and over a connection that was made for another
//! certificate than the site's no request of it is answered.

use std::cell::RefCell;
use std::sync::Arc;

use weft_proto::{Head, Version};
use weft_serve::{Peer, RequestView};
use weft_zend::Field;

use super::facts::{Facts, Scratch};
use crate::classic::{Served, Sites};
use crate::config::Trust;
use crate::tls::ByName;

/// What the choice depends on.
pub struct SiteChoice {
    /// What a worker serves, in classic and resident mode.
    pub sites: &'static Sites,
    /// The certificates of TLS connections.
    pub certificates: Option<Arc<ByName>>,
    /// Which proxies are believed about hosts.
    pub trust: Trust,
    /// For hosts.
    pub scratch: RefCell<Scratch>,
}

impl SiteChoice {
    /// What answers a request, and its number; `None` if there is nothing for its host, or if its connection was made for
    /// another certificate than the site's.
    pub fn of_request(&self, request: &RequestView<'_>) -> Option<(usize, &'static Served)> {
        let number = if self.sites.are_several() { self.site_of(request)? } else { 0 };
        Some((number, self.sites.get(number)?))
    }

    /// What would answer a request with this head, whatever its connection.
    pub fn of_head(&self, head: &Head, bytes: &[u8], peer: Peer) -> Option<&'static Served> {
        let number = if self.sites.are_several() {
            let mut scratch = self.scratch.borrow_mut();
            Facts { head, bytes, peer, secure: false }.made(Field::HostName, &self.trust, None, &mut scratch);
            self.sites.find(&scratch)?
        } else {
            0
        };
        self.sites.get(number)
    }

    fn site_of(&self, request: &RequestView<'_>) -> Option<usize> {
        let mut scratch = self.scratch.borrow_mut();
        Facts::of(request).made(Field::HostName, &self.trust, None, &mut scratch);
        if request.version() == Version::Http2 && !self.is_certified(request, &scratch) {
            return None;
        }
        self.sites.find(&scratch)
    }

    /// Whether a connection may be used for a host. That of a trusted proxy may be used for all.
    fn is_certified(&self, request: &RequestView<'_>, host: &[u8]) -> bool {
        let (Some(session), Some(certificates)) = (request.session(), &self.certificates) else {
            return true;
        };
        let is_trusted = match request.peer() {
            Peer::Tcp(peer) => self.trust.proxies.iter().any(|network| network.contains(peer.ip())),
            Peer::Unix => true,
        };
        let name = session.server_name().unwrap_or_default();
        is_trusted || certificates.is_same(name, &String::from_utf8_lossy(host))
    }
}
