//! The one typed configuration: flags override `WEFT_*` variables, which override `weft.toml`, which overrides
//! defaults.
//!
//! Must not know sockets, processes or PHP. Invariant: a `Config` that exists is complete and in range. Every key is
//! one row of [`keys::KEYS`], from which the flags, the variables, the file's keys and the reference documentation are
//! generated.

mod acme_keys;
mod admin_keys;
mod automatic;
mod backplane;
mod classic_keys;
mod environment;
mod file;
mod host_name;
mod key;
pub mod keys;
mod limit_defaults;
mod limit_keys;
mod listen;
mod mode;
mod network;
mod other_keys;
mod pattern;
mod place;
pub mod pools;
mod route_pattern;
mod rule;
mod rule_keys;
mod server_keys;
mod settings;
mod share;
mod site_keys;
mod site_names;
mod suggest;
#[cfg(test)]
mod tests;
mod tls_keys;
mod tls_settings;
mod topic_keys;
mod topics;
mod trace;
mod trace_keys;
mod users;
mod value;

use std::ffi::OsString;
use std::path::PathBuf;

pub use backplane::{Backplane, BackplaneKind, decoded};
pub use environment::HANDOVER;
pub use host_name::is_address;
pub use listen::ListenAddress;
pub use mode::Mode;
pub use network::Network;
pub use pattern::{Condition, behind};
pub use place::{Place, Places};
pub use route_pattern::RoutePattern;
pub use rule::{Action, Rule};
pub use settings::{
    Config, Environment, ExtraWorkers, Format, Level, LimitSettings, Log, LogTarget, Recycle, RunAs, Site,
    Symlinks, Trust, Workers,
};
pub use share::{Share, ShareBy, is_below, plain_path};
pub use site_names::SiteNames;
pub use tls_settings::{Acme, ClientCertificates, Tls};
pub use topics::Topics;
pub use trace::Trace;
pub use users::{Hash, Users};
pub use value::Value;

