//! A request that has ended and that PHP code has kept.
//!
//! Must not know the server. Invariant: it owns what it holds.

use weft_proto::Head;
use weft_rt::{SECOND, clock};
use weft_serve::{Peer, RequestView};

use crate::tls::{self, Variables};

/// The head of an ended request, for a Request object that was kept.
pub struct Detached {
    /// Its offsets are those of `bytes`.
    pub head: Head,
    /// What was received of it.
    pub bytes: Vec<u8>,
    /// The other end of the connection.
    pub peer: Peer,
    /// When it arrived, in seconds since 1970.
    pub time: f64,
    /// What TLS contributes to `$_SERVER`; empty without it.
    pub variables: Variables,
}

impl Detached {
    /// A copy of a request that came at this time, in seconds since 1970.
    pub fn of(view: &RequestView<'_>, time: f64) -> Detached {
        Detached {
            head: view.head().clone(),
            bytes: view.bytes().to_vec(),
            peer: view.peer(),
            time,
            variables: view.session().map(tls::variables).unwrap_or_default(),
        }
    }
}

/// A monotonic time as seconds since 1970.
pub fn wall_time(at: weft_rt::Nanos) -> f64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    now.as_secs_f64() - clock::now().saturating_sub(at) as f64 / SECOND as f64
}
