//! The link: a process of its own that joins the topics of this host to those of others.
//!
//! It is a member of the bus like a worker, without connections and without PHP. What workers publish it passes to the
//! backplane, and what the links of other hosts have passed there it puts on the bus. Must not know who subscribes.
//! Invariant: whatever becomes of the backplane, or of this process, what is published on a host reaches that host.
//!
//! # Layout, in reading order
//! - `wire`: what links tell each other. `outbox`: what waits to be sent. `state`: what the link knows, and what it does.
//! - `backplane`: a connection, by `redis` or `nats`. This file: the loop, and what happens when the connection breaks.

mod backplane;
mod measures;
mod nats;
mod outbox;
mod redis;
mod state;
mod watched;
mod wire;

use std::future::Future;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, getpid, test_kill_process};
use weft_rt::clock;

use self::backplane::{Connection, Keeper, connect};
use self::measures::{Mark, PATIENCE};
use self::state::{GONE_AFTER, Link, Taken, Way};
use self::watched::Watched;
use crate::board::Board;
use crate::bus::Bus;
use crate::config::Config;

/// How often the link says that this host is there, and notes how far it has heard.
const HERE_EVERY: Duration = Duration::from_secs(5);
/// Between two attempts to connect, at first and at last.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// How long it tries to send what waits when it ends.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How long an earlier link has to end.
const PREDECESSOR: Duration = Duration::from_secs(5);
/// The name of its process.
pub const NAME: &str = "weft: link";

/// Everything that a link needs.
#[derive(Debug)]
pub struct LinkSetup {
    /// All settings.
    pub config: Arc<Config>,
    /// What workers publish to topics.
    pub bus: &'static Bus,
    /// Where it says what it does.
    pub board: &'static Board,
    /// Says something, or ends, when the link is to end.
    pub leash: OwnedFd,
}

/// Why a wait has ended before its time: the master wants the link to end.
struct Ended;

/// Runs the link; the exit code is the process's.
pub fn run(setup: LinkSetup) -> ExitCode {
    wait_for_predecessor(setup.bus);
    // Of the two kinds of TLS in this program, the clients need to be told which.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    let result = runtime.and_then(|runtime| runtime.block_on(serve(&setup)));
    setup.board.link.connected.set(0);
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("the link to other hosts cannot work: {error}");
            ExitCode::FAILURE
        }
    }
}

/// After a reload an earlier link may still be sending: two would put each message on the bus twice.
fn wait_for_predecessor(bus: &Bus) {
    let until = Instant::now() + PREDECESSOR;
    let is_there = |pid: u32| {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let runs =
            Pid::from_raw(pid as i32).is_some_and(|pid| pid != getpid() && test_kill_process(pid).is_ok());
        runs && name.trim_end() == NAME
    };
    while is_there(bus.hosts.link()) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    bus.hosts.become_link();
}

async fn serve(setup: &LinkSetup) -> io::Result<()> {
    let (config, bus) = (&setup.config, setup.bus);
    let page = &setup.board.link;
    page.used.set(1);
    let link = Link::new(bus, page, config.topics.bytes, config.topics.history_ms);
    let mut process = Process {
        link,
        bell: Watched::of(bus.bells.of_link())?,
        leash: Watched::of(setup.leash.as_fd())?,
        words: setup.leash.try_clone()?,
        config: Arc::clone(config),
        marks: Marks::default(),
        outage: None,
    };
    let mut pause = Duration::ZERO;
    loop {
        let connected = process.while_reading(async {
            tokio::time::sleep(pause).await;
            connect(&config.topics).await
        });
        let connection = match connected.await {
            Err(Ended) => break,
            Ok(Ok(connection)) => connection,
            Ok(Err(why)) => {
                process.report_outage(&why);
                pause = (pause * 2).clamp(PAUSE_MIN, PAUSE_MAX);
                continue;
            }
        };
        match process.use_connection(connection, &mut pause).await {
            Err(Ended) => break,
            Ok(why) => process.report_outage(&why),
        }
        pause = pause.max(PAUSE_MIN);
    }
    Ok(())
}

