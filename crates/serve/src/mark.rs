//! Marks: numbers by which the handler knows a request again, and under which its answer is counted.
//!
//! Must not know what a mark means. Invariants: a mark is the request's alone; the next one of the same stream has none. An answer
//! is counted once: under its request's mark, or with those that have none.

use crate::answers::Answers;
use crate::keys::RequestKey;
use crate::server::Server;
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

    /// Marks a request; 0 is no mark. It means nothing where the server does not count by mark.
    pub fn mark(&self, key: RequestKey, mark: u16) {
        if let Some(stream) = self.table.borrow().streams.open_ref(key) {
            stream.is_marked.set(mark > 0);
            let known = self.marks.get().filter(|_| mark != UNKNOWN);
            stream.tally.set(known.and_then(|marks| marks.tally(mark)));
        }
    }

    /// The mark of a request whose response has not ended, which gets one by its path if it has none; 0: it has none.
    pub fn mark_of(&self, key: RequestKey) -> u16 {
        let (Some(marks), table) = (self.marks.get(), self.table.borrow()) else { return 0 };
        table.streams.open_ref(key).map_or(0, |stream| {
            self.find_tally(marks, stream);
            self.mark_known(stream)
        })
    }

    /// The mark that a request has.
    pub(crate) fn mark_known(&self, stream: &Stream) -> u16 {
        match (self.marks.get(), stream.tally.get()) {
            (Some(marks), Some(tally)) => marks.mark_of(tally),
            _ if stream.is_marked.get() => UNKNOWN,
            _ => 0,
        }
    }

    /// The answer to a request begins: whoever runs now is charged for it.
    #[inline]
    pub(crate) fn charge(&self, stream: &Stream) {
        if let Some(marks) = self.marks.get() {
            self.runtime.charge_to(self.find_tally(marks, stream).map(|tally| &tally.account));
        }
    }

    /// Where the answer to a request is counted, which is about to be sent.
    #[inline]
    pub(crate) fn answers_like(&self, stream: &Stream) -> &'static Answers {
        match stream.tally.get() {
            Some(tally) => &tally.answers,
            None if stream.is_marked.get() => self.find_late(stream),
            None => &self.stats.answers,
        }
    }

    /// What a request is charged to.
    #[inline]
    fn find_tally(&self, marks: &Marks, stream: &Stream) -> Option<&'static Tally> {
        if !stream.is_marked.get()
            && let Some((from, length)) = stream.path_on()
            && let Some(recent) = marks.recent.find_short(from, length)
        {
            stream.tally.set(recent);
            return recent;
        }
        self.find_longer(marks, stream)
    }

    /// The same of a path that is longer, or not known yet.
    #[cold]
    fn find_longer(&self, marks: &Marks, stream: &Stream) -> Option<&'static Tally> {
        if stream.is_marked.get() {
            return stream.tally.get().or_else(|| marks.tally(UNKNOWN));
        }
        let path = stream.head.path(stream.bytes());
        let recent = marks.recent.find(path);
        if recent.is_some() {
            stream.tally.set(recent);
            return recent;
        }
        let mark = self.handler.mark(path);
        let tally = marks.tally(mark)?;
        stream.is_marked.set(true);
        if mark != UNKNOWN {
            stream.tally.set(Some(tally));
            marks.recent.keep(path, tally);
        }
        Some(tally)
    }

    #[cold]
    fn find_late(&self, stream: &Stream) -> &'static Answers {
        let mark = self.handler.mark_answered(stream.head.path(stream.bytes()), stream.status);
        let tally = self.marks.get().and_then(|marks| marks.tally(mark));
        stream.tally.set(tally);
        tally.map_or(&self.stats.answers, |tally| &tally.answers)
    }
}
