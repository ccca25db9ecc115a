//! A process with PHP instances, a host that gives it requests, and their responses.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use weft_rt::reactor::Event;
use weft_rt::{Driver, Nanos, Runtime, SECOND, SchedulerLimits, Spawn};
use weft_zend::host::HeaderLine;
use weft_zend::{
    Engine, Field, Host, InstanceOptions, InstanceSwitch, JobKind, LogLevel, Options, RequestId, Slice,
};

const CHILD: &str = "WEFT_TEST_CHILD";

/// Runs `test` in a separate process, and fails if it does.
pub fn alone(name: &str, test: impl FnOnce()) {
    if std::env::var(CHILD).is_ok_and(|child| child == name) {
        return test();
    }
    let mut command = Command::new(std::env::current_exe().expect("the path of this test"));
    command.args(["--exact", name, "--nocapture"]).env(CHILD, name);
    let output = command.output().expect("the test starts again");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {}\n{text}", output.status);
}

pub fn pages() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/instances/pages"))
}

struct Request {
    script: String,
    name: String,
    query: String,
    target: String,
    root: String,
    headers: Vec<(String, String)>,
}

/// The response to a request.
#[derive(Clone, Default, Debug)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// Whether the response was begun and could not be completed.
    pub failed: bool,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

#[derive(Default)]
pub struct Web {
    requests: RefCell<HashMap<RequestId, Request>>,
    responses: RefCell<HashMap<RequestId, Response>>,
    pub log: RefCell<Vec<String>>,
    pub replacements: RefCell<Vec<String>>,
    /// Requests that PHP has finished.
    ended: Cell<u64>,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn lines(headers: &[HeaderLine]) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| (text(name), text(value))).collect()
}

impl Host for Web {
    fn log(&self, _: LogLevel, _: RequestId, message: &[u8]) {
        self.log.borrow_mut().push(text(message));
    }
    fn output(&self, bytes: &[u8]) {
        self.log.borrow_mut().push(text(bytes));
    }
    fn replace(&self, reason: &[u8]) {
        self.replacements.borrow_mut().push(text(reason));
    }
    fn field(&self, request: RequestId, field: Field) -> Slice {
        let requests = self.requests.borrow();
        let Some(request) = requests.get(&request) else { return Slice::NONE };
        match field {
            Field::Method => Slice::of(b"GET"),
            Field::Target => Slice::of(request.target.as_bytes()),
            Field::Query => Slice::of(request.query.as_bytes()),
            Field::Version => Slice::of(b"1.1"),
            Field::Scheme => Slice::of(b"http"),
            Field::Host => Slice::of(b"localhost"),
            Field::Client | Field::Server => Slice::of(b"127.0.0.1"),
            Field::ClientPort | Field::ServerPort => Slice::of(b"8000"),
            Field::Script => Slice::of(request.script.as_bytes()),
            Field::ScriptName => Slice::of(request.name.as_bytes()),
            Field::Root => Slice::of(request.root.as_bytes()),
            _ => Slice::NONE,
        }
    }
    fn header_at(&self, request: RequestId, index: u32) -> Option<(Slice, Slice)> {
        let requests = self.requests.borrow();
        let (name, value) = requests.get(&request)?.headers.get(index as usize)?;
        Some((Slice::of(name.as_bytes()), Slice::of(value.as_bytes())))
    }
    fn release(&self, _: RequestId) {
        self.ended.set(self.ended.get() + 1);
    }
    fn aborted(&self, _: RequestId) -> bool {
        false
    }
    fn body_read(&self, _: RequestId, _: u64, _: &mut [u8]) -> Result<usize, u16> {
        Ok(0)
    }
    fn body_wait(&self, _: RequestId) -> Result<u64, u16> {
        Ok(0)
    }
    fn respond(&self, request: RequestId, status: u16, headers: &[HeaderLine], body: &[u8]) -> Option<usize> {
        let response = Response { status, headers: lines(headers), body: text(body), failed: false };
        self.responses.borrow_mut().insert(request, response);
        Some(body.len())
    }
    fn stream_start(&self, request: RequestId, status: u16, headers: &[HeaderLine]) -> bool {
        self.respond(request, status, headers, b"").is_some()
    }
    fn stream_write(&self, request: RequestId, chunk: &[u8]) -> bool {
        self.responses.borrow_mut().entry(request).or_default().body.push_str(&text(chunk));
        true
    }
    fn stream_end(&self, request: RequestId, _: &[HeaderLine], failed: bool) {
        self.responses.borrow_mut().entry(request).or_default().failed = failed;
    }
}

pub const OPTIONS: InstanceOptions =
    InstanceOptions { instances_max: 10, stack_bytes: 8 << 20, memory_bytes_max: 4 << 30, verify: false };

/// A worker with instances, without a server.
pub struct Worker {
    pub web: &'static Web,
    pub runtime: &'static Runtime,
    next: Cell<u64>,
    started: Cell<u64>,
}

/// A time slice of the workers that start from now on, in nanoseconds.
static SLICE: AtomicU64 = AtomicU64::new(8_000_000);

