//! Requests for the operator whose bodies have not arrived.
//!
//! Must not know what a body says. Invariants: nothing here waits; what has not arrived as a whole is looked for in each turn, and
//! there is a bound on how many are.

use std::cell::RefCell;

use weft_serve::{BodyView, RequestKey, Server};

use super::answer::{Answer, TEXT};
use super::asking::WAITING_MAX;

/// The requests.
#[derive(Default)]
pub struct Bodies {
    waiting: RefCell<Vec<RequestKey>>,
}

impl Bodies {
    /// Whether the body of a request is there. If not, the request waits for it, or is refused.
    pub fn has(&self, server: &Server, key: RequestKey) -> bool {
        if server.body_complete(key) {
            return true;
        }
        if self.waiting.borrow().len() >= WAITING_MAX {
            Answer::new(503, TEXT, "503 Service Unavailable: too many at once\n").send(server, key);
        } else {
            self.waiting.borrow_mut().push(key);
            server.want_whole_body(key);
        }
        false
    }

    /// Goes on with those whose bodies have arrived meanwhile. Returns whether others wait.
    pub fn turn(&self, server: &Server, go_on: impl Fn(RequestKey)) -> bool {
        let mut waiting = std::mem::take(&mut *self.waiting.borrow_mut());
        waiting.retain(|key| still_waits(server, *key, &go_on));
        self.waiting.borrow_mut().append(&mut waiting);
        !self.waiting.borrow().is_empty()
    }
}

fn still_waits(server: &Server, key: RequestKey, go_on: impl Fn(RequestKey)) -> bool {
    if server.body_complete(key) {
        go_on(key);
        return false;
    }
    if let Some(status) = server.body_failed(key) {
        Answer::new(status, TEXT, format!("{status}: the body has not arrived\n")).send(server, key);
        return false;
    }
    !server.aborted(key)
}

/// The body of a request, if it is there.
pub fn body_of(server: &Server, key: RequestKey) -> Option<Vec<u8>> {
    server.with_body(key, read)?.ok()
}

fn read(body: BodyView<'_>) -> rustix::io::Result<Vec<u8>> {
    let (file, length) = match body {
        BodyView::Memory(bytes) => return Ok(bytes.to_vec()),
        BodyView::File { file, length } => (file, length),
    };
    let mut bytes = vec![0; length as usize];
    let mut at = 0;
    while at < bytes.len() {
        match rustix::io::pread(file, &mut bytes[at..], at as u64)? {
            0 => return Err(rustix::io::Errno::IO),
            count => at += count,
        }
    }
    Ok(bytes)
}
