//! Marks: numbers by which the handler knows a request again, and under which its answer is counted.
//!
//! Must not know what a mark means. Invariants: a mark is the request's alone; the next one of the same stream has none. An answer
//! is counted once: under its request's mark, or with those that have none.

use crate::keys::RequestKey;
use crate::server::Server;
use crate::stats::Answers;
use crate::stream::Stream;
use crate::tally::{Marks, Tally, UNKNOWN};

impl Server {
    /// From here on the requests of a mark are charged to the tally of that number, less 1, and their answers are counted there;
    /// those of others in [`Stats`](crate::Stats). Requests without a mark get one by their path ([`Handler::mark`]).
    ///
    /// [`Handler::mark`]: crate::Handler::mark
    pub fn count_by_mark(&self, tallies: &'static [Tally]) {
        self.marks.set(Some(Box::leak(Box::new(Marks::new(tallies)))));
    }

    /// Marks a request; 0 is no mark.
    pub fn mark(&self, key: RequestKey, mark: u16) {
        if let Some(stream) = self.table.borrow().streams.open_ref(key) {
            stream.mark.set(mark);
        }
    }

    /// The mark of a request whose response has not ended, which gets one by its path if it has none; 0: it has none.
    pub fn mark_of(&self, key: RequestKey) -> u16 {
        let (Some(marks), table) = (self.marks.get(), self.table.borrow()) else { return 0 };
        table.streams.open_ref(key).map_or(0, |stream| self.find_mark(marks, stream))
    }

    /// The answer to a request begins: whoever runs now is charged for it.
    #[inline]
    pub(crate) fn charge(&self, stream: &Stream) {
        let Some(marks) = self.marks.get() else { return };
        if let Some(tally) = marks.tally(self.find_mark(marks, stream)) {
            self.runtime.charge_to(&tally.account);
        }
    }

    /// Where the answer to a request is counted, which is about to be sent.
    #[inline]
    pub(crate) fn answers_like(&self, stream: &Stream) -> &'static Answers {
        let (Some(marks), mark) = (self.marks.get(), stream.mark.get()) else { return &self.stats.answers };
        let mark = if mark == UNKNOWN { self.find_late(stream) } else { mark };
        marks.tally(mark).map_or(&self.stats.answers, |tally| &tally.answers)
    }

    #[inline]
    fn find_mark(&self, marks: &Marks, stream: &Stream) -> u16 {
        if stream.mark.get() == 0 {
            let path = stream.head.path(stream.bytes());
            let known = marks.recent.mark_of(path);
            stream.mark.set(known.unwrap_or_else(|| self.ask_for_mark(marks, path)));
        }
        stream.mark.get()
    }

    #[cold]
    fn ask_for_mark(&self, marks: &Marks, path: &[u8]) -> u16 {
        let mark = self.handler.mark(path);
        if mark > UNKNOWN {
            marks.recent.keep(path, mark);
        }
        mark
    }

    #[cold]
    fn find_late(&self, stream: &Stream) -> u16 {
        let mark = self.handler.mark_answered(stream.head.path(stream.bytes()), stream.status);
        stream.mark.set(mark);
        mark
    }
}
