//! Real servers for the tests to speak to, from Debian's packages: free ports, a directory of their own, gone at the end.
//!
//! Must not know what is tested with them. Invariant: a service ends with the value that started it, and also when the test
//! process is killed: each runs below a shell that ends it when the pipe from the test closes.

mod delay;
mod fpm;
mod mariadb;
mod mongodb;
mod openldap;
mod postgres;
mod rabbitmq;
mod reverse_proxy;
mod simple;
mod tls;
mod upstream;

use std::fs::File;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

pub use delay::Delay;
pub use fpm::{Fpm, is_own};
pub use mariadb::MariaDb;
pub use mongodb::MongoDb;
pub use openldap::OpenLdap;
pub use postgres::Postgres;
pub use rabbitmq::RabbitMq;
pub use reverse_proxy::ReverseProxy;
pub use simple::{Memcached, Redis};
pub use tls::Certificate;
pub use upstream::Upstream;

use crate::wait::{until, until_within};

/// Runs the rest of its arguments in the background and ends it, by the signal that is its first one, once stdin closes;
/// then whoever is left in its process group, which is its own.
const KEEPER: &str =
    r#"signal=$1; shift; "$@" </dev/null & read -r _; kill -s "$signal" $!; wait $!; kill -s KILL 0"#;

/// Debian's user and group without rights (base-passwd).
const NOBODY: &str = "65534";

/// What a service may take to start: RabbitMQ takes six seconds of a machine's undivided attention.
const START_PATIENCE: Duration = Duration::from_secs(180);

/// A service to be started: its directory and, by and by, its command.
#[derive(Debug)]
pub struct Setup {
    directory: tempfile::TempDir,
    is_nobody: bool,
}

/// A started service.
#[derive(Debug)]
pub struct Service {
    directory: tempfile::TempDir,
    keeper: Child,
}

impl Setup {
    /// A service with a directory of its own.
    ///
    /// # Panics
    /// When there can be no directory.
    pub fn new() -> Setup {
        let directory = tempfile::Builder::new().prefix("weft-test-").tempdir();
        Setup { directory: directory.expect("a temporary directory"), is_nobody: false }
    }

    /// A service that refuses to run as root: it runs as nobody when the test is root. The directory is nobody's.
    ///
    /// # Panics
    /// When root cannot give a directory away.
    pub fn without_root() -> Setup {
        let mut setup = Setup::new();
        if rustix::process::geteuid().is_root() {
            setup.is_nobody = true;
            setup.give("");
        }
        setup
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// A path in its directory, as text.
    pub fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    /// Adds a file to its directory, readable for its user only.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.directory.path().join(name), text).expect("the service's own file");
    }

    /// Makes a file of its directory the property of the service's user.
    ///
    /// # Panics
    /// When that is not allowed.
    pub fn give(&self, name: &str) {
        if self.is_nobody {
            let given = Command::new("chown").arg(format!("{NOBODY}:{NOBODY}")).arg(self.path(name)).status();
            assert!(given.is_ok_and(|status| status.success()), "{name:?} cannot be given to nobody");
        }
    }

    /// A command as the service's user in its directory.
    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut words = vec![program];
        words.extend(arguments);
        if self.is_nobody {
            words.splice(0..0, ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]);
        }
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir(self.directory.path()).env("HOME", self.directory.path());
        // A server that starts removes what it takes for its own leftovers.
        command.env("TMPDIR", self.directory.path()).stdin(Stdio::null());
        command
    }

    /// Runs a command to its end, as the service's user. It ends by itself, late on a busy machine.
    ///
    /// # Panics
    /// When it fails; with what it said.
    pub fn run(&self, program: &str, arguments: &[&str]) {
        let output = self.command(program, arguments).output().expect("a program of the system");
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&said));
    }

    /// Starts it in the foreground of a keeper, which ends it by `signal` ("KILL", "QUIT").
    ///
    /// # Panics
    /// When the shell cannot be run.
    pub fn start(
        self,
        signal: &str,
        environment: &[(&str, &str)],
        program: &str,
        arguments: &[&str],
    ) -> Service {
        let service = self.command(program, arguments);
        let log = File::create(self.directory.path().join("service.log")).expect("the service's log");
        let mut keeper = Command::new("sh");
        keeper
            .args(["-c", KEEPER, "keeper", signal])
            .arg(service.get_program())
            .args(service.get_args())
            .current_dir(self.directory.path())
            .env("HOME", self.directory.path())
            .env("TMPDIR", self.directory.path())
            .envs(environment.iter().copied())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(log.try_clone().expect("a descriptor"))
            .stderr(log);
        let keeper = keeper.spawn().expect("a shell");
        Service { directory: self.directory, keeper }
    }
}

impl Default for Setup {
    fn default() -> Setup {
        Setup::new()
    }
}

impl Service {
    /// Waits until it is ready.
    ///
    /// # Panics
    /// When it is not in time; with its log.
    pub fn wait_until(self, ready: impl Fn() -> bool) -> Service {
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            until_within(START_PATIENCE, "a service to be ready", || ready().then_some(()));
        }));
        assert!(found.is_ok(), "the service said:\n{}", self.log());
        self
    }

    /// Waits until it listens on a port of the loopback.
    ///
    /// # Panics
    /// As [`Service::wait_until`].
    pub fn wait_for_port(self, port: u16) -> Service {
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        self.wait_until(|| TcpStream::connect(address).is_ok())
    }

    /// A path in its directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.path("service.log")).unwrap_or_default()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        // It has its end from the keeper now; whoever ignores it goes with the group.
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            until("a service's end", || self.keeper.try_wait().expect("it is our child"));
        }));
        if let Some(group) = Pid::from_raw(self.keeper.id() as i32) {
            // Nobody may be left in it.
            let _ = kill_process_group(group, Signal::KILL);
        }
        if ended.is_err() {
            let _ = self.keeper.wait();
        }
    }
}

/// A port of the loopback that was free a moment ago: for services that cannot be told to let the kernel choose.
///
/// It is none of those that the kernel gives to connections (32768 and above: `ip_local_port_range`, ip(7)). One of them could be given to
/// somebody else before the service has it, or while it is down: also to whoever tries to reach it, who then reaches himself.
///
/// # Panics
/// When there is none.
pub fn free_port() -> u16 {
    const FIRST: u32 = 10_000;
    const COUNT: u32 = 20_000;
    static TRIED: AtomicU32 = AtomicU32::new(0);
    // Tests of other processes begin elsewhere.
    let begin = std::process::id().wrapping_mul(127);
    let mut ports = (0..COUNT).map(|_| {
        let number = begin.wrapping_add(TRIED.fetch_add(1, Ordering::Relaxed));
        (FIRST + number % COUNT) as u16
    });
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("a free port")
}
