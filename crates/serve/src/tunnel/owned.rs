//! Tunnels that belong to a coroutine: it takes their events itself, and waits for them.
//!
//! Must not know what a coroutine does with them. Invariants: the first event of such a tunnel goes to the handler, which
//! starts the coroutine, all others to the coroutine; a wait that is kept here is ended by the event that it is for, and
//! by the end of the tunnel.

use weft_proto::websocket::CloseCode;
use weft_rt::Readiness;

use crate::keys::TunnelKey;
use crate::server::Server;
use crate::tunnel::owner::Awaited;
use crate::tunnel::{Stage, Tunnel, TunnelEvent};

/// What an owner finds.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// This, which it has now.
    Event(TunnelEvent),
    /// Nothing yet.
    Nothing,
    /// Nothing any more.
    Over,
}

impl Server {
    /// The next event of a tunnel for the coroutine that it belongs to. After `Closed` the tunnel is forgotten.
    pub fn next_event(&self, key: TunnelKey) -> Next {
        let (event, connection) = {
            let mut tunnels = self.tunnels.borrow_mut();
            let Some(tunnel) = tunnels.get_mut(key).filter(|tunnel| tunnel.owner.is_some()) else {
                return Next::Over;
            };
            let read_before = tunnel.reads();
            let Some(event) = tunnel.pop() else { return Next::Nothing };
            let connection = tunnel.connection.filter(|_| !read_before && tunnel.reads());
            if matches!(event, TunnelEvent::Closed(..)) {
                tunnels.remove(key);
            }
            (event, connection)
        };
        // The peer waited for this.
        if let Some(index) = connection {
            self.touch(index);
        }
        Next::Event(event)
    }

    /// Has a wait of the owner ended by what it waits for, which may be at once. Returns false if another coroutine
    /// waits for the same.
    pub fn await_tunnel(&self, key: TunnelKey, wait: u64, awaited: Awaited) -> bool {
        let mut tunnels = self.tunnels.borrow_mut();
        let Some(tunnel) = tunnels.get_mut(key) else {
            self.runtime.wake_word(wait, Readiness::default());
            return true;
        };
        let is_there = match awaited {
            Awaited::Event => !tunnel.inbox.is_empty(),
            Awaited::Drained => tunnel.out.is_empty() || tunnel.connection.is_none(),
        };
        let Some(owner) = &mut tunnel.owner else { return false };
        if !owner.register(awaited, wait, self.runtime) {
            return false;
        }
        if is_there {
            owner.wake(awaited, self.runtime);
        }
        // It has had everything that came before the peer's close frame.
        if awaited == Awaited::Event
            && matches!(tunnel.stage, Stage::Answering(_))
            && tunnel.is_handled(self.runtime)
        {
            let until = self.close_ends(tunnel, self.runtime.turn_time());
            tunnel.answer_close(until);
            if let Some(index) = tunnel.connection {
                drop(tunnels);
                self.touch(index);
            }
        }
        true
    }

    /// The owner of a tunnel has ended: the tunnel is closed, and nobody is told its end.
    pub fn disown(&self, key: TunnelKey, code: CloseCode) {
        self.tunnel_close(key, code, "");
        let mut tunnels = self.tunnels.borrow_mut();
        let Some(tunnel) = tunnels.get_mut(key).filter(|tunnel| tunnel.owner.is_some()) else { return };
        tunnel.owner = None;
        tunnel.is_mute = true;
        tunnel.drop_messages();
        if tunnel.connection.is_none() {
            tunnels.remove(key);
        }
    }
}

impl Tunnel {
    /// Whether its next event is for its owner.
    pub(crate) fn is_for_owner(&self) -> bool {
        self.owner.is_some() && !matches!(self.inbox.front(), Some(TunnelEvent::Opened))
    }
}
