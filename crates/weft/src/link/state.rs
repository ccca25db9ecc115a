//! What the link knows, and what it does with what it hears: its part in the bus, what waits to be sent, the other hosts.
//!
//! Must not know what carries packets. Invariants: it reads the bus whatever the backplane does, so no publisher waits for
//! it; each message of another host is put on the bus once, in the order of that host, and a gap is counted and named.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use weft_rt::{Nanos, clock};

use super::outbox::{Item, Outbox};
use super::wire::Packet;
use crate::board::LinkPage;
use crate::bus::{
    Attendee, Bus, Host, Letter, MAIL, Message, NEWS, Next, Origin, Presence, Refused, encode_rows, end_of,
    now_ms, rows_of_attendee,
};

/// A host that was not heard of for so long has gone.
pub const GONE_AFTER: Duration = Duration::from_secs(15);
/// How often a host is asked who is present there, until it has answered.
const ASK_EVERY: Duration = Duration::from_secs(5);
/// What is known of a host that has gone is kept for those who come back, at least this long.
const REMEMBERED_MS_MIN: u64 = 60_000;
/// Bytes of a part of a roster.
const ROSTER_BYTES: usize = 128 * 1024;
/// How long a reader of the bus is waited for.
const PATIENCE: Duration = Duration::from_secs(1);
const TRY_EVERY: Duration = Duration::from_millis(2);

/// The link.
pub struct Link {
    /// The bus of this host.
    pub bus: &'static Bus,
    /// Its part in it, with the roster.
    pub presence: Presence,
    /// Where it says what it does.
    pub page: &'static LinkPage,
    /// What waits to be sent.
    pub outbox: Outbox,
    /// Where the last message of this host ends that was put there.
    end: u64,
    /// The other hosts that are there.
    pub hosts: HashMap<u32, Remote>,
    /// How old a message may be that is put on the bus.
    history_ms: u64,
    /// Others want to know who is present here.
    is_asked: bool,
    /// When the backplane has last returned what was sent.
    pub echoed: Instant,
    since: Instant,
}

/// Another host that is there.
pub struct Remote {
    pub heard: Instant,
    /// When it was last asked who is present there; `None` if that is known.
    pub asked: Option<Option<Instant>>,
    /// The parts of its answer so far.
    pub parts: Vec<Attendee>,
}

/// Where a packet comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It was just sent.
    Live,
    /// The backplane had kept it.
    Kept,
}

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// What it says is done.
    Done,
    /// Something is missing before it; nothing was done.
    Gap,
}

impl Link {
    /// The link of this host, in this process.
    pub fn new(bus: &'static Bus, page: &'static LinkPage, bytes_max: usize, history_ms: u64) -> Link {
        bus.repair_link();
        let from = match bus.hosts.cursor() {
            0 if bus.is_there(bus.start()) => bus.start(),
            0 => bus.head(NEWS),
            cursor => cursor,
        };
        let now = Instant::now();
        Link {
            bus,
            presence: Presence::join_as_link(bus, from),
            page,
            outbox: Outbox::new(bytes_max),
            end: from,
            hosts: HashMap::new(),
            history_ms,
            is_asked: false,
            echoed: now,
            since: now,
        }
    }

    /// Reads what there is on the bus.
    pub fn read_bus(&mut self) {
        let member = self.presence.post.member;
        let mut record = Vec::new();
        loop {
            record.clear();
            let mut begin = 0;
            let next = member.next(NEWS, |at, bytes| {
                begin = at;
                record.extend_from_slice(bytes);
            });
            match next {
                Next::Given => self.pass_on(begin, &record),
                Next::Nothing => break,
                Next::Missed => {
                    self.end = member.position(NEWS);
                    self.presence.begin_anew();
                    self.page.gaps.add(1);
                    tracing::error!(
                        "messages of topics were overwritten before they could be passed to other hosts"
                    );
                }
            }
        }
        self.read_mail();
    }

