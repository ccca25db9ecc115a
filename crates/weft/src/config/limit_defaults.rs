//! The defaults of `[limits]`.
//!
//! Must not know what a limit does. Invariant: each is within the range that its row in `limit_keys.rs` allows.

use super::LimitSettings;

impl Default for LimitSettings {
    fn default() -> Self {
        LimitSettings {
            head_bytes_max: 32 << 10,
            header_count_max: 200,
            target_bytes_max: 8 << 10,
            body_bytes_max: 8 << 20,
            body_memory_bytes_max: 256 << 10,
            body_begin_bytes: 64 << 10,
            body_rate_bytes_min: 500,
            response_buffer_bytes_max: 256 << 10,
            spool_bytes_max: 4 << 30,
            head_timeout_ms: 10_000,
            body_timeout_ms: 30_000,
            idle_timeout_ms: 75_000,
            write_timeout_ms: 60_000,
            request_timeout_ms: 0,
            request_slow_ms: 0,
            connections_max: 65_536,
            coroutines_max: 10_000,
            tasks_max: 10_000,
            queue_max: 1_000,
            queue_timeout_ms: 5_000,
            shares: Vec::new(),
            websocket_message_bytes_max: 1 << 20,
            websocket_queue_bytes_max: 1 << 20,
            websocket_ping_ms: 30_000,
            websocket_ping_timeout_ms: 10_000,
            tcp_message_bytes_max: 1 << 20,
            tcp_queue_bytes_max: 1 << 20,
            tcp_idle_timeout_ms: 600_000,
            stack_bytes: 8 << 20,
        }
    }
}
