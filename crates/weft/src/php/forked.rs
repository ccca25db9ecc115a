//! The server in a child that a request has forked: it can be queried, but does nothing.
//!
//! The child has a copy of the server's memory, so it can read what has been received: the request's head, and its body
//! as far as it has arrived. Nothing is sent, because its parent answers the client. The child's output is dropped
//! without an error, because otherwise the child would end as if its client had disconnected.
//!
//! Invariant: methods that are missing here are the trait's defaults, which do nothing; no method of the server that
//! sends, waits or counts is called.

use weft_serve::{BodyRead, BodyView, RequestKey, Server};
use weft_zend::abi::CLIENT_GONE;
use weft_zend::host::HeaderLine;
use weft_zend::{Field, Host, LogLevel, RequestId, Slice};

use super::server_host::ServerHost;

/// The host of such a child. Created before there is one.
pub struct ForkedHost {
    server: &'static Server,
    parents: &'static ServerHost,
}

impl ForkedHost {
    /// For children of the worker with this server and this host.
    pub fn new(server: &'static Server, parents: &'static ServerHost) -> ForkedHost {
        ForkedHost { server, parents }
    }
}

impl Host for ForkedHost {
    fn log(&self, level: LogLevel, request: RequestId, message: &[u8]) {
        self.parents.log(level, request, message);
    }

    fn output(&self, bytes: &[u8]) {
        self.parents.output(bytes);
    }

    fn field(&self, request: RequestId, field: Field) -> Slice {
        self.parents.field(request, field)
    }

    fn header_at(&self, request: RequestId, index: u32) -> Option<(Slice, Slice)> {
        self.parents.header_at(request, index)
    }

    fn variable_at(&self, request: RequestId, index: u32) -> Option<(Slice, Slice)> {
        self.parents.variable_at(request, index)
    }

    fn trailer_at(&self, request: RequestId, index: u32) -> Option<(Slice, Slice)> {
        self.parents.trailer_at(request, index)
    }

    fn time(&self, request: RequestId) -> f64 {
        self.parents.time(request)
    }

    fn aborted(&self, _: RequestId) -> bool {
        false
    }

    fn body_read(&self, request: RequestId, offset: u64, buffer: &mut [u8]) -> Result<usize, u16> {
        match self.server.read_body(RequestKey(request), offset, buffer) {
            BodyRead::Data(length) => Ok(length),
            BodyRead::End => Ok(0),
            BodyRead::Failed(status) => Err(status),
            // The parts that have not arrived by now go to the parent.
            BodyRead::Gone | BodyRead::Pending => Err(CLIENT_GONE),
        }
    }

    fn body_wait(&self, request: RequestId) -> Result<u64, u16> {
        let key = RequestKey(request);
        let length = |body: BodyView<'_>| match body {
            BodyView::Memory(bytes) => bytes.len() as u64,
            BodyView::File { length, .. } => length,
        };
        let whole = self.server.body_complete(key).then(|| self.server.with_body(key, length));
        whole.flatten().ok_or(CLIENT_GONE)
    }

    fn detach(&self, request: RequestId) {
        self.parents.detach(request);
    }

    fn release(&self, request: RequestId) {
        self.parents.release(request);
    }

    fn respond(&self, _: RequestId, _: u16, _: &[HeaderLine], body: &[u8]) -> Option<usize> {
        Some(body.len())
    }

    fn respond_file(&self, _: RequestId, _: u16, _: &[HeaderLine], _: &[u8]) -> Result<(), u16> {
        Ok(())
    }

    fn stream_start(&self, _: RequestId, _: u16, _: &[HeaderLine]) -> bool {
        true
    }

    fn stream_write(&self, _: RequestId, _: &[u8]) -> bool {
        true
    }
}
