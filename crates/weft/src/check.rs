//! `weft check`: would weft start, and how would it serve what? Changes nothing and binds nothing.
//!
//! Must not know how serving works. Invariant: success means that configuration and application are valid, which a
//! reload relies on; the application runs with the privileges of its workers, never with those of the master.

use std::fmt::Write;
use std::process::ExitCode;

use crate::classic::Docroot;
use crate::config::{Config, LogTarget, Mode};
use crate::flags::Settings;
use crate::master::identity::{self, Identity};
use crate::master::{self, banner};
use crate::{php, tls};

/// Runs `weft check`; with URLs, it says what they would do.
pub fn check(settings: Settings, urls: &[String]) -> ExitCode {
    master::answer();
    let checked = settings.load().and_then(|config| {
        check_tls(&config)?;
        let said = check_application(&config).map_err(|why| vec![why])?;
        if urls.is_empty() {
            return Ok(screen(&config, &said));
        }
        let screens: Result<Vec<String>, String> = urls.iter().map(|url| explain(&config, url)).collect();
        screens.map(|screens| screens.join("\n")).map_err(|why| vec![why])
    });
    match checked {
        Ok(screen) => {
            crate::print::print(&screen);
            ExitCode::SUCCESS
        }
        Err(mistakes) => {
            mistakes.iter().for_each(|mistake| eprintln!("weft: {mistake}"));
            ExitCode::FAILURE
        }
    }
}

/// As the master would read it, but for a process without root's privileges.
fn check_tls(config: &Config) -> Result<(), Vec<String>> {
    if !config.wants_tls() {
        return Ok(());
    }
    let (tickets, _) = tls::Tickets::new().map_err(|why| vec![why])?;
    tls::configure(&config.tls, config.server.http2, &tickets).map(drop)
}

fn check_application(config: &Config) -> Result<String, String> {
    let application = config.server.application.as_deref();
    let application = application.ok_or("no application to check: name one, as in weft check app.php")?;
    let identity = workers_identity(config)?;
    php::try_application(config, application, || {
        identity.map_or(Ok(()), |identity| {
            identity.assume().map_err(|e| format!("cannot become the workers' user: {e}"))
        })
    })
}

/// The user that the application runs as. A process without root's privileges has none to drop, and may check any
/// configuration.
fn workers_identity(config: &Config) -> Result<Option<Identity>, String> {
    if rustix::process::geteuid().is_root() { identity::of_workers(config) } else { Ok(None) }
}

fn screen(config: &Config, said: &str) -> String {
    let mut rows: Vec<(&str, String)> = Vec::new();
    let file =
        config.file.as_ref().map_or("none (flags, variables, defaults)".into(), |f| f.display().to_string());
    rows.push(("file", file));
    if let Some(application) = &config.server.application {
        let mode = Mode::of(config);
        rows.push(("application", format!("{}: {said}", application.display())));
        rows.push(("mode", format!("{}: {}", mode.name(), banner::explain(mode))));
    }
    if !config.rules.is_empty() {
        rows.push(("rules", config.rules.len().to_string()));
    }
    rows.extend(config.server.listen.iter().map(|address| ("listen", address.to_string())));
    rows.push(("workers", banner::workers(config, Mode::of(config))));
    if let Some(user) = &config.server.user {
        rows.push(("user", user.clone()));
    }
    rows.push(("errors", banner::errors(config)));
    rows.push(("error log", target(&config.log.error_log, "stderr")));
    rows.push(("access log", target(&config.log.access_log, "stdout")));
    rows.extend(php::warnings_of_application(config).into_iter().map(|warning| ("warning", warning)));
    rows.extend(config.limits.shares.iter().map(|share| ("share", share.to_string())));
    rows.extend(banner::limits(config).into_iter().map(|limit| ("limit", limit)));
    table(&rows, 12) + "in order\n"
}

fn table(rows: &[(&str, String)], width: usize) -> String {
    rows.iter().fold(String::new(), |mut screen, (name, value)| {
        // Writing to a String cannot fail.
        let _ = writeln!(screen, "{}", format!("{name:<width$}{value}").trim_end());
        screen
    })
}

/// What a request for a URL would do.
fn explain(config: &Config, url: &str) -> Result<String, String> {
    let without_fragment = url.split('#').next().unwrap_or_default();
    let target = match without_fragment.split_once("://") {
        Some((_, rest)) => rest.find(['/', '?']).map_or("/", |at| &rest[at..]),
        None => without_fragment,
    };
    if !target.starts_with('/') {
        return Err(format!("--url {url}: write https://HOST/PATH, or a path that begins with a slash"));
    }
    let mut rows = vec![("url", url.to_owned())];
    let application = config.server.application.as_deref().unwrap_or(std::path::Path::new("."));
    if config.tls.redirect && url.starts_with("http://") {
        rows.push(("answer", "301 to the same URL by https".to_owned()));
    } else if Mode::of(config).is_one_at_a_time() {
        rows.extend(Docroot::open(application, config)?.explain(target));
    } else {
        rows.push(("script", format!("{}: its handler answers every URL", application.display())));
    }
    Ok(table(&rows, 14))
}

fn target(target: &LogTarget, stream: &str) -> String {
    match target {
        LogTarget::Off => "off".into(),
        LogTarget::Stream => stream.into(),
        LogTarget::File(path) => path.display().to_string(),
    }
}
