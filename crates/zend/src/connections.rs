//! Connections in the hands of coroutines, and what only streams have, as PHP sees them: the trait behind the rows of
//! [`crate::stream`].
//!
//! Must not know what travels over a connection. Invariant: no method calls Zend, or parks; a name whose connection has ended is
//! no error.

use crate::abi::{FileSent, Taken};
use crate::slice::Slice;

/// An event of a tunnel, for C.
#[repr(C)]
#[derive(Debug)]
pub struct Event {
    /// The number of the service.
    pub service: u32,
    /// An [`EventKind`](crate::abi::EventKind).
    pub kind: u32,
    /// With `Closed`: the code.
    pub code: u32,
    /// The name of the connection.
    pub name: Slice,
    /// The message, or the reason of the end.
    pub data: Slice,
}

/// Connections by their names. What is lent stays valid until the next question.
pub trait Connections {
    /// The next event of a connection, for the coroutine that it belongs to. What it holds is lent.
    ///
    /// # Errors
    /// There is none yet, or none any more.
    fn next(&self, name: &[u8]) -> Result<Event, Taken>;
    /// Has a wait of that coroutine ended by the next event or, if `drained`, when nothing waits for the client. Returns
    /// `false` if another one waits for the same.
    fn end_wait(&self, name: &[u8], wait: u64, drained: bool) -> bool;
    /// That coroutine has ended: the connection is closed with this code.
    fn disown(&self, name: &[u8], code: u16);
    /// The address of a client; [`Slice::NONE`] if its connection has ended.
    fn client(&self, name: &[u8]) -> Slice;
    /// The number of a connection's service.
    fn service(&self, name: &[u8]) -> Option<u32>;
    /// Gives back the beginning of a message, which is given again when there are `wanted` bytes of it.
    fn give_back(&self, name: &[u8], bytes: &[u8], wanted: usize);
    /// Sends a part of a file, so many bytes from `offset` on, or the rest.
    fn send_file(&self, name: &[u8], path: &[u8], offset: u64, length: Option<u64>) -> FileSent;
}
