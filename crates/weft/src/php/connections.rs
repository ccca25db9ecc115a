//! The answers to what PHP asks about connections in the hands of coroutines, and about streams.
//!
//! Must not know what a service does. Invariant: a name of another worker, or of a connection that has ended, is no error.

use weft_proto::websocket::CloseCode;
use weft_serve::{Awaited, Peer, TunnelKey, TunnelNext};
use weft_zend::abi::Taken;
use weft_zend::{Connections, Event, Slice};

use super::server_host::ServerHost;

impl Connections for ServerHost {
    fn next(&self, name: &[u8]) -> Result<Event, Taken> {
        let key = self.tunnel_of(name).ok_or(Taken::Over)?;
        match self.server.next_event(key) {
            TunnelNext::Event(event) => Ok(self.lend(key, 0, event)),
            TunnelNext::Nothing => {
                self.lent.data(Vec::new()); // a large message is not kept
                Err(Taken::Nothing)
            }
            TunnelNext::Over => Err(Taken::Over),
        }
    }

    fn end_wait(&self, name: &[u8], wait: u64, drained: bool) -> bool {
        let awaited = if drained { Awaited::Drained } else { Awaited::Event };
        let key = self.tunnel_of(name).unwrap_or(TunnelKey(0));
        self.server.await_tunnel(key, wait, awaited)
    }

    fn disown(&self, name: &[u8], code: u16) {
        if let Some(key) = self.tunnel_of(name) {
            self.server.disown(key, CloseCode(code));
            // Nobody is told its last event.
            self.topics.ended(key);
        }
    }

    fn client(&self, name: &[u8]) -> Slice {
        match self.tunnel_of(name).and_then(|key| self.server.tunnel_peer(key)) {
            Some(Peer::Tcp(address)) => self.lent.data(address.to_string().into_bytes()),
            Some(Peer::Unix) => self.lent.data(Vec::new()),
            None => Slice::NONE,
        }
    }

    fn service(&self, name: &[u8]) -> Option<u32> {
        self.tunnel_of(name).and_then(|key| self.server.tunnel_service(key))
    }

    fn give_back(&self, name: &[u8], bytes: &[u8], wanted: usize) {
        if let Some(key) = self.tunnel_of(name) {
            self.server.give_back(key, bytes, wanted);
        }
    }
}
