//! The server of one worker: it receives the loop's events and calls the handler.
//!
//! Must not know what answers a request. Invariant: the loop alone calls the handler, with nothing borrowed. A
//! method that a coroutine may call borrows only for its own duration, and never while it parks.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use weft_proto::{DateCache, Repeated};
use weft_rt::reactor::Event;
use weft_rt::{MILLISECOND, Nanos, Runtime, clock};

use crate::ServerLimits;
use crate::admission::{Admission, Line};
use crate::compress::Compressed;
use crate::connection::{Connection, Phase};
use crate::datagram_queue::Datagrams;
use crate::eviction::Eviction;
use crate::handler::{Handler, Refusal};
use crate::http1::own_lines::OwnLines;
use crate::http2::carrier::Carrier;
use crate::keys::{RequestKey, SERVER_BIT, Source, source};
use crate::listeners::Listeners;
use crate::spool::Spool;
use crate::states::Round;
use crate::stats::Stats;
use crate::step::Step;
use crate::stream::Stream;
use crate::stream::streams::Streams;
use crate::table::Table;
use crate::tally::Marks;
use crate::tunnel::coders::Coders;
use crate::tunnel::deliveries::Deliveries;
use crate::tunnel::tunnels::Tunnels;
use crate::ways_out::WaysOut;
use crate::wheel::Wheel;

/// Size of the buffer through which bodies are received.
const SCRATCH_BYTES: usize = 64 * 1024;
/// Pipelined requests of one connection that are answered before others get their turn.
const REQUESTS_PER_TURN: u32 = 64;
/// A turn that has taken this long answers no second request of a connection, so that connections with new requests
/// come first.
const TURN_SPAN: Nanos = MILLISECOND;

/// The steps of a turn, in this order. First everything that has arrived is received, then all of it is answered, then
/// everything is sent. So each of the two paths through the kernel, and the one through PHP, stays in the processor's
/// caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TurnStage {
    Receive,
    Answer,
    Send,
}

/// Listeners and connections of one worker. Created once, never freed.
pub struct Server {
    pub(crate) runtime: &'static Runtime,
    pub(crate) limits: ServerLimits,
    pub(crate) own_lines: OwnLines,
    pub(crate) wants_summaries: bool,
    pub(crate) spools_streams: bool,
    pub(crate) spool: Spool,
    pub(crate) waiting: Cell<usize>,
    pub(crate) table: RefCell<Table>,
    pub(crate) scratch: RefCell<Box<[u8]>>,
    pub(crate) listeners: RefCell<Listeners>,
    /// When the answers of a turn are sent: the turn, and the time.
    pub(crate) answered: Cell<(Nanos, Nanos)>,
    /// What it counts.
    pub stats: &'static Stats,
    pub(crate) handler: Box<dyn Handler>,
    /// At least as many as there are connections of the operator: while there is none, no request is one of theirs.
    pub(crate) admins: Cell<usize>,
    /// What is counted by the marks of requests, if anything is.
    pub(crate) marks: Cell<Option<&'static Marks>>,
    pub(crate) wheel: RefCell<Wheel>,
    /// Connections to be processed before the loop waits again.
    queue: RefCell<Vec<u32>>,
    /// Connections that have got what many get, and are processed when it is their turn.
    pub(crate) deliveries: Deliveries,
    /// The connection whose request is being dispatched: it is processed without being queued.
    dispatching: Cell<Option<u32>>,
    pub(crate) stage: Cell<TurnStage>,
    pub(crate) line: Line,
    pub(crate) eviction: Eviction,
    /// A connection waits for room and none is idle: the next one that gets an answer makes room.
    pub(crate) crowded: Cell<bool>,
    /// What [`Server::accept_singly`] was told.
    pub(crate) accepts_singly: Cell<bool>,
    /// Listeners at which connections wait, for the end of the turn.
    pub(crate) seen_waiting: RefCell<Vec<u32>>,
    /// Requests that arrived in this turn and that the handler has not been given yet.
    pub(crate) arrived: RefCell<VecDeque<RequestKey>>,
    /// While the handler is given the requests that arrived: the last one it was given.
    begun: Cell<Option<RequestKey>>,
    /// A refusal that the handler has not been told about yet.
    pub(crate) refusal: Cell<Option<Refusal>>,
    /// The connections that carry streams, by their slots. Boxed, because nearly half of a tree's places are empty.
    pub(crate) carriers: RefCell<BTreeMap<u32, Box<Carrier>>>,
    pub(crate) compressed: RefCell<Compressed>,
    pub(crate) tunnels: RefCell<Tunnels>,
    pub(crate) coders: Coders,
    pub(crate) datagrams: RefCell<Datagrams>,
    /// Whether there are sockets for them: each turn asks.
    pub(crate) has_datagrams: Cell<bool>,
    /// Counts the responses that are being compressed.
    pub(crate) compressing: Rc<()>,
    date: RefCell<DateCache>,
    date_turn: Cell<Nanos>,
    pub(crate) repeated: RefCell<Repeated>,
    pub(crate) ways_out: WaysOut,
    pub(crate) round: Cell<Round>,
    /// When [`Server::drain`] was called.
    pub(crate) draining: Cell<Option<Nanos>>,
    /// From when on tunnels are told to leave, if they are.
    pub(crate) leaving_from: Cell<Option<Nanos>>,
}

