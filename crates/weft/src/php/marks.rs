//! The marks of requests: which route each belongs to, told before its answer is given, or found by its path.
//!
//! Must not know what is counted of a route. Invariant: without an address for the operator and a collector of traces no request is marked, and the
//! routes of a server are known by paths or by scripts, not by what clients send otherwise.

use weft_rt::{Account, Job};
use weft_serve::{RequestKey, RequestView, Server};

use super::job::request_of;
use crate::classic::{Route, Served};
use crate::routes::{FILES, Routes, routes};

/// Marks a request as one for a file.
pub fn as_file(server: &Server, key: RequestKey) {
    if let Some(routes) = routes() {
        mark(server, key, |request| routes.mark_of_script(b"", FILES, request.path()));
    }
}

/// Marks a request by what a document root answers with, or a script that stays loaded.
pub fn by_route(server: &Server, key: RequestKey, served: &Served, route: &Route) {
    if let Some(routes) = routes() {
        let site = served.site.as_ref().map_or("", |site| site.title()).as_bytes();
        mark(server, key, |request| {
            of_route(routes, site, request.path(), served.docroot.is_resident(), route)
        });
    }
}

fn of_route(routes: &Routes, site: &[u8], path: &[u8], is_resident: bool, route: &Route) -> u16 {
    match route {
        Route::Script(_) if is_resident && site.is_empty() => routes.mark_of_path(path),
        Route::Script(_) if is_resident => routes.mark_of_script(site, b"", path),
        Route::Script(script) => routes.mark_of_script(site, &script.name, path),
        _ => routes.mark_of_script(b"", FILES, path),
    }
}

fn mark(server: &Server, key: RequestKey, of: impl FnOnce(&RequestView<'_>) -> u16) {
    if let Some(mark) = server.with_request(key, of) {
        server.mark(key, mark);
    }
}

/// What a job is charged to that waits before its answer begins: the account of its request's route.
pub fn account_of(job: Job, server: Option<&Server>) -> Option<&'static Account> {
    routes()?.account(server?.mark_of(request_of(job)?))
}