/// Reads the file and the variables, applies the flags and checks the result.
///
/// `flags` are pairs of a key's flag name and its value, in the given order; `file` is `--config`; `variables` the
/// process's environment.
///
/// # Errors
/// One text per mistake, with its place and what to do, so that an operator can fix all of them at once.
pub fn load(
    file: Option<PathBuf>,
    variables: impl Iterator<Item = (OsString, OsString)>,
    flags: Vec<(&'static str, Value)>,
) -> Result<Config, Vec<String>> {
    let mut config = Config::default();
    let mut errors = Vec::new();
    let (variables, config_variable) = environment::collect(variables, &mut errors);
    config.file = file::find(file.or(config_variable));
    let mut sites = Vec::new();
    if let Some(path) = config.file.clone() {
        sites = file::apply(&path, &mut config, &mut errors);
    }
    for (key, value) in variables {
        if let Err(why) = (key.set)(&mut config, value) {
            errors.push(format!("variable {}: {why}", key.variable()));
        }
    }
    for (flag, value) in flags {
        let key = keys::by_flag(flag).expect("clap only knows flags made from the table");
        if let Err(why) = (key.set)(&mut config, value) {
            let name = if key.positional { flag.to_string() } else { format!("--{flag}") };
            errors.push(format!("{name}: {why}"));
        }
    }
    // Last, because a site is the rest of the configuration and what it says over it.
    config.sites = site_keys::read(sites, &config, &mut errors);
    check_together(&config, &mut errors);
    site_keys::check_together(&config, &mut errors);
    if errors.is_empty() { Ok(config) } else { Err(errors) }
}

/// Rules that span more than one key.
fn check_together(config: &Config, errors: &mut Vec<String>) {
    let limits = &config.limits;
    if limits.target_bytes_max > limits.head_bytes_max {
        errors.push(format!(
            "target_bytes_max ({}) is larger than head_bytes_max ({}), of which the target is a part: lower the first \
             or raise the second",
            limits.target_bytes_max, limits.head_bytes_max
        ));
    }
    if config.server.listen.is_empty() {
        errors.push("listen is empty: give at least one address, e.g. --listen 127.0.0.1:8080".into());
    }
    if !config.server.listen.is_empty() && config.server.listen.iter().all(ListenAddress::is_admin) {
        errors.push(
            "listen names only addresses for the operator: name one for clients as well, e.g. 127.0.0.1:8080"
                .into(),
        );
    }
    if let Some(address) = config.server.listen.iter().find(|address| address.service().is_some())
        && config.server.application.is_some()
        && Mode::of(config) != Mode::Coroutine
    {
        errors.push(format!(
            "{address}: services need coroutine mode, an application that is a script which returns a Weft\\Application"
        ));
    }
    if let Some(address) = config.server.listen.iter().find(|a| a.is_admin() && a.is_remote())
        && config.admin.token.is_none()
    {
        errors.push(format!(
            "{address} can be reached from other machines: set admin.token (WEFT_ADMIN_TOKEN), or listen on admin://127.0.0.1:PORT \
             or admin+unix:/path"
        ));
    }
    for (i, address) in config.server.listen.iter().enumerate() {
        let before = &config.server.listen[..i];
        if before.iter().any(|earlier| earlier.is_same_place(address)) && !address.is_ephemeral() {
            errors.push(format!("listen names {address} twice: remove one"));
        }
    }
    check_tls(config, errors);
    check_proxy_protocol(config, errors);
    if let (Some(rule), Some(application)) = (config.rules.first(), &config.server.application)
        && application.is_file()
        && config.server.files.is_none()
    {
        errors.push(format!(
            "{}: rules are for document roots, and the application is a script: leave them out, name a directory, or set files",
            rule.place
        ));
    }
    if config.server.files.is_some()
        && (!config.sites.is_empty() || config.server.application.as_ref().is_some_and(|path| path.is_dir()))
    {
        errors.push(
            "files is for an application that is a script: a document root's own files are sent; leave it out".into(),
        );
    }
    if config.server.daemon && !matches!(config.log.error_log, LogTarget::File(_)) {
        errors.push(
            "daemon is on, but error_log is not a file: a daemon has no terminal; give --error-log PATH"
                .into(),
        );
    }
    if config.server.group.is_some() && config.server.user.is_none() {
        errors.push(
            "group is set without user: give --user as well (otherwise the workers keep root privileges)"
                .into(),
        );
    }
}

/// What `proxy_protocol` needs of the addresses and of `[trust]`.
fn check_proxy_protocol(config: &Config, errors: &mut Vec<String>) {
    let server = &config.server;
    for address in &server.proxy_protocol {
        if !server.listen.contains(address) {
            errors.push(format!(
                "proxy_protocol names {address}, which listen does not: write it as in listen"
            ));
        } else if address.tcp().is_some() && config.trust.proxies.is_empty() {
            errors.push(format!(
                "proxy_protocol names {address}, but trust.proxies is empty: nobody could connect; name the proxies' networks"
            ));
        }
    }
}

/// What `[tls]` and the addresses need of each other.
fn check_tls(config: &Config, errors: &mut Vec<String>) {
    let (tls, wants) = (&config.tls, config.wants_tls());
    if tls.certificates.len() != tls.keys.len() {
        errors.push(format!(
            "tls.certificates names {} files and tls.keys {}: name the key of each certificate, in the same order",
            tls.certificates.len(),
            tls.keys.len()
        ));
    } else if wants
        && tls.certificates.is_empty()
        && config.sites.is_empty()
        && config.server.names.is_empty()
    {
        errors.push(
            "an https:// address needs a certificate: give --tls-certificates and --tls-keys, which name PEM files, or \
             listen on https://NAME, whose certificate weft sees to itself"
                .into(),
        );
    } else if !wants && !tls.certificates.is_empty() {
        errors.push("tls.certificates is set, but no address uses it: listen on https://HOST:PORT".into());
    }
    if tls.redirect && !wants {
        errors.push("tls.redirect is on, but no address has TLS: listen on https://HOST:PORT as well".into());
    }
    if let Some(name) = config.acme_names().first().filter(|_| !config.acme.terms_agreed) {
        errors.push(format!(
            "acme.terms_agreed is false, so {name} gets no certificate: read the terms of service of {}, then agree, or name \
             certificate files",
            config.acme.directory
        ));
    }
}
