//! A collector of OpenTelemetry: its own receiver of OTLP over HTTP, which tells what it has understood.
//!
//! `tools/collector` builds it from its Go modules. Must not know what is sent to it. Invariant: what is told went through the
//! receiver, and is in the collector's own words.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{Service, Setup, free_port};
use crate::wait::until;

/// A running collector.
#[derive(Debug)]
pub struct Collector {
    /// Where it is asked.
    pub url: String,
    service: Service,
}

fn program() -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/collector");
    let output = Command::new(script).output().expect("tools/collector");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "tools/collector: {said}");
    String::from_utf8_lossy(&output.stdout).trim().into()
}

impl Collector {
    /// Starts one.
    ///
    /// # Panics
    /// If it cannot be built or started; the message holds its log.
    pub fn start() -> Collector {
        let (program, port) = (program().display().to_string(), free_port());
        let service = Setup::new().start("TERM", &[], &program, &[&format!("127.0.0.1:{port}")]);
        Collector { url: format!("http://127.0.0.1:{port}"), service: service.wait_for_port(port) }
    }

    /// What it has understood so far: the spans of each resource, with the resource's attributes.
    pub fn resources(&self) -> Vec<Value> {
        let log = self.service.log();
        let messages = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        messages
            .flat_map(|message| message["resourceSpans"].as_array().cloned().unwrap_or_default())
            .collect()
    }

    /// All spans that it has understood so far.
    pub fn spans(&self) -> Vec<Value> {
        let of_scope = |scope: &Value| scope["spans"].as_array().cloned().unwrap_or_default();
        let of_resource = |resource: &Value| {
            let scopes = resource["scopeSpans"].as_array().cloned().unwrap_or_default();
            scopes.iter().flat_map(of_scope).collect::<Vec<_>>()
        };
        self.resources().iter().flat_map(of_resource).collect()
    }

    /// All spans once there are so many.
    pub fn wait_for(&self, count: usize) -> Vec<Value> {
        until("the collector to have the spans", || Some(self.spans()).filter(|spans| spans.len() >= count))
    }
}
