//! Marks: numbers by which the handler knows a request again, up to the moment at which its answer is counted.
//!
//! Must not know what a mark means. Invariant: a mark is the request's alone; the next one of the same stream has none.

use weft_rt::Nanos;

use crate::handler::Answered;
use crate::keys::RequestKey;
use crate::server::Server;
use crate::stream::Stream;

impl Server {
    /// Marks a request; 0 is no mark.
    pub fn mark(&self, key: RequestKey, mark: u16) {
        if let Some(stream) = self.table.borrow().streams.open_ref(key) {
            stream.mark.set(mark);
        }
    }

    /// The mark of a request whose response has not ended.
    pub fn mark_of(&self, key: RequestKey) -> u16 {
        self.table.borrow().streams.open_ref(key).map_or(0, |stream| stream.mark.get())
    }

    /// Tells the handler of the answer to a request that it has marked.
    pub(crate) fn tell_answered(&self, stream: &Stream, duration: Nanos) {
        let mark = stream.mark.get();
        if mark != 0 {
            let (path, status) = (stream.head.path(stream.bytes()), stream.status);
            self.handler.answered(&Answered { mark, path, status, duration });
        }
    }
}
