//! Answers that need no PHP: files, redirects, and the question for a password.
//!
//! Must not know what leads to them. Invariant: a client that has gone is an error of the server's, never a failure here.

use weft_serve::{Error, Peer, RequestKey, Root, Server};

use super::facts::Facts;
use super::file_status::status_of;
use super::server_host::ServerHost;

/// The type of the server's own texts.
pub const PLAIN: (&[u8], &[u8]) = (b"Content-Type", b"text/plain; charset=utf-8");

/// Sends a file of a document root.
pub fn send_file(server: &Server, key: RequestKey, root: &Root, name: &[u8]) -> Result<(), Error> {
    match server.respond_site_file(key, root, name) {
        Ok(_) => Ok(()),
        Err(error) => server.respond_error(key, status_of(error, &root.below(name))?, None),
    }
}

/// Asks for a name and a password (RFC 7617).
pub fn challenge(server: &Server, key: RequestKey, realm: &str) -> Result<(), Error> {
    let challenge = format!("Basic realm=\"{realm}\", charset=\"UTF-8\"");
    let fields: [(&[u8], &[u8]); 2] = [(b"WWW-Authenticate", challenge.as_bytes()), PLAIN];
    server.respond(key, 401, &fields, b"401 Unauthorized\n")
}

/// Redirects to a directory's path with its final slash; the query is kept.
pub fn redirect(server: &Server, key: RequestKey, path: String) -> Result<(), Error> {
    let query = server.with_request(key, |request| request.query().map(<[u8]>::to_vec)).flatten();
    let location = match query {
        Some(query) => [path.as_bytes(), b"?", &query].concat(),
        None => path.into_bytes(),
    };
    let get = server.with_request(key, |request| matches!(request.method(), b"GET" | b"HEAD"));
    let status = if get == Some(true) { 301 } else { 308 };
    server.respond(key, status, &[(b"Location", &location), PLAIN], b"Moved\n")
}

/// Sends a request that came without TLS to the address with it; returns whether it did. Clients of a Unix socket, and
/// those whose proxy speaks TLS for them, are where they should be.
pub fn redirect_to_https(server: &Server, host: &ServerHost, key: RequestKey, port: u16) -> bool {
    let target = server.with_request(key, |request| {
        let facts = Facts::of(request);
        if request.peer() == Peer::Unix || host.is_https(&facts) {
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
