//! What the operator sees at start, on one screen.
//!
//! Must not know how any of it was decided. Invariant: scripts can rely on two lines, `weft: listening on URL` per
//! listener and `weft: ready`.

use super::Master;
use super::listen::Listener;
use super::worker_process::{Stage, Worker};
use crate::acme;
use crate::config::{Config, Environment, Mode, Workers};
use crate::doctor::checks::{self, Plan, Severity, Tree};
use crate::machine;

impl Master {
    /// Describes what is about to be served, before the workers are ready.
    pub fn say_screen(&self) {
        let (bold, dim, end) =
            if self.console.has_colours() { ("\x1b[1m", "\x1b[2m", "\x1b[0m") } else { ("", "", "") };
        let mut screen = format!("{bold}weft {}{end}\n", env!("CARGO_PKG_VERSION"));
        for (name, value) in self.rows() {
            screen.push_str(&format!("  {dim}{name:<12}{end}{value}\n"));
        }
        for listener in &self.listeners {
            screen.push_str(&format!("weft: listening on {}\n", listener.address));
        }
        self.console.say(&screen);
    }

    /// Reports once that the first workers are ready.
    pub fn announce_if_ready(&mut self) {
        let booting = self.workers.iter().any(|w: &Worker| matches!(w.stage, Stage::Booting { .. }));
        let ready = self.workers.iter().filter(|w| w.stage == Stage::Ready).count();
        if self.announced || self.stopping || booting || ready == 0 {
            return;
        }
        self.announced = true;
        self.listeners.iter_mut().for_each(Listener::settle);
        if ready < self.slots.len() {
            let missing = self.slots.len() - ready;
            self.console.say(&format!(
                "weft: {missing} workers did not start and will be tried again; see the error log\n"
            ));
        }
        self.show(); // whoever is told may ask at once
        self.console.say("weft: ready\n");
        self.console.ready();
        self.notify.ready(&self.status_text());
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let config = &self.config;
        let mut rows = Vec::new();
        if let Some(application) = &config.server.application {
            rows.push(("application", format!("{} ({} mode)", application.display(), self.mode.name())));
        }
        if !config.sites.is_empty() {
            let loaded = config.sites.iter().filter(|site| site.script().is_some()).count();
            let modes = match (loaded, config.sites.len() - loaded) {
                (0, _) => "classic mode".to_owned(),
                (_, 0) => "resident mode".to_owned(),
                (loaded, roots) => format!("{roots} in classic mode, {loaded} in resident mode"),
            };
            rows.push(("sites", format!("{} ({modes})", config.sites.len())));
        }
        rows.push(("workers", workers(config, self.mode)));
        if let Some(engine) = &self.engine {
            let extensions = engine.extensions.len();
            rows.push(("PHP", format!("{}, {extensions} extensions", engine.php_version)));
            rows.push(("opcache", format!("{}; JIT {}", engine.opcache, engine.jit)));
        }
        if !config.local_names().is_empty() {
            let authority = acme::authority_file(config);
            rows.push((
                "certificate",
                format!(
                    "by weft's own authority for localhost: have browsers import {0} as an authority (curl --cacert {0})",
                    authority.display()
                ),
            ));
        }
        let public = config.acme_names();
        if !public.is_empty() {
            rows.push(("certificate", format!("{} by {}", public.join(" "), config.acme.directory)));
        }
        rows.push(("errors", errors(config)));
        rows.extend(limits(config).into_iter().map(|limit| ("limit", limit)));
        rows.push(("pid", std::process::id().to_string()));
        rows.push(("stop", how(config, "weft stop", "Ctrl-C or kill")));
        rows.push(("reload", how(config, "weft reload", "kill -HUP")));
        rows
    }
}

/// How many workers, and why this number.
pub fn workers(config: &Config, mode: Mode) -> String {
    let count = mode.workers(config);
    let reason = if count < machine::cores() {
        "as many as the control group has memory for"
    } else {
        "one per available core"
    };
    match config.server.workers {
        Workers::Auto if mode.is_one_at_a_time() && mode.instances(config) == 1 => {
            format!("{count} (each runs one PHP request at a time)")
        }
        Workers::Auto if mode.is_one_at_a_time() => {
            format!("{count} ({reason}; each has up to {} PHP instances)", mode.instances(config))
        }
        Workers::Auto => format!("{count} ({reason})"),
        Workers::Exactly(_) if mode.instances(config) > 1 => {
            format!("{count} (each has up to {} PHP instances)", mode.instances(config))
        }
        Workers::Exactly(_) => count.to_string(),
    }
}

/// Who sees errors.
pub fn errors(config: &Config) -> String {
    match config.dev.mode {
        Environment::Production => "plain pages, details in the log (production)".into(),
        Environment::Development => "shown in the browser (development; never on a public address)".into(),
    }
}

/// The limits that will be reached first.
pub fn limits(config: &Config) -> Vec<String> {
    let limits = &config.limits;
    let mut rows = vec![format!(
        "{} connections and {} running requests per worker (connections_max, coroutines_max)",
        limits.connections_max, limits.coroutines_max
    )];
    // The worst two of what `weft doctor` would say.
    let advice = checks::at_start(&Tree::new("/"), &Plan::of(config));
    let worst = advice.iter().filter(|advice| advice.severity >= Severity::Warning).take(2);
    rows.extend(worst.map(|advice| format!("{}: {}; {}", advice.subject, advice.found, advice.fix)));
    rows
}

fn how(config: &Config, command: &str, signal: &str) -> String {
    match &config.server.pid_file {
        Some(path) => format!("{command} --pid-file {}", path.display()),
        None => format!("{signal} {}", std::process::id()),
    }
}

/// A short description of a mode.
pub fn explain(mode: Mode) -> &'static str {
    match mode {
        Mode::Classic => "each request has PHP to itself",
        Mode::Resident => {
            "the script stays loaded and takes one request after the other in each PHP instance"
        }
        Mode::Coroutine => "many requests at once share one PHP per worker",
    }
}
