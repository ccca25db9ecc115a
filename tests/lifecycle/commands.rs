//! The command line: versions, help, checks, and error messages that explain.

use std::path::Path;

use weft_tests::{Output, command, weft};

fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("app.php"), "<?php return fn () => 'ok';").unwrap();
    directory
}

fn refused(directory: &Path, arguments: &[&str], parts: &[&str]) {
    let outcome = weft(directory, arguments);
    assert!(outcome.code.is_some_and(|code| code != 0), "{arguments:?} was taken: {outcome:?}");
    for part in parts {
        assert!(outcome.stderr.contains(part), "{arguments:?} does not say {part:?}: {}", outcome.stderr);
    }
}

#[test]
fn version_and_help() {
    let directory = directory();
    for arguments in [["version"], ["--version"], ["-V"]] {
        let Output { code, stdout, .. } = weft(directory.path(), &arguments);
        assert_eq!(code, Some(0));
        assert!(
            stdout.starts_with("weft 0.") && stdout.contains("PHP 8.") && stdout.contains("Linux"),
            "{stdout}"
        );
    }
    let help = weft(directory.path(), &["help"]);
    assert_eq!(help.code, Some(0));
    for verb in ["serve", "php", "check", "reload", "stop", "version"] {
        assert!(help.stdout.contains(verb), "{verb} is missing:\n{}", help.stdout);
    }
    let help = weft(directory.path(), &["serve", "--help"]);
    assert!(help.stdout.contains("--idle-timeout-ms") && help.stdout.contains("[75000]"), "{}", help.stdout);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let directory = directory();
    for command in ["version", "check app.php"] {
        let mut shell = std::process::Command::new("sh");
        let line = format!("(sleep 0.2; \"$0\" {command}; echo \"exit code $?\" >&2) | true");
        shell.args(["-c", &line]).arg(command::binary()).current_dir(directory.path());
        let outcome = command::finish(&mut shell);
        assert_eq!(outcome.stderr, "exit code 0\n", "{command}");
    }
}

#[test]
fn a_script_is_found_by_its_relative_path_and_runs_where_it_was_called() {
    let directory = directory();
    std::fs::create_dir(directory.path().join("below")).unwrap();
    std::fs::write(directory.path().join("below/script.php"), "<?php echo basename(__DIR__), getcwd();")
        .unwrap();
    let outcome = weft(directory.path(), &["php", "below/script.php"]);
    assert_eq!(outcome.stdout, format!("below{}", directory.path().display()), "{outcome:?}");
}

#[test]
fn a_script_may_be_a_pipe() {
    let directory = directory();
    let mut shell = std::process::Command::new("bash");
    let weft = std::path::PathBuf::from(weft_tests::command::command(directory.path()).get_program());
    shell
        .current_dir(directory.path())
        .arg("-c")
        .arg(format!("{} php <(echo '<?php echo $argv[1], basename(getcwd());') one", weft.display()));
    let outcome = weft_tests::command::finish(&mut shell);
    let name = directory.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    assert_eq!((outcome.code, outcome.stdout), (Some(0), format!("one{name}")), "{}", outcome.stderr);
}

