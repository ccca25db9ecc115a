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

    /// The mark of a request whose response has not ended, which gets one by its path as sent if it has none.
    #[inline]
    pub fn mark_by(&self, key: RequestKey, of_path: impl FnOnce(&[u8]) -> u16) -> u16 {
        let table = self.table.borrow();
        let Some(stream) = table.streams.open_ref(key) else { return 0 };
        if stream.mark.get() == 0 {
            stream.mark.set(of_path(stream.head.path(stream.bytes())));
        }
        stream.mark.get()
    }

    /// Tells the handler of the answer to a request that it has marked.
    #[inline]
    pub(crate) fn tell_answered(&self, stream: &Stream, duration: Nanos, duration_class: usize) {
        let mark = stream.mark.get();
        if mark != 0 {
            let (path, status) = (stream.head.path(stream.bytes()), stream.status);
            self.handler.answered(&Answered { mark, path, status, duration, duration_class });
        }
    }
}
