//! The place of a request in a trace: what its client says of it, and which spans belong to the request itself.
//!
//! It must not know what is recorded of a trace. Invariant: a request has the same spans whenever it is asked for, and no two
//! requests have the same but by chance.

use std::hash::{DefaultHasher, Hasher};

use weft_proto::{Head, Traceparent};

/// The bits of a trace's id that decide whether it is recorded: those that are random in every kind of id
/// (<https://www.w3.org/TR/trace-context-2/>, section 3.3.1.1).
const DECIDING: u64 = (1 << 56) - 1;

/// The ids of a worker's requests: made of their keys and of what nobody else knows, so that nothing has to be kept for them.
pub struct Spans {
    secret: [u8; 16],
    /// A trace that begins here is recorded if its deciding bits are below it.
    below: u64,
}

/// Where a request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// What it tells those whom it asks: its trace, and its own span.
    pub own: Traceparent,
    /// The span of its client.
    pub parent: Option<u64>,
}

impl Spans {
    /// Those of this worker, which records such a part of the traces that begin here. MUST be called after the fork.
    pub fn new(ratio: f64) -> Spans {
        let mut secret = [0; 16];
        // Without randomness yet, which only a booting machine lacks, ids are still different in one worker.
        let _ = rustix::rand::getrandom(&mut secret, rustix::rand::GetRandomFlags::NONBLOCK);
        Spans { secret, below: (ratio * (DECIDING + 1) as f64) as u64 }
    }

    /// The place of a request with this key: in the trace of its client, or in one that begins with it.
    pub fn place(&self, key: u64, head: &Head, bytes: &[u8]) -> Place {
        let span = self.id(key, 0);
        match Traceparent::of_head(head, bytes) {
            Some(received) => Place { own: Traceparent { span, ..received }, parent: Some(received.span) },
            None => {
                let trace = u128::from(self.id(key, 1)) << 64 | u128::from(self.id(key, 2));
                let sampled = (trace as u64 & DECIDING) < self.below;
                Place { own: Traceparent { trace, span, sampled }, parent: None }
            }
        }
    }

    /// The id of the span with this number within a request. Never 0, which is no id.
    pub fn within(&self, key: u64, number: u32) -> u64 {
        self.id(key, number.saturating_add(3))
    }

    fn id(&self, key: u64, which: u32) -> u64 {
        let mut hasher = DefaultHasher::new();
        hasher.write(&self.secret);
        hasher.write_u64(key);
        hasher.write_u32(which);
        hasher.finish().max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(spans: &Spans, key: u64) -> Place {
        let bytes = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";
        let mut head = Head::new();
        head.parse(bytes, &weft_proto::RequestLimits::default()).unwrap();
        spans.place(key, &head, bytes)
    }

    #[test]
    fn a_part_of_the_traces_is_recorded() {
        let recorded = |ratio: f64| {
            let spans = Spans::new(ratio);
            (0..4_000).filter(|key| place(&spans, *key).own.sampled).count()
        };
        assert_eq!((recorded(0.0), recorded(1.0)), (0, 4_000));
        // Six standard deviations around 1,000.
        assert!((836..1_164).contains(&recorded(0.25)));
    }

    #[test]
    fn a_request_has_the_same_spans_whenever_it_is_asked_for() {
        let spans = Spans::new(1.0);
        assert_eq!(place(&spans, 7), place(&spans, 7));
        assert_ne!(place(&spans, 7).own, place(&spans, 8).own);
        let within: std::collections::HashSet<u64> = (0..100).map(|number| spans.within(7, number)).collect();
        assert!(within.len() == 100 && !within.contains(&place(&spans, 7).own.span));
    }
}
