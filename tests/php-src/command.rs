//! The tests under the php command and under `weft php`, by php-src's run-tests.php.
//!
//! Must not know the list of differences. Invariant: both sides have the same configuration, no php.ini but the settings of
//! run-tests.php, and directories of their own.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::available_parallelism;

use weft_tests::{command, php};

use crate::outcome::{Outcomes, Side};

/// Seconds that one test may take, as in php-src's own pipelines.
const SECONDS_MAX: &str = "120";

/// Runs the tests of these directories on both sides at once.
///
/// # Errors
/// A side cannot be started, or says nothing of its tests.
pub fn run(work: &Path, directories: &[String]) -> Result<Outcomes, String> {
    let version = php::version();
    let weft = command::binary().canonicalize().map_err(|error| format!("weft's binary: {error}"))?;
    let begun = [
        begin(work, "php", &format!("/usr/bin/php{version}"), directories)?,
        begin(work, "weft", &format!("{} php", weft.display()), directories)?,
    ];
    let [php, weft] = begun.map(|mut child| child.wait().map_err(|error| error.to_string()));
    // Its exit code only says that tests failed.
    php.and(weft)?;
    Ok(Outcomes { php: side(work, "php")?, weft: side(work, "weft")? })
}

fn begin(work: &Path, side: &str, program: &str, directories: &[String]) -> Result<Child, String> {
    let stock = format!("/usr/bin/php{}", php::version());
    let failed = |error: std::io::Error| format!("{}: {error}", work.join(side).display());
    let at = work.join(side);
    for directory in ["bin", "tmp", "ini"] {
        std::fs::create_dir_all(at.join(directory)).map_err(failed)?;
    }
    // Its name matters: run-tests.php looks for php-cgi beside it, and there is none.
    let executable = at.join("bin/php");
    // A test that needs an HTTP server starts the command's own (-S), which is no part of what is compared.
    let script =
        format!("#!/bin/sh\ncase \" $* \" in *' -S '*) exec {stock} \"$@\" ;; esac\nexec {program} \"$@\"\n");
    std::fs::write(&executable, script).map_err(failed)?;
    std::fs::set_permissions(&executable, std::fs::Permissions::from_mode(0o755)).map_err(failed)?;
    std::fs::write(at.join("ini/php.ini"), "; run-tests.php sets what tests need\n").map_err(failed)?;
    let _ = std::fs::remove_file(at.join("results"));
    let log = std::fs::File::create(at.join("log")).map_err(failed)?;
    let workers = available_parallelism().map_or(2, usize::from) * 2;
    let tree = at.join("src");
    let mut command = php::command();
    command.arg(tree.join("run-tests.php")).args(["-q", "--offline", &format!("-j{workers}")]);
    command.args(["--set-timeout", SECONDS_MAX, "-W"]).arg(at.join("results"));
    command.args(directories.iter().map(|directory| tree.join(directory)));
    command.env("TEST_PHP_EXECUTABLE", &executable).env_remove("TEST_PHP_CGI_EXECUTABLE");
    command
        .env("PHPRC", at.join("ini"))
        .env("PHP_INI_SCAN_DIR", at.join("ini"))
        .env("TMPDIR", at.join("tmp"));
    command.env("NO_INTERACTION", "1").env("SKIP_SLOW_TESTS", "1").env("SKIP_IO_CAPTURE_TESTS", "1");
    // How long something takes depends on what runs beside it.
    command.env("SKIP_PERF_SENSITIVE", "1");
    command.current_dir(at.join("tmp")).stdin(Stdio::null());
    command.stdout(log.try_clone().map_err(failed)?).stderr(log);
    command.spawn().map_err(|error| format!("{command:?}: {error}"))
}

fn side(work: &Path, side: &str) -> Result<Side, String> {
    let at = work.join(side);
    let tree = at.join("src");
    let path = at.join("results");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let below = |test: &str| Some(Path::new(test).strip_prefix(&tree).ok()?.to_str()?.to_owned());
    let results: BTreeMap<String, String> = text
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .filter_map(|(result, test)| Some((below(test)?, result.to_owned())))
        .collect();
    if results.is_empty() {
        return Err(format!("{} says nothing of any test; see {}", path.display(), at.join("log").display()));
    }
    Ok(Side { tree, results })
}
