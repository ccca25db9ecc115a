//! What h2 takes for a socket: two buffers, filled and emptied by hand.
//!
//! Must not know the transport. Invariant: it takes no more than [`OUT_BYTES_MAX`] and one frame for sending; what has
//! arrived is read before more is put in.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that wait for the socket before h2 is told to wait, too.
const OUT_BYTES_MAX: usize = 128 * 1024;
/// A buffer that grew beyond this is not kept while it is empty.
const KEPT_BYTES_MAX: usize = 4 * 1024;

/// Both directions.
#[derive(Default)]
pub(crate) struct Buffers {
    arrived: Vec<u8>,
    read: usize,
    /// Whether nothing more will arrive.
    pub ended: bool,
    out: Vec<u8>,
    sent: usize,
    /// Whether h2 has been told to wait: it goes on when it is polled again.
    pub waits: bool,
}

/// One side of it.
pub(crate) struct Pipe(pub Rc<RefCell<Buffers>>);

impl Buffers {
    /// Puts in what has arrived.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.arrived.extend_from_slice(bytes);
    }

    /// Whether h2 has read everything.
    pub(crate) fn is_read(&self) -> bool {
        self.arrived.is_empty()
    }

    /// What waits to be sent.
    pub(crate) fn unsent(&self) -> &[u8] {
        &self.out[self.sent..]
    }

    /// Gives back the memory of buffers that are empty.
    pub(crate) fn shrink(&mut self) {
        for buffer in [&mut self.arrived, &mut self.out] {
            if buffer.is_empty() {
                *buffer = Vec::new();
            }
        }
    }

    fn is_full(&mut self) -> bool {
        self.waits |= self.unsent().len() >= OUT_BYTES_MAX;
        self.waits
    }

    /// So many bytes of it have been sent.
    pub(crate) fn advance(&mut self, count: usize) {
        self.sent += count;
        if self.sent == self.out.len() {
            clear(&mut self.out);
            self.sent = 0;
        }
    }
}

fn clear(buffer: &mut Vec<u8>) {
    buffer.clear();
    if buffer.capacity() > KEPT_BYTES_MAX {
        *buffer = Vec::new();
    }
}

impl AsyncRead for Pipe {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut buffers = self.0.borrow_mut();
        let left = buffers.arrived.len() - buffers.read;
        if left == 0 {
            // Whoever puts something in polls.
            return if buffers.ended { Poll::Ready(Ok(())) } else { Poll::Pending };
        }
        let count = left.min(into.remaining());
        into.put_slice(&buffers.arrived[buffers.read..buffers.read + count]);
        buffers.read += count;
        if count == left {
            clear(&mut buffers.arrived);
            buffers.read = 0;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut buffers = self.0.borrow_mut();
        if buffers.is_full() {
            return Poll::Pending;
        }
        buffers.out.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut buffers = self.0.borrow_mut();
        if buffers.is_full() {
            return Poll::Pending;
        }
        let before = buffers.out.len();
        parts.iter().for_each(|part| buffers.out.extend_from_slice(part));
        let _ = context;
        Poll::Ready(Ok(buffers.out.len() - before))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
