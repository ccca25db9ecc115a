//! A server that runs under callgrind, and the instructions of a stretch of requests, or of messages, by the file that holds them.
//!
//! Must not know what is asked for. Invariant: only what runs between two commands to callgrind is counted, in the one worker.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use weft_tests::command::{self, binary, write_program};
use weft_tests::{Running, Server, until};

/// Requests before the count begins: they fill caches, pools and statements.
const WARM_UP: usize = 200;
/// Requests that are counted, in stretches of so many.
const COUNTED: usize = 500;
const STRETCH: usize = 100;

/// Instructions by the name of the file whose code they are: `weft`, `libphp8.2.so`, `mysqlnd.so`.
type ByFile = BTreeMap<String, u64>;

/// Instructions per request.
#[derive(Debug)]
pub struct Counts {
    mean: ByFile,
    least_of_weft: u64,
    least_of_all: u64,
    shortest_pause: Duration,
}

impl Counts {
    /// Those of the server's own code.
    pub fn of_weft(&self) -> u64 {
        self.mean.get("weft").copied().unwrap_or(0)
    }

    /// Those of the stretch with the fewest: what is done once a second is not in it, however slow the machine is.
    pub fn least_of_weft(&self) -> u64 {
        self.least_of_weft
    }

    /// PHP's and its extensions' as well. Not the C library's: it chooses its code by the processor, and a byte that one instruction
    /// sets with others (`rep stosb`) counts as an instruction.
    pub fn of_all(&self) -> u64 {
        of_all(&self.mean)
    }

    /// The same of the stretch with the fewest.
    pub fn least_of_all(&self) -> u64 {
        self.least_of_all
    }

    /// Before each stretch the server has nothing to do, because it takes a while to tell callgrind something: the shortest of these
    /// pauses. The stretch with the fewest instructions may have come after any of them.
    pub fn shortest_pause(&self) -> Duration {
        self.shortest_pause
    }

    /// What one request costs, asked for again and again on one connection.
    ///
    /// # Panics
    /// If valgrind is missing, or an answer is not `answer`.
    pub fn per_request(server: Server, target: &str, answer: &str) -> Counts {
        Counts::of_each(server, |weft| {
            let mut client = weft.connect();
            move || {
                client.get(target);
                assert_eq!(client.read().text(), answer);
            }
        })
    }

    /// What one exchange costs with the client that `connected` makes.
    ///
    /// # Panics
    /// If valgrind is missing.
    pub fn of_each<F: FnMut()>(server: Server, connected: impl FnOnce(&Running) -> F) -> Counts {
        let directory = server.directory().to_path_buf();
        let weft = start(server, &directory);
        let [worker] = weft.workers()[..] else { panic!("one worker: {:?}", weft.workers()) };
        let mut exchange = connected(&weft);
        (0..WARM_UP).for_each(|_| exchange());
        let mut last = Instant::now();
        let mut shortest_pause = Duration::MAX;
        let stretches: Vec<ByFile> = (1..=COUNTED / STRETCH)
            .map(|number| {
                tell(&["-i", "on"], worker);
                shortest_pause = shortest_pause.min(last.elapsed());
                (0..STRETCH).for_each(|_| exchange());
                last = Instant::now();
                tell(&["-i", "off"], worker);
                tell(&["--dump=counted"], worker);
                // That of the first thread, which serves. What the ticker does depends on how long it takes.
                read(&directory.join(format!("counts.{worker}.{number}-01")))
            })
            .collect();
        Counts::of(&stretches, shortest_pause)
    }

    fn of(stretches: &[ByFile], shortest_pause: Duration) -> Counts {
        let mut mean = ByFile::new();
        for (name, count) in stretches.iter().flatten() {
            *mean.entry(name.clone()).or_default() += count;
        }
        mean.values_mut().for_each(|count| *count /= COUNTED as u64);
        mean.retain(|_, count| *count > 0);
        let mut of_weft = stretches.iter().filter_map(|stretch| stretch.get("weft").copied());
        let least = |counts: &mut dyn Iterator<Item = u64>| counts.min().unwrap_or(0) / STRETCH as u64;
        Counts {
            mean,
            least_of_weft: least(&mut of_weft),
            least_of_all: least(&mut stretches.iter().map(of_all)),
            shortest_pause,
        }
    }
}

fn of_all(counts: &ByFile) -> u64 {
    counts.iter().filter(|(name, _)| !name.starts_with("libc.so")).map(|(_, count)| count).sum()
}

/// A dump, as soon as callgrind has written it.
fn read(dump: &Path) -> ByFile {
    let text = until("callgrind to write its counts", || {
        std::fs::read_to_string(dump).ok().filter(|text| text.lines().any(|line| line.starts_with("totals:")))
    });
    by_file(&text)
}

fn start(server: Server, directory: &Path) -> Running {
    let counted = directory.join("counted");
    let script = format!(
        "#!/bin/sh\nexec valgrind --tool=callgrind --instr-atstart=no --trace-children=yes --separate-threads=yes \
         --callgrind-out-file={}/counts.%p --log-file={}/valgrind.%p {} \"$@\"\n",
        directory.display(),
        directory.display(),
        binary().display()
    );
    write_program(&counted, script.as_bytes());
    // Compiled code differs with the moment at which it was compiled, and opcache does not keep a script that is new.
    ["opcache.jit=0", "pcre.jit=0", "opcache.file_update_protection=0"]
        .iter()
        .fold(server, |server, setting| server.with("--define", setting))
        .run_by(&counted)
        .start()
}

/// Gives a command to the callgrind under which a process runs.
fn tell(arguments: &[&str], process: u32) {
    let output = command::finish(Command::new("callgrind_control").args(arguments).arg(process.to_string()));
    assert_eq!(output.code, Some(0), "callgrind_control {arguments:?}: {output:?}");
}

/// The exclusive counts of a file in callgrind's format (Valgrind's manual, "Callgrind Format Specification"), by the base name
/// of the object.
fn by_file(text: &str) -> ByFile {
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    let mut counts = ByFile::new();
    let (mut object, mut inclusive) = ("", false);
    for line in text.lines() {
        if let Some(named) = line.strip_prefix("ob=") {
            object = name(&mut names, named);
        } else if let Some(named) = line.strip_prefix("cob=") {
            name(&mut names, named);
        } else if line.starts_with("calls=") {
            inclusive = true; // the next line has the cost of what was called
        } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
            let count: u64 = line.split_whitespace().nth(1).and_then(|count| count.parse().ok()).unwrap_or(0);
            if !std::mem::take(&mut inclusive) {
                let file = object.rsplit('/').next().unwrap_or(object);
                *counts.entry(file.to_owned()).or_default() += count;
            }
        }
    }
    counts
}

/// `(7) /usr/lib/name` names an object and gives it a number, `(7)` means it again.
fn name<'a>(names: &mut BTreeMap<&'a str, &'a str>, named: &'a str) -> &'a str {
    let (number, path) = named.split_once(' ').unwrap_or((named, ""));
    if !path.is_empty() {
        names.insert(number, path);
    }
    names.get(number).copied().unwrap_or("")
}
