//! What the doctor says of opcache's settings, for applications that are planted as files.
//!
//! Must not know the rest of PHP. Invariant: each finding has a counterpart that is silent.

use super::*;

const DEFAULTS: [(&str, &str); 10] = [
    ("opcache.enable", "1"),
    ("opcache.memory_consumption", "128"),
    ("opcache.interned_strings_buffer", "8"),
    ("opcache.max_accelerated_files", "10000"),
    ("opcache.max_wasted_percentage", "5"),
    ("opcache.force_restart_timeout", "2147483"),
    ("opcache.validate_timestamps", "0"),
    ("opcache.preload", ""),
    ("opcache.jit", "tracing"),
    ("opcache.jit_buffer_size", "64M"),
];

/// What is said of one setting with these in place of PHP's own.
fn of_opcache(changed: &[(&str, &str)], files: u64, plan: &Plan, subject: &str) -> Option<Advice> {
    let setting = |name: &str| {
        let all = changed.iter().chain(&DEFAULTS);
        all.clone().find(|(own, _)| *own == name).map_or_else(String::new, |(_, value)| (*value).to_owned())
    };
    let php = Php { extensions: &["Zend OPcache".to_owned()], setting: &setting };
    let scripts = super::super::scripts::Scripts { files, bytes: files * 4_000, is_cut: false };
    let all = of_php(&php, plan, (files > 0).then_some(&scripts));
    all.into_iter().find(|advice| advice.subject == subject)
}

fn classic() -> Plan {
    Plan { shares_php: false, stays_loaded: false, running: 1, ..plan() }
}

fn resident() -> Plan {
    Plan { shares_php: false, ..plan() }
}

#[test]
fn a_timeout_that_kills_what_stays_loaded_is_told() {
    let subject = "opcache.force_restart_timeout";
    let advice = of_opcache(&[(subject, "180")], 0, &plan(), subject).unwrap();
    assert!(advice.severity == Severity::Warning && advice.found.contains("for 180 s"), "{advice:?}");
    assert!(advice.fix.contains("remove opcache.force_restart_timeout"), "{advice:?}");
    assert_eq!(of_opcache(&[], 0, &plan(), subject), None);
    assert_eq!(of_opcache(&[(subject, "0")], 0, &plan(), subject), None, "never");
    assert_eq!(of_opcache(&[(subject, "180")], 0, &classic(), subject), None);
    let instances = Plan { running: 50, ..classic() };
    assert!(of_opcache(&[(subject, "180")], 0, &instances, subject).is_some());
    let asks = ("opcache.validate_timestamps", "1");
    assert_eq!(
        of_opcache(&[asks], 0, &instances, "opcache.max_wasted_percentage"),
        None,
        "it restarts between requests"
    );
}

#[test]
fn the_cache_is_compared_with_the_files_of_the_application() {
    let said = |files, subject| of_opcache(&[], files, &classic(), subject);
    for subject in
        ["opcache.memory_consumption", "opcache.interned_strings_buffer", "opcache.max_accelerated_files"]
    {
        assert_eq!(said(3_000, subject), None, "{subject}");
        assert_eq!(said(0, subject), None, "{subject}: nobody knows how many");
        let advice = said(17_000, subject).unwrap();
        assert!(advice.severity == Severity::Note && advice.found.contains("17000"), "{advice:?}");
    }
    // 10000 are 16229.
    assert_eq!(said(16_000, "opcache.max_accelerated_files"), None);
    assert!(said(17_000, "opcache.max_accelerated_files").unwrap().fix.contains("files=34000"));
    assert!(said(17_000, "opcache.memory_consumption").unwrap().fix.contains("consumption=512"));
    assert!(said(17_000, "opcache.interned_strings_buffer").unwrap().fix.contains("buffer=32"));
    let memory = said(17_000, "opcache.memory_consumption").unwrap();
    assert!(memory.found.ends_with("17000 files of 64.8 MiB, for which 150 are little"), "{memory:?}");
    let loaded = of_opcache(&[], 17_000, &plan(), "opcache.max_accelerated_files").unwrap();
    assert!(loaded.why.contains("each worker compiles them for itself when it starts"), "{loaded:?}");
}

