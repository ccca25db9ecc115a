//! MariaDB and Redis servers that are killed without warning and started again on the same port with the same data.
//!
//! Must not know what is stored in them. Invariant: they end with the value that started them, and with this
//! process.

use std::fs::File;
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tempfile::TempDir;
use weft_tests::command::finish;
use weft_tests::services::free_port;
use weft_tests::until;

/// A server and its data.
pub struct Restartable {
    /// Its port on 127.0.0.1.
    pub port: u16,
    directory: TempDir,
    arguments: Vec<String>,
    child: Option<Child>,
    /// The directory from which its data were copied.
    installed: Option<Arc<TempDir>>,
}

/// A data directory of MariaDB with the system tables, created once for all tests that need it at the same
/// time.
fn installed() -> Arc<TempDir> {
    static INSTALLED: Mutex<Weak<TempDir>> = Mutex::new(Weak::new());
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(directory) = installed.upgrade() {
        return directory;
    }
    let directory = Arc::new(temporary());
    let data = format!("--datadir={}", directory.path().join("data").display());
    let mut install = Command::new("mariadb-install-db");
    install.args(["--no-defaults", &data, "--auth-root-authentication-method=normal", "--skip-test-db"]);
    // Small, because it is copied.
    install.arg("--innodb-log-file-size=4M").env("TMPDIR", directory.path()).current_dir(directory.path());
    // There is no deadline, because a busy machine is slow.
    let output = install.output().expect("mariadb-install-db");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    *installed = Arc::downgrade(&directory);
    directory
}

fn temporary() -> TempDir {
    tempfile::Builder::new().prefix("weft-test-").tempdir().expect("a temporary directory")
}

impl Restartable {
    /// A Redis that syncs every write to disk before it answers. Not started yet.
    pub fn redis() -> Restartable {
        Restartable::redis_that_syncs("always")
    }

    /// A Redis with another setting of `appendfsync`. Not started yet.
    pub fn redis_that_syncs(when: &str) -> Restartable {
        let words = format!("redis-server --bind 127.0.0.1 --appendonly yes --appendfsync {when} --save");
        let mut redis = Restartable::new(&words, |port| format!("--port {port}"));
        redis.arguments.insert(redis.arguments.len() - 2, String::new()); // --save takes ""
        redis
    }

    /// A MariaDB with a database and a user "popup". Started.
    pub fn mariadb() -> Restartable {
        let words = "mariadbd --no-defaults --bind-address=127.0.0.1 --skip-name-resolve --innodb-buffer-pool-size=32M --innodb-log-file-size=4M \
                     --performance-schema=OFF --datadir=data --socket=socket --init-file=init.sql --user=root";
        let mut mariadb = Restartable::new(words, |port| format!("--port={port}"));
        let directory = mariadb.directory.path().to_path_buf();
        let installed = installed();
        let copied = finish(Command::new("cp").arg("-a").arg(installed.path().join("data")).arg(&directory));
        assert_eq!(copied.code, Some(0), "{}", copied.stderr);
        mariadb.installed = Some(installed);
        let init = "CREATE DATABASE IF NOT EXISTS popup;\n\
                    CREATE USER IF NOT EXISTS 'popup'@'%' IDENTIFIED BY 'secret';\nGRANT ALL ON popup.* TO 'popup'@'%';\n";
        std::fs::write(directory.join("init.sql"), init).expect("the server's own file");
        for word in &mut mariadb.arguments {
            for option in ["--datadir=", "--socket=", "--init-file="] {
                if let Some(name) = word.strip_prefix(option) {
                    *word = format!("{option}{}", directory.join(name).display());
                    break;
                }
            }
        }
        mariadb.start();
        mariadb
    }

    fn new(words: &str, port_option: impl Fn(u16) -> String) -> Restartable {
        let port = free_port();
        let option = port_option(port);
        let arguments = words.split_whitespace().chain(option.split_whitespace()).map(String::from).collect();
        Restartable { port, directory: temporary(), arguments, child: None, installed: None }
    }

    /// Starts the server, or starts it again.
    pub fn start(&mut self) {
        let log = File::options().create(true).append(true).open(self.directory.path().join("log"));
        let log = log.expect("the server's log");
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).args(&self.arguments).current_dir(self.directory.path());
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a descriptor")).stderr(log);
        self.child = Some(command.spawn().expect("setpriv"));
        until("the server to listen", || TcpStream::connect(("127.0.0.1", self.port)).ok());
    }

    /// Kills the server with SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it is our child");
            child.wait().expect("it is our child");
        }
    }

    /// Runs a statement as root; returns its output.
    pub fn sql(&self, statement: &str) -> String {
        let mut client = Command::new("mariadb");
        client.args([
            "--no-defaults",
            "-N",
            "-uroot",
            "-h127.0.0.1",
            &format!("-P{}", self.port),
            "-e",
            statement,
        ]);
        let output = finish(&mut client);
        assert_eq!(output.code, Some(0), "{statement}: {}", output.stderr);
        output.stdout
    }

    /// Queries a number from MariaDB.
    pub fn value(&self, query: &str) -> usize {
        let text = self.sql(query);
        text.trim().parse().unwrap_or_else(|_| panic!("{query}: {text:?} is no number"))
    }

    /// Deletes all data in Redis.
    pub fn forget(&self) {
        let mut client = Command::new("redis-cli");
        let output = finish(client.args(["-p", &self.port.to_string(), "FLUSHALL"]));
        assert_eq!(output.stdout.trim(), "OK", "{}", output.stderr);
    }

    /// How many clients Redis has, not counting this one.
    pub fn clients(&self) -> usize {
        self.info("clients", "connected_clients:") - 1
    }

    /// Waits until Redis has written everything it has answered so far to its file. With `everysec` it delays writes
    /// while it syncs, by two seconds at most, and would lose them if it were killed.
    pub fn wait_until_written(&self) {
        until("Redis to write", || (self.info("persistence", "aof_buffer_length:") == 0).then_some(()));
    }

    fn info(&self, section: &str, name: &str) -> usize {
        let mut client = Command::new("redis-cli");
        client.args(["-p", &self.port.to_string(), "INFO", section]);
        let text = finish(&mut client).stdout;
        let number = text.lines().find_map(|line| line.strip_prefix(name));
        number.and_then(|number| number.trim().parse().ok()).unwrap_or_else(|| panic!("no {name} in {text}"))
    }

    /// The DSN with which PDO finds the database "popup".
    pub fn dsn(&self) -> String {
        format!("mysql:host=127.0.0.1;port={};dbname=popup;charset=utf8mb4", self.port)
    }

    /// The server's address.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

impl Drop for Restartable {
    fn drop(&mut self) {
        self.kill();
    }
}