    fn pass_on(&mut self, at: u64, record: &[u8]) {
        let Some(message) = Message::decode(record) else { return };
        if !message.is_past {
            self.presence.take(&message);
        }
        if message.origin.is_none() {
            let (from, end) = (self.end, end_of(at, record));
            self.end = end;
            self.put(&Packet::Message { from, end, message }, from);
        }
    }

    /// Workers wait for an answer of each who reads the bus.
    fn read_mail(&mut self) {
        let post = self.presence.post;
        let answer = |_, record: &[u8]| {
            let Some(letter) = Letter::decode(record) else { return };
            let Some(question) = post.take(&letter) else { return };
            match self.presence.answer(question) {
                // Who starts now asks again: it is to learn all of it.
                Some(_) if self.presence.is_unsure() => (),
                answer => post.reply(&letter, &answer.unwrap_or_default()),
            }
        };
        while post.member.next(MAIL, answer) != Next::Nothing {}
        post.note_turn(clock::now());
    }

    /// Puts a packet into the outbox.
    fn put(&mut self, packet: &Packet<'_>, from: u64) {
        let is_message = matches!(packet, Packet::Message { .. });
        let dropped = self.outbox.push(Item { payload: packet.encode(self.bus.epoch), is_message, from });
        self.page.dropped.add(dropped);
    }

    /// Says that this host is there, and, if others have asked, who is present here.
    pub fn say_here(&mut self) {
        let end = self.end;
        self.put(&Packet::Here { end }, end);
        if self.is_asked && !self.presence.is_unsure() {
            self.is_asked = false;
            self.say_roster();
        }
    }

    /// Says that it leaves.
    pub fn say_bye(&mut self) {
        self.put(&Packet::Bye, self.end);
    }

    fn say_roster(&mut self) {
        let (all, mut part, mut bytes, mut is_first) = (self.presence.of_host(0), Vec::new(), 0, true);
        for attendee in &all {
            let rows = rows_of_attendee(attendee);
            let length: usize = rows.iter().map(|row| 4 + row.len()).sum();
            if bytes + length > ROSTER_BYTES {
                let rows = encode_rows(&part);
                self.put(&Packet::Roster { is_first, is_last: false, rows: &rows }, self.end);
                (bytes, is_first) = (0, false);
                part.clear();
            }
            bytes += length;
            part.extend(rows);
        }
        let rows = encode_rows(&part);
        self.put(&Packet::Roster { is_first, is_last: true, rows: &rows }, self.end);
    }

    /// A batch was sent.
    pub fn sent(&mut self, number: u64, messages: u64, too_large: u64) {
        self.outbox.sent(number);
        self.page.sent.add(messages - too_large);
        self.page.dropped.add(too_large);
        self.bus.hosts.set_cursor(self.outbox.from().unwrap_or(self.end));
    }

    /// Takes a packet. `is_sure`: what is missing before it cannot be had.
    pub async fn take(&mut self, packet: &[u8], way: Way, is_sure: bool) -> Taken {
        let Some((host, packet)) = Packet::decode(packet) else { return Taken::Done };
        if host == self.bus.epoch {
            if way == Way::Live {
                self.echoed = Instant::now();
            }
            return Taken::Done;
        }
        let taken = match packet {
            Packet::Message { from, end, message } => {
                self.take_message(host, (from, end), message, way, is_sure).await
            }
            Packet::Here { end } => self.take_here(host, end, is_sure).await,
            Packet::Ask { host: asked } => {
                self.is_asked |= asked == self.bus.epoch;
                Taken::Done
            }
            Packet::Roster { is_first, is_last, rows } => {
                self.take_roster(host, is_first, is_last, rows).await;
                Taken::Done
            }
            Packet::Bye => {
                self.host_has_gone(host).await;
                return Taken::Done;
            }
        };
        // One that only asks has not said yet up to where it has published.
        if taken == Taken::Done && way == Way::Live && self.bus.hosts.find(host).is_some() {
            self.hear_of(host);
        }
        taken
    }

