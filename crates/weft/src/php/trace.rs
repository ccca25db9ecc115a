//! The place of a request in a trace: what its client says of it, and which span the request itself is.
//!
//! It must not know what is recorded of a trace. Invariant: a request has the same span whenever it is asked for, and no two
//! requests have the same but by chance.

use std::hash::{DefaultHasher, Hasher};

use weft_proto::{Head, Traceparent};
use weft_zend::RequestId;

/// The ids of a worker's requests: made of their keys and of what nobody else knows, so that nothing has to be kept for them.
pub struct Spans {
    secret: [u8; 16],
}

impl Spans {
    /// Those of this worker. MUST be called after the fork.
    pub fn new() -> Spans {
        let mut secret = [0; 16];
        // Without randomness yet, which only a booting machine lacks, ids are still different in one worker.
        let _ = rustix::rand::getrandom(&mut secret, rustix::rand::GetRandomFlags::NONBLOCK);
        Spans { secret }
    }

    /// What a request tells those whom it asks: the trace of its client, or one that begins with it, and its own span.
    pub fn passed_on(&self, request: RequestId, head: &Head, bytes: &[u8]) -> Traceparent {
        let span = self.word(request, 0);
        match Traceparent::of_head(head, bytes) {
            Some(received) => Traceparent { span, ..received },
            None => {
                let trace = u128::from(self.word(request, 1)) << 64 | u128::from(self.word(request, 2));
                Traceparent { trace, span, sampled: false }
            }
        }
    }

    /// Never 0, which is no id.
    fn word(&self, request: RequestId, which: u8) -> u64 {
        let mut hasher = DefaultHasher::new();
        hasher.write(&self.secret);
        hasher.write_u64(request);
        hasher.write_u8(which);
        hasher.finish().max(1)
    }
}