/// The process's part of it all.
struct Process {
    link: Link,
    bell: Watched,
    leash: Watched,
    /// What the master says on it.
    words: OwnedFd,
    config: Arc<Config>,
    marks: Marks,
    outage: Option<Instant>,
}

/// Up to where everything was heard that the backplane keeps: the older mark is surely right, what came just before the newer
/// one may still be on its way.
#[derive(Default)]
struct Marks {
    older: Option<Mark>,
    newer: Option<Mark>,
}

/// What is being sent: the number of the batch, its messages, and the result.
type Sending = Pin<Box<dyn Future<Output = (u64, u64, Result<u64, String>)>>>;

impl Process {
    /// Waits for something, and reads the bus meanwhile.
    async fn while_reading<T>(&mut self, wait: impl Future<Output = T>) -> Result<T, Ended> {
        /// A worker may have died after it had written, and before it rang.
        const LOOK_EVERY: Duration = Duration::from_secs(1);
        let mut wait = std::pin::pin!(wait);
        loop {
            self.link.read_bus();
            tokio::select! {
                done = &mut wait => return Ok(done),
                () = self.leash.stirs() => return Err(Ended),
                () = self.bell.stirs() => (),
                () = tokio::time::sleep(LOOK_EVERY) => self.link.presence.learn(clock::now()),
            }
        }
    }

    /// Uses a connection until it breaks; returns why it has.
    async fn use_connection(
        &mut self,
        mut connection: Connection,
        pause: &mut Duration,
    ) -> Result<String, Ended> {
        let why = self.converse(&mut connection, pause).await;
        if why.is_err() {
            self.say_goodbye(&connection).await;
        }
        why
    }

    async fn converse(&mut self, connection: &mut Connection, pause: &mut Duration) -> Result<String, Ended> {
        self.link.begin_anew();
        if let Some(keeper) = &mut connection.keeper
            && let Err(why) = self.catch_up(keeper).await?
        {
            return Ok(why);
        }
        self.link.bus.hosts.set_linked();
        self.report_connection(connection.complaint.take());
        *pause = Duration::ZERO;
        self.link.say_here();
        let mut sending: Option<Sending> = None;
        let mut next_here = Instant::now() + HERE_EVERY;
        let mut tick = tokio::time::interval(Duration::from_secs(1));
        loop {
            self.link.read_bus();
            if sending.is_none() {
                sending = self.begin_to_send(connection);
            }
            tokio::select! {
                () = self.leash.stirs() => return Err(Ended),
                () = self.bell.stirs() => (),
                packet = connection.receiver.next() => {
                    let Some(packet) = packet else { return Ok("the connection has ended".into()) };
                    if let Err(why) = self.take(&packet, connection.keeper.as_mut()).await? {
                        return Ok(why);
                    }
                }
                (number, messages, sent) = finish(&mut sending) => {
                    sending = None;
                    match sent {
                        Ok(too_large) => self.link.sent(number, messages, too_large),
                        Err(why) => return Ok(why),
                    }
                }
                _ = tick.tick() => {
                    self.link.tick(clock::now()).await;
                    if self.link.echoed.elapsed() > GONE_AFTER {
                        return Ok("it does not return what is sent to it".into());
                    }
                    if Instant::now() >= next_here {
                        next_here = Instant::now() + HERE_EVERY;
                        self.link.say_here();
                        if let Some(keeper) = &mut connection.keeper
                            && let Err(why) = self.mark(keeper).await?
                        {
                            return Ok(why);
                        }
                    }
                }
            }
        }
    }

    /// Takes a packet that has just come; if something is missing before it, first what the backplane has kept.
    async fn take(
        &mut self,
        packet: &[u8],
        keeper: Option<&mut Keeper>,
    ) -> Result<Result<(), String>, Ended> {
        if self.link.take(packet, Way::Live, keeper.is_none()).await == Taken::Done {
            return Ok(Ok(()));
        }
        if let Some(keeper) = keeper
            && let Err(why) = self.catch_up(keeper).await?
        {
            return Ok(Err(why));
        }
        self.link.take(packet, Way::Live, true).await;
        Ok(Ok(()))
    }

