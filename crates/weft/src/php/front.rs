//! What has a say about each request before PHP gets it, and tells from its head alone: an address for the operator, an
//! authority that asks for a name, TLS that a site wants.
//!
//! Must not know files or jobs. Invariant: it may be asked on a coroutine, because it waits for nothing.

use std::sync::Arc;

use weft_serve::{RequestKey, Server};
use weft_zend::Field;

use super::answers;
use super::facts::{Facts, Scratch};
use super::secure::Secure;
use crate::acme::Challenges;
use crate::admin::Admin;
use crate::classic::Sites;
use crate::config::Trust;

/// All that has.
pub struct Front {
    /// The answers for the operator, if there is an address for them.
    pub admin: Option<&'static Admin>,
    /// What authorities get that ask for a name.
    pub challenges: Option<Arc<Challenges>>,
    /// What TLS means for a request.
    pub secure: Secure,
    /// In classic and resident mode.
    pub sites: Option<&'static Sites>,
    pub trust: Trust,
}

impl Front {
    /// Answers a request that is not PHP's; returns whether it was one.
    pub fn answer(&self, server: &Server, key: RequestKey) -> bool {
        self.admin.is_some_and(|admin| admin.answer(server, key))
            || self.challenges.as_ref().is_some_and(|challenges| answers::prove(server, key, challenges))
            || self.secure.redirects() && self.redirect(server, key)
    }

    /// Sends a request that came without TLS to where TLS is, if its site wants that.
    fn redirect(&self, server: &Server, key: RequestKey) -> bool {
        let site = server.with_request(key, |request| self.number_of_site(&Facts::of(request))).flatten();
        let port = self.secure.port_for(site);
        port.is_some_and(|port| answers::redirect_to_https(server, &self.trust, key, port))
    }

    /// The number of the site of a request's host, where there are sites.
    pub fn number_of_site(&self, facts: &Facts<'_>) -> Option<usize> {
        let sites = self.sites.filter(|sites| sites.are_several())?;
        let mut scratch = Scratch::new();
        facts.made(Field::HostName, &self.trust, None, &mut scratch);
        sites.find(&scratch)
    }
}
