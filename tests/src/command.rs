//! Runs the weft binary to its end.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::wait::{PATIENCE, until};

/// The result of a command that has ended.
#[derive(Debug)]
pub struct Output {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Its output on stdout.
    pub stdout: String,
    /// Its output on stderr.
    pub stderr: String,
}

/// The binary under test: `BINARY_UNDER_TEST`, or the one cargo built beside this test.
///
/// # Panics
/// If neither exists.
pub fn binary() -> PathBuf {
    let path = match std::env::var_os("BINARY_UNDER_TEST") {
        Some(path) => PathBuf::from(path),
        None => {
            let test = std::env::current_exe().expect("a test knows its own path");
            test.ancestors().nth(2).expect("a test lies in target/<profile>/deps").join("weft")
        }
    };
    assert!(path.is_file(), "{} is missing: cargo build -p weft makes it", path.display());
    path
}

/// A command of the binary in `directory`, without settings from the tester's environment.
pub fn command(directory: &Path) -> Command {
    let mut command = Command::new(binary());
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("WEFT_")) {
        command.env_remove(name);
    }
    command.env_remove("NOTIFY_SOCKET").env("PWD", directory).current_dir(directory).stdin(Stdio::null());
    command
}

/// Writes a program that can be executed at once; one that is there is replaced as an installation does.
///
/// Another process writes it. A descriptor that this one had open for writing would be inherited by whatever a
/// neighbouring test forks meanwhile, and executing the program would fail with ETXTBSY (execve(2)).
///
/// # Panics
/// If it cannot be written.
pub fn write_program(path: &Path, mut content: impl Read) {
    const WRITE: &str = r#"cat > "$0.aside" && chmod 755 "$0.aside" && mv -f "$0.aside" "$0""#;
    let mut shell = Command::new("sh")
        .args(["-c", WRITE])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("there is a shell");
    std::io::copy(&mut content, &mut shell.stdin.take().expect("piped")).expect("the shell reads it");
    assert!(shell.wait().is_ok_and(|status| status.success()), "{} cannot be written", path.display());
}

/// Runs `weft` with these arguments in `directory`.
///
/// # Panics
/// If the command does not end in time.
pub fn weft(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = command(directory);
    finish(command.args(arguments))
}

/// Runs a command to its end and captures its output.
///
/// # Panics
/// If the command cannot be started, or does not end in time. It is then killed.
pub fn finish(command: &mut Command) -> Output {
    let shown = format!("{command:?}");
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    let (stdout, stderr) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let (stdout, stderr) = (reader(stdout), reader(stderr));
    let deadline = Instant::now() + PATIENCE / 2;
    let status = until(&shown, || {
        if Instant::now() > deadline {
            // The command may end at this moment; then the next look notices it.
            let _ = child.kill();
        }
        child.try_wait().expect("it is our child")
    });
    let text = |bytes: std::thread::JoinHandle<Vec<u8>>| {
        // A process that the command left behind may hold the other end.
        until(&format!("the end of what {shown} writes"), || bytes.is_finished().then_some(()));
        String::from_utf8_lossy(&bytes.join().expect("a reader does not panic")).into_owned()
    };
    Output { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
}

fn reader(mut from: impl std::io::Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // The bytes read before an error are kept.
        let _ = from.read_to_end(&mut bytes);
        bytes
    })
}
