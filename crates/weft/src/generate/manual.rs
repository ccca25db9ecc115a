//! The manual: weft(1), a page per command, and weft.toml(5).
//!
//! Must not know what a setting means, or how a page is formatted (clap_mangen and roff do). Invariant: pages are made
//! from the commands and the settings table; this file adds only what neither has.

use std::io;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

use crate::config::keys::{KEYS, Key};

const MANUAL: &str = "weft's manual";

/// Each page's file name and text.
///
/// # Errors
/// None in practice, because pages are written to memory.
pub fn pages(command: &Command) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut command = command.clone();
    command.build();
    let mut pages = vec![("weft.1".to_string(), overview(&command)?)];
    let named = |name: &&Command| name.get_name() != "help";
    for verb in command.get_subcommands().filter(named) {
        let name = format!("weft-{}", verb.get_name());
        let page = Man::new(verb.clone().name(name.clone())).manual(MANUAL).source(source());
        let mut text = Vec::new();
        page.render(&mut text)?;
        pages.push((format!("{name}.1"), text));
    }
    pages.push(("weft.toml.5".to_string(), configuration().render().into_bytes()));
    Ok(pages)
}

fn source() -> String {
    format!("weft {}", env!("CARGO_PKG_VERSION"))
}

fn overview(command: &Command) -> io::Result<Vec<u8>> {
    let page = Man::new(command.clone()).manual(MANUAL).source(source());
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_subcommands_section(&mut text)?;
    let mut rest = Roff::new();
    rest.control("SH", ["EXAMPLES"]);
    rest.control("nf", []);
    let examples = command.get_before_help().map(ToString::to_string).unwrap_or_default();
    for line in examples.lines().skip(1) {
        rest.text([roman(line.trim_start())]);
    }
    rest.control("fi", []);
    rest.control("SH", ["SIGNALS"]);
    for (signal, meaning) in [
        ("SIGHUP", "reload, as weft reload: code, configuration and binary, without losing a request"),
        ("SIGUSR1", "open the log files anew"),
        ("SIGTERM, SIGINT, SIGQUIT", "finish the requests that run, then end; a second one ends at once"),
    ] {
        entry(&mut rest, [bold(signal)], [roman(meaning)]);
    }
    rest.control("SH", ["ENVIRONMENT"]);
    entry(&mut rest, [bold("WEFT_CONFIG")], [roman("the configuration file")]);
    let variable = [bold("WEFT_"), italic("SETTING")];
    entry(&mut rest, variable, [roman("a setting: its flag in capitals, dashes as underscores")]);
    entry(&mut rest, [bold("TMPDIR")], [roman("where request bodies that exceed memory are kept")]);
    rest.control("SH", ["EXIT STATUS"]);
    rest.text([roman(
        "0 if everything went well, 1 if something is wrong, 2 for a mistake on the command line.",
    )]);
    rest.control("SH", ["SEE ALSO"]);
    rest.text([bold("weft-serve"), roman("(1), "), bold("weft.toml"), roman("(5)")]);
    rest.to_writer(&mut text)?;
    Ok(text)
}

fn entry<const N: usize, const M: usize>(page: &mut Roff, name: [Inline; N], text: [Inline; M]) {
    page.control("TP", []);
    page.text(name);
    page.text(text);
}

fn configuration() -> Roff {
    let mut page = Roff::new();
    page.control("TH", ["weft.toml", "5", "", source().as_str(), MANUAL]);
    page.control("SH", ["NAME"]);
    page.text([roman("weft.toml - the configuration of weft")]);
    page.control("SH", ["DESCRIPTION"]);
    page.text([roman(
        "A TOML file of sections and keys. weft reads the file that --config or WEFT_CONFIG names, or else weft.toml in the \
         directory it is started in. A flag goes over a variable, a variable over the file. Unknown keys and values out of \
         range are refused with their line. Bytes may be written as 65536, \"64KiB\", \"8MiB\" or \"1GiB\".",
    )]);
    let mut section = "";
    for key in KEYS {
        if key.section != section {
            section = key.section;
            page.control("SH", [format!("[{section}]").as_str()]);
        }
        describe(&mut page, key);
    }
    page.control("SH", ["[[rule]]"]);
    page.text([roman(
        "A table for some paths of a document root, or beside files: path or match says for which, missing = true that they lead to nothing; \
         one of deny, allow, redirect (with status), rewrite, alias, header, auth (with realm) and body_bytes_max says what \
         becomes of them. The first that fits counts. weft check --url URL shows what a URL would do.",
    )]);
    page.control("SH", ["[[site]]"]);
    page.text([roman(
        "A document root, or an application that stays loaded, with host names of its own, in place of the application: names, \
         default, root, worker, application, certificates, keys, [site.ini], [site.admin_ini], [site.environment], \
         [[site.rule]], and instances_max, requests_max, try, symlinks, sendfile, accel_redirect, htaccess, body_bytes_max, \
         request_timeout_ms, shares, access_log, redirect and hsts_s, which mean what they mean for all sites.",
    )]);
    page.control("SH", ["SEE ALSO"]);
    page.text([bold("weft"), roman("(1), "), bold("weft-serve"), roman("(1)")]);
    page
}

fn describe(page: &mut Roff, key: &Key) {
    page.control("TP", []);
    page.text([bold(key.name)]);
    page.text([roman(format!("{}.", key.help))]);
    page.control("br", []);
    let flag = if key.positional { "argument of the command".into() } else { format!("--{}", key.flag) };
    let facts =
        format!("Allowed: {}. Default: {}. {flag}, {}.", (key.allowed)(), (key.default)(), key.variable());
    page.text([roman(facts)]);
}
