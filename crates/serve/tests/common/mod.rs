//! A real server on a real runtime in its own thread, and raw sockets as its clients.
//!
//! Handlers are closures. `Answer` says whether they run within `Handler::request` or on a coroutine.
#![allow(dead_code, unsafe_code)]

pub mod websocket;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::io::{Read, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;

use corosensei::{Coroutine, CoroutineResult, Yielder};
use weft_rt::reactor::Event;
use weft_rt::runtime::DRIVER_KEY;
use weft_rt::{Context, Driver, Job, Left, Nanos, Runtime, Switch};
use weft_serve::{Endpoint, Handler, Refusal, RequestKey, Server, ServerLimits, Summary, TunnelKey};

pub type Serve = dyn Fn(&'static Server, RequestKey) + Send + Sync;
type Command = Box<dyn FnOnce(&'static Server) + Send>;
type Stack = Coroutine<u64, Option<()>, ()>;

/// Where a handler runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    AtOnce,
    OnCoroutine,
    /// When the test calls [`TestServer::answer_first`]; meanwhile there is room for this many.
    WhenTold(usize),
}

thread_local! {
    /// Requests that are answered when the test says so.
    pub static KEPT: RefCell<VecDeque<RequestKey>> = const { RefCell::new(VecDeque::new()) };
    /// What becomes of the events of tunnels.
    pub static EVENTS: Cell<fn(&'static Server, TunnelKey)> = const { Cell::new(|server, key| server.event_done(key)) };
    static YIELDER: Cell<*const Yielder<u64, Option<()>>> = const { Cell::new(std::ptr::null()) };
}

/// Runs jobs on corosensei stacks, one after another on the same stack, as the Fiber pool does.
struct Stacks {
    serve: Rc<dyn Fn(RequestKey)>,
    stacks: RefCell<HashMap<usize, Rc<RefCell<Stack>>>>,
    next: Cell<usize>,
}

impl Switch for Stacks {
    fn create(&self, _: u32) -> std::io::Result<Context> {
        let serve = Rc::clone(&self.serve);
        let stack = Coroutine::new(move |yielder: &Yielder<u64, Option<()>>, mut key: u64| {
            loop {
                YIELDER.set(yielder);
                serve(RequestKey(key));
                key = yielder.suspend(Some(()));
            }
        });
        self.next.set(self.next.get() + 1);
        self.stacks.borrow_mut().insert(self.next.get(), Rc::new(RefCell::new(stack)));
        Ok(Context(self.next.get()))
    }

    fn enter(&self, context: Context, job: Option<Job>) -> Left {
        let stack = Rc::clone(&self.stacks.borrow()[&context.0]);
        match stack.borrow_mut().resume(job.map_or(0, |job| job.argument)) {
            CoroutineResult::Yield(Some(())) => Left::Ended,
            _ => Left::Parked,
        }
    }

    fn leave(&self, _: Context) {
        let yielder = YIELDER.get();
        // SAFETY: the coroutine that runs now has set it, and its yielder lives as long as its stack.
        unsafe { &*yielder }.suspend(None);
        YIELDER.set(yielder);
    }

    fn may_leave(&self) -> bool {
        true
    }

    fn destroy(&self, context: Context) {
        self.stacks.borrow_mut().remove(&context.0);
    }
}

struct Closure {
    answer: Answer,
    spools: bool,
    /// The warnings for the operator.
    warnings: Arc<Mutex<Vec<String>>>,
    serve: Rc<dyn Fn(RequestKey)>,
    server: Rc<OnceCell<&'static Server>>,
    log: Option<Arc<Mutex<Vec<String>>>>,
}

impl Handler for Closure {
    fn request(&self, key: RequestKey) {
        match self.answer {
            Answer::AtOnce => (self.serve)(key),
            Answer::OnCoroutine => {
                let runtime = Runtime::get().unwrap();
                runtime.spawn(Job { kind: 0, argument: key.0, pool: 0 });
            }
            Answer::WhenTold(_) => KEPT.with_borrow_mut(|kept| kept.push_back(key)),
        }
    }

    fn room(&self) -> usize {
        match self.answer {
            Answer::WhenTold(room) => room.saturating_sub(KEPT.with_borrow(VecDeque::len)),
            _ => usize::MAX,
        }
    }

    fn is_busy(&self) -> bool {
        match self.answer {
            Answer::WhenTold(room) => KEPT.with_borrow(VecDeque::len) >= room.div_ceil(2),
            _ => false,
        }
    }

    fn tunnel(&self, key: TunnelKey) {
        EVENTS.get()(self.server.get().unwrap(), key);
    }

    fn turn_away(&self, key: RequestKey) {
        self.server.get().unwrap().respond_error(key, 503, Some(1)).unwrap();
    }

    fn spools_streams(&self) -> bool {
        self.spools
    }

    fn warn(&self, message: &str) {
        self.warnings.lock().unwrap().push(message.to_owned());
    }

    fn wants_summaries(&self) -> bool {
        self.log.is_some()
    }

    fn refused(&self, refusal: &Refusal) {
        if let Some(log) = &self.log {
            log.lock().unwrap().push(format!("refused {}", refusal.reject.status));
        }
    }

    fn finished(&self, summary: &Summary<'_>) {
        let (request, text) = (&summary.request, String::from_utf8_lossy);
        let line = format!(
            "{} {} {} {} {}",
            text(request.method()),
            text(request.target()),
            summary.status,
            summary.body_bytes,
            if summary.aborted { "aborted" } else { "complete" }
        );
        self.log.as_ref().unwrap().lock().unwrap().push(line);
    }
}

struct Worker {
    server: &'static Server,
    commands: mpsc::Receiver<Command>,
    bell: std::io::PipeReader,
    stop: Arc<AtomicBool>,
}

impl Driver for Worker {
    fn event(&self, event: Event) {
        if Server::owns(event.key) {
            return self.server.event(event);
        }
        let mut rung = [0; 64];
        let count = (&self.bell).read(&mut rung).unwrap();
        for _ in 0..count {
            (self.commands.recv().unwrap())(self.server);
        }
    }
    fn turn(&self, now: Nanos) {
        self.server.turn(now);
    }
    fn deadline(&self) -> Option<Nanos> {
        self.server.deadline()
    }
    fn finished(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Requests begin with their head.
pub fn streaming() -> ServerLimits {
    ServerLimits { body_begin_bytes: 0, ..ServerLimits::default() }
}

/// A server and the means to exchange bytes with it.
pub struct TestServer {
    pub address: SocketAddr,
    pub log: Arc<Mutex<Vec<String>>>,
    pub warnings: Arc<Mutex<Vec<String>>>,
    commands: mpsc::Sender<Command>,
    bell: std::io::PipeWriter,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl TestServer {
    pub fn start(
        answer: Answer,
        limits: ServerLimits,
        serve: impl Fn(&'static Server, RequestKey) + Send + Sync + 'static,
    ) -> TestServer {
        TestServer::launch(answer, limits, false, false, Arc::new(serve))
    }

    /// On coroutines, with streams that continue in temporary files.
    pub fn spooling(
        limits: ServerLimits,
        serve: impl Fn(&'static Server, RequestKey) + Send + Sync + 'static,
    ) -> TestServer {
        TestServer::launch(Answer::OnCoroutine, limits, false, true, Arc::new(serve))
    }

    /// With summaries written to `log`.
    pub fn logging(
        limits: ServerLimits,
        serve: impl Fn(&'static Server, RequestKey) + Send + Sync + 'static,
    ) -> TestServer {
        TestServer::launch(Answer::AtOnce, limits, true, false, Arc::new(serve))
    }

    fn launch(
        answer: Answer,
        limits: ServerLimits,
        logged: bool,
        spools: bool,
        serve: Arc<Serve>,
    ) -> TestServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (commands, received) = mpsc::channel();
        let (ear, bell) = std::io::pipe().unwrap();
        let (stop, log) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let (stopped, lines) = (Arc::clone(&stop), Arc::clone(&log));
        let warnings: Arc<Mutex<Vec<String>>> = Arc::default();
        let told = Arc::clone(&warnings);
        let thread = std::thread::spawn(move || {
            let place = Rc::new(OnceCell::<&'static Server>::new());
            let cell = Rc::clone(&place);
            let serve: Rc<dyn Fn(RequestKey)> = Rc::new(move |key| serve(cell.get().unwrap(), key));
            let stacks = Stacks { serve: Rc::clone(&serve), stacks: RefCell::default(), next: Cell::new(0) };
            let runtime = Runtime::start(Box::new(stacks), weft_rt::SchedulerLimits::default()).unwrap();
            let log = logged.then_some(lines);
            let handler = Closure { answer, spools, warnings: told, serve, server: Rc::clone(&place), log };
            let server = Server::new(runtime, limits, Box::new(handler));
            place.set(server).ok().unwrap();
            server.listen(OwnedFd::from(listener), Endpoint::Tcp(address)).unwrap();
            let number = ear.as_raw_fd();
            runtime.with_reactor(|reactor| reactor.add_shared(number, DRIVER_KEY)).unwrap();
            runtime.run(&Worker { server, commands: received, bell: ear, stop: stopped });
        });
        TestServer { address, log, warnings, commands, bell, stop, thread: Some(thread) }
    }

    /// Runs `work` in the server's loop, after the bytes that have arrived at its sockets before.
    pub fn run<T: Send + 'static>(&self, work: impl FnOnce(&'static Server) -> T + Send + 'static) -> T {
        let (answer, answered) = mpsc::channel();
        self.commands.send(Box::new(move |server| answer.send(work(server)).unwrap())).unwrap();
        (&self.bell).write_all(b"!").unwrap();
        answered.recv().expect("the server's thread has panicked")
    }

    /// The requests that the handler has and has not answered, in order.
    pub fn kept(&self) -> Vec<String> {
        self.run(|server| {
            let target = |&key: &RequestKey| {
                let seen = server.with_request(key, |request| request.target().to_vec()).unwrap();
                String::from_utf8(seen).unwrap()
            };
            KEPT.with_borrow(|kept| kept.iter().map(target).collect())
        })
    }

    /// Answers the first of those with [`echo`].
    pub fn answer_first(&self) {
        self.run(|server| echo(server, KEPT.with_borrow_mut(VecDeque::pop_front).unwrap()));
    }

    /// Waits until the server has processed everything sent so far.
    pub fn settle(&self) {
        self.run(|_| ());
    }

    /// Waits until `reached` holds in the server's loop.
    pub fn until(&self, reached: impl Fn(&'static Server) -> bool + Send + Clone + 'static) {
        let began = std::time::Instant::now();
        while !self.run(reached.clone()) {
            assert!(began.elapsed().as_secs() < 120, "the server does not get there");
            std::thread::yield_now();
        }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_nodelay(true).unwrap();
        // So that a panic of the server ends the test; nothing else takes this long.
        stream.set_read_timeout(Some(std::time::Duration::from_secs(120))).unwrap();
        stream
    }

    /// Sends `request` on a new connection and reads until the server closes it.
    pub fn ask(&self, request: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect();
        stream.write_all(request.as_ref()).unwrap();
        rest(&mut stream)
    }

    /// [`TestServer::ask`] with the request in two pieces, which the server sees one after another.
    pub fn ask_split(&self, request: &[u8], at: usize) -> String {
        let mut stream = self.connect();
        stream.write_all(&request[..at]).unwrap();
        self.settle();
        stream.write_all(&request[at..]).unwrap();
        rest(&mut stream)
    }

    /// Checks that the answer to `request` is `expected`, as a whole and split at every byte.
    pub fn check(&self, request: &str, expected: &str) {
        assert_eq!(self.ask(request), expected, "whole: {request:?}");
        for at in 1..request.len() {
            assert_eq!(self.ask_split(request.as_bytes(), at), expected, "split at {at}: {request:?}");
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.commands.send(Box::new(|_| ()));
        let _ = (&self.bell).write_all(b"!");
        let result = self.thread.take().unwrap().join();
        if !std::thread::panicking() {
            result.expect("the server's thread has panicked");
        }
    }
}

/// All bytes until the server closes; without Date lines, whose content changes.
pub fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("the server closes in order");
    undated(&bytes)
}

pub fn undated(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.split_inclusive("\r\n").filter(|line| !line.starts_with("Date: ")).collect()
}

/// Reads one response with a Content-Length; returns head and body.
pub fn response(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let head = head(stream);
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "))
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    (head, body)
}

/// Reads one head.
pub fn head(stream: &mut TcpStream) -> String {
    let (mut bytes, mut byte) = (Vec::new(), [0]);
    while !bytes.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        bytes.push(byte[0]);
    }
    undated(&bytes)
}

/// A handler that answers 200 with the request's method and target.
pub fn echo(server: &'static Server, key: RequestKey) {
    let line =
        server.with_request(key, |request| [request.method(), b" ", request.target()].concat()).unwrap();
    server.respond(key, 200, &[], &line).unwrap();
}

/// The answer of `echo`, without the Date.
pub fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nServer: weft\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// The same, with `Connection: close`.
pub fn last(body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nServer: weft\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

/// Closes in a way that the server gets a reset.
pub fn reset(stream: TcpStream) {
    rustix::net::sockopt::set_socket_linger(&stream, Some(std::time::Duration::ZERO)).unwrap();
}

/// A new empty directory.
pub fn directory(name: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("weft-serve-{name}-{}", std::process::id()));
    std::fs::create_dir(&path).unwrap();
    path
}
