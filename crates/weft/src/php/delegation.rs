//! Responses that a script delegates: X-Sendfile to a file in a directory that the operator has named, X-Accel-Redirect
//! to another URL of the document root.
//!
//! Must not know how PHP expresses that. Invariant: what is sent here was found with the same rules as for a client's
//! own request, or lies below a directory that the operator has named.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use weft_serve::{Beside, Error, Opened, RequestKey};
use weft_zend::RequestId;
use weft_zend::abi::{ACCEL_REDIRECT, SENDFILE};
use weft_zend::host::HeaderLine;

use super::file_status::status_of;
use super::server_host::ServerHost;
use crate::classic::{Route, Script, Wanted};

impl ServerHost {
    /// Which of the two are enabled.
    pub(super) fn delegations_on(&self, request: RequestId) -> u32 {
        let Some(docroot) = self.docroot_of(request) else { return 0 };
        let on = |is_on: bool, bit| if is_on { bit } else { 0 };
        on(docroot.has_sendfile(), SENDFILE) | on(docroot.accel_redirect(), ACCEL_REDIRECT)
    }

    /// X-Sendfile. `Err` is the status that says why not.
    pub(super) fn delegate_to_file(
        &self,
        request: RequestId,
        status: u16,
        headers: &[HeaderLine],
        path: &[u8],
    ) -> Result<(), u16> {
        let docroot = self.docroot_of(request).ok_or(404u16)?;
        let open = |path: &[u8]| docroot.sendfile(Path::new(OsStr::from_bytes(path)));
        let beside = |extension: &str| open(&[path, b".", extension.as_bytes()].concat()).ok();
        self.send(request, status, headers, open(path), (path, &beside))
    }

    /// X-Accel-Redirect. `Ok(true)`: a script is to run.
    pub(super) fn delegate_to_uri(
        &self,
        request: RequestId,
        headers: &[HeaderLine],
        uri: &[u8],
    ) -> Result<bool, u16> {
        let docroot = self.docroot_of(request).ok_or(404u16)?;
        let path = uri.split(|byte| *byte == b'?').next().unwrap_or_default();
        // As for a client, but 404: the 400 for ill-meant paths would blame the client, which cannot help it.
        let wanted = Wanted::read(path).map_err(|_| 404u16)?;
        match docroot.resolve(&wanted, b"GET") {
            Route::Script(_) if docroot.is_resident() => Err(404),
            Route::Script(script) => {
                self.keep_script(
                    request,
                    Script { site: self.site_of(request).unwrap_or_default(), ..script },
                );
                Ok(true)
            }
            Route::File { tree, name } => {
                let root = docroot.root_of(tree);
                let beside = |extension: &str| root.beside(&name, extension);
                self.send(request, 200, headers, root.file(&name), (&name, &beside)).map(|()| false)
            }
            Route::Redirect(path) => {
                let location: HeaderLine = (b"Location", path.as_bytes());
                let result = self.server.respond(RequestKey(request), 301, &[location], b"");
                self.logged(request, result);
                Ok(false)
            }
            Route::Refused(status) => Err(status),
            // It has no path, and rules are for what clients ask for.
            Route::Server | Route::Moved(..) | Route::Challenge(_) => Err(404),
        }
    }

    fn send(
        &self,
        request: RequestId,
        status: u16,
        headers: &[HeaderLine],
        opened: Result<Opened, Error>,
        (name, beside): (&[u8], &Beside<'_>),
    ) -> Result<(), u16> {
        let key = RequestKey(request);
        let name = Path::new(OsStr::from_bytes(name));
        let send = |opened| self.server.respond_negotiated(key, status, headers, opened, (name, beside));
        let sent = opened.and_then(send);
        self.sent_or_status(request, sent, name)
    }

    /// Whether a file was sent; an error is the status of the answer that is still to come.
    pub(super) fn sent_or_status(
        &self,
        request: RequestId,
        sent: Result<u16, Error>,
        name: &Path,
    ) -> Result<(), u16> {
        sent.map(drop).or_else(|error| match status_of(error, name) {
            Ok(status) => Err(status),
            Err(error) => {
                self.logged(request, Err(error));
                Ok(())
            }
        })
    }
}
