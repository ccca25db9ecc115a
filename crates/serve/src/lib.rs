//! weft's server: listeners, connections, requests, responses, static files.
//!
//! It knows sockets and HTTP. It must not know PHP: the code that answers requests is a `dyn` [`Handler`]. Its own I/O
//! uses rustix's system calls, which no hook sees.
//!
//! # Layout, in reading order
//!
//! - [`Server`] (`server.rs`): events in, handler called; `step.rs`: what follows when a connection was moved on.
//! - `listeners.rs`, `accept.rs`, `descriptor.rs`: accepting, and with which numbers.
//! - `connection.rs`, `table.rs`, `keys.rs`: a connection as data, and which one is which.
//! - `transport.rs`: the transport of a connection, bytes in and bytes out.
//! - `http1.rs`: the protocol of a connection. `http1/advance.rs`: its life as a state machine on one screen;
//!   `http1/input.rs`, `http1/wire.rs`: its bytes; `http1/reply.rs`: heads of answers; `http1/linger.rs`: its end, so that
//!   the last response arrives.
//! - `http2.rs`: the protocol of a connection with many streams, which the crate h2 speaks. `http2/carrier.rs`,
//!   `http2/pipe.rs`, `http2/bell.rs`: how it is polled; `http2/carry.rs`: what the server does with it; `http2/head.rs`,
//!   `http2/reply.rs`: heads; `http2/meter.rs`: floods; `transport/carried.rs`: a stream as a transport.
//! - `stream.rs`, `stream/streams.rs`: one request and its answer, and the key that names it.
//!   - `stream/store.rs`, `stream/body.rs`, `stream/hold.rs`: its body, and when it begins if that has not arrived.
//!   - `stream/request.rs`, and `client.rs` beside it: what a handler can ask. `mark.rs`: by what it knows a request again, and where that is counted (`tally.rs`, `answers.rs`, `recent.rs`).
//!   - `stream/respond.rs`, `stream/write.rs`: how it answers; `stream/outgoing.rs`, `stream/waiting.rs`: what waits to be
//!     sent, and how much of that waits in memory.
//!   - `stream/wait.rs`: how coroutines wait for a body or for room in a response.
//! - `tunnel.rs`: a connection that has become a WebSocket. `tunnel/open.rs`: how; `tunnel/phase.rs`: its life;
//!   `tunnel/leave.rs`: its end with the worker; `tunnel/owned.rs`, `tunnel/owner.rs`: those that belong to a coroutine; `tunnel/coders.rs`: messages as
//!   they are sent; `tunnel/outbox.rs`: what waits to be sent; `tunnel/calls.rs`: what a handler does with it; `tunnel/topics.rs`,
//!   `tunnel/subscribe.rs`, `tunnel/publish.rs`: who gets what is published; `tunnel/limits.rs`; `tunnel/attributes.rs`, `tunnel/tunnels.rs`: what is remembered, and the key that names it.
//!   `tunnel/stream.rs`, `tunnel/stream_service.rs`: connections that are streams of messages, without HTTP; `tunnel/codec.rs`: what the
//!   bytes of a tunnel are.
//! - `spool.rs`: the files for what is larger than memory allows.
//! - `admission.rs`, `unread.rs`: requests that wait to be read.
//! - `file.rs`, `opened.rs`, `root.rs`: files as answers; an opened file; the files below a directory, and no others.
//! - `site.rs`, `compress.rs`: files of a site, in a content coding that their client accepts.
//! - `ways_out.rs`, `hand_over.rs`, `parcel.rs`, `deputy.rs`: connections that go to another worker while this one's loop is held;
//!   `rescue.rs`: those that do when it fails; `goodbye.rs`: what is said to the others.
//! - `deadlines.rs`, `wheel.rs`: which connection is late. `states.rs`, `census.rs`: in which state how many are.
//! - `eviction.rs`, `evict.rs`: which connection is closed for a new one when there is no room.
//!
//! # Invariants
//!
//! - An idle connection holds no buffers: it is one slot of a table and one registration with the reactor.
//! - The handler is called from the loop with nothing borrowed, and may call back at once, or later from a coroutine.
//! - A [`RequestKey`] never reaches a request other than its own.
//! - A keep-alive request costs one recv and one send.
#![forbid(unsafe_code)]

mod accept;
mod address;
mod admission;
mod announced;
mod answers;
mod census;
mod client;
mod coder;
mod compress;
mod connection;
mod datagram_queue;
mod datagrams;
mod deadlines;
mod deputy;
mod descriptor;
mod drain;
mod evict;
mod eviction;
mod file;
mod goodbye;
mod hand_over;
mod handler;
mod http1;
mod http2;
mod keys;
mod listeners;
mod mark;
mod media_type;
mod opened;
mod parcel;
mod recent;
mod requests;
mod rescue;
mod root;
mod server;
mod server_limits;
mod site;
mod spool;
mod states;
mod stats;
mod step;
mod stream;
mod table;
mod tally;
mod transport;
mod tunnel;
mod unread;
mod ways_out;
mod wheel;

pub use address::{Endpoint, Peer};
pub use answers::{Answers, Durations};
pub use client::{Client, ProxyFields, ProxyWord, client};
pub use datagram_queue::{Datagram, Ends};
pub use deputy::Deputy;
pub use goodbye::Goodbyes;
pub use handler::{Handler, Refusal};
pub use keys::{RequestKey, TunnelKey};
pub use listeners::{Service, Trusts};
pub use opened::Opened;
pub use parcel::Relay;
pub use rescue::Rescued;
pub use root::{Look, Root};
pub use server::Server;
pub use server_limits::ServerLimits;
pub use site::Beside;
pub use states::{ConnectionState, States};
pub use stats::Stats;
pub use stream::Fields;
pub use stream::body::{BodyRead, BodyView};
pub use stream::request::{RequestView, Summary};
pub use stream::respond::{Error, Headers};
pub use stream::wait::Waited;
pub use stream::write::Write;
pub use tally::{Tally, UNKNOWN};
pub use transport::{Session, note_server_name};
pub use tunnel::TunnelEvent;
pub use tunnel::event_form::message_event;
pub use tunnel::limits::TunnelLimits;
pub use tunnel::newest::{STATE_KEY_BYTES_MAX, StateKey};
pub use tunnel::open::{NotUpgraded, Upgrade};
pub use tunnel::outbox::{Overflow, Sent};
pub use tunnel::owned::Next as TunnelNext;
pub use tunnel::owner::Awaited;
pub use tunnel::publish::{Published, label};
pub use tunnel::send_file::{FileNotSent, check_file};
pub use tunnel::stream_service::StreamService;
pub use tunnel::topics::{Subscribed, is_topic};
