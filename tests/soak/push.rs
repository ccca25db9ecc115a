//! The soak of topics: connections that come, join, leave, vanish and do not read, publishers and floods, and numbers that must
//! add up.
//!
//! Each publisher numbers its messages to each room. Whoever is in a room hears each publisher's next number, and nothing
//! once it has left. At the end each publisher says so in each room, and whoever is there hears that. Must not know how the
//! server runs. Invariant: a message that is missing, came twice or came to the wrong one is counted as wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use weft_tests::server::{Running, Server};
use weft_tests::websocket::{Socket, frame};
use weft_tests::{client::Client, until};

use crate::load::Random;

const ROOMS: u64 = 8;
const MEMBERS: u64 = 40;
const STUCK: u64 = 3;
const PUBLISHERS: u64 = 4;
/// Messages of 1,000 bytes for those who do not read.
const FLOOD: u64 = 3_000;
/// How much resident memory all workers may have grown by.
const GROWTH_BYTES_MAX: u64 = 24 << 20;

/// What all have counted, and how far they are.
#[derive(Default)]
struct Course {
    published: AtomicU64,
    heard: AtomicU64,
    joined: AtomicU64,
    vanished: AtomicU64,
    closed: AtomicU64,
    wrong: AtomicU64,
    /// Nobody comes or goes any more.
    settles: AtomicBool,
    /// Members that stay where they are, and in how many rooms they are together.
    settled: AtomicU64,
    seats: AtomicU64,
    /// Publishers say so, and stop.
    ends: AtomicBool,
}

impl Course {
    fn is_wrong(&self, what: &str) {
        self.wrong.fetch_add(1, Relaxed);
        eprintln!("{what}");
    }
}

/// The server: queues are so short that who does not read is soon noticed.
pub fn server() -> Server {
    Server::new(include_str!("../websocket/room.php").trim_start_matches("<?php"))
        .with("--workers", "2")
        .with("--websocket-queue-bytes-max", "65536")
        .with("--topics-bytes", "1048576")
}

/// All of it; returns whether everything held.
pub fn run(weft: &Running, seconds: u64) -> bool {
    let (course, began, total) = (Course::default(), Instant::now(), Duration::from_secs(seconds));
    let (warm, last) = thread::scope(|scope| {
        let course = &course;
        for seed in 0..MEMBERS {
            scope.spawn(move || Member::new(weft, seed).live(course));
        }
        for seed in 0..STUCK {
            scope.spawn(move || be_stuck(weft, seed, course));
        }
        for seed in 0..PUBLISHERS {
            scope.spawn(move || publish(weft, seed, course));
        }
        let warm = progress(weft, course, began, total / 5);
        let last = progress(weft, course, began, total);
        course.settles.store(true, Relaxed);
        until("all members stay where they are", || (course.settled.load(Relaxed) == MEMBERS).then_some(()));
        if !seats_are(weft, course.seats.load(Relaxed)) {
            course.is_wrong("the server counts other subscribers than there are");
        }
        course.ends.store(true, Relaxed);
        (warm, last)
    });
    if !seats_are(weft, 0) {
        course.is_wrong("somebody has subscribed although all are gone");
    }
    let grown = last.saturating_sub(warm);
    println!(
        "{} published, {} heard, {} closed because they did not read, {} wrong; {grown} resident bytes more",
        course.published.load(Relaxed),
        course.heard.load(Relaxed),
        course.closed.load(Relaxed),
        course.wrong.load(Relaxed)
    );
    course.wrong.load(Relaxed) == 0 && course.closed.load(Relaxed) > 0 && grown <= GROWTH_BYTES_MAX
}

/// Shows the progress until then; returns the resident memory of all workers.
fn progress(weft: &Running, course: &Course, began: Instant, until: Duration) -> u64 {
    loop {
        thread::sleep(until.saturating_sub(began.elapsed()).min(Duration::from_secs(5)));
        let resident = weft.workers().iter().map(|pid| resident_bytes(*pid)).sum();
        println!(
            "{:>5} s  {:>8} published  {:>9} heard  {:>7} joined  {:>5} vanished  {:>4} closed  {} wrong  {:>6.1} MB resident",
            began.elapsed().as_secs(),
            course.published.load(Relaxed),
            course.heard.load(Relaxed),
            course.joined.load(Relaxed),
            course.vanished.load(Relaxed),
            course.closed.load(Relaxed),
            course.wrong.load(Relaxed),
            resident as f64 / 1e6,
        );
        if began.elapsed() >= until {
            return resident;
        }
    }
}

