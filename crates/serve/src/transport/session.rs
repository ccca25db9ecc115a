//! What is known of a TLS connection: what rustls says, and the name that its client asked for.
//!
//! Must not know sockets nor records. rustls tells the name only to what resolves certificates, so that one passes it on
//! with [`note_server_name`]. Invariant: a name belongs to the connection whose records are processed while it is noted.

use std::cell::Cell;
use std::ops::Deref;
use std::sync::Arc;

use rustls::server::UnbufferedServerConnection;
use rustls::{CommonState, ServerConfig};

thread_local! {
    /// The name that the client asked for whose records this thread processes.
    static NOTED: Cell<Option<Box<str>>> = const { Cell::new(None) };
}

/// For whatever resolves certificates (`rustls::server::ResolvesServerCert`): the name that the client has asked for (RFC 6066
/// section 3). A connection whose resolver does not call it has none.
pub fn note_server_name(name: Option<&str>) {
    NOTED.set(name.map(Box::from));
}

/// A TLS session. It is rustls's `CommonState`, with a name.
pub struct Session {
    pub(super) connection: UnbufferedServerConnection,
    server_name: Option<Box<str>>,
}

impl Session {
    /// `None` if the configuration cannot be used.
    pub(super) fn new(config: &Arc<ServerConfig>) -> Option<Session> {
        let connection = UnbufferedServerConnection::new(Arc::clone(config)).ok()?;
        Some(Session { connection, server_name: None })
    }

    /// The name that the client asked for, in lower case.
    pub fn server_name(&self) -> Option<&str> {
        self.server_name.as_deref()
    }

    /// Takes the name that was noted while records of this session were processed.
    pub(super) fn take_name(&mut self) {
        if let Some(name) = NOTED.take() {
            self.server_name = Some(name);
        }
    }
}

impl Deref for Session {
    type Target = CommonState;

    fn deref(&self) -> &CommonState {
        &self.connection
    }
}
