//! What a server counts.
//!
//! Must not know who reads it. Invariant: only the loop's thread writes; the memory may be shared with other processes.

use weft_rt::counter::{Counter, Gauge};

use crate::answers::Answers;
use crate::states::States;

/// Counters since the start, except for those marked as gauges.
#[derive(Default, Debug)]
#[repr(C)]
pub struct Stats {
    /// Connections accepted.
    pub accepted: Counter,
    /// Requests dispatched.
    pub requests: Counter,
    /// Heads answered with an error by the server itself.
    pub refused: Counter,
    /// Connections that missed one of the deadlines of [`ServerLimits`](crate::ServerLimits), idle ones
    /// included.
    pub timed_out: Counter,
    /// Connections closed to make room for new ones.
    pub evicted: Counter,
    /// HTTP/2 connections that were ended because their peers flooded them with frames.
    pub http2_floods: Counter,
    /// Messages that WebSocket clients have sent.
    pub messages_received: Counter,
    /// Messages for WebSocket clients that were lost because the clients did not keep up.
    pub messages_dropped: Counter,
    /// Messages of topics that were queued for their subscribers.
    pub messages_delivered: Counter,
    /// Datagrams that have arrived.
    pub datagrams_received: Counter,
    /// Datagrams that were sent.
    pub datagrams_sent: Counter,
    /// Datagrams that were lost here: those that had arrived, or were to be sent, and found no room.
    pub datagrams_dropped: Counter,
    /// Answers to requests that are not [counted by their mark](crate::Server::count_by_mark).
    pub answers: Answers,
    /// Gauge: connections.
    pub connections: Gauge,
    /// Gauge: connections that hold buffers.
    pub busy: Gauge,
    /// Gauge: requests whose response has not ended.
    pub in_flight: Gauge,
    /// Gauge: requests that wait unread.
    pub unread: Gauge,
    /// Gauge: connections that are WebSockets.
    pub tunnels: Gauge,
    /// Gauges: connections by their states, where [`Server::count_states`](crate::Server::count_states) is called.
    pub connection_states: States,
    /// Gauges: the same of the streams of HTTP/2 connections.
    pub stream_states: States,
}
