//! Datagrams as events, and the names by which PHP answers their senders.
//!
//! Must not know what a service does. Invariant: a name says at which address of the server a datagram came, and from whom, so
//! it means the same in each worker.

use weft_serve::{Datagram, Ends, TunnelKey};
use weft_zend::Event;
use weft_zend::abi::EventKind;

use super::server_host::ServerHost;

/// What the names of senders begin with; those of connections begin with digits.
const PREFIX: &str = "udp";

impl ServerHost {
    /// The datagram that a job was started for.
    pub(super) fn next_datagram(&self) -> Option<Event> {
        let Datagram { service, ends, bytes } = self.server.take_datagram()?;
        let kind = EventKind::Binary as u32;
        Some(Event {
            service,
            kind,
            code: 0,
            name: self.lent.name(name_of(ends)),
            data: self.lent.data(bytes),
        })
    }

    /// Sends to whom a name means; `None` if it is not that of a sender of datagrams.
    pub(super) fn answer_datagram(&self, name: &[u8], bytes: &[u8]) -> Option<bool> {
        Some(self.server.send_datagram(ends_of(name)?, bytes))
    }

    /// Whether an event is a datagram.
    pub(super) fn is_datagram(tunnel: u64) -> bool {
        TunnelKey(tunnel) == TunnelKey::DATAGRAM
    }
}

/// "udp0 192.0.2.7:50123", and the own address after it where the server listens at all addresses.
fn name_of(Ends { place, own, peer }: Ends) -> String {
    match own {
        None => format!("{PREFIX}{place} {peer}"),
        Some(own) => format!("{PREFIX}{place} {peer} {own}"),
    }
}

fn ends_of(name: &[u8]) -> Option<Ends> {
    let mut words = std::str::from_utf8(name).ok()?.strip_prefix(PREFIX)?.split(' ');
    let (place, peer) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let own = words.next().map(str::parse).transpose().ok()?;
    words.next().is_none().then_some(Ends { place, own, peer })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_the_ends_that_it_was_made_of() {
        for name in [
            "udp0 192.0.2.7:50123",
            "udp1 192.0.2.7:50123 198.51.100.2",
            "udp12 [2001:db8::7]:9 2001:db8::1",
            "udp0 [fe80::1%3]:9 fe80::2",
        ] {
            assert_eq!(ends_of(name.as_bytes()).map(name_of).as_deref(), Some(name));
        }
        for nobody in
            ["", "udp", "udp0", "udp0 nowhere", "udp0 192.0.2.7:9 here", "udp0 192.0.2.7:9 192.0.2.1 x"]
        {
            assert_eq!(ends_of(nobody.as_bytes()), None, "{nobody}");
        }
    }
}
