//! Prints the cost of one request in PHP and in the switch, without a server: nanoseconds per request.
//!
//!     cargo run --release -p weft-zend --example dispatch_cost -- app.php [requests]

use std::cell::Cell;
use std::path::Path;

use weft_rt::{Runtime, SchedulerLimits, clock};
use weft_zend::host::HeaderLine;
use weft_zend::{Engine, FiberSwitch, Field, Host, JobKind, LogLevel, Options, RequestId, Slice};

#[derive(Default)]
struct Counter {
    responses: Cell<u64>,
    bytes: Cell<u64>,
    logged: Cell<u64>,
    shown: Cell<bool>,
}

impl Host for Counter {
    fn field(&self, _: RequestId, field: Field) -> Slice {
        match field {
            Field::Method => Slice::of(b"GET"),
            Field::Target => Slice::of(b"/hello?name=Ada"),
            Field::Path => Slice::of(b"/hello"),
            Field::Query => Slice::of(b"name=Ada"),
            _ => Slice::NONE,
        }
    }
    fn header_at(&self, _: RequestId, index: u32) -> Option<(Slice, Slice)> {
        (index == 0).then(|| (Slice::of(b"Host"), Slice::of(b"localhost")))
    }
    fn body_read(&self, _: RequestId, _: u64, _: &mut [u8]) -> Result<usize, u16> {
        Ok(0)
    }
    fn body_wait(&self, _: RequestId) -> Result<u64, u16> {
        Ok(0)
    }
    fn respond(&self, _: RequestId, status: u16, headers: &[HeaderLine], body: &[u8]) -> Option<usize> {
        if !self.shown.replace(true) {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let headers: Vec<_> = headers.iter().map(|(name, value)| (text(name), text(value))).collect();
            println!("{status} {headers:?} {}", text(body));
        }
        self.responses.set(self.responses.get() + 1);
        self.bytes.set(self.bytes.get() + body.len() as u64);
        Some(body.len())
    }
    fn stream_start(&self, _: RequestId, _: u16, _: &[HeaderLine]) -> bool {
        true
    }
    fn stream_write(&self, _: RequestId, chunk: &[u8]) -> bool {
        self.bytes.set(self.bytes.get() + chunk.len() as u64);
        true
    }
    fn stream_end(&self, _: RequestId, _: &[HeaderLine], _: bool) {
        self.responses.set(self.responses.get() + 1);
    }
    fn early_hints(&self, _: RequestId, _: &[HeaderLine]) -> bool {
        true
    }
    fn log(&self, _: LogLevel, _: RequestId, _: &[u8]) {
        self.logged.set(self.logged.get() + 1);
    }
    fn output(&self, _: &[u8]) {}
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let script = arguments.next().expect("the path of an application");
    let requests: u64 =
        arguments.next().map_or(1_000_000, |text| text.parse().expect("a number of requests"));
    let host: &'static Counter = Box::leak(Box::default());
    weft_zend::host::install(host);
    let ini = [("opcache.jit", "tracing"), ("opcache.jit_buffer_size", "64M")];
    let ini = ini.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let engine = Engine::start(&Options { ini, ..Options::default() }).expect("PHP starts");
    engine.begin(std::slice::from_ref(&script)).expect("a request begins");
    engine.load_handler(Path::new(&script)).expect("the application boots");
    let runtime = Runtime::start(Box::new(FiberSwitch::pooled(8 << 20)), SchedulerLimits::default())
        .expect("a runtime");
    for round in 0..5 {
        let start = clock::now();
        for request in 1..=requests {
            runtime.spawn(JobKind::Request.job(request));
        }
        let each = (clock::now() - start) as f64 / requests as f64;
        println!("round {round}: {each:.1} ns per request, PHP memory {} KiB", Engine::memory_bytes() / 1024);
    }
    println!(
        "{} responses, {} body bytes, {} log lines",
        host.responses.get(),
        host.bytes.get(),
        host.logged.get()
    );
}
