//! `weft check`: would weft start, and how would it serve what? Changes nothing and binds nothing.
//!
//! Must not know how serving works. Invariant: success means that configuration and application are valid, which a
//! reload relies on; the application runs with the privileges of its workers, never with those of the master.

use std::fmt::Write;
use std::process::ExitCode;

use crate::classic::{Docroot, Sites};
use crate::config::{Config, LogTarget, Mode, Site, SiteNames};
use crate::flags::Settings;
use crate::master::identity::{self, Identity};
use crate::master::{self, banner};
use crate::{acme, php, tls};

/// Runs `weft check`; with URLs, it says what they would do.
pub fn check(settings: Settings, urls: &[String]) -> ExitCode {
    master::answer();
    let checked = settings.load().and_then(|config| {
        let uncovered = check_tls(&config)?;
        let said = check_application(&config).map_err(|why| vec![why])?;
        if urls.is_empty() {
            return Ok(screen(&config, &said, uncovered));
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

/// As the master would read it, but for a process without root's privileges. Returns what is wrong with the names.
fn check_tls(config: &Config) -> Result<Vec<String>, Vec<String>> {
    if !config.wants_tls() {
        return Ok(Vec::new());
    }
    let (tickets, _) = tls::Tickets::new().map_err(|why| vec![why])?;
    let ready = tls::configure(config, &tickets, None)?;
    Ok(tls::uncovered(config, &ready.certificates))
}

fn check_application(config: &Config) -> Result<String, String> {
    if config.server.application.is_none() && config.sites.is_empty() {
        return Err("no application to check: name one, as in weft check app.php".into());
    }
    let identity = workers_identity(config)?;
    php::try_application(config, || {
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

fn screen(config: &Config, said: &str, uncovered: Vec<String>) -> String {
    let mut rows: Vec<(&str, String)> = Vec::new();
    let file =
        config.file.as_ref().map_or("none (flags, variables, defaults)".into(), |f| f.display().to_string());
    rows.push(("file", file));
    if let Some(application) = &config.server.application {
        let mode = Mode::of(config);
        rows.push(("application", format!("{}: {said}", application.display())));
        rows.push(("mode", format!("{}: {}", mode.name(), banner::explain(mode))));
    }
    if !config.sites.is_empty() {
        let has_roots = config.sites.iter().any(|site| site.script().is_none());
        let modes = [(has_roots, Mode::Classic), (config.has_site_applications(), Mode::Resident)];
        let modes = modes.into_iter().filter(|(is_there, _)| *is_there);
        rows.extend(modes.map(|(_, mode)| ("mode", format!("{}: {}", mode.name(), banner::explain(mode)))));
        rows.extend(config.sites.iter().map(|site| ("site", line_of(site))));
    }
    if let Some(files) = &config.server.files {
        rows.push(("files", files.display().to_string()));
    }
    if !config.rules.is_empty() {
        rows.push(("rules", config.rules.len().to_string()));
    }
    rows.extend(config.server.listen.iter().map(|address| ("listen", address.to_string())));
    rows.extend(acme::describe(config).into_iter().map(|line| ("certificate", line)));
    rows.push(("workers", banner::workers(config, Mode::of(config))));
    if let Some(user) = &config.server.user {
        rows.push(("user", user.clone()));
    }
    rows.push(("errors", banner::errors(config)));
    rows.push(("error log", target(&config.log.error_log, "stderr")));
    rows.push(("access log", target(&config.log.access_log, "stdout")));
    let warnings = uncovered.into_iter().chain(php::warnings_of_application(config));
    rows.extend(warnings.map(|warning| ("warning", warning)));
    rows.extend(config.limits.shares.iter().map(|share| ("share", share.to_string())));
    rows.extend(banner::limits(config).into_iter().map(|limit| ("limit", limit)));
    table(&rows, 12) + "in order\n"
}

/// A site's names, its document root, and what stays loaded.
fn line_of(site: &Site) -> String {
    let default = site.is_default.then_some(if site.names.is_empty() { "default" } else { "(default)" });
    let names: Vec<&str> = site.names.iter().map(String::as_str).chain(default).collect();
    let root = site.config.server.application.as_deref().unwrap_or(std::path::Path::new("."));
    let what = match site.script() {
        None => return format!("{}: {}", names.join(" "), root.display()),
        Some(script) if script == root => String::new(),
        Some(script) => format!(", {}", script.display()),
    };
    format!(
        "{}: {}{what}: stays loaded in up to {} PHP instances of each worker",
        names.join(" "),
        root.display(),
        site.instances_max()
    )
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
    let (host, target) = match without_fragment.split_once("://") {
        Some((_, rest)) => match rest.find(['/', '?']) {
            Some(at) => (host_of(&rest[..at]), &rest[at..]),
            None => (host_of(rest), "/"),
        },
        None => ("", without_fragment),
    };
    let target = if target.starts_with('?') { format!("/{target}") } else { target.to_owned() };
    if !target.starts_with('/') {
        return Err(format!("--url {url}: write https://HOST/PATH, or a path that begins with a slash"));
    }
    let mut rows = vec![("url", url.to_owned())];
    let names = SiteNames::of(&config.sites);
    let site = names.find(host.as_bytes()).and_then(|number| config.sites.get(number));
    if site.map_or(config, |site| &site.config).redirects() && url.starts_with("http://") {
        rows.push(("answer", "301 to the same URL by https".to_owned()));
        return Ok(table(&rows, 14));
    }
    if Mode::of(config).is_one_at_a_time() {
        let sites = Sites::open(config).map_err(|mistakes| mistakes.join("\nweft: "))?;
        let served = sites.find(host.as_bytes()).and_then(|number| sites.get(number));
        match served {
            None => {
                rows.push(("answer", format!("421: no site has the name {host}, and none is the default")))
            }
            Some(served) => {
                rows.extend(served.site.as_ref().map(|site| ("site", site_of(site, &sites, host))));
                rows.extend(served.docroot.explain(&target));
                if let Some(script) = served.site.as_ref().and_then(Site::script)
                    && rows.iter().any(|(name, _)| *name == "script")
                {
                    rows.push(("loaded", format!("{} stays loaded and answers", script.display())));
                }
            }
        }
    } else {
        let application = config.server.application.as_deref().unwrap_or(std::path::Path::new("."));
        rows.push(("script", format!("{}: its handler answers every URL", application.display())));
    }
    let files = config.server.files.as_deref().map(|path| Docroot::of_files(path, config)).transpose()?;
    if let Some((is_answered, said)) = files.map(|files| files.explain_beside(&target)) {
        if is_answered {
            rows.truncate(1);
        }
        rows.extend(said);
    }
    Ok(table(&rows, 14))
}

/// The host of a URL's authority, without a user and a port.
fn host_of(authority: &str) -> &str {
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    match weft_proto::split_authority(place.as_bytes()) {
        Some(split) => &place[..split.host.len()],
        None => place,
    }
}

fn site_of(site: &Site, sites: &Sites, host: &str) -> String {
    let why = if sites.is_named(host.as_bytes()) { "" } else { ", the default" };
    format!("{} ({}{why})", site.title(), site.place)
}

fn target(target: &LogTarget, stream: &str) -> String {
    match target {
        LogTarget::Off => "off".into(),
        LogTarget::Stream => stream.into(),
        LogTarget::File(path) => path.display().to_string(),
    }
}