#[test]
fn paths_of_files_are_remembered_unless_open_basedir_forbids_it() {
    let (size, allowed) = ("realpath_cache_size", "open_basedir");
    let of = |settings: &[(&str, &str)], files| of_opcache(settings, files, &classic(), size);
    assert_eq!(of(&[(size, "4096K")], 30_000), None);
    let few = of(&[(size, "4096K")], 40_000).unwrap();
    assert!(few.found.contains("4 MiB of paths; the application's 40000 files are 4.7 MiB"), "{few:?}");
    assert_eq!(few.fix, "realpath_cache_size=8M in php.ini");
    assert!(of(&[(size, "16K")], 0).unwrap().fix.contains("=4M"));
    assert_eq!(of(&[(size, "16K")], 100), None, "a small application");
    let none = of(&[(size, "4096K"), (allowed, "/srv")], 100).unwrap();
    assert!(none.found.starts_with("open_basedir is /srv: PHP remembers no paths"), "{none:?}");
}

#[test]
fn what_changed_files_leave_and_preloading_are_told() {
    let asks = ("opcache.validate_timestamps", "1");
    let (wasted, preload) = ("opcache.max_wasted_percentage", "opcache.preload");
    assert_eq!(of_opcache(&[], 0, &resident(), wasted), None, "nothing changes");
    assert!(of_opcache(&[asks], 0, &resident(), wasted).unwrap().fix.contains("=50"));
    assert_eq!(of_opcache(&[asks], 0, &classic(), wasted), None);
    assert!(of_opcache(&[asks, (wasted, "40")], 0, &classic(), wasted).unwrap().fix.contains("=5"));
    let script = (preload, "/srv/preload.php");
    assert_eq!(of_opcache(&[], 0, &plan(), preload), None);
    assert!(of_opcache(&[script], 0, &plan(), preload).unwrap().fix.starts_with("remove"));
    assert_eq!(of_opcache(&[script], 0, &classic(), preload), None);
    assert!(of_opcache(&[script, asks], 0, &classic(), preload).unwrap().fix.contains("weft reload"));
}

#[test]
fn scripts_are_counted_below_the_application_and_links_are_not_followed() {
    let (directory, tree) = machine(&[
        ("srv/app/public/index.php", "<?php\n"),
        ("srv/app/vendor/a/b/C.php", "<?php class C {}\n"),
        ("srv/app/vendor/a/readme.md", ""),
        ("srv/app/node_modules/x/x.php", ""),
        ("srv/other/x.php", ""),
    ]);
    std::os::unix::fs::symlink("../../app", directory.path().join("srv/app/vendor/self")).unwrap();
    let of = |code: &str| scripts(&tree, &Plan { code: vec![code.into()], ..plan() });
    assert_eq!(of("/srv/app").map(|found| (found.files, found.bytes, found.is_cut)), Some((2, 23, false)));
    assert_eq!(of("/srv/none"), None);
    assert_eq!(scripts(&tree, &plan()), None);
}

#[test]
fn the_code_of_a_public_directory_is_beside_it() {
    let (directory, _) =
        machine(&[("app/public/index.php", ""), ("app/vendor/autoload.php", ""), ("plain/app.php", "")]);
    let of = |application: &str| {
        let mut config = crate::config::Config::default();
        config.server.application = Some(directory.path().join(application));
        Plan::of(&config).code
    };
    let root = directory.path().canonicalize().unwrap();
    assert_eq!(of("app/public"), [root.join("app")]);
    assert_eq!(of("plain/app.php"), [root.join("plain")]);
    assert_eq!(of("missing.php"), [] as [std::path::PathBuf; 0]);
}
