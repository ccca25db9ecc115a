//! An HTTP/2 connection as h2 has it, polled by hand.
//!
//! Must not know the table, nor what becomes of a request. Invariant: it is polled after everything that could let it
//! go on: bytes that arrived, room for bytes, or the ring of its bell.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::server::{Builder, Connection, Handshake, SendResponse};
use h2::{Reason, RecvStream};
use rustix::io::Errno;
use weft_proto::http2::Meter;
use weft_rt::Nanos;

use crate::http2::pipe::{Buffers, Pipe};
use crate::http2::priority::Priority;
use crate::http2::{CONNECTION_WINDOW_BYTES, SEND_BYTES_MAX, STREAM_WINDOW_BYTES};
use crate::server_limits::ServerLimits;
use crate::transport::{Link, Transport};

/// A request that has come, and where its answer goes.
pub(crate) type Arrival = (http::Request<RecvStream>, SendResponse<Bytes>);

enum State {
    /// The preface has not come yet.
    Opening(Handshake<Pipe, Bytes>),
    Open(Connection<Pipe, Bytes>),
    /// Nothing follows but what waits to be sent.
    Over,
}

/// One connection.
pub(crate) struct Carrier {
    state: State,
    pub buffers: Rc<RefCell<Buffers>>,
    pub link: Rc<Link>,
    bell: Waker,
    pub meter: Meter,
    /// When it began.
    pub since: Nanos,
    /// When the peer last took bytes, while some wait for it; 0 if none do.
    pub blocked_since: Nanos,
    /// When the peer last took bytes.
    pub sent_at: Nanos,
    /// Whether the peer was told to open no more streams.
    pub told: bool,
    /// Whether it was cut off because of what its peer did.
    pub is_flooded: bool,
    pub requests: u32,
}

impl Carrier {
    pub(crate) fn new(link: Link, bell: Waker, limits: &ServerLimits, now: Nanos) -> Carrier {
        let buffers = Rc::new(RefCell::new(Buffers::default()));
        let head_bytes = u32::try_from(limits.http.head_bytes_max).unwrap_or(u32::MAX);
        let handshake = Builder::new()
            .enable_connect_protocol()
            .max_concurrent_streams(limits.http2_streams_max)
            .max_header_list_size(head_bytes)
            .initial_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_send_buffer_size(SEND_BYTES_MAX)
            .handshake(Pipe(Rc::clone(&buffers)));
        Carrier {
            state: State::Opening(handshake),
            buffers,
            link: Rc::new(link),
            bell,
            meter: Meter::new(now),
            since: now,
            blocked_since: 0,
            sent_at: now,
            told: false,
            is_flooded: false,
            requests: 0,
        }
    }

    pub(crate) fn is_opening(&self) -> bool {
        matches!(self.state, State::Opening(_))
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Moves it on as far as its buffers allow.
    pub(crate) fn poll(&mut self, arrived: &mut Vec<Arrival>) {
        let bell = self.bell.clone();
        let mut context = Context::from_waker(&bell);
        loop {
            match &mut self.state {
                State::Opening(handshake) => match Pin::new(handshake).poll(&mut context) {
                    Poll::Ready(Ok(connection)) => self.state = State::Open(connection),
                    Poll::Ready(Err(_)) => self.state = State::Over,
                    Poll::Pending => return,
                },
                State::Open(connection) => match connection.poll_accept(&mut context) {
                    Poll::Ready(Some(Ok(arrival))) => {
                        self.requests = self.requests.saturating_add(1);
                        arrived.push(arrival);
                    }
                    Poll::Ready(Some(Err(error))) => {
                        self.is_flooded |= error.reason() == Some(Reason::ENHANCE_YOUR_CALM);
                        self.state = State::Over;
                    }
                    Poll::Ready(None) => self.state = State::Over,
                    Poll::Pending => return,
                },
                State::Over => return,
            }
        }
    }

    /// Passes on what the peer has said of the priorities of its streams.
    pub(crate) fn tell_priorities(&mut self) {
        for (stream, field) in self.meter.updates.drain(..) {
            self.link.line.tell(stream, Priority::read(&field));
        }
    }

    /// Tells the peer to open no more streams; the connection is over when those that it has are.
    pub(crate) fn tell(&mut self) {
        if let State::Open(connection) = &mut self.state
            && !self.told
        {
            connection.graceful_shutdown();
            self.told = true;
        }
    }

    /// Ends it now, with all its streams.
    pub(crate) fn end(&mut self, reason: Reason) {
        if let State::Open(connection) = &mut self.state {
            connection.abrupt_shutdown(reason);
            // What is said is in the buffers then.
            let _ = connection.poll_closed(&mut Context::from_waker(Waker::noop()));
        }
        self.state = State::Over;
    }

    /// Sends what waits. Returns false if the connection is broken.
    pub(crate) fn send(&mut self, transport: &mut Transport, now: Nanos) -> bool {
        let mut buffers = self.buffers.borrow_mut();
        loop {
            let sent = match buffers.unsent() {
                [] => transport.settle().map(|()| 0),
                bytes => transport.send(bytes, false),
            };
            match sent {
                Ok(0) if buffers.unsent().is_empty() => {
                    self.blocked_since = 0;
                    return true;
                }
                Ok(count) => {
                    buffers.advance(count);
                    self.meter.sent(count);
                    self.sent_at = now;
                    if self.blocked_since > 0 {
                        self.blocked_since = now;
                    }
                }
                Err(Errno::INTR) => (),
                Err(Errno::AGAIN) => {
                    if self.blocked_since == 0 {
                        self.blocked_since = now;
                    }
                    return true;
                }
                Err(_) => return false,
            }
        }
    }
}
