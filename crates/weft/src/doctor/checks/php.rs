//! PHP's settings, as far as they bound a server.
//!
//! Must not know how they are read. Invariant: a setting that PHP does not have is no finding.

use super::advice::{Advice, Severity};
use super::capacity::amount;
use super::plan::Plan;

/// What PHP has loaded, and one of its settings by name; "" if there is none.
pub struct Php<'a> {
    pub extensions: &'a [String],
    pub setting: &'a dyn Fn(&str) -> String,
}

impl Php<'_> {
    fn is_on(&self, name: &str) -> bool {
        !matches!((self.setting)(name).to_ascii_lowercase().as_str(), "" | "0" | "off" | "no" | "false")
    }

    fn number(&self, name: &str) -> Option<u64> {
        (self.setting)(name).trim().parse().ok()
    }

    /// `128M` in bytes; `None` for none and for -1.
    fn bytes(&self, name: &str) -> Option<u64> {
        let text = (self.setting)(name);
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let scale = match text[digits.len()..].to_ascii_lowercase().as_str() {
            "k" => 10,
            "m" => 20,
            "g" => 30,
            _ => 0,
        };
        digits.parse::<u64>().ok().map(|number| number << scale)
    }

    fn has(&self, extension: &str) -> bool {
        self.extensions.iter().any(|name| name.eq_ignore_ascii_case(extension))
    }
}

pub fn examine(php: &Php<'_>, plan: &Plan) -> Vec<Advice> {
    let mut all = opcache(php, plan);
    all.extend(
        [memory_limit(php, plan), sessions(php, plan), paths(php), watchers(php)].into_iter().flatten(),
    );
    all
}

fn opcache(php: &Php<'_>, plan: &Plan) -> Vec<Advice> {
    if !php.has("Zend OPcache") || !php.is_on("opcache.enable") {
        let why = "every worker compiles every file for itself, classic mode with each request";
        let found = "opcache is not loaded, or off";
        return vec![
            Advice::note("opcache", Severity::Warning, found)
                .because(why)
                .fix("zend_extension=opcache and opcache.enable=1 in php.ini"),
        ];
    }
    let mut all = Vec::new();
    let megabytes = php.number("opcache.memory_consumption").unwrap_or(0);
    if megabytes < 128 {
        let found = format!("opcache has {megabytes} MiB");
        let why = "once it is full, further files are compiled with each request, and no restart of it is possible while scripts stay loaded";
        all.push(
            Advice::note("opcache.memory_consumption", Severity::Note, found)
                .because(why)
                .fix("opcache.memory_consumption=256 in php.ini"),
        );
    }
    if php.number("opcache.max_accelerated_files").is_some_and(|files| files < 10_000) {
        let found =
            format!("opcache keeps {} files", php.number("opcache.max_accelerated_files").unwrap_or(0));
        let why = "frameworks with their libraries have more; those beyond are compiled with each request";
        all.push(
            Advice::note("opcache.max_accelerated_files", Severity::Note, found)
                .because(why)
                .fix("opcache.max_accelerated_files=20000 in php.ini"),
        );
    }
    if php.is_on("opcache.validate_timestamps") && !plan.is_development && !plan.shares_php {
        let every = php.number("opcache.revalidate_freq").unwrap_or(2);
        let found = format!("opcache asks every {every} s whether files have changed");
        let why = "that is a stat() for each file of a request, which a release that ends in weft reload does not need";
        all.push(
            Advice::note("opcache.validate_timestamps", Severity::Note, found)
                .because(why)
                .fix("opcache.validate_timestamps=0 in php.ini, and weft reload after a change"),
        );
    }
    if php.is_on("opcache.jit") && php.bytes("opcache.jit_buffer_size").unwrap_or(0) == 0 {
        let found = "opcache.jit is on, opcache.jit_buffer_size is 0: there is no JIT";
        all.push(
            Advice::note("opcache.jit", Severity::Note, found)
                .because("code that computes runs two to three times faster with it")
                .fix("opcache.jit_buffer_size=64M in php.ini"),
        );
    }
    if all.is_empty() {
        all.push(Advice::note("opcache", Severity::Fine, format!("opcache is on, with {megabytes} MiB")));
    }
    all
}

fn memory_limit(php: &Php<'_>, plan: &Plan) -> Option<Advice> {
    if !plan.shares_php {
        return None;
    }
    let limit = php.bytes("memory_limit")?;
    let each = limit / plan.running.max(1);
    (each < 1 << 20).then(|| {
        Advice::note(
            "memory_limit",
            Severity::Note,
            format!("memory_limit is {}, for a whole worker", amount(limit)),
        )
        .because(format!(
            "{} requests share it in coroutine mode: {} each; who meets it fails, whoever has used it",
            plan.running,
            amount(each)
        ))
        .fix("a higher memory_limit in php.ini, or a lower coroutines_max in [limits]")
    })
}

fn sessions(php: &Php<'_>, plan: &Plan) -> Option<Advice> {
    ((php.setting)("session.save_handler") == "files" && plan.workers > 1).then(|| {
        Advice::note("session.save_handler", Severity::Note, "sessions are files, locked while a request runs")
            .because("requests of one visitor wait for each other, each with a place of its own; other machines do not see them")
            .fix("session_write_close() as early as possible, read_and_close, or session.save_handler=redis")
    })
}

fn paths(php: &Php<'_>) -> Option<Advice> {
    let size = php.bytes("realpath_cache_size")?;
    (size < 1 << 20).then(|| {
        Advice::note("realpath_cache_size", Severity::Note, format!("PHP remembers {} of paths", amount(size)))
            .because("an application of some thousand files resolves the others with a system call for each part of their paths")
            .fix("realpath_cache_size=4M in php.ini")
    })
}

fn watchers(php: &Php<'_>) -> Option<Advice> {
    let names = ["xdebug", "pcov", "blackfire"];
    let loaded = names.into_iter().find(|name| php.has(name))?;
    Some(
        Advice::note("extensions", Severity::Warning, format!("{loaded} is loaded"))
            .because("it looks at every call of a function, turns the JIT off, and does not know that requests take turns")
            .fix(format!("remove {loaded} from php.ini where load is served; weft profile needs no extension")),
    )
}