    async fn take_message(
        &mut self,
        host: u32,
        (from, end): (u64, u64),
        message: Message<'_>,
        way: Way,
        is_sure: bool,
    ) -> Taken {
        let heard_ms = now_ms();
        let known = self.bus.hosts.find(host);
        if known.is_some_and(|known| end <= known.next) {
            return Taken::Done; // it was here before
        }
        let is_gap = known.is_some_and(|known| from > known.next);
        if is_gap && !is_sure {
            return Taken::Gap;
        }
        if is_gap {
            self.note_gap(host);
        }
        let since = known.filter(|_| !is_gap).map_or(from, |known| known.since);
        let news = Host { host, next: end, since, heard_ms };
        if way == Way::Kept && message.time_ms.saturating_add(self.history_ms) < heard_ms {
            // Nobody can ask for it any more.
            self.note(Host { since: end, ..news }).await;
            return Taken::Done;
        }
        let is_past = way == Way::Kept && !self.bus.hosts.is_linked();
        let message = Message { origin: Some(Origin { host, end }), is_past, ..message };
        if known.is_none() {
            self.make_room();
        }
        self.inject(&message, news).await;
        Taken::Done
    }

    async fn take_here(&mut self, host: u32, end: u64, is_sure: bool) -> Taken {
        let known = self.bus.hosts.find(host);
        let is_gap = known.is_some_and(|known| end > known.next);
        if is_gap && !is_sure {
            return Taken::Gap;
        }
        if is_gap {
            self.note_gap(host);
        }
        let is_new = known.is_none();
        let news = match known.filter(|_| !is_gap) {
            Some(known) => Host { heard_ms: now_ms(), ..known },
            None => Host { host, next: end, since: end, heard_ms: now_ms() },
        };
        if is_new {
            self.make_room();
        }
        self.note(news).await;
        Taken::Done
    }

    fn note_gap(&mut self, host: u32) {
        self.page.gaps.add(1);
        tracing::warn!("messages of host {host:x} were missed, and the backplane has not kept them");
        if let Some(remote) = self.hosts.get_mut(&host) {
            remote.asked = Some(None);
        }
    }

    fn hear_of(&mut self, host: u32) {
        let heard = Instant::now();
        let new = || Remote { heard, asked: Some(None), parts: Vec::new() };
        let remote = self.hosts.entry(host).or_insert_with(new);
        remote.heard = heard;
        self.page.hosts.set(self.hosts.len());
    }

    /// The one that was not heard of for longest gives way.
    fn make_room(&mut self) {
        if self.bus.hosts.all().count() < crate::bus::HOSTS {
            return;
        }
        if let Some(oldest) = self.bus.hosts.all().min_by_key(|host| host.heard_ms) {
            self.bus.forget_host(oldest.host);
        }
    }

    async fn take_roster(&mut self, host: u32, is_first: bool, is_last: bool, rows: &[u8]) {
        let Some(remote) = self.hosts.get_mut(&host) else { return };
        if is_first {
            remote.parts.clear();
        }
        remote.parts.extend(crate::bus::attendees_of(crate::bus::rows_of(rows)));
        if !is_last {
            return;
        }
        remote.asked = None;
        let there = std::mem::take(&mut remote.parts);
        self.read_bus();
        let known = self.presence.of_host(host);
        let is_in = |all: &[Attendee]| -> std::collections::HashSet<_> {
            all.iter().map(|(topic, who, ..)| (topic.clone(), *who)).collect()
        };
        let (now, before) = (is_in(&there), is_in(&known));
        for (topic, who, name, _) in
            known.iter().filter(|(topic, who, ..)| !now.contains(&(topic.clone(), *who)))
        {
            self.announce(crate::bus::Kind::Left, host, *who, topic, name).await;
        }
        for (topic, who, name, _) in
            there.iter().filter(|(topic, who, ..)| !before.contains(&(topic.clone(), *who)))
        {
            self.announce(crate::bus::Kind::Joined, host, *who, topic, name).await;
        }
    }

