//! opcache's settings, against how the application runs and how much code it has.
//!
//! Must not know how settings are read, nor where files lie. Invariant: what only a full cache would show is said with what was
//! counted, never as if the cache were full.

use super::advice::{Advice, Severity};
use super::capacity::amount;
use super::ini::Php;
use super::plan::Plan;
use super::scripts::Scripts;

/// What files take at least of opcache's memory, and of its memory for strings, for 100 bytes of source. Counted with
/// `opcache_get_status()` after compiling all files of Debian 12's Symfony (259 and 43), Illuminate (300 and 35) and WordPress (218 and
/// 26) with PHP 8.2.
const MEMORY_PERCENT: u64 = 218;
const STRINGS_PERCENT: u64 = 26;
/// What PHP's own names take of the memory for strings before any file is compiled, counted likewise; a quarter of that memory is the
/// table that finds them (`accel_startup` in ext/opcache/ZendAccelerator.c).
const NAMES: u64 = 500 << 10;
/// `max_accelerated_files` is raised to one of these (`prime_numbers` in ext/opcache/zend_accelerator_hash.c).
const PLACES: [u64; 10] = [1_979, 3_907, 7_963, 16_229, 32_531, 65_407, 130_987, 262_237, 524_521, 1_048_793];
/// A day: whoever sets less wants opcache to end processes.
const RESTART_SECONDS_MIN: u64 = 86_400;

pub fn examine(php: &Php<'_>, plan: &Plan, scripts: Option<&Scripts>) -> Vec<Advice> {
    if !php.has("Zend OPcache") || !php.is_on("opcache.enable") {
        let why = "every worker compiles every file for itself, classic mode with each request";
        let found = "opcache is not loaded, or off";
        return vec![
            Advice::note("opcache", Severity::Warning, found)
                .because(why)
                .fix("zend_extension=opcache and opcache.enable=1 in php.ini"),
        ];
    }
    let parts = [
        restart(php, plan),
        memory(php, plan, scripts),
        strings(php, scripts),
        places(php, plan, scripts),
        wasted(php, plan),
        preload(php, plan),
        timestamps(php, plan),
        jit(php),
    ];
    let mut all: Vec<Advice> = parts.into_iter().flatten().collect();
    if all.is_empty() {
        let megabytes = php.number("opcache.memory_consumption").unwrap_or(0);
        all.push(Advice::note("opcache", Severity::Fine, format!("opcache is on, with {megabytes} MiB")));
    }
    all
}

/// A restart waits until no process has the cache's lock. A process that starts then and finds it still waiting after this time kills
/// those that have the lock: SIGTERM, and SIGKILL 30 ms later (`accel_is_inactive`, `kill_all_lockers` in
/// ext/opcache/ZendAccelerator.c).
fn restart(php: &Php<'_>, plan: &Plan) -> Option<Advice> {
    let seconds = php.number("opcache.force_restart_timeout")?;
    // A worker with many instances is never without a request while there is load.
    let keeps = plan.stays_loaded || plan.running > 1;
    (keeps && seconds > 0 && seconds < RESTART_SECONDS_MIN).then(|| {
        let found = format!("opcache kills a process that keeps it from restarting for {seconds} s");
        Advice::note("opcache.force_restart_timeout", Severity::Warning, found)
            .because("scripts that stay loaded do that until the next reload, a busy worker while it has requests: after opcache_reset(), or once the cache is full, they are killed with all of these")
            .fix("remove opcache.force_restart_timeout from [php.ini]: weft sets it to weeks")
    })
}

/// How those beyond a bound of the cache are compiled.
fn beyond(plan: &Plan) -> &'static str {
    if plan.stays_loaded && plan.shares_php {
        "each worker compiles them for itself when it starts, and a restart of the cache is impossible while scripts stay loaded"
    } else if plan.stays_loaded {
        "they are compiled with each request, and a restart of the cache is impossible while scripts stay loaded"
    } else {
        "they are compiled with each request, or the cache restarts again and again"
    }
}

fn memory(php: &Php<'_>, plan: &Plan, scripts: Option<&Scripts>) -> Option<Advice> {
    let megabytes = php.number("opcache.memory_consumption").unwrap_or(0);
    let strings = php.number("opcache.interned_strings_buffer").unwrap_or(8);
    let (found, needed) = match scripts {
        // The memory for strings is a part of it.
        Some(Scripts { files, bytes, is_cut }) => {
            let needed = (bytes * MEMORY_PERCENT / 100).div_ceil(1 << 20) + strings;
            let more = if *is_cut { "more than " } else { "" };
            let source = amount(*bytes);
            let found = format!(
                "opcache has {megabytes} MiB, {strings} of them for strings; the application has {more}{files} files of {source}, for which {needed} are little"
            );
            (found, needed)
        }
        None => (format!("opcache has {megabytes} MiB"), 128),
    };
    (megabytes < needed).then(|| {
        let why = format!("if all are used, the cache is full before the last of them: {}", beyond(plan));
        let value = (2 * needed).next_power_of_two().max(256);
        Advice::note("opcache.memory_consumption", Severity::Note, found)
            .because(why)
            .fix(format!("opcache.memory_consumption={value} in php.ini"))
    })
}

