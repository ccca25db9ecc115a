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
        [memory_limit(php, plan), sessions(php, plan), paths(php), watchers(php)].into_iter().flatten(),
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
