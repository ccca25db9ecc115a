//! weft's server: listeners, connections, requests, responses, static files.
//!
//! It knows sockets and HTTP. It must not know PHP: the code that answers requests is a `dyn` [`Handler`]. Its own I/O
//! uses rustix's system calls, which no hook sees.
//!
//! # Layout, in reading order
//!
//! - [`Server`] (`server.rs`): events in, handler called.
//! - `connection.rs`, `advance.rs`, `step.rs`: a connection, and its life as a state machine on one screen.
//! - `linger.rs`: the end of a connection, so that the last response arrives.
//! - `listeners.rs`, `accept.rs`, `transport.rs`, `outgoing.rs`: accepting, receiving, sending; `descriptor.rs`: with which numbers.
//! - `admission.rs`, `unread.rs`: requests that wait to be read.
//! - `exchange.rs`, `store.rs`, `spool.rs`: the buffers of one request, its body, and the files for what is larger.
//! - `hold.rs`: when a request begins if its body has not arrived.
//! - `request.rs`, `client.rs`, `body.rs`: what a handler can ask.
//! - `respond.rs`, `stream.rs`, `file.rs`, `waiting.rs`: how it answers, and how much of that waits in memory.
//! - `opened.rs`, `root.rs`: an opened file; the files below a directory, and no others.
//! - `site.rs`, `compress.rs`: files of a site, in a content coding that their client accepts.
//! - `wait.rs`: how coroutines wait for a body or for room in a response.
//! - `keys.rs`, `table.rs`, `deadlines.rs`, `wheel.rs`: which connection is which, and which one is late.
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
mod advance;
mod body;
mod client;
mod compress;
mod connection;
mod deadlines;
mod descriptor;
mod evict;
mod eviction;
mod exchange;
mod file;
mod handler;
mod hold;
mod keys;
mod linger;
mod listeners;
mod opened;
mod outgoing;
mod request;
mod respond;
mod root;
mod server;
mod server_limits;
mod site;
mod spool;
mod step;
mod store;
mod stream;
mod table;
mod transport;
mod unread;
mod wait;
mod waiting;
mod wheel;

pub use address::{Endpoint, Peer};
pub use body::{BodyRead, BodyView};
pub use client::{Client, ProxyFields, ProxyWord, client};
pub use handler::{Handler, Refusal, Stats};
pub use keys::RequestKey;
pub use opened::Opened;
pub use request::{RequestView, Summary};
pub use respond::{Error, Headers};
pub use root::{Look, Root};
pub use server::Server;
pub use server_limits::ServerLimits;
pub use stream::Write;
pub use wait::Waited;
