//! What answers a request: its script, and the site to which that belongs.
//!
//! Must not know how either was found. Invariant: a request that is to run has its script here until PHP releases it, or it
//! is refused.

use std::os::unix::ffi::OsStrExt;

use weft_rt::Job;
use weft_zend::abi::NO_SITE;
use weft_zend::{Field, JobKind, RequestId, Slice};

use super::server_host::ServerHost;
use crate::classic::{Docroot, Script, Served, Sites};
use crate::config::Site;

impl ServerHost {
    /// Stores the script to run for a request, until PHP releases it.
    pub fn keep_script(&self, request: RequestId, script: Script) {
        self.scripts.borrow_mut().insert(request, script);
    }

    /// Drops the script of a request that is refused.
    pub fn forget_script(&self, request: RequestId) {
        self.scripts.borrow_mut().remove(&request);
    }

    /// Whether the path of the script that is to run for a request is as `is_meant` says.
    pub fn runs_script(&self, request: RequestId, is_meant: impl FnOnce(&[u8]) -> bool) -> bool {
        self.scripts.borrow().get(&request).is_some_and(|script| is_meant(&script.name))
    }

    /// What a request becomes.
    pub fn job_of(&self, request: RequestId) -> Job {
        let Some(served) = self.served(request) else { return JobKind::Request.job(request) };
        let kind = if served.docroot.is_resident() { JobKind::Resident } else { JobKind::Classic };
        kind.job_in(served.pool, request)
    }

    /// What answers a request, where there are document roots or scripts that stay loaded.
    fn served(&self, request: RequestId) -> Option<&'static Served> {
        let sites = self.sites?;
        let number = if sites.are_several() { self.site_of(request)? } else { 0 };
        sites.get(number)
    }

    pub(super) fn script(&self, request: RequestId, field: Field) -> Slice {
        let scripts = self.scripts.borrow();
        let Some(script) = scripts.get(&request) else { return Slice::NONE };
        match field {
            Field::Script => Slice::of(script.file.as_os_str().as_bytes()),
            Field::ScriptName => Slice::of(&script.name),
            Field::PathInfo => Slice::of(&script.path_info),
            Field::User => script.user.as_deref().map_or(Slice::NONE, Slice::of),
            Field::Query => script.query.as_deref().map_or(Slice::NONE, Slice::of),
            _ => match self.sites.and_then(|sites| sites.get(script.site)) {
                Some(served) => Slice::of(served.docroot.root().path().as_os_str().as_bytes()),
                None => Slice::NONE,
            },
        }
    }

    pub(super) fn rules_are_on(&self) -> bool {
        self.sites.is_some_and(Sites::has_rules)
    }

    /// The number of the site whose script answers a request.
    pub fn site_of(&self, request: RequestId) -> Option<usize> {
        self.scripts.borrow().get(&request).map(|script| script.site)
    }

    /// For PHP: the number of the site, or [`NO_SITE`].
    pub(super) fn number_of_site(&self, request: RequestId) -> u32 {
        let number = self.sites.filter(|sites| sites.are_several()).and_then(|_| self.site_of(request));
        number.map_or(NO_SITE, |number| number as u32)
    }

    /// What the `[[site]]` with this number says.
    pub fn settings_of_site(&self, number: usize) -> Option<&'static Site> {
        let sites = self.sites.filter(|sites| sites.are_several())?;
        sites.get(number)?.site.as_ref()
    }

    /// What the `[[site]]` says whose script answers a request.
    pub fn settings_of(&self, request: RequestId) -> Option<&'static Site> {
        self.settings_of_site(self.site_of(request)?)
    }

    /// The first name of the default site, if the client has asked it for a host that is not one of its names.
    pub(super) fn own_name(&self, request: RequestId, field: Field) -> Option<Slice> {
        let sites = self.sites.filter(|sites| field == Field::HostName && sites.are_several())?;
        if sites.is_named(&self.scratch.borrow()) {
            return None;
        }
        let names = &self.settings_of(request)?.names;
        names.iter().find(|name| !name.starts_with("*.")).map(|name| Slice::of(name.as_bytes()))
    }

    /// The document root whose script answers a request.
    pub(super) fn docroot_of(&self, request: RequestId) -> Option<&'static Docroot> {
        self.served(request).map(|served| &served.docroot)
    }

    /// Whether a rule has changed the query of a request.
    pub(super) fn is_rewritten(&self, request: RequestId) -> bool {
        self.scripts.borrow().get(&request).is_some_and(|script| script.query.is_some())
    }
}