#[test]
fn check_reports_what_would_be_served_and_how() {
    let directory = directory();
    let outcome = weft(directory.path(), &["check", "app.php", "--listen=127.0.0.1:9", "--workers=3"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    for part in ["app.php", "coroutine", "127.0.0.1:9", "3", "in order"] {
        assert!(outcome.stdout.contains(part), "{part} is missing:\n{}", outcome.stdout);
    }
    for (source, why) in [
        ("<?php function {", "syntax error"),
        ("<?php return 5;", "return"),
        ("<?php throw new Exception('no');", "no"),
    ] {
        std::fs::write(directory.path().join("app.php"), source).unwrap();
        refused(directory.path(), &["check", "app.php"], &["app.php", why]);
    }
}

#[test]
fn a_mistyped_flag_names_the_nearest() {
    let directory = directory();
    refused(directory.path(), &["serve", "app.php", "--wrkers=2"], &["--wrkers", "--workers"]);
    refused(directory.path(), &["sevre", "app.php"], &["sevre", "serve"]);
}

#[test]
fn bad_values_are_reported_with_the_allowed_ones() {
    let directory = directory();
    refused(directory.path(), &["check", "app.php", "--workers=0"], &["--workers", "1 to 1024"]);
    refused(directory.path(), &["check", "app.php", "--workers=many"], &["--workers", "many", "auto"]);
    refused(
        directory.path(),
        &["check", "app.php", "--listen=nonsense:port"],
        &["--listen", "nonsense:port"],
    );
    refused(
        directory.path(),
        &["check", "app.php", "--log-level=inf"],
        &["--log-level", "did you mean \"info\"?"],
    );
    refused(
        directory.path(),
        &["check", "app.php", "--body-bytes-max=8 Elephants"],
        &["--body-bytes-max", "8MiB"],
    );
    refused(directory.path(), &["check", "app.php", "--group=www-data"], &["--user"]);
    refused(directory.path(), &["check", "app.php", "--daemon"], &["error_log"]);
    refused(
        directory.path(),
        &["check", "app.php", "--listen=127.0.0.1:1", "--listen=127.0.0.1:1"],
        &["127.0.0.1:1 twice"],
    );
}

#[test]
fn mistakes_in_the_file_are_reported_with_lines_and_nearest_names() {
    let directory = directory();
    let write = |text: &str| std::fs::write(directory.path().join("weft.toml"), text).unwrap();
    write("[server]\napplication = \"app.php\"\nworkrs = 2\n\n[limits]\nidle_timeout_ms = \"soon\"\n");
    refused(directory.path(), &["check"], &["weft.toml:3", "workers", "weft.toml:6", "soon"]);
    write("[sever]\nworkers = 2\n");
    refused(directory.path(), &["check", "app.php"], &["weft.toml:1", "server"]);
    write("[server\n");
    refused(directory.path(), &["check", "app.php"], &["weft.toml:1"]);
    refused(directory.path(), &["check", "app.php", "--config=none.toml"], &["none.toml"]);
}

#[test]
fn flags_go_over_variables_over_the_file() {
    let directory = directory();
    std::fs::write(
        directory.path().join("weft.toml"),
        "[server]\napplication = \"app.php\"\nworkers = 5\nlisten = [\"127.0.0.1:9005\"]\n",
    )
    .unwrap();
    let run = |flags: &[&str], variable: Option<&str>| {
        let mut command = weft_tests::command::command(directory.path());
        command.arg("check").args(flags);
        variable.map(|value| command.env("WEFT_WORKERS", value));
        weft_tests::command::finish(&mut command)
    };
    let workers = |output: Output| {
        let line = output.stdout.lines().find(|line| line.starts_with("workers")).map(str::to_string);
        line.unwrap_or_else(|| panic!("{output:?}")).split_whitespace().nth(1).map(str::to_string)
    };
    assert_eq!(workers(run(&[], None)).as_deref(), Some("5"));
    assert_eq!(workers(run(&[], Some("6"))).as_deref(), Some("6"));
    assert_eq!(workers(run(&["--workers=7"], Some("6"))).as_deref(), Some("7"));
    let outcome = run(&[], Some("none"));
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("WEFT_WORKERS"), "{outcome:?}");
    let mut command = weft_tests::command::command(directory.path());
    let outcome = weft_tests::command::finish(command.arg("check").env("WEFT_WRKERS", "1"));
    assert_eq!(outcome.code, Some(1), "an unknown variable is told: {outcome:?}");
    assert!(outcome.stderr.contains("WEFT_WORKERS"), "{outcome:?}");
}

#[test]
fn reload_and_stop_without_a_server_explain_what_to_do() {
    let directory = directory();
    for verb in ["reload", "stop"] {
        refused(directory.path(), &[verb], &["--pid-file", "kill"]);
        refused(directory.path(), &[verb, "--pid-file=none.pid"], &["weft is not running"]);
    }
}

#[test]
fn weft_php_takes_the_php_commands_options() {
    let directory = directory();
    let run = |arguments: &[&str]| weft(directory.path(), &[&["php"], arguments].concat());
    assert_eq!(run(&["-r", "echo 1 + 1;"]).stdout, "2");
    assert!(run(&["-v"]).stdout.contains("PHP 8."));
    assert!(run(&["-m"]).stdout.contains("[PHP Modules]"));
    assert!(run(&["-i"]).stdout.contains("phpinfo()"));
    assert_eq!(run(&["-l", "app.php"]).stdout, "No syntax errors detected in app.php\n");
    assert_eq!(run(&["-d", "precision=3", "-r", "echo 1/3;"]).stdout, "0.333");
    assert_eq!(run(&["-n", "-r", "var_dump(php_ini_loaded_file());"]).stdout, "bool(false)\n");
    assert_eq!(run(&["-r", "echo $argv[1], $argc;", "--", "-x"]).stdout, "-x2");
    assert_eq!(run(&["-r", "exit(4);"]).code, Some(4));
    let missing = run(&["missing.php"]);
    assert_eq!(missing.code, Some(1));
    assert!((missing.stdout + &missing.stderr).contains("missing.php"));
    let unknown = run(&["-Z"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("-Z"));
}
