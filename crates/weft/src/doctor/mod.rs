//! `weft doctor`: which limit of this machine bites first (`checks`, `advised`), and with `--database` whether databases have room for
//! the workers (`databases`). `weft doctor --extensions`: which waits of the
//! loaded PHP are cooperative, and which block the worker; and which extensions may be in PHP instances.
//!
//! It starts the engine with the given settings and inspects the mapped objects: libphp, the extensions, the libraries
//! below them. Must not know ELF (`objects` does) or the form of a report (`report`). Invariant: it changes nothing,
//! and runs no code of the application.

mod advised;
pub mod checks;
mod databases;
mod finding;
mod instances;
mod objects;
mod report;
mod thread_local;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use weft_rt::hook::{HookKind, Review, review};
use weft_zend::Engine;

use crate::flags::Settings;
use crate::php;
use checks::{Advice, Php, Plan, Tree};
use databases::Target;
use finding::{Finding, Findings, Part};
use instances::Judged;
use objects::Object;

/// Flags of `weft doctor`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// For each extension that is loaded and each library below it: the functions that wait which it calls, and how
    /// they wait
    #[arg(long)]
    extensions: bool,
    /// What bounds this machine where it makes load for another server
    #[arg(long, conflicts_with = "extensions")]
    client: bool,
    /// Ask a database whether it has room for the pools of all workers: mysql://, pgsql:// or redis://, each
    /// [USER[:PASSWORD]@]HOST[:PORT][/DATABASE], or mysql+unix:///PATH/OF/SOCKET and the like; repeatable. Without a password it takes
    /// that of MYSQL_PWD, PGPASSWORD or REDISCLI_AUTH. ?max=N&idleTimeout=SECONDS are the bounds of the application's pool there, unless it
    /// has a pool's defaults
    #[arg(long, value_name = "URL", conflicts_with_all = ["extensions", "client"])]
    database: Vec<String>,
    /// As JSON, for programs
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: Settings,
}

/// Runs `weft doctor`. Of extensions it succeeds if no unreviewed function bypasses the hooks, and none keeps coroutine mode
/// from starting; of the machine, if nothing is worse than a note.
pub fn doctor(arguments: Arguments) -> ExitCode {
    let Arguments { extensions, client, database, json, settings } = arguments;
    let examined = match (extensions, client) {
        (true, _) => examine(settings).map(|findings| {
            let is_in_order = findings.unknown().is_empty() && findings.refused.is_none();
            let text = if json { report::json(&findings) } else { report::table(&findings) };
            (text, if is_in_order { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }),
        (false, true) => Ok(told(&checks::of_client(&Tree::new("/")), json)),
        (false, false) => examine_machine(settings, &database).map(|all| told(&all, json)),
    };
    match examined {
        Ok((text, code)) => {
            crate::print::print(&text);
            code
        }
        Err(mistakes) => {
            mistakes.iter().for_each(|mistake| eprintln!("weft: {mistake}"));
            ExitCode::from(2)
        }
    }
}

fn told(all: &[Advice], json: bool) -> (String, ExitCode) {
    (if json { advised::json(all) } else { advised::text(all) }, advised::exit_code(all))
}

fn examine_machine(settings: Settings, urls: &[String]) -> Result<Vec<Advice>, Vec<String>> {
    let targets = targets(urls)?;
    let config = settings.load()?;
    weft_zend::host::install(&php::Terminal);
    let info = php::engine_examine(&config).map_err(|why| vec![why])?;
    let (tree, plan) = (Tree::new("/"), Plan::of(&config));
    let mut all = checks::of_server(&tree, &plan);
    let scripts = checks::scripts(&tree, &plan);
    all.extend(checks::of_php(
        &Php { extensions: &info.extensions, setting: &php::ini },
        &plan,
        scripts.as_ref(),
    ));
    all.extend(databases::examine(&targets, &config.php.ini, &plan, &tree));
    Ok(checks::in_order(all))
}

/// The databases to ask. A URL that is wrong is named by its number, since it may hold a password.
fn targets(urls: &[String]) -> Result<Vec<Target>, Vec<String>> {
    let (mut targets, mut mistakes) = (Vec::new(), Vec::new());
    for (number, url) in (1..).zip(urls) {
        match Target::parse(url, |name| std::env::var(name).ok()) {
            Ok(target) => targets.push(target),
            Err(why) if urls.len() == 1 => mistakes.push(format!("the URL of --database {why}")),
            Err(why) => mistakes.push(format!("URL {number} of --database {why}")),
        }
    }
    if mistakes.is_empty() { Ok(targets) } else { Err(mistakes) }
}

fn examine(settings: Settings) -> Result<Findings, Vec<String>> {
    let config = settings.load()?;
    let one = |why: String| vec![why];
    weft_zend::host::install(&php::Terminal);
    let info = php::engine_examine(&config).map_err(one)?;
    let loaded = objects::loaded(Path::new(&php::ini("extension_dir"))).map_err(one)?;
    let mut objects: Vec<Finding> = loaded.iter().map(|object| finding(object, &loaded)).collect();
    objects.sort_by(|a, b| (a.part, &a.name).cmp(&(b.part, &b.name)));
    let instances =
        php::with_engine(|engine| judge_all(engine, &info.extensions, &objects)).unwrap_or_default();
    let refused = info.unisolated.refuse(&config).err();
    Ok(Findings {
        php: info.php_version,
        extensions: info.extensions.len(),
        objects,
        instances,
        unisolated: info.unisolated,
        refused,
    })
}

fn judge_all(engine: &Engine, extensions: &[String], objects: &[Finding]) -> Vec<Judged> {
    let mut extensions: Vec<&String> = extensions.iter().collect();
    extensions.sort_by_key(|name| name.to_lowercase());
    let judge = |name: &&String| {
        let file = engine.extension_file(name);
        let own = objects.iter().find(|object| file.as_deref() == Some(Path::new(&object.path)));
        instances::judge(engine, name, own.is_some_and(|object| object.threads))
    };
    extensions.iter().map(judge).collect()
}

fn finding(object: &Object, loaded: &[Object]) -> Finding {
    let mut finding = Finding {
        name: object.name.clone(),
        path: object.path.display().to_string(),
        part: object.part,
        needed_by: objects::needed_by(object, loaded),
        cooperative: Vec::new(),
        offloaded: Vec::new(),
        blocking: BTreeMap::new(),
        unknown: Vec::new(),
        per_thread: object
            .thread_local
            .then(|| thread_local::judge(&object.name, object.part == Part::Library)),
        threads: object.imports.iter().any(|name| name == "pthread_create" || name == "thrd_create"),
    };
    for name in &object.imports {
        match review(name) {
            Review::Hooked(HookKind::Ready | HookKind::Sleep) => finding.cooperative.push(name.clone()),
            Review::Hooked(HookKind::Offload) => finding.offloaded.push(name.clone()),
            Review::Hooked(HookKind::Note) | Review::NeverWaits => {}
            Review::NotHooked(why) => {
                finding.blocking.insert(name.clone(), why);
            }
            Review::Unknown => finding.unknown.push(name.clone()),
        }
    }
    finding
}