fn resident_bytes(pid: u32) -> u64 {
    let pages = std::fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let pages: u64 = pages.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or_default();
    pages * 4096
}

/// Whether the server soon counts so many subscriptions to the rooms.
fn seats_are(weft: &Running, expected: u64) -> bool {
    let mut asking = Socket::open(weft, "/room");
    asking.text();
    let patience = Instant::now() + Duration::from_secs(20);
    loop {
        let of_room = |room| {
            asking.send(&format!("count room-{room}"));
            asking.text().parse::<u64>().unwrap_or(u64::MAX / ROOMS)
        };
        let found: u64 = (0..ROOMS).map(of_room).sum();
        if found == expected || Instant::now() > patience {
            return found == expected;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Publishes numbered messages, and now and then a flood.
fn publish(weft: &Running, seed: u64, course: &Course) {
    let (mut random, mut client) = (Random(1_000 + seed), Client::connect(weft.address));
    let mut ask = |target: &str| {
        client.get(target);
        let response = client.read();
        if response.status != 200 {
            course.is_wrong(&format!("{target}: {} {}", response.status, response.text()));
        }
    };
    let mut next = BTreeMap::new();
    while !course.ends.load(Relaxed) {
        let room = random.below(ROOMS);
        let most = if random.below(50) == 0 { 500 } else { 5 };
        let count = 1 + random.below(most);
        let from = next.entry(room).or_insert(0);
        ask(&format!("/publish?topic=room-{room}&by=p{seed}@room-{room}&from={from}&count={count}"));
        *from += count;
        course.published.fetch_add(count, Relaxed);
        if seed == 0 && random.below(200) == 0 {
            flood(weft);
        }
        thread::sleep(Duration::from_millis(random.below(4)));
    }
    for room in 0..ROOMS {
        ask(&format!("/publish?topic=room-{room}&by=end-p{seed}@room-{room}&from=0&count=1"));
    }
}

fn flood(weft: &Running) {
    let mut flooding = Socket::open(weft, "/room");
    flooding.text();
    flooding.send(&format!("flood flood {FLOOD}"));
    assert_eq!(flooding.text(), "true");
}

/// A connection that joins rooms and leaves them.
struct Member<'a> {
    weft: &'a Running,
    random: Random,
    socket: Socket,
    /// By publisher, of the rooms in which it is: the number that comes next.
    next: BTreeMap<String, u64>,
    rooms: BTreeSet<u64>,
    /// The publishers that have ended, by room.
    ended: usize,
}

impl<'a> Member<'a> {
    fn new(weft: &'a Running, seed: u64) -> Member<'a> {
        let (next, rooms) = (BTreeMap::new(), BTreeSet::new());
        Member { weft, random: Random(seed), socket: enter(weft, "/room"), next, rooms, ended: 0 }
    }

    fn live(mut self, course: &Course) {
        while !course.settles.load(Relaxed) {
            let room = self.random.below(ROOMS);
            match self.random.below(20) {
                0 => self.vanish(course),
                1..=8 if self.rooms.contains(&room) => self.leave(room, course),
                1..=8 => self.join(room, course),
                _ if self.rooms.is_empty() => self.join(room, course),
                _ => {
                    for _ in 0..self.random.below(40) {
                        let said = self.socket.text();
                        self.hear(&said, course);
                    }
                }
            }
        }
        course.seats.fetch_add(self.rooms.len() as u64, Relaxed);
        course.settled.fetch_add(1, Relaxed);
        while self.ended < self.rooms.len() * PUBLISHERS as usize {
            let said = self.socket.text();
            self.hear(&said, course);
        }
    }

    fn vanish(&mut self, course: &Course) {
        self.socket = enter(self.weft, "/room");
        self.rooms.clear();
        self.next.clear();
        course.vanished.fetch_add(1, Relaxed);
    }

    fn join(&mut self, room: u64, course: &Course) {
        self.rooms.insert(room);
        self.ask(&format!("join room-{room}"), course);
        course.joined.fetch_add(1, Relaxed);
    }

    fn leave(&mut self, room: u64, course: &Course) {
        self.ask(&format!("leave room-{room}"), course);
        self.rooms.remove(&room);
        self.next.retain(|by, _| !by.ends_with(&format!("@room-{room}")));
    }

    /// Sends a command, and hears what comes before its answer.
    fn ask(&mut self, command: &str, course: &Course) {
        self.socket.send(command);
        loop {
            let said = self.socket.text();
            match said.as_str() {
                "true" => return,
                "false" => return course.is_wrong(&format!("{command}: false")),
                _ => self.hear(&said, course),
            }
        }
    }

    fn hear(&mut self, said: &str, course: &Course) {
        course.heard.fetch_add(1, Relaxed);
        let parts = said.rsplit_once(' ').and_then(|(by, number)| Some((by, number.parse::<u64>().ok()?)));
        let room = said.rsplit_once("@room-").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
        let (Some((by, number)), Some(room)) = (parts, room) else {
            return course.is_wrong(&format!("heard {said:?}"));
        };
        if !self.rooms.contains(&room) {
            return course.is_wrong(&format!("heard {said:?} outside of the room"));
        }
        if by.starts_with("end-") {
            self.ended += 1;
            return;
        }
        if let Some(expected) = self.next.insert(by.to_owned(), number + 1).filter(|next| *next != number) {
            course.is_wrong(&format!("heard {said:?}, expected {expected}"));
        }
    }
}

fn enter(weft: &Running, path: &str) -> Socket {
    let mut socket = Socket::open(weft, path);
    socket.text(); // its name
    socket
}

/// Joins the flood and does not read, until the server has closed it; again and again.
fn be_stuck(weft: &Running, seed: u64, course: &Course) {
    let mut random = Random(2_000 + seed);
    while !course.settles.load(Relaxed) {
        let mut socket = enter(weft, "/room");
        socket.send("join flood");
        assert_eq!(socket.text(), "true");
        thread::sleep(Duration::from_millis(500 + random.below(3_000)));
        match reads_in_order(&mut socket.stream, &course.settles) {
            Ok(true) => drop(course.closed.fetch_add(1, Relaxed)),
            Ok(false) => (),
            Err(what) => course.is_wrong(&format!("one that did not read: {what}")),
        }
    }
}

/// Reads what waits. Returns whether the connection was closed with 1013; false if nothing more comes.
fn reads_in_order(stream: &mut TcpStream, is_over: &AtomicBool) -> Result<bool, String> {
    let quiet = Duration::from_millis(300);
    stream.set_read_timeout(Some(quiet)).map_err(|error| error.to_string())?;
    let mut last = 0u64;
    loop {
        let (first, payload) = match read_frame(stream) {
            Ok(frame) => frame,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                return Ok(false);
            }
            Err(_) if is_over.load(Relaxed) => return Ok(false),
            Err(error) => return Err(error.to_string()),
        };
        if first == 0x88 {
            // The server may have gone without waiting for it.
            let _ = stream.write_all(&frame(0x88, &payload));
            let code = payload.first_chunk::<2>().map(|code| u16::from_be_bytes(*code));
            return if code == Some(1013) { Ok(true) } else { Err(format!("closed with {code:?}")) };
        }
        let text = String::from_utf8_lossy(&payload).into_owned();
        let number: u64 =
            text.split(' ').next().and_then(|number| number.parse().ok()).ok_or(format!("heard {text:?}"))?;
        if number != last + 1 && !(last.is_multiple_of(FLOOD) && number == 1) && last != 0 {
            return Err(format!("heard {number} after {last}"));
        }
        last = number;
    }
}

/// One frame: its first byte and its payload. An error at its beginning leaves the stream as it is.
fn read_frame(stream: &mut TcpStream) -> io::Result<(u8, Vec<u8>)> {
    let mut start = [0; 2];
    stream.read_exact(&mut start)?;
    let length = if start[1] == 126 {
        let mut long = [0; 2];
        stream.read_exact(&mut long)?;
        usize::from(u16::from_be_bytes(long))
    } else {
        usize::from(start[1])
    };
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload)?;
    Ok((start[0], payload))
}
