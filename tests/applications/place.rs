//! Where one copy of an application lives: a directory with its document root, and its database.
//!
//! Must not know any application. Invariant: a copy changes nothing outside its directory and its database.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use weft_tests::php;
use weft_tests::services::MariaDb;

pub struct Place {
    directory: tempfile::TempDir,
    /// A server of its own, whose database `weft` is empty.
    pub database: MariaDb,
}

impl Place {
    pub fn new() -> Place {
        let directory =
            tempfile::Builder::new().prefix("weft-test-").tempdir().expect("a temporary directory");
        Place { directory, database: MariaDb::start() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn docroot(&self) -> PathBuf {
        self.path("public")
    }

    /// Copies what a package has installed; symbolic links become what they point to.
    ///
    /// # Panics
    /// If it is not installed.
    pub fn copy(&self, from: &str, to: &str) {
        let done = Command::new("cp").args(["-rL", from]).arg(self.path(to)).stderr(Stdio::null()).status();
        // A package may have links to files that it does not depend on; what matters is missed by the pages.
        assert!(done.is_ok() && self.path(to).exists(), "{from}: tools/packages apps installs it");
    }

    pub fn directory(&self, name: &str) {
        std::fs::create_dir_all(self.path(name)).expect("a directory of this copy");
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a file of this copy");
    }

    /// Replaces a text in a file.
    ///
    /// # Panics
    /// If the file does not contain it: the package is another than the one this was written for.
    pub fn edit(&self, name: &str, from: &str, to: &str) {
        let text = std::fs::read_to_string(self.path(name)).expect("a file of this copy");
        assert!(text.contains(from), "{name} does not contain {from:?}");
        self.write(name, &text.replace(from, to));
    }

    /// Runs SQL, which may be the name of a file after `source`.
    pub fn sql(&self, sql: &str) {
        let mut client = Command::new("mariadb");
        client
            .args(["--no-defaults", "--user=root", "--execute", sql, "--socket"])
            .arg(self.database.socket());
        let said = client.arg("weft").output().expect("mariadb");
        assert!(said.status.success(), "{sql}: {}", String::from_utf8_lossy(&said.stderr));
    }

    /// Runs the SQL of a compressed file.
    pub fn load(&self, file: &str) {
        assert!(std::fs::exists(file).is_ok_and(|exists| exists), "{file}: tools/packages apps unpacks it");
        let mut unpacked =
            Command::new("zcat").arg(file).stdout(Stdio::piped()).spawn().expect("zcat can be run");
        let sql = unpacked.stdout.take().expect("piped");
        let mut client = Command::new("mariadb");
        client.args(["--no-defaults", "--user=root", "--default-character-set=utf8mb4", "--socket"]);
        let said = client.arg(self.database.socket()).arg("weft").stdin(sql).output().expect("mariadb");
        assert!(said.status.success(), "{file}: {}", String::from_utf8_lossy(&said.stderr));
        assert!(unpacked.wait().is_ok_and(|status| status.success()), "{file} cannot be unpacked");
    }

    /// Runs a script of the application by PHP's command.
    pub fn run(&self, arguments: &[&str], input: &str) {
        let mut child = php::command()
            .args(["-d", "sendmail_path=/bin/true"])
            .args(arguments)
            .current_dir(self.path(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("PHP's command");
        std::io::Write::write_all(&mut child.stdin.take().expect("piped"), input.as_bytes())
            .expect("it reads");
        let said = child.wait_with_output().expect("it ends");
        let text = [&said.stdout[..], &said.stderr].concat();
        assert!(said.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&text));
    }

    /// A page without what differs from copy to copy.
    pub fn anonymous(&self, text: &str) -> String {
        let directory = self.path("").display().to_string();
        let text = text.replace(directory.trim_end_matches('/'), "/place");
        ["weft/", "nginx/"]
            .iter()
            .fold(text.replace(&self.database.port.to_string(), "port"), |text, server| {
                without_version(&text, server)
            })
    }
}

/// Replaces the name of a server and its version, as SERVER_SOFTWARE tells it.
fn without_version(text: &str, name: &str) -> String {
    let mut parts = text.split(name);
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kept += "server";
        kept += part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    }
    kept
}