    /// Takes what the backplane has kept since all was heard.
    async fn catch_up(&mut self, keeper: &mut Keeper) -> Result<Result<(), String>, Ended> {
        let mut after = self.marks.older.clone();
        loop {
            let page = self.while_reading(keeper.page(after.as_ref())).await?;
            let (packets, last) = match page {
                Ok(page) => page,
                Err(why) => return Ok(Err(why)),
            };
            for packet in &packets {
                // What is missing between two that were kept was not kept.
                self.link.take(packet, Way::Kept, true).await;
            }
            match last {
                Some(last) => after = Some(last),
                None => break,
            }
        }
        self.marks = Marks { older: after.clone(), newer: after };
        Ok(Ok(()))
    }

    /// Notes how far everything was heard.
    async fn mark(&mut self, keeper: &mut Keeper) -> Result<Result<(), String>, Ended> {
        match self.while_reading(keeper.mark()).await? {
            Ok(mark) => {
                self.marks.older = self.marks.newer.replace(mark);
                Ok(Ok(()))
            }
            Err(why) => Ok(Err(why)),
        }
    }

    fn begin_to_send(&self, connection: &Connection) -> Option<Sending> {
        let (number, items) = self.link.outbox.batch()?;
        let messages = items.iter().filter(|item| item.is_message).count() as u64;
        let mut sender = connection.sender.clone();
        Some(Box::pin(async move {
            let sent = tokio::time::timeout(2 * PATIENCE, sender.send(items)).await;
            (number, messages, sent.unwrap_or_else(|_| Err("it does not take what is sent to it".into())))
        }))
    }

    /// Sends what waits, for a moment. What was being sent is sent again: who has it drops it.
    async fn say_goodbye(&mut self, connection: &Connection) {
        self.link.read_bus();
        // Told in so many words, and not by the end of the master's image: then the next one goes on.
        if matches!(rustix::io::read(&self.words, &mut [0]), Ok(1)) {
            self.link.say_bye();
        }
        let all = async {
            while let Some(sending) = self.begin_to_send(connection) {
                let (number, messages, Ok(too_large)) = sending.await else { return };
                self.link.sent(number, messages, too_large);
            }
        };
        // What is left is sent by the next link of this host, if there is one.
        let _ = tokio::time::timeout(LAST_WORDS, all).await;
    }

    /// Says once that the backplane is not there.
    fn report_outage(&mut self, why: &str) {
        self.link.page.connected.set(0);
        if self.outage.is_none() {
            self.outage = Some(Instant::now());
            tracing::error!(
                "the backplane {} is not there: {why}; until it is, what is published reaches the clients of this host only",
                self.shown()
            );
        }
    }

    fn report_connection(&mut self, complaint: Option<String>) {
        self.link.page.connected.set(1);
        match self.outage.take() {
            Some(since) => tracing::info!(
                "the backplane {} is there again, after {} s; {} messages for other hosts have waited",
                self.shown(),
                since.elapsed().as_secs(),
                self.link.outbox.len()
            ),
            None => tracing::info!("topics are shared with other hosts, through {}", self.shown()),
        }
        if let Some(why) = complaint {
            tracing::error!(
                "{} keeps no messages for hosts that were cut off: {why}; start NATS with JetStream (-js), or set topics.backplane_history = false",
                self.shown()
            );
        }
    }

    fn shown(&self) -> String {
        self.config.topics.backplane.as_ref().map_or_else(String::new, ToString::to_string)
    }
}

/// Waits for what is being sent; for ever, if that is nothing.
async fn finish(sending: &mut Option<Sending>) -> (u64, u64, Result<u64, String>) {
    match sending {
        Some(sending) => sending.await,
        None => std::future::pending().await,
    }
}
