//! What a listener's connections are, where they are the streams of a service.
//!
//! Must not know the server. Invariant: it does not change while a listener has it.

use std::rc::Rc;

use weft_proto::framing::Framing;

use crate::tunnel::outbox::Overflow;

/// What the connections of a listener are.
#[derive(Clone, Debug)]
pub struct StreamService {
    /// What the handler calls the service; [`Server::take_event`](crate::Server::take_event) returns it.
    pub service: u32,
    /// What becomes of messages for which there is no room.
    pub overflow: Overflow,
    /// Whether the handler wants the events [`TunnelEvent::Drained`](crate::TunnelEvent::Drained).
    pub wants_drained: bool,
    /// Whether a coroutine takes all events but the first: see [`Server::next_event`](crate::Server::next_event).
    pub is_owned: bool,
    /// How messages are told apart.
    pub framing: Rc<Framing>,
}
