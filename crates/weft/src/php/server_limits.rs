//! The operator's limits as weft-serve has them.
//!
//! Must not know where a number comes from. Invariant: what is not named here has weft-serve's own default.

use weft_serve::TunnelLimits;

use crate::config::Config;

/// The limits of a server with these settings.
pub fn limits(config: &Config) -> weft_serve::ServerLimits {
    let limits = &config.limits;
    weft_serve::ServerLimits {
        http: weft_proto::RequestLimits {
            head_bytes_max: limits.head_bytes_max,
            header_count_max: limits.header_count_max,
            target_bytes_max: limits.target_bytes_max,
            body_bytes_max: limits.body_bytes_max,
            ..weft_proto::RequestLimits::default()
        },
        connections_max: limits.connections_max,
        head_timeout_ms: limits.head_timeout_ms,
        queue_max: limits.queue_max,
        queue_timeout_ms: limits.queue_timeout_ms,
        idle_timeout_ms: limits.idle_timeout_ms,
        body_timeout_ms: limits.body_timeout_ms,
        body_rate_bytes_min: limits.body_rate_bytes_min,
        write_timeout_ms: limits.write_timeout_ms,
        body_memory_bytes_max: limits.body_memory_bytes_max,
        spool_bytes_max: limits.spool_bytes_max,
        write_buffer_bytes_max: limits.response_buffer_bytes_max,
        tunnels: TunnelLimits {
            message_bytes_max: limits.websocket_message_bytes_max,
            queue_bytes_max: limits.websocket_queue_bytes_max,
            stream_message_bytes_max: limits.tcp_message_bytes_max,
            stream_queue_bytes_max: limits.tcp_queue_bytes_max,
            stream_idle_ms: limits.tcp_idle_timeout_ms,
            ping_ms: limits.websocket_ping_ms,
            ping_timeout_ms: limits.websocket_ping_timeout_ms,
            deflates: config.server.compress_websockets,
            // The other half is for their answers, and for those that come late.
            leave_ms: config.server.drain_timeout_ms / 2,
            ..TunnelLimits::default()
        },
        ..weft_serve::ServerLimits::default()
    }
}
