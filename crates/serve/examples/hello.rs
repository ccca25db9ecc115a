//! The smallest server that this crate allows: one handler that answers at once, without a coroutine. Usage:
//! `hello 127.0.0.1:8080`

use std::cell::OnceCell;
use std::io::{Error, Result};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use weft_rt::reactor::Event;
use weft_rt::{Context, Driver, Job, Left, Nanos, Runtime, Switch};
use weft_serve::{Endpoint, Handler, RequestKey, Server, ServerLimits};

/// Answers every request the same way.
struct Hello(Rc<OnceCell<&'static Server>>);

impl Handler for Hello {
    fn request(&self, key: RequestKey) {
        let Some(server) = self.0.get() else { return };
        let headers: [(&[u8], &[u8]); 1] = [(b"Content-Type", b"text/html; charset=UTF-8")];
        // The only error possible here is that the client has disconnected.
        let _ = server.respond(key, 200, &headers, b"Hello World");
    }
}

/// There are no coroutines.
struct NoSwitch;

impl Switch for NoSwitch {
    fn create(&self, _: u32) -> Result<Context> {
        Err(Error::other("this example has no coroutines"))
    }
    fn enter(&self, _: Context, _: Option<Job>) -> Left {
        Left::Lost
    }
    fn leave(&self, _: Context) {}
    fn may_leave(&self) -> bool {
        false
    }
    fn destroy(&self, _: Context) {}
}

/// The loop runs only the server.
struct Worker(&'static Server);

impl Driver for Worker {
    fn event(&self, event: Event) {
        self.0.event(event);
    }
    fn turn(&self, now: Nanos) {
        self.0.turn(now);
    }
    fn deadline(&self) -> Option<Nanos> {
        self.0.deadline()
    }
    fn finished(&self) -> bool {
        false
    }
}

fn main() -> Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let listener = TcpListener::bind(&address)?;
    let endpoint = Endpoint::Tcp(listener.local_addr()?);
    println!("listening on {endpoint}");
    let runtime = Runtime::start(Box::new(NoSwitch), weft_rt::SchedulerLimits::default())?;
    let place = Rc::new(OnceCell::new());
    let server = Server::new(runtime, ServerLimits::default(), Box::new(Hello(Rc::clone(&place))));
    if place.set(server).is_err() {
        return Err(Error::other("the server was made twice"));
    }
    server.listen(OwnedFd::from(listener), endpoint)?;
    runtime.run(&Worker(server));
    Ok(())
}
