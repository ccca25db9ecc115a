//! A coroutine that holds its worker: what the log says of it, and what is done.
//!
//! All of it happens on the watch thread, while the loop's thread runs PHP code or C code. Invariant: the VM is made
//! to check for interrupts only to end a request, or where the JIT keeps nothing in registers (`php/registers.rs`).

use std::time::Duration;

use weft_rt::CoroutineId;
use weft_rt::watch::Watch;
use weft_zend::{FiberSwitch, running_place};

use super::{lost, signals};
use crate::config::{Config, Mode};

/// What the watch thread of this worker watches for; `name` is how the log names a request.
pub fn watch(config: &Config, name: impl Fn(u64) -> String + Send + 'static) -> Watch {
    Watch {
        held_max: Duration::from_millis(config.dev.watchdog_ms),
        held: Box::new(move |_, held| say_where(held, &name)),
        slice: Duration::from_millis(Mode::of(config).preempt_ms(config)),
        preempt: FiberSwitch::preempt,
        late_after: Duration::from_millis(config.limits.request_timeout_ms),
        late: FiberSwitch::stop_if_late,
        give_up,
    }
}

/// A coroutine has held the loop this long.
fn say_where(held: Duration, name: &dyn Fn(u64) -> String) {
    let held = held.as_millis();
    let (place, request) = running_place();
    let place = match signals::blocked_in("self") {
        _ if place.is_empty() => signals::busy_with("self"),
        Some(blocked) => format!("{place}; {blocked}"),
        None => place,
    };
    let what = format!(
        "a coroutine has held the loop for {held} ms: {place}; all other requests of this worker wait for it"
    );
    match request.map(name) {
        Some(request) => tracing::warn!(request, "{what}"),
        None => tracing::warn!("{what}"),
    }
}

/// A request has run too long, and PHP code or C code goes on although it was told to stop.
fn give_up(_: CoroutineId) {
    tracing::error!(
        "a request has run longer than request_timeout_ms and cannot be stopped: {}; this worker ends, and others answer what \
         waits here where they can",
        signals::busy_with("self")
    );
    lost::give_up();
}
