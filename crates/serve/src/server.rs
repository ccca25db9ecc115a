//! The server of one worker: it takes the loop's events and calls the handler.
//!
//! Must not know what answers a request. Invariant: the handler is called with nothing borrowed, from the loop only;
//! each method a coroutine may call borrows for its own duration, and never while it parks.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use weft_proto::{DateCache, Repeated};
use weft_rt::reactor::Event;
use weft_rt::{MILLISECOND, Nanos, Runtime, clock};

use crate::ServerLimits;
use crate::accept::Listeners;
use crate::compress::Compressed;
use crate::connection::{Connection, Step};
use crate::evict::Eviction;
use crate::exchange::{Exchange, Pool};
use crate::handler::{Handler, Refusal, Stats};
use crate::spool::Spool;
use crate::table::{RequestKey, SERVER_BIT, Source, Table, source};
use crate::unread::Line;
use crate::wheel::Wheel;

/// Bytes of the buffer that bodies are received through.
const SCRATCH_BYTES: usize = 64 * 1024;
/// Pipelined requests of one connection answered before others have their turn.
const REQUESTS_PER_TURN: u32 = 64;
/// A turn that has taken so long answers no second request of a connection: whoever has come meanwhile is heard first.
const TURN_SPAN: Nanos = MILLISECOND;

/// What a turn does, in this order. First all that has come is received, then all of it is answered, then all is sent: each of
/// the two paths through the kernel, and the one through PHP, stays in the processor's caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TurnStage {
    Receive,
    Answer,
    Send,
}

/// Listeners and connections of one worker. Made once, never freed.
pub struct Server {
    pub(crate) runtime: &'static Runtime,
    pub(crate) limits: ServerLimits,
    pub(crate) wants_summaries: bool,
    pub(crate) spools_streams: bool,
    pub(crate) spool: Spool,
    pub(crate) waiting: Cell<usize>,
    pub(crate) table: RefCell<Table>,
    pub(crate) scratch: RefCell<Box<[u8]>>,
    pub(crate) listeners: RefCell<Listeners>,
    /// Counters for the status.
    pub stats: Stats,
    pub(crate) handler: Box<dyn Handler>,
    pool: RefCell<Pool>,
    pub(crate) wheel: RefCell<Wheel>,
    /// Connections to be looked at before the loop waits again.
    queue: RefCell<Vec<u32>>,
    /// The connection whose request is being dispatched: it is looked at without being queued.
    dispatching: Cell<Option<u32>>,
    pub(crate) stage: Cell<TurnStage>,
    pub(crate) line: Line,
    pub(crate) eviction: Eviction,
    /// A connection waits for room and nobody is idle: who is answered next makes room.
    pub(crate) crowded: Cell<bool>,
    /// Requests that have come in this turn and are still to be given to the handler.
    pub(crate) arrived: RefCell<VecDeque<RequestKey>>,
    /// While the handler is given what has arrived: the request it was given last.
    begun: Cell<Option<RequestKey>>,
    /// What the handler is still to be told of.
    pub(crate) refusal: Cell<Option<Refusal>>,
    pub(crate) compressed: RefCell<Compressed>,
    date: RefCell<DateCache>,
    date_turn: Cell<Nanos>,
    pub(crate) repeated: RefCell<Repeated>,
    /// When [`Server::drain`] was called.
    pub(crate) draining: Cell<Option<Nanos>>,
}

