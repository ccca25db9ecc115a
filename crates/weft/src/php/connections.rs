//! The answers to what PHP asks about connections in the hands of coroutines, and about streams.
//!
//! Must not know what a service does. Invariant: a name of another worker, or of a connection that has ended, is no error.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use weft_proto::websocket::CloseCode;
use weft_serve::{Awaited, Error, FileNotSent, Peer, TunnelKey, TunnelNext, check_file};
use weft_zend::abi::{FileSent, Taken};
use weft_zend::{Connections, Event, Slice};

use super::server_host::ServerHost;
use crate::bus::What;

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

    fn send_file(&self, name: &[u8], path: &[u8], offset: u64, length: Option<u64>) -> FileSent {
        // The worker that has the connection may be in another directory.
        let Ok(path) = std::path::absolute(OsStr::from_bytes(path)) else { return FileSent::Missing };
        let sent = if self.topics.is_elsewhere(name) {
            check_file(&path, offset, length).and_then(|()| {
                let number = |number: u64| number.to_string().into_bytes();
                let (offset, length) = (number(offset), length.map_or_else(Vec::new, number));
                let more = [path.as_os_str().as_bytes(), &offset, &length];
                let is_sent = self.topics.is_done_elsewhere(name, What::File, &more);
                if is_sent { Ok(()) } else { Err(FileNotSent::Gone) }
            })
        } else {
            let key = self.tunnel_of(name).unwrap_or(TunnelKey(0));
            self.server.tunnel_send_file(key, &path, offset, length)
        };
        match sent {
            Ok(()) => FileSent::Queued,
            Err(FileNotSent::File(Error::NotFound)) => FileSent::Missing,
            Err(FileNotSent::File(_)) => FileSent::Unreadable,
            Err(FileNotSent::Range(_)) => FileSent::Range,
            Err(FileNotSent::Unframable(_)) => FileSent::TooLong,
            Err(FileNotSent::Full | FileNotSent::Gone) => FileSent::Lost,
        }
    }
}
