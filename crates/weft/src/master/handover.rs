//! What one image of the master passes to the next: descriptors, workers, counters, as text in one variable.
//!
//! Must not know what the next image does with it. Invariant: the result of `take` owns every descriptor named in the
//! text, with close-on-exec set again; a text of another version is refused as a whole.

#![allow(unsafe_code)]

use std::fmt::Write;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::PathBuf;

use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};
use rustix::process::Pid;

use super::bound_address::BoundAddress;
use super::listen::Listener;
use crate::config::HANDOVER;

/// The first word of the text; it changes with the format.
const VERSION: &str = "weft-handover-4";
/// Earlier formats, which are this one without some kinds of lines.
const EARLIER: [&str; 2] = ["weft-handover-2", "weft-handover-3"];
/// Used in place of a text: which version of it can you take over?
pub const QUESTION: &str = "?";
/// The beginning of a program's answer; the versions follow.
const ANSWER: &str = "weft takes over from: ";

/// Answers a master that asks whether this program can become its next image. Called before anything else, so that only
/// this program can have answered.
pub fn answer() {
    if std::env::var_os(HANDOVER).is_some_and(|text| text == QUESTION) {
        super::fork::remove_variable(HANDOVER);
        println!("{ANSWER}{} {VERSION}", EARLIER.join(" "));
    }
}

/// Whether a program with this output can take over from this one.
pub fn can_take_over(said: &[u8]) -> bool {
    let first = said.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let versions = std::str::from_utf8(first).ok().and_then(|line| line.strip_prefix(ANSWER));
    versions.is_some_and(|versions| versions.split(' ').any(|version| version == VERSION))
}

/// The state that survives a reload.
#[derive(Debug, Default)]
pub struct Handover {
    /// Generation of the newest workers.
    pub generation: u32,
    /// The number of worker slots.
    pub slots: usize,
    /// Reloads begun, including the current one.
    pub begun: u64,
    /// Whether another reload was requested meanwhile.
    pub pending: bool,
    /// The workers' user, if it is not the master's: paths that it can write to are not trusted.
    pub user: u32,
    /// The pid file and its lock.
    pub pid_file: Option<(PathBuf, OwnedFd)>,
    /// The secrets of TLS's tickets.
    pub tickets: Option<OwnedFd>,
    /// The bus of the workers: [`crate::bus::Bus::descriptors`].
    pub bus: Vec<OwnedFd>,
    /// Bound sockets.
    pub listeners: Vec<Listener>,
    /// Running workers.
    pub workers: Vec<Heir>,
}

/// A running worker, passed on.
#[derive(Debug)]
pub struct Heir {
    /// Its process, a child of this one.
    pub pid: Pid,
    /// Its slot.
    pub slot: usize,
    /// Its generation.
    pub generation: u32,
    /// Milliseconds until it is killed, if it drains.
    pub drain_left_ms: Option<u64>,
    /// The master's end of its control pair.
    pub control: OwnedFd,
}

/// The text being written, and the descriptors that it names.
#[derive(Debug)]
pub struct Writer<'a> {
    text: String,
    fds: Vec<BorrowedFd<'a>>,
}

impl<'a> Writer<'a> {
    /// Starts with the counters.
    pub fn new(generation: u32, slots: usize, begun: u64, pending: bool) -> Self {
        Writer {
            text: format!(
                "{VERSION}\ncounters {generation} {slots} {begun} {pending}\nuser {}\n",
                crate::guarded_path::distrusted()
            ),
            fds: Vec::new(),
        }
    }

    /// Adds the pid file.
    pub fn pid_file(&mut self, path: &std::path::Path, fd: BorrowedFd<'a>) {
        self.line(format_args!("pid_file {} {}", fd.as_raw_fd(), path.display()));
        self.fds.push(fd);
    }

    /// Adds the secrets of TLS's tickets.
    pub fn tickets(&mut self, fd: BorrowedFd<'a>) {
        self.line(format_args!("tickets {}", fd.as_raw_fd()));
        self.fds.push(fd);
    }

    /// Adds the bus of the workers.
    pub fn bus(&mut self, fds: Vec<BorrowedFd<'a>>) {
        let numbers: Vec<String> = fds.iter().map(|fd| fd.as_raw_fd().to_string()).collect();
        self.line(format_args!("bus {}", numbers.join(" ")));
        self.fds.extend(fds);
    }

