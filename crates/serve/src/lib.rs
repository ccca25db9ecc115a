//! weft's server: listeners, connections, requests, responses, static files.
//!
//! It knows sockets and HTTP. It must not know PHP: the code that answers requests is a `dyn` [`Handler`]. Its own I/O
//! uses rustix's system calls, which no hook sees.
//!
//! # Layout, in reading order
//!
//! - [`Server`] (`server.rs`): events in, handler called.
//! - `connection.rs`: the life of a connection, as a state machine on one screen.
//! - `linger.rs`: the end of a connection, so that the last response arrives.
//! - `accept.rs`, `link.rs`, `outgoing.rs`: accepting, receiving, sending.
//! - `exchange.rs`, `store.rs`, `spool.rs`: the buffers of one request, its body, and the files for what is larger.
//! - `hold.rs`: when a request begins if its body has not arrived.
//! - `request.rs`, `client.rs`, `body.rs`: what a handler can ask.
//! - `respond.rs`, `stream.rs`, `file.rs`, `waiting.rs`: how it answers, and how much of that waits in memory.
//! - `root.rs`: the files below a directory, and no others.
//! - `site.rs`, `compress.rs`: files of a site, in a content coding that their client accepts.
//! - `wait.rs`: how coroutines wait for a body or for room in a response.
//! - `table.rs`, `deadlines.rs`, `wheel.rs`: which connection is which, and which one is late.
//! - `evict.rs`: which connection is closed for a new one when there is no room.
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
mod body;
mod client;
mod compress;
mod connection;
mod deadlines;
mod evict;
mod exchange;
mod file;
mod handler;
mod hold;
mod linger;
mod link;
mod outgoing;
mod request;
mod respond;
mod root;
mod server;
mod server_limits;
mod site;
mod spool;
mod store;
mod stream;
mod table;
mod unread;
mod wait;
mod waiting;
mod wheel;

pub use address::{Endpoint, Peer};
pub use body::{BodyRead, BodyView};
pub use client::{Client, ProxyFields, ProxyWord, client};
pub use file::Opened;
pub use handler::{Handler, Refusal, Stats};
pub use request::{RequestView, Summary};
pub use respond::{Error, Headers};
pub use root::{Look, Root};
pub use server::Server;
pub use server_limits::ServerLimits;
pub use stream::Write;
pub use table::RequestKey;
pub use wait::Waited;