impl Server {
    /// Creates the server of this worker. `runtime` is the one whose loop will deliver its events.
    pub fn new(
        runtime: &'static Runtime,
        limits: ServerLimits,
        handler: Box<dyn Handler>,
    ) -> &'static Server {
        Server::counting(runtime, limits, handler, Box::leak(Box::default()))
    }

    /// The same with counters that the caller has placed.
    pub fn counting(
        runtime: &'static Runtime,
        limits: ServerLimits,
        handler: Box<dyn Handler>,
        stats: &'static Stats,
    ) -> &'static Server {
        Box::leak(Box::new(Server {
            runtime,
            spool: Spool::new(&limits),
            waiting: Cell::new(0),
            own_lines: OwnLines::new(limits.hsts_s),
            limits,
            wants_summaries: handler.wants_summaries(),
            spools_streams: handler.spools_streams(),
            table: RefCell::default(),
            scratch: RefCell::new(vec![0; SCRATCH_BYTES].into_boxed_slice()),
            listeners: RefCell::default(),
            answered: Cell::default(),
            stats,
            handler,
            admins: Cell::default(),
            marks: Cell::default(),
            wheel: RefCell::default(),
            queue: RefCell::default(),
            deliveries: Deliveries::default(),
            dispatching: Cell::new(None),
            stage: Cell::new(TurnStage::Send),
            line: Line::default(),
            eviction: Eviction::default(),
            crowded: Cell::new(false),
            accepts_singly: Cell::new(false),
            seen_waiting: RefCell::default(),
            arrived: RefCell::default(),
            begun: Cell::new(None),
            refusal: Cell::new(None),
            carriers: RefCell::default(),
            compressed: RefCell::default(),
            tunnels: RefCell::default(),
            coders: Coders::default(),
            datagrams: RefCell::default(),
            has_datagrams: Cell::default(),
            compressing: Rc::default(),
            date: RefCell::new(DateCache::new(clock::unix_seconds())),
            date_turn: Cell::new(0),
            repeated: RefCell::default(),
            ways_out: WaysOut::default(),
            round: Cell::default(),
            draining: Cell::new(None),
            leaving_from: Cell::new(None),
        }))
    }

    /// Whether an event's key belongs to this server. Other keys belong to the worker.
    pub fn owns(key: u64) -> bool {
        key & SERVER_BIT != 0
    }

    /// Handles an event of the reactor: [`weft_rt::Driver::event`] of this part of the worker.
    pub fn event(&self, event: Event) {
        match source(event.key) {
            Source::Listener(index) if self.has_datagrams.get() && self.receive_datagrams(index) => (),
            Source::Listener(index) => self.accept(index),
            Source::Connection { index, generation } => {
                if !self.table.borrow_mut().note(index, generation, event.readiness) {
                    return; // an earlier event of the same turn closed it
                }
                self.stage.set(TurnStage::Receive);
                self.process(index);
            }
        }
    }

    /// The end of a turn: [`weft_rt::Driver::turn`] of this part of the worker.
    pub fn turn(&self, now: Nanos) {
        self.admit(now);
        self.give_events();
        if self.has_datagrams.get() {
            self.give_datagrams();
        }
        self.stage.set(TurnStage::Send);
        self.send_queued();
        if self.deliveries.are_due() {
            self.send_deliveries();
        }
        if self.has_datagrams.get() {
            self.send_datagrams();
        }
        if self.is_called() {
            self.answer_bells();
        }
        self.expire(now);
        self.resume_accepting(now);
        if self.accepts_singly.get() {
            self.accept_in_turns(now);
        }
        self.note_room();
        self.note_spool(now);
    }

    /// Moves those connections on that were queued.
    fn send_queued(&self) {
        let mut queue = std::mem::take(&mut *self.queue.borrow_mut());
        for index in queue.drain(..) {
            if let Some(connection) = self.table.borrow_mut().at(index) {
                connection.queued = false;
            }
            self.process(index);
        }
        // Connections queued meanwhile belong to the next turn; if there are none, the old list's memory is
        // reused.
        let mut later = self.queue.borrow_mut();
        if later.is_empty() {
            *later = queue;
        }
    }

    /// When [`Server::turn`] must be called even if nothing happens.
    pub fn deadline(&self) -> Option<Nanos> {
        let is_behind =
            !self.queue.borrow().is_empty() || !self.arrived.borrow().is_empty() || self.deliveries.are_due();
        if is_behind || self.is_called() {
            return Some(0);
        }
        let resume = self.listeners.borrow().resume_at();
        let datagrams = if self.has_datagrams.get() { self.datagrams_deadline() } else { None };
        // Not flatten(): the compiler would compare what is not there before it asks, which memcheck reports.
        let all = [self.wheel.borrow().next(), resume, self.line_deadline(), self.events_due_at(), datagrams];
        let first =
            all.map(|deadline| deadline.unwrap_or(Nanos::MAX)).into_iter().fold(Nanos::MAX, Nanos::min);
        (first != Nanos::MAX).then_some(first)
    }

    /// Gives the handler the requests that arrived in this turn. Answered ones are then in the queue, for the end of
    /// the turn.
    pub(crate) fn dispatch_arrived(&self) {
        self.stage.set(TurnStage::Answer);
        self.offer_arrived();
        while let Some(key) = self.take_arrived() {
            self.handler.request(key);
            let Some(last) = self.begun.take() else { continue };
            // If it waits, more of its body may be available.
            let waits = self
                .table
                .borrow_mut()
                .active(last)
                .filter(|(connection, _)| !connection.queued)
                .map(|(_, stream)| stream.connection);
            if let Some(index) = waits {
                self.process(index);
            }
        }
    }

    fn take_arrived(&self) -> Option<RequestKey> {
        let key = loop {
            let next = self.arrived.borrow_mut().pop_front();
            match next {
                Some(key) if !self.reclaim(key) => (),
                other => break other,
            }
        };
        self.begun.set(key);
        key
    }

    /// Another request of this turn, for a handler that has answered the last one but has not returned. It counts as
    /// handed over, as by [`Handler::request`]. `None` at all other times.
    pub fn next_arrived(&self) -> Option<RequestKey> {
        let last = self.begun.get()?;
        let next = self.take_arrived();
        self.begun.set(next.or(Some(last)));
        next
    }

    /// Moves one connection on, and calls the handler for each whole request that is available.
    pub(crate) fn process(&self, index: u32) {
        // A connection that is processed again within a turn has had an answer in it; a first request goes
        // through `arrived`.
        for answered in 1..=REQUESTS_PER_TURN {
            let step = {
                let mut table = self.table.borrow_mut();
                self.claim(index, &mut table);
                let step = self.advance(index, &mut table);
                if let Step::Wait = step {
                    self.arm(index, &mut table);
                    self.offer(index, &mut table);
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
                Step::Carry(first) => return self.carry(index, &first, true),
            }
        }
        self.touch(index);
    }

    /// Whether a connection with this many answered requests in the turn must let others go first. The clock is read
    /// rarely, because that costs as much as a small answer; so a connection gets at most twice its time.
    fn turn_is_over(&self, answered: u32) -> bool {
        answered.is_power_of_two() && clock::now().saturating_sub(self.runtime.turn_time()) >= TURN_SPAN
    }

    /// Moves a request to the next turn: after those that have already arrived, before later ones.
    fn postpone(&self, key: RequestKey) {
        // Earlier answers need not wait with it.
        self.flush_now(key);
        self.arrived.borrow_mut().push_back(key);
    }

    /// Has a connection processed in this turn.
    pub(crate) fn touch(&self, index: u32) {
        if self.dispatching.get() == Some(index) {
            return;
        }
        let mut table = self.table.borrow_mut();
        if let Some(connection) = table.at(index) {
            self.enqueue(index, connection);
        }
    }

    /// [`Server::touch`] for a connection that is already borrowed.
    pub(crate) fn enqueue(&self, index: u32, connection: &mut Connection) {
        if !connection.queued && self.dispatching.get() != Some(index) {
            connection.queued = true;
            self.queue.borrow_mut().push(index);
        }
    }

    fn report(&self, index: u32) {
        let table = self.table.borrow();
        if let Some((connection, stream)) = table.peek(index) {
            self.handler.finished(&self.summary(connection, stream, table.carrier_of(connection)));
        }
        drop(table);
        let mut table = self.table.borrow_mut();
        if let Some((_, Some(stream))) = table.slot_and_stream(index) {
            stream.reported = true;
        }
    }

    pub(crate) fn close(&self, index: u32) {
        {
            let mut table = self.table.borrow_mut();
            self.claim(index, &mut table);
            let Some(mut connection) = table.remove(index) else { return };
            self.admins.set(self.admins.get().saturating_sub(usize::from(connection.is_admin)));
            if connection.tunnel.is_some() {
                self.tunnel_ended(&mut connection);
            }
            self.give_stream(&mut connection, &mut table.streams);
            if connection.phase == Phase::Carrier || !connection.transport.is_plain() {
                self.end_carrying(index, &mut connection, &mut table);
                if connection.transport.carried().is_some() {
                    return; // it was not one of the connections that are counted
                }
            }
            connection.transport.say_goodbye();
            // Closing removes it from epoll, unless a forked child still has it. An event from there finds another
            // generation in the slot, or an empty slot.
        }
        self.stats.connections.set(self.stats.connections.get() - 1);
        self.connection_left();
    }

    /// Runs `work` on a stream whose request the handler has, and its connection.
    pub(crate) fn with_active(
        &self,
        key: RequestKey,
        work: impl FnOnce(&Server, &mut Connection, &mut Stream),
    ) {
        if let Some((connection, stream)) = self.table.borrow_mut().active(key) {
            work(self, connection, stream);
        }
    }

    /// Bytes have arrived on an idle connection.
    pub(crate) fn take_stream(&self, index: u32, connection: &mut Connection, streams: &mut Streams) {
        // A stream's connection counts for it.
        let own = usize::from(connection.transport.carried().is_none());
        self.stats.busy.set(self.stats.busy.get() + own);
        let number = streams.take(index);
        if let Some(stream) = streams.get_mut(number) {
            let waited = connection.admission != Admission::None;
            stream.since = if waited { connection.since } else { self.runtime.turn_time() };
        }
        connection.stream = Some(number);
    }

    /// Takes back a connection's stream, whatever happened to its request.
    pub(crate) fn give_stream(&self, connection: &mut Connection, streams: &mut Streams) {
        if let Some(stream) = connection.stream.and_then(|number| streams.get_mut(number)) {
            self.forget_waiting(stream);
            stream.forget();
            self.give_unused_stream(connection, streams);
        }
    }

    /// Between two requests, with nothing of the next one received.
    pub(crate) fn give_unused_stream(&self, connection: &mut Connection, streams: &mut Streams) {
        if let Some(number) = connection.stream.take() {
            let own = usize::from(connection.transport.carried().is_none());
            self.stats.busy.set(self.stats.busy.get() - own);
            streams.give(number);
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

/// How much there is.
impl Server {
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