    /// Adds a listener with all its sockets.
    pub fn listener(&mut self, listener: &'a Listener) {
        let fds: Vec<String> = listener.sockets.iter().map(|fd| fd.as_raw_fd().to_string()).collect();
        let address = listener.address.tcp().or(listener.address.udp());
        let bound = address.map_or("unix".into(), |address| address.to_string());
        self.line(format_args!("listener {bound} {} {}", fds.join(","), listener.configured));
        self.fds.extend(listener.sockets.iter().map(AsFd::as_fd));
    }

    /// Adds a worker.
    pub fn worker(
        &mut self,
        pid: Pid,
        slot: usize,
        generation: u32,
        drain_left_ms: Option<u64>,
        control: BorrowedFd<'a>,
    ) {
        let drain = drain_left_ms.map_or("-".into(), |ms| ms.to_string());
        let (pid, fd) = (pid.as_raw_pid(), control.as_raw_fd());
        self.line(format_args!("worker {pid} {slot} {generation} {drain} {fd}"));
        self.fds.push(control);
    }

    /// Leaves the descriptors open (or closes them again) on exec and returns the text.
    ///
    /// # Errors
    /// The kernel's, for a descriptor that is not open.
    pub fn keep_open(&self, keep: bool) -> std::io::Result<&str> {
        for fd in &self.fds {
            fcntl_setfd(fd, if keep { FdFlags::empty() } else { FdFlags::CLOEXEC })?;
        }
        Ok(&self.text)
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{text}");
    }
}

