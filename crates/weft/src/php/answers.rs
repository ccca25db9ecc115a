//! Answers that need no PHP: files, redirects, and the question for a password.
//!
//! Must not know what leads to them. Invariant: a client that has gone is an error of the server's, never a failure here.

use weft_serve::{Error, Peer, RequestKey, Root, Server};

use super::facts::Facts;
use super::file_status::status_of;
use crate::acme::Challenges;
use crate::classic::{Docroot, Route};
use crate::config::Trust;

/// The Retry-After of refused requests, in seconds.
pub const RETRY_AFTER: u32 = 1;
/// The type of the server's own texts.
pub const PLAIN: (&[u8], &[u8]) = (b"Content-Type", b"text/plain; charset=utf-8");

/// Sends a file of a document root.
fn send_file(server: &Server, key: RequestKey, root: &Root, name: &[u8]) -> Result<(), Error> {
    match server.respond_site_file(key, root, name) {
        Ok(_) => Ok(()),
        Err(error) => server.respond_error(key, status_of(error, &root.below(name))?, None),
    }
}

/// Gives the answer of a document root that is not a script's.
pub fn give(server: &Server, key: RequestKey, docroot: &Docroot, route: Route) {
    // Gone means that no client waits for the answer.
    let _ = match route {
        // Its answer is a job's.
        Route::Script(_) => Ok(()),
        Route::File { tree, name } => send_file(server, key, docroot.root_of(tree), &name),
        Route::Redirect(path) => redirect(server, key, path),
        Route::Moved(status, location) => {
            server.respond(key, status, &[(b"Location", &location), PLAIN], b"Moved\n")
        }
        Route::Challenge(realm) => challenge(server, key, &realm),
        // RFC 9110 9.3.7: a ping; only a script can know whether it supports other methods.
        Route::Server => {
            server.respond(key, 204, &[(b"Allow", b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")], b"")
        }
        Route::Refused(405) => {
            server.respond(key, 405, &[(b"Allow", b"GET, HEAD"), PLAIN], b"405 Method Not Allowed\n")
        }
        Route::Refused(503) => server.respond_error(key, 503, Some(RETRY_AFTER)),
        Route::Refused(status) => server.respond_error(key, status, None),
    };
}

/// Gives the answer of rules and files beside an application; returns whether they have one.
pub fn give_beside(server: &Server, files: &Docroot, key: RequestKey) -> bool {
    let Some((route, fields)) = server.with_request(key, |request| files.beside(request)) else {
        return true;
    };
    if let Some(fields) = fields {
        server.add_fields(key, fields);
    }
    let Some(route) = route else { return false };
    give(server, key, files, route);
    true
}

/// Asks for a name and a password (RFC 7617).
fn challenge(server: &Server, key: RequestKey, realm: &str) -> Result<(), Error> {
    let challenge = format!("Basic realm=\"{realm}\", charset=\"UTF-8\"");
    let fields: [(&[u8], &[u8]); 2] = [(b"WWW-Authenticate", challenge.as_bytes()), PLAIN];
    server.respond(key, 401, &fields, b"401 Unauthorized\n")
}

/// Redirects to a directory's path with its final slash; the query is kept.
fn redirect(server: &Server, key: RequestKey, path: String) -> Result<(), Error> {
    let query = server.with_request(key, |request| request.query().map(<[u8]>::to_vec)).flatten();
    let location = match query {
        Some(query) => [path.as_bytes(), b"?", &query].concat(),
        None => path.into_bytes(),
    };
    let get = server.with_request(key, |request| matches!(request.method(), b"GET" | b"HEAD"));
    let status = if get == Some(true) { 301 } else { 308 };
    server.respond(key, status, &[(b"Location", &location), PLAIN], b"Moved\n")
}

/// Answers an authority that asks whether this server has a name (RFC 8555 section 8.3); returns whether it did.
pub fn prove(server: &Server, key: RequestKey, challenges: &Challenges) -> bool {
    let answer = server.with_request(key, |request| {
        matches!(request.method(), b"GET" | b"HEAD").then(|| challenges.answer(request.path())).flatten()
    });
    let Some(answer) = answer.flatten() else { return false };
    // Gone means that no client waits for the answer.
    let _ = server.respond(key, 200, &[(b"Content-Type", b"application/octet-stream")], &answer);
    true
}

/// Sends a request that came without TLS to the address with it; returns whether it did. Clients of a Unix socket, and
/// those whose proxy speaks TLS for them, are where they should be.
pub fn redirect_to_https(server: &Server, trust: &Trust, key: RequestKey, port: u16) -> bool {
    let target = server.with_request(key, |request| {
        let facts = Facts::of(request);
        if request.peer() == Peer::Unix || facts.is_https(trust) {
            return None;
        }
        let authority = weft_proto::split_authority(request.authority().unwrap_or_default());
        let name = authority.map_or(&b""[..], |authority| authority.host).to_vec();
        let is_get = matches!(request.method(), b"GET" | b"HEAD");
        Some((name, request.head().origin(request.bytes()).into_owned(), is_get))
    });
    let Some((name, origin, is_get)) = target.flatten() else { return false };
    // Gone means that no client waits for the answer.
    let _ = if name.is_empty() || !origin.starts_with(b"/") {
        server.respond_error(key, 400, None)
    } else {
        let port = if port == 443 { String::new() } else { format!(":{port}") };
        let location = [b"https://", &name[..], port.as_bytes(), &origin].concat();
        let status = if is_get { 301 } else { 308 };
        server.respond(key, status, &[(b"Location", &location), PLAIN], b"This site is served over https.\n")
    };
    true
}
