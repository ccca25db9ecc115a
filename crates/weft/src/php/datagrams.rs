//! Datagrams as events, and the names by which PHP answers their senders.
//!
//! Must not know what a service does. Invariant: a name says at which address of the server a datagram came, and from whom, so
//! it means the same in each worker.

use weft_serve::{Datagram, TunnelKey};
use weft_zend::Event;
use weft_zend::abi::EventKind;

use super::server_host::ServerHost;

/// What the names of senders begin with; those of connections begin with digits.
const PREFIX: &str = "udp";

impl ServerHost {
    /// The datagram that a job was started for.
    pub(super) fn next_datagram(&self) -> Option<Event> {
        let Datagram { service, place, from, bytes } = self.server.take_datagram()?;
        let name = self.lent.name(format!("{PREFIX}{place} {from}"));
        let kind = EventKind::Binary as u32;
        Some(Event { service, kind, code: 0, name, data: self.lent.data(bytes) })
    }

    /// Sends to whom a name means; `None` if it is not that of a sender of datagrams.
    pub(super) fn answer_datagram(&self, name: &[u8], bytes: &[u8]) -> Option<bool> {
        let (place, to) = std::str::from_utf8(name).ok()?.strip_prefix(PREFIX)?.split_once(' ')?;
        let (place, to) = (place.parse().ok()?, to.parse().ok()?);
        Some(self.server.send_datagram(place, to, bytes))
    }

    /// Whether an event is a datagram.
    pub(super) fn is_datagram(tunnel: u64) -> bool {
        TunnelKey(tunnel) == TunnelKey::DATAGRAM
    }
}