/// From now on, others run wherever they can: at every other call that weft intercepts, chosen at random, and every 50 us
/// between any two instructions of PHP code.
pub fn switch_everywhere() {
    weft_rt::hook::yield_at_calls(true);
    SLICE.store(1, Ordering::Relaxed);
}

/// The most instructions of PHP code in a slice; 0: as many as there is time for.
static STEPS: AtomicU32 = AtomicU32::new(0);

/// From now on, others run after at most so many machine instructions of PHP code, a random number each time.
pub fn switch_after_instructions(most: u32) {
    switch_everywhere();
    STEPS.store(most, Ordering::Relaxed);
}

impl Worker {
    pub fn start(instances: u32, ini: &[(&str, &str)]) -> Worker {
        Worker::start_with(InstanceOptions { instances_max: instances, ..OPTIONS }, ini)
    }

    pub fn start_with(pool: InstanceOptions, ini: &[(&str, &str)]) -> Worker {
        Worker::start_all(pool, pool.instances_max as usize, ini)
    }

    /// At most `idle` of them are kept while they have nothing to do.
    pub fn start_idle(instances: u32, idle: usize, ini: &[(&str, &str)]) -> Worker {
        Worker::start_all(InstanceOptions { instances_max: instances, ..OPTIONS }, idle, ini)
    }

    /// Installs a host.
    pub fn host() -> &'static Web {
        let web: &'static Web = Box::leak(Box::default());
        weft_zend::host::install(web);
        web
    }

    fn start_all(pool: InstanceOptions, idle: usize, ini: &[(&str, &str)]) -> Worker {
        let web = Worker::host();
        let ini = ini.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let options = Options { ini, classic: true, instances: true, ..Options::default() };
        let engine = Engine::start(&options).expect("PHP starts");
        // As the master does before it forks: a separate request, in the arena.
        engine.opcache();
        let switch = InstanceSwitch::start(pool);
        let switch = switch.expect("this PHP and its extensions can have instances");
        let steps = STEPS.load(Ordering::Relaxed);
        InstanceSwitch::step(steps);
        let limits = SchedulerLimits {
            coroutines_max: pool.instances_max as usize,
            idle_max: idle,
            queue_max: 100_000,
            queue_wait_max: 600 * SECOND,
            slice: SLICE.load(Ordering::Relaxed),
            ..SchedulerLimits::default()
        };
        let runtime = Runtime::start(Box::new(switch), limits).expect("a runtime");
        if steps > 0 {
            runtime.end_each_slice();
        }
        runtime.start_slices().expect("a thread");
        weft_rt::hook::on_forked_child_end(|| std::process::exit(i32::from(Engine::exit_status())));
        Worker { web, runtime, next: Cell::new(1), started: Cell::new(0) }
    }

    /// Requests a page of `pages/` with a query string.
    pub fn ask(&self, page: &str, query: &str) -> RequestId {
        let id = self.next.replace(self.next.get() + 1);
        let root = text(pages().as_os_str().as_encoded_bytes());
        let request = Request {
            script: format!("{root}/{page}"),
            name: format!("/{page}"),
            query: query.to_owned(),
            target: format!("/{page}?{query}"),
            root,
            headers: vec![
                ("Host".to_owned(), "localhost".to_owned()),
                ("X-Id".to_owned(), id.to_string()),
                ("Cookie".to_owned(), format!("id={id}")),
            ],
        };
        self.web.requests.borrow_mut().insert(id, request);
        self.started.set(self.started.get() + 1);
        let spawned = self.runtime.spawn(JobKind::Classic.job(id));
        assert_ne!(spawned, Spawn::Refused);
        id
    }

    /// Runs until every request has ended.
    pub fn serve(&self) {
        self.runtime.run(&UntilEnded(self));
    }

    /// Whether every request has ended.
    pub fn has_served(&self) -> bool {
        self.web.ended.get() == self.started.get()
    }

    /// Takes the response of a request.
    pub fn response(&self, id: RequestId) -> Response {
        self.web.requests.borrow_mut().remove(&id);
        self.web.responses.borrow_mut().remove(&id).unwrap_or_default()
    }

    /// Drops the responses that no test has taken.
    pub fn forget(&self) {
        self.web.requests.borrow_mut().clear();
        self.web.responses.borrow_mut().clear();
        self.web.log.borrow_mut().clear();
    }

    /// Requests one page after another.
    pub fn get(&self, page: &str, query: &str) -> Response {
        let id = self.ask(page, query);
        self.serve();
        self.response(id)
    }
}

struct UntilEnded<'a>(&'a Worker);

impl Driver for UntilEnded<'_> {
    fn event(&self, _: Event) {}
    /// A worker checks ten times a second.
    fn turn(&self, _: Nanos) {
        let _ = InstanceSwitch::look();
    }
    fn deadline(&self) -> Option<Nanos> {
        None
    }
    fn finished(&self) -> bool {
        self.0.has_served()
    }
}

/// Resident memory of this process, in KiB.
pub fn resident_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("statm(5)");
    text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("a number of pages") * 4
}
