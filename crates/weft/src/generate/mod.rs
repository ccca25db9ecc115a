//! `weft generate DIRECTORY`: the files that a package installs beside the binary, made from the commands and the
//! settings table. Hidden from help: packagers call it, people do not.
//!
//! Must not know the command line (it is an argument), what a setting means, or where a package puts files. Invariant:
//! the same binary writes the same bytes.

mod manual;
mod sample;

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::Command;
use clap_complete::{Generator, Shell, generate};

use crate::config::Value;

/// Runs `weft generate`: writes the manual and the completions of `whole`, the command line, and a sample configuration
/// in which the settings `given` are in force and the others are commented out.
pub fn run(directory: &Path, given: &[(&'static str, Value)], whole: &Command) -> ExitCode {
    match write_all(directory, given, whole) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("weft: cannot write into {}: {e}", directory.display());
            ExitCode::FAILURE
        }
    }
}

fn write_all(directory: &Path, given: &[(&'static str, Value)], whole: &Command) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    fs::write(directory.join("weft.toml"), sample::text(given))?;
    let command = public(whole);
    for (name, page) in manual::pages(&command)? {
        fs::write(directory.join(name), page)?;
    }
    let shells = [Shell::Bash, Shell::Zsh, Shell::Fish];
    shells.iter().try_for_each(|shell| write_completion(*shell, directory, command.clone()))
}

fn write_completion(shell: Shell, directory: &Path, mut command: Command) -> io::Result<()> {
    let mut script = Vec::new();
    generate(shell, &mut command, "weft", &mut script);
    fs::write(directory.join(shell.file_name("weft")), script)
}

/// The command line without its hidden commands, which completion would offer.
fn public(whole: &Command) -> Command {
    let public: Vec<Command> =
        whole.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    Command::new("weft")
        .about(whole.get_about().cloned().unwrap_or_default())
        .before_help(whole.get_before_help().cloned().unwrap_or_default())
        .disable_version_flag(true)
        .arg_required_else_help(true)
        .subcommand_required(true)
        .subcommands(public)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn each_file_is_written_and_names_a_flag_of_the_table() {
        let directory = crate::master::testing::Directory::new();
        write_all(directory.path(), &[], &crate::cli::Cli::command()).unwrap();
        for name in ["weft-serve.1", "weft.bash", "_weft", "weft.fish"] {
            let text = fs::read_to_string(directory.path().join(name)).unwrap();
            assert!(text.replace('\\', "").contains("idle-timeout-ms"), "{name}");
            assert!(!text.contains("generate"), "{name} offers a hidden command");
        }
        assert!(directory.path().join("weft.1").is_file());
        assert!(directory.path().join("weft.toml.5").is_file());
    }
}
