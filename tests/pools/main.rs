//! Pools: `weft php` runs every `tests/pools/scripts/*/*.php` (stock `php` also runs those in `plain`), and each must
//! print the text after its `__halt_compiler();`.
//!
//! Must not know what a script is about: its directory says which servers it needs. Invariant: each server is started
//! once, when the first script needs it, and ends with this process.

mod calls;
mod databases;
mod environment;
mod handlers;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Trial};
use weft_tests::command;

use environment::{environment, root};

const END: &str = "__halt_compiler();";

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // The tests wait for servers most of the time.
    arguments.test_threads.get_or_insert(4);
    let root = root().join("scripts");
    let scripts = scripts(&root);
    assert!(!scripts.is_empty(), "no scripts below {}", root.display());
    let mut trials = Vec::new();
    for path in scripts {
        let name = path.strip_prefix(&root).unwrap_or(&path).with_extension("");
        trials.push(Trial::test(name.to_string_lossy(), move || run(&path).map_err(Into::into)));
    }
    trials.extend(handlers::trials());
    trials.extend(databases::trials());
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The scripts of every directory, in order.
fn scripts(directory: &Path) -> Vec<PathBuf> {
    let entries = |path: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(path).expect("a directory of this repository");
        entries.map(|entry| entry.expect("an entry can be read").path()).collect()
    };
    let mut scripts: Vec<PathBuf> = entries(directory).iter().flat_map(|path| entries(path)).collect();
    scripts.sort();
    scripts
}

fn run(script: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(script).map_err(|e| e.to_string())?;
    let (_, expected) =
        text.split_once(END).ok_or_else(|| format!("it does not end with {END} and what it prints"))?;
    let kind = script.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    let directory = tempfile::tempdir().map_err(|e| e.to_string())?;
    let mut weft = command::command(directory.path());
    weft.arg("php");
    let mut commands = vec![weft];
    if kind == "plain" {
        let mut php = Command::new("php");
        php.current_dir(directory.path());
        commands.push(php);
    }
    for mut command in commands {
        command.envs(environment(&kind)).args(["-d", "display_errors=1", "-d", "html_errors=0"]).arg(script);
        let output = command::finish(&mut command);
        if output.code != Some(0) || output.stdout.trim() != expected.trim() {
            let (code, stdout, stderr) = (output.code, output.stdout, output.stderr);
            return Err(format!(
                "{command:?} ended with {code:?} and wrote\n{stdout}\ninstead of{expected}\nand on stderr\n{stderr}"
            ));
        }
    }
    Ok(())
}
