//! PHP's settings, as far as they bound a server; `opcache` has those of opcache.
//!
//! Must not know how they are read. Invariant: a setting that PHP does not have is no finding.

use super::advice::{Advice, Severity};
use super::capacity::amount;
use super::ini::Php;
use super::opcache;
use super::plan::Plan;
use super::scripts::Scripts;

/// PHP's settings; `scripts` is how many files the application has, if that is known.
pub fn examine(php: &Php<'_>, plan: &Plan, scripts: Option<&Scripts>) -> Vec<Advice> {
    let mut all = opcache::examine(php, plan, scripts);
    all.extend(
        [memory_limit(php, plan), sessions(php, plan), paths(php, scripts), watchers(php)]
            .into_iter()
            .flatten(),
    );
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

/// What PHP remembers of a file's path and its directories, in bytes: counted with `realpath_cache_size()` after asking for all files of
/// Debian 12's WordPress (122), and for those of all its PHP libraries (124).
const PATH: u64 = 124;

fn paths(php: &Php<'_>, scripts: Option<&Scripts>) -> Option<Advice> {
    let size = php.bytes("realpath_cache_size")?;
    let allowed = (php.setting)("open_basedir");
    if !allowed.is_empty() {
        // `php_request_startup` in main/main.c: what was allowed once could be a link elsewhere now.
        let found =
            format!("open_basedir is {allowed}: PHP remembers no paths, whatever realpath_cache_size is");
        return Some(
            Advice::note("realpath_cache_size", Severity::Note, found)
                .because("each function that opens or asks for a file resolves all parts of its path again, and those of open_basedir, with a system call each")
                .fix("another user for each application, or ReadOnlyPaths= and InaccessiblePaths= in weft's unit, in place of open_basedir"),
        );
    }
    let (needed, files) = match scripts {
        Some(Scripts { files, .. }) => (files * PATH, format!("the application's {files} files are")),
        None => (1 << 20, "those of an application with thousands of files are".to_owned()),
    };
    (size < needed).then(|| {
        let found = format!("PHP remembers {} of paths; {files} {}", amount(size), amount(needed));
        let value = needed.div_ceil(1 << 20).next_power_of_two().max(4);
        Advice::note("realpath_cache_size", Severity::Note, found)
            .because("the paths of other files are resolved with a system call for each of their parts, each time that one is asked for")
            .fix(format!("realpath_cache_size={value}M in php.ini"))
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
