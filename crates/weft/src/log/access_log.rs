//! Where the lines of the access log go: to one file or stream, or with `[[site]]` to one for each site that names its own.
//!
//! Must not know requests. Invariant: sites that name the same place share it, and all places share one queue and one
//! thread.

use std::sync::Arc;
use std::time::Duration;

use super::access::Access;
use super::output::Output;
use super::queue::Queue;
use crate::config::{Config, Format, LogTarget};

/// How long lines collect before they are written together.
const LINGER: Duration = Duration::from_millis(50);

/// The access log of a worker.
pub struct AccessLog {
    pub(super) queue: Arc<Queue>,
    form: Format,
    worker: usize,
    /// The output of requests that are no site's.
    common: Option<usize>,
    /// What each site is called, and its output.
    sites: Vec<(String, Option<usize>)>,
}

/// The places to which lines go, each once.
pub fn targets(config: &Config) -> Vec<&LogTarget> {
    let mut targets: Vec<&LogTarget> = Vec::new();
    let of_sites = config.sites.iter().map(|site| &site.config.log.access_log);
    for target in std::iter::once(&config.log.access_log).chain(of_sites) {
        if *target != LogTarget::Off && !targets.contains(&target) {
            targets.push(target);
        }
    }
    targets
}

impl AccessLog {
    /// Opens the outputs and starts the thread; `None` if there is no access log. `dropped` reports lines that did not fit.
    ///
    /// # Errors
    /// One line with the path that cannot be written, or why there is no thread.
    pub fn start(config: &Config, worker: usize, dropped: fn(u64)) -> Result<Option<AccessLog>, String> {
        let targets = targets(config);
        if targets.is_empty() {
            return Ok(None);
        }
        let outputs =
            targets.iter().map(|target| Output::open_access(target)).collect::<Result<Vec<_>, _>>()?;
        // Reported in the error log, because programs parse the access log's lines.
        let told = Box::new(move |lines| {
            dropped(lines);
            String::new()
        });
        let queue = Queue::start("weft-access", outputs, config.log.queue_bytes_max, LINGER, told)
            .map_err(|error| format!("no thread for a log: {error}"))?;
        let place = |target: &LogTarget| targets.iter().position(|known| *known == target);
        let sites = config.sites.iter();
        Ok(Some(AccessLog {
            queue,
            form: config.log.access_log_format,
            worker,
            common: place(&config.log.access_log),
            sites: sites.map(|site| (site.title().to_owned(), place(&site.config.log.access_log))).collect(),
        }))
    }

    /// Logs one answered request; never waits.
    pub fn write(&self, access: &Access<'_>) {
        let site = access.site.and_then(|site| self.sites.get(site));
        let (title, output) = match site {
            Some((title, output)) => (Some(title.as_str()), *output),
            None => (None, self.common),
        };
        if let Some(output) = output {
            self.queue.push(output, |out| access.write(self.form, (self.worker, title), out));
        }
    }
}
