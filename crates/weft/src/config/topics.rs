//! `[topics]` as a type, with its defaults.
//!
//! Must not know where a value comes from, or how it is written. Invariant: a default stands here only.

use super::{Backplane, ListenAddress};

/// What is published to topics.
#[derive(Clone, PartialEq)]
pub struct Topics {
    /// Memory for messages.
    pub bytes: usize,
    /// Messages of one topic that a client which comes back gets at most.
    pub history_max: usize,
    /// How old they may be.
    pub history_ms: u64,
    /// The server to which this one's PHP code publishes, by an address for its operator.
    pub publish_to: Option<ListenAddress>,
    /// The token of that server.
    pub publish_token: Option<String>,
    /// What joins its topics to those of other hosts.
    pub backplane: Option<Backplane>,
    /// Hosts with the same name there share their topics.
    pub backplane_name: String,
    /// Whether messages are kept there for hosts that were cut off.
    pub backplane_history: bool,
}

impl Default for Topics {
    fn default() -> Self {
        Topics {
            bytes: 16 << 20,
            history_max: 1_000,
            history_ms: 300_000,
            publish_to: None,
            publish_token: None,
            backplane: None,
            backplane_name: "weft".into(),
            backplane_history: true,
        }
    }
}

impl std::fmt::Debug for Topics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Topics { bytes, history_max, history_ms, publish_to, publish_token, .. } = self;
        f.debug_struct("Topics")
            .field("bytes", bytes)
            .field("history_max", history_max)
            .field("history_ms", history_ms)
            .field("publish_to", publish_to)
            .field("publish_token", &publish_token.as_ref().map(|_| "…"))
            .field("backplane", &self.backplane)
            .field("backplane_name", &self.backplane_name)
            .field("backplane_history", &self.backplane_history)
            .finish()
    }
}