impl Server {
    /// Makes the server of this worker. `runtime` is the one whose loop will deliver its events.
    pub fn new(
        runtime: &'static Runtime,
        limits: ServerLimits,
        handler: Box<dyn Handler>,
    ) -> &'static Server {
        Box::leak(Box::new(Server {
            runtime,
            spool: Spool::new(&limits),
            waiting: Cell::new(0),
            limits,
            wants_summaries: handler.wants_summaries(),
            spools_streams: handler.spools_streams(),
            table: RefCell::default(),
            scratch: RefCell::new(vec![0; SCRATCH_BYTES].into_boxed_slice()),
            listeners: RefCell::default(),
            stats: Stats::default(),
            handler,
            pool: RefCell::default(),
            wheel: RefCell::default(),
            queue: RefCell::default(),
            dispatching: Cell::new(None),
            stage: Cell::new(TurnStage::Send),
            line: Line::default(),
            eviction: Eviction::default(),
            crowded: Cell::new(false),
            arrived: RefCell::default(),
            begun: Cell::new(None),
            refusal: Cell::new(None),
            compressed: RefCell::default(),
            date: RefCell::new(DateCache::new(clock::unix_seconds())),
            date_turn: Cell::new(0),
            repeated: RefCell::default(),
            draining: Cell::new(None),
        }))
    }

    /// Whether an event's key is this server's. Other keys belong to the worker.
    pub fn owns(key: u64) -> bool {
        key & SERVER_BIT != 0
    }

    /// Takes an event of the reactor: [`weft_rt::Driver::event`] of this part of the worker.
    pub fn event(&self, event: Event) {
        match source(event.key) {
            Source::Listener(index) => self.accept(index),
            Source::Connection { index, generation } => {
                match self.table.borrow_mut().connection(index, generation) {
                    Some(connection) => connection.link.note(event.readiness),
                    // It was closed by an event before this one in the same turn.
                    None => return,
                }
                self.stage.set(TurnStage::Receive);
                self.process(index);
            }
        }
    }

    /// The end of a turn: [`weft_rt::Driver::turn`] of this part of the worker.
    pub fn turn(&self, now: Nanos) {
        self.admit(now);
        self.stage.set(TurnStage::Send);
        let mut queue = std::mem::take(&mut *self.queue.borrow_mut());
        for index in queue.drain(..) {
            if let Some(connection) =
                self.table.borrow_mut().slot(index).and_then(|slot| slot.connection.as_mut())
            {
                connection.queued = false;
            }
            self.process(index);
        }
        // Connections queued meanwhile are the next turn's; the old list's memory is used again if there are none.
        let mut later = self.queue.borrow_mut();
        if later.is_empty() {
            *later = queue;
        }
        drop(later);
        self.expire(now);
        self.resume_accepting(now);
        self.note_room();
        self.note_spool(now);
    }

    /// When [`Server::turn`] must be called though nothing happens.
    pub fn deadline(&self) -> Option<Nanos> {
        if !self.queue.borrow().is_empty() || !self.arrived.borrow().is_empty() {
            return Some(0);
        }
        let resume = self.listeners.borrow().resume_at();
        [self.wheel.borrow().next(), resume, self.line_deadline()].into_iter().flatten().min()
    }

    /// Gives the handler what has come in this turn. What is answered is in the queue then, for the end of the turn.
    pub(crate) fn dispatch_arrived(&self) {
        self.stage.set(TurnStage::Answer);
        while let Some(key) = self.take_arrived() {
            self.handler.request(key);
            let Some(last) = self.begun.take() else { continue };
            // If it waits there may be more of its body.
            let waits = self.table.borrow_mut().active(last).is_some_and(|connection| !connection.queued);
            if waits {
                self.process(last.index());
            }
        }
    }

    fn take_arrived(&self) -> Option<RequestKey> {
        let key = self.arrived.borrow_mut().pop_front();
        self.begun.set(key);
        key
    }

    /// Another request that has come in this turn, for a handler that has answered the one it was given and has not returned: it
    /// is handed over, as by [`Handler::request`]. `None` at all other times.
    pub fn next_arrived(&self) -> Option<RequestKey> {
        let last = self.begun.get()?;
        let next = self.take_arrived();
        self.begun.set(next.or(Some(last)));
        next
    }

    /// Moves one connection on, calling the handler as often as whole requests are at hand.
    pub(crate) fn process(&self, index: u32) {
        // Whoever is looked at again in a turn has had an answer in it; a first request goes by way of `arrived`.
        for answered in 1..=REQUESTS_PER_TURN {
            let step = {
                let mut table = self.table.borrow_mut();
                let Some(slot) = table.slot(index) else { return };
                let step = self.advance(index, slot);
                if let Step::Wait = step {
                    self.arm(index, slot);
                }
                step
            };
            if let Some(refusal) = self.refusal.take() {
                self.handler.refused(&refusal);
            }
            match step {
                Step::Request(key) if self.stage.get() == TurnStage::Receive => {
                    return self.arrived.borrow_mut().push_back(key);
                }
                Step::Request(key) if self.turn_is_over(answered) => return self.postpone(key),
                Step::Request(key) => {
                    self.dispatching.set(Some(index));
                    self.handler.request(key);
                    self.dispatching.set(None);
                }
                Step::TurnAway(key) => self.handler.turn_away(key),
                Step::Report => self.report(index),
                Step::Wait => return,
                Step::Later => break,
                Step::Close => return self.close(index),
            }
        }
        self.touch(index);
    }

    /// Whether a connection that has had so many requests answered in this turn must let others be heard. The clock is asked
    /// seldom, as it costs as much as a small answer; so a connection has twice its time at most.
    fn turn_is_over(&self, answered: u32) -> bool {
        answered.is_power_of_two() && clock::now().saturating_sub(self.runtime.turn_time()) >= TURN_SPAN
    }

    /// A request that is the next turn's: behind those that are there, before those that come.
    fn postpone(&self, key: RequestKey) {
        // What was answered before need not wait with it.
        self.flush_now(key);
        self.arrived.borrow_mut().push_back(key);
    }

    /// Has a connection looked at in this turn.
    pub(crate) fn touch(&self, index: u32) {
        if self.dispatching.get() == Some(index) {
            return;
        }
        let mut table = self.table.borrow_mut();
        let Some(connection) = table.slot(index).and_then(|slot| slot.connection.as_mut()) else { return };
        self.enqueue(index, connection);
    }

    /// [`Server::touch`] for a connection that is at hand.
    pub(crate) fn enqueue(&self, index: u32, connection: &mut Connection) {
        if !connection.queued && self.dispatching.get() != Some(index) {
            connection.queued = true;
            self.queue.borrow_mut().push(index);
        }
    }

    fn report(&self, index: u32) {
        {
            let table = self.table.borrow();
            let Some((key, connection)) = table.peek(index) else { return };
            if let Some(summary) = self.summary(key, connection) {
                self.handler.finished(&summary);
            }
        }
        let mut table = self.table.borrow_mut();
        let exchange = table.slot(index).and_then(|slot| slot.connection.as_mut()?.exchange.as_deref_mut());
        if let Some(exchange) = exchange {
            exchange.reported = true;
        }
    }

    pub(crate) fn close(&self, index: u32) {
        let Some(mut connection) = self.table.borrow_mut().remove(index) else { return };
        self.give_exchange(&mut connection);
        // Closing takes it out of epoll, unless a forked child still has it: an event from there finds another generation
        // in the slot, or nobody.
        drop(connection);
        self.stats.connections.set(self.stats.connections.get() - 1);
        self.connection_left();
    }

    /// Has `work` done on a connection whose request is with the handler.
    pub(crate) fn with_active(&self, key: RequestKey, work: impl FnOnce(&Server, &mut Connection)) {
        if let Some(connection) = self.table.borrow_mut().active(key) {
            work(self, connection);
        }
    }

    pub(crate) fn take_exchange(&self) -> Box<Exchange> {
        self.stats.busy.set(self.stats.busy.get() + 1);
        self.pool.borrow_mut().take()
    }

    pub(crate) fn give_exchange(&self, connection: &mut Connection) {
        if let Some(mut exchange) = connection.exchange.take() {
            self.forget_waiting(&mut exchange);
            self.stats.busy.set(self.stats.busy.get() - 1);
            self.pool.borrow_mut().give(exchange);
        }
    }

    /// Between two requests, with nothing of the next one received.
    pub(crate) fn give_unused_exchange(&self, connection: &mut Connection) {
        if let Some(exchange) = connection.exchange.take() {
            self.stats.busy.set(self.stats.busy.get() - 1);
            self.pool.borrow_mut().give_unused(exchange);
        }
    }

    /// The Date field of this turn.
    pub(crate) fn date(&self) -> std::cell::Ref<'_, DateCache> {
        let turn = self.runtime.turn_time();
        if self.date_turn.replace(turn) != turn {
            self.date.borrow_mut().set(clock::unix_seconds());
        }
        self.date.borrow()
    }
}

/// Going away.
impl Server {
    /// Answers what is in flight and then closes: responses say `Connection: close`, idle connections are closed when
    /// no request has come for `drain_idle_ms`. Done when [`Stats::connections`] is 0.
    pub fn drain(&self) {
        if self.draining.get().is_some() {
            return;
        }
        self.draining.set(Some(self.runtime.turn_time()));
        let mut table = self.table.borrow_mut();
        for (index, slot) in table.occupied() {
            self.arm(index, slot);
        }
    }

    /// Whether [`Server::drain`] was called.
    pub fn draining(&self) -> bool {
        self.draining.get().is_some()
    }

    /// Connections that hold no buffers.
    pub fn idle(&self) -> usize {
        self.stats.connections.get().saturating_sub(self.stats.busy.get())
    }

    /// Connections.
    pub fn connections(&self) -> usize {
        self.stats.connections.get()
    }

    /// Requests whose response has not ended.
    pub fn in_flight(&self) -> usize {
        self.stats.in_flight.get()
    }
}
