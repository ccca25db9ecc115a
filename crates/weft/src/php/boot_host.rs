//! The host of a process whose application boots.
//!
//! Must not know the server: there is none. Invariant: nothing that PHP says is lost.

use weft_zend::host::DeclaredStream;
use weft_zend::{Host, LogLevel, RequestId};

/// The host while an application boots: there are no requests, and PHP's output goes to the error log, so that it is
/// not lost.
pub struct Boot;

impl Host for Boot {
    fn log(&self, level: LogLevel, _: RequestId, message: &[u8]) {
        let message = String::from_utf8_lossy(message);
        match level {
            LogLevel::Error => tracing::error!("{message}"),
            LogLevel::Warning => tracing::warn!("{message}"),
            LogLevel::Notice => tracing::info!("{message}"),
        }
    }

    fn declare_stream(&self, path: &[u8], declared: &DeclaredStream<'_>) {
        super::services::declare(path, declared);
    }

    fn output(&self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            tracing::info!("output outside of a request: {line}");
        }
    }
}