fn strings(php: &Php<'_>, scripts: Option<&Scripts>) -> Option<Advice> {
    let megabytes = php.number("opcache.interned_strings_buffer")?;
    let Scripts { files, bytes, .. } = scripts?;
    let needed = (NAMES + bytes * STRINGS_PERCENT / 100) * 4 / 3;
    (megabytes << 20 < needed).then(|| {
        let source = amount(*bytes);
        let found = format!("opcache has {megabytes} MiB for strings, for an application of {files} files of {source}");
        let value = needed.div_ceil(1 << 20).next_power_of_two();
        Advice::note("opcache.interned_strings_buffer", Severity::Note, found)
            .because("strings of the files beyond are kept again and again, once in each file, in the cache's other memory")
            .fix(format!("opcache.interned_strings_buffer={value} in php.ini, and as much more opcache.memory_consumption"))
    })
}

fn places(php: &Php<'_>, plan: &Plan, scripts: Option<&Scripts>) -> Option<Advice> {
    let set = php.number("opcache.max_accelerated_files")?;
    let room = PLACES.into_iter().find(|places| *places >= set).unwrap_or(PLACES[PLACES.len() - 1]);
    let (needed, counted) = match scripts {
        Some(Scripts { files, is_cut: false, .. }) => (*files, format!(", the application has {files}")),
        Some(Scripts { files, .. }) => (*files, format!(", the application has more than {files}")),
        // Frameworks with their libraries.
        None => (10_000, String::new()),
    };
    (room < needed).then(|| {
        let found = format!("opcache keeps {room} files{counted}");
        let why = format!("frameworks with their libraries have many; of those beyond: {}", beyond(plan));
        Advice::note("opcache.max_accelerated_files", Severity::Note, found).because(why).fix(format!(
            "opcache.max_accelerated_files={} in php.ini",
            (2 * needed).clamp(20_000, 1_000_000)
        ))
    })
}

/// A full cache restarts only if changed files have left this part of it unused (`zend_accel_schedule_restart_if_necessary`).
fn wasted(php: &Php<'_>, plan: &Plan) -> Option<Advice> {
    let percent = php.number("opcache.max_wasted_percentage")?;
    if !php.is_on("opcache.validate_timestamps") || plan.is_development {
        return None; // Nothing changes, or nobody minds.
    }
    if plan.stays_loaded && !plan.shares_php && percent < 50 {
        let found = format!("a full cache wants to restart once {percent} % of it are of changed files");
        let why = "scripts stay loaded, so that it cannot: until the next reload nothing new is cached, even where there is room";
        return Some(
            Advice::note("opcache.max_wasted_percentage", Severity::Note, found)
                .because(why)
                .fix("opcache.max_wasted_percentage=50 in php.ini, and weft reload after a change"),
        );
    }
    (!plan.stays_loaded && percent > 20).then(|| {
        let found = format!("a full cache restarts only once {percent} % of it are of changed files");
        Advice::note("opcache.max_wasted_percentage", Severity::Note, found)
            .because("until then what does not fit is compiled with each request")
            .fix("opcache.max_wasted_percentage=5 in php.ini")
    })
}

fn preload(php: &Php<'_>, plan: &Plan) -> Option<Advice> {
    let script = (php.setting)("opcache.preload");
    if script.is_empty() || plan.is_development {
        return None;
    }
    let found = format!("{script} is preloaded");
    if plan.shares_php {
        return Some(
            Advice::note("opcache.preload", Severity::Note, found)
                .because("each worker loads the application once anyway: preloading only makes all workers larger by what they do not use")
                .fix("remove opcache.preload from php.ini"),
        );
    }
    php.is_on("opcache.validate_timestamps").then(|| {
        Advice::note("opcache.preload", Severity::Note, found)
            .because("whether preloaded files have changed is not asked, opcache.validate_timestamps or not: old code goes on beside new")
            .fix("weft reload after each change, and opcache.validate_timestamps=0 in php.ini")
    })
}

fn timestamps(php: &Php<'_>, plan: &Plan) -> Option<Advice> {
    (php.is_on("opcache.validate_timestamps") && !plan.is_development && !plan.shares_php).then(|| {
        let every = php.number("opcache.revalidate_freq").unwrap_or(2);
        let found = format!("opcache asks every {every} s whether files have changed");
        let why = "that is a stat() for each file of a request, which a release that ends in weft reload does not need";
        Advice::note("opcache.validate_timestamps", Severity::Note, found)
            .because(why)
            .fix("opcache.validate_timestamps=0 in php.ini, and weft reload after a change")
    })
}

fn jit(php: &Php<'_>) -> Option<Advice> {
    (php.is_on("opcache.jit") && php.bytes("opcache.jit_buffer_size").unwrap_or(0) == 0).then(|| {
        let found = "opcache.jit is on, opcache.jit_buffer_size is 0: there is no JIT";
        Advice::note("opcache.jit", Severity::Note, found)
            .because("code that computes runs two to three times faster with it")
            .fix("opcache.jit_buffer_size=64M in php.ini")
    })
}