impl Handover {
    /// What the previous image passed on, if this is a reload; the variable is removed from the environment.
    ///
    /// # Errors
    /// The text has a version that this image does not know.
    pub fn take() -> Result<Option<Self>, String> {
        let Ok(text) = std::env::var(HANDOVER) else { return Ok(None) };
        super::fork::remove_variable(HANDOVER);
        Handover::parse(&text).map(Some).ok_or_else(|| {
            format!("{HANDOVER} is set but is not from this version of weft: unset it, or restart instead of reloading")
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let version = lines.next()?;
        if version != VERSION && !EARLIER.contains(&version) {
            return None;
        }
        let mut handover = Handover::default();
        for line in lines {
            let (kind, rest) = line.split_once(' ')?;
            match kind {
                "counters" => {
                    let [generation, slots, begun, pending] = words(rest)?;
                    handover.slots = slots.parse().ok()?;
                    handover.generation = generation.parse().ok()?;
                    handover.begun = begun.parse().ok()?;
                    handover.pending = pending.parse().ok()?;
                }
                "user" => handover.user = rest.parse().ok()?,
                "pid_file" => {
                    let [fd, path] = words(rest)?;
                    handover.pid_file = Some((path.into(), own(fd)?));
                }
                "bus" => handover.bus = rest.split(' ').map(own).collect::<Option<_>>()?,
                "tickets" => handover.tickets = Some(own(rest)?),
                "listener" => handover.listeners.push(listener(rest)?),
                "worker" => handover.workers.push(worker(rest)?),
                _ => return None,
            }
        }
        Some(handover)
    }
}

fn listener(text: &str) -> Option<Listener> {
    let [bound, fds, configured] = words(text)?;
    let configured: crate::config::ListenAddress = configured.parse().ok()?;
    let address = match &configured {
        crate::config::ListenAddress::Unix { path, .. } => BoundAddress::Unix(path.clone()),
        crate::config::ListenAddress::Datagrams { service, .. } => {
            BoundAddress::Datagrams { address: bound.parse().ok()?, service: service.clone() }
        }
        tcp => BoundAddress::Tcp(bound.parse().ok()?).served_as(tcp),
    };
    let sockets = fds.split(',').map(own).collect::<Option<Vec<_>>>()?;
    let proven = sockets.len();
    Some(Listener { configured, address, sockets, proven })
}

fn worker(text: &str) -> Option<Heir> {
    let [pid, slot, generation, drain, control] = words(text)?;
    Some(Heir {
        pid: Pid::from_raw(pid.parse().ok()?)?,
        slot: slot.parse().ok()?,
        generation: generation.parse().ok()?,
        drain_left_ms: if drain == "-" { None } else { Some(drain.parse().ok()?) },
        control: own(control)?,
    })
}

/// Splits `text` into exactly `N` words; the last one takes the rest, because a path may contain spaces.
fn words<const N: usize>(text: &str) -> Option<[&str; N]> {
    text.splitn(N, ' ').collect::<Vec<_>>().try_into().ok()
}

/// The descriptor with this number, with close-on-exec set from now on.
fn own(number: &str) -> Option<OwnedFd> {
    let number: i32 = number.parse().ok().filter(|n| *n > 2)?;
    // SAFETY: only used to ask whether the number is open, and not after that.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    fcntl_getfd(borrowed).ok()?;
    fcntl_setfd(borrowed, FdFlags::CLOEXEC).ok()?;
    // SAFETY: it is open, and the previous image left it only for this one; each number is named once.
    Some(unsafe { OwnedFd::from_raw_fd(number) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::master::{control, testing::Directory};

    #[test]
    fn what_is_written_is_taken_whole() {
        let directory = Directory::new();
        let path = directory.path().join("a socket");
        let tcp = Listener::bind(&"127.0.0.1:0".parse().unwrap(), 3, 16, false).unwrap();
        let unix =
            Listener::bind(&format!("unix:{},mode=0600", path.display()).parse().unwrap(), 3, 16, false)
                .unwrap();
        let (end, _worker) = control::pair().unwrap();
        let lock = std::fs::File::create(directory.path().join("weft.pid")).unwrap();
        let pid = rustix::process::getpid();

        let mut writer = Writer::new(7, 4, 3, true);
        writer.pid_file(std::path::Path::new("/run/we ft.pid"), lock.as_fd());
        writer.listener(&tcp);
        writer.listener(&unix);
        writer.worker(pid, 2, 6, Some(1500), end.fd());
        writer.worker(pid, 1, 7, None, end.fd());
        let text = writer.keep_open(true).unwrap().to_string();
        assert_eq!(fcntl_getfd(&lock).unwrap(), FdFlags::empty());
        // The test process cannot own a descriptor twice, so each number is replaced by that of a copy.
        let mut copied = String::new();
        for (i, line) in text.lines().enumerate() {
            let at = match line.split(' ').next() {
                Some("pid_file") => 1,
                Some("listener") => 2,
                Some("worker") => 5,
                _ => 0,
            };
            let mut words: Vec<String> = line.split(' ').map(String::from).collect();
            if at > 0 {
                let copy =
                    |n: &str| own(n).map(|fd| (fd.try_clone().unwrap(), std::mem::ManuallyDrop::new(fd)));
                let copies = words[at].split(',').map(|n| copy(n).unwrap().0);
                words[at] = copies
                    .map(|fd| std::os::fd::IntoRawFd::into_raw_fd(fd).to_string())
                    .collect::<Vec<_>>()
                    .join(",");
            }
            copied.push_str(&format!("{}{}", if i == 0 { "" } else { "\n" }, words.join(" ")));
        }

        let taken = Handover::parse(&copied).unwrap();
        assert_eq!((taken.generation, taken.slots, taken.begun, taken.pending), (7, 4, 3, true));
        assert_eq!(taken.pid_file.unwrap().0, std::path::Path::new("/run/we ft.pid"));
        let listeners: Vec<_> =
            taken.listeners.iter().map(|l| (&l.configured, &l.address, l.sockets.len())).collect();
        assert_eq!(listeners, [(&tcp.configured, &tcp.address, 3), (&unix.configured, &unix.address, 1)]);
        let workers: Vec<_> =
            taken.workers.iter().map(|w| (w.pid, w.slot, w.generation, w.drain_left_ms)).collect();
        assert_eq!(workers, [(pid, 2, 6, Some(1500)), (pid, 1, 7, None)]);
    }

    #[test]
    fn a_program_says_what_it_can_take_over() {
        let said = format!("{ANSWER}weft-handover-1 {VERSION}\nfile  weft.toml\n");
        assert!(can_take_over(said.as_bytes()));
        assert!(!can_take_over(format!("{ANSWER}weft-handover-1\n{VERSION}\n").as_bytes()));
        assert!(!can_take_over(format!("hello\n{ANSWER}{VERSION}\n").as_bytes()));
        assert!(!can_take_over(b""));
    }

    #[test]
    fn text_of_another_version_is_refused() {
        assert!(Handover::parse("weft-handover-0\ncounters 1 1 1 false").is_none());
        assert!(Handover::parse(&format!("{VERSION}\nsurprise 1")).is_none());
        assert!(Handover::parse(&format!("{VERSION}\nworker 1 0 1 - 99999")).is_none());
    }
}