    /// Announces here that a connection of another host has come or gone, where that host's own word was not heard.
    async fn announce(
        &mut self,
        kind: crate::bus::Kind,
        host: u32,
        who: (u64, u64),
        topic: &[u8],
        name: &[u8],
    ) {
        let known = self.bus.hosts.find(host);
        let known = known.unwrap_or(Host { host, next: self.bus.start(), since: u64::MAX, heard_ms: 0 });
        let (topic, text) = crate::bus::announcement(kind, who, topic, name);
        let origin = Some(Origin { host, end: known.next });
        let message = Message { origin, ..Message::new(kind, who, &topic, text.as_bytes()) };
        self.inject(&message, known).await;
    }

    async fn host_has_gone(&mut self, host: u32) {
        self.hosts.remove(&host);
        self.page.hosts.set(self.hosts.len());
        self.read_bus();
        for (topic, who, name, _) in self.presence.of_host(host) {
            self.announce(crate::bus::Kind::Left, host, who, &topic, &name).await;
        }
    }

    /// Puts a message on the bus, and waits for room as every publisher does.
    async fn inject(&mut self, message: &Message<'_>, news: Host) {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.bus.inject(message, news) {
                Ok(()) => return self.page.received.add(1),
                Err(Refused::TooLong(_)) => {
                    tracing::warn!(
                        "a message of host {:x} is too large for topics_bytes of this host, and is dropped",
                        news.host
                    );
                    self.page.gaps.add(1);
                    return self.note(Host { since: news.next, ..news }).await;
                }
                Err(Refused::Full) if Instant::now() >= until => {
                    if let Some(pid) = self.bus.leave_behind(NEWS) {
                        tracing::warn!(
                            "worker {pid} has not read messages of topics for a second: nobody waits for it any more, and it misses some"
                        );
                    }
                }
                Err(Refused::Full | Refused::Busy) => (),
            }
            tokio::time::sleep(TRY_EVERY).await;
            // It reads, too, and must not be the one that is waited for.
            self.read_bus();
        }
    }

    async fn note(&mut self, news: Host) {
        while self.bus.note_host(news).is_none() {
            tokio::time::sleep(TRY_EVERY).await;
        }
    }

    /// What is done once a second while the backplane is there.
    pub async fn tick(&mut self, now: Nanos) {
        self.presence.learn(now);
        let gone: Vec<u32> = {
            let late = self.hosts.iter().filter(|(_, remote)| remote.heard.elapsed() > GONE_AFTER);
            late.map(|(host, _)| *host).collect()
        };
        for host in gone {
            tracing::warn!(
                "host {host:x} was not heard of for {} s, and is taken for gone",
                GONE_AFTER.as_secs()
            );
            self.host_has_gone(host).await;
        }
        // Those of whom an earlier link has told.
        if self.since.elapsed() > GONE_AFTER {
            let known = self.presence.hosts();
            for host in known
                .into_iter()
                .filter(|host| *host != 0 && !self.hosts.contains_key(host))
                .collect::<Vec<_>>()
            {
                self.host_has_gone(host).await;
            }
        }
        let due = |remote: &Remote| {
            remote.asked.is_some_and(|at| at.is_none_or(|at: Instant| at.elapsed() > ASK_EVERY))
        };
        let asked: Vec<u32> =
            self.hosts.iter().filter(|(_, remote)| due(remote)).map(|(host, _)| *host).collect();
        for host in asked {
            if let Some(remote) = self.hosts.get_mut(&host) {
                remote.asked = Some(Some(Instant::now()));
            }
            self.put(&Packet::Ask { host }, self.end);
        }
        if self.is_asked {
            self.say_here();
        }
        let remembered_ms = self.history_ms.max(REMEMBERED_MS_MIN);
        for old in self.bus.hosts.all().filter(|host| host.heard_ms + remembered_ms < now_ms()) {
            if !self.hosts.contains_key(&old.host) {
                self.bus.forget_host(old.host);
            }
        }
    }

    /// After an outage hosts have as long to be heard as ever.
    pub fn begin_anew(&mut self) {
        let now = Instant::now();
        self.echoed = now;
        self.hosts.values_mut().for_each(|remote| remote.heard = now);
    }
}
