//! Real servers for the tests, from Debian's packages: each uses free ports and its own directory, and is gone at the
//! end.
//!
//! Must not know what is tested with them. Invariant: a service ends with the value that started it. It also ends if
//! the test process is killed: each runs below a shell that ends it when the pipe from the test closes.

mod authority;
mod backplane;
mod collector;
mod delay;
mod fpm;
mod mariadb;
mod mongodb;
mod openldap;
mod pebble;
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

pub use authority::Authority;
pub use backplane::{Backplane, Kind};
pub use collector::Collector;
pub use delay::Delay;
pub use fpm::{Fpm, is_own};
pub use mariadb::MariaDb;
pub use mongodb::MongoDb;
pub use openldap::OpenLdap;
pub use pebble::{Pebble, PebbleSettings};
pub use postgres::Postgres;
pub use rabbitmq::RabbitMq;
pub use reverse_proxy::ReverseProxy;
pub use simple::{Memcached, Redis, Snmpd};
pub use tls::Certificate;
pub use upstream::Upstream;

use crate::wait::{until, until_within};

/// Runs its remaining arguments in the background. Once stdin closes, it ends that program with the signal given first,
/// then kills the rest of its process group, which belongs to it alone.
const KEEPER: &str =
    r#"signal=$1; shift; "$@" </dev/null & read -r _; kill -s "$signal" $!; wait $!; kill -s KILL 0"#;

/// Debian's user and group without privileges (base-passwd).
const NOBODY: &str = "65534";

/// How long a service may take to start. RabbitMQ takes six seconds on an otherwise idle machine.
const START_PATIENCE: Duration = Duration::from_secs(180);

/// A service to be started: its directory and, later, its command.
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
    /// A service with its own directory.
    ///
    /// # Panics
    /// If the directory cannot be created.
    pub fn new() -> Setup {
        let directory = tempfile::Builder::new().prefix("weft-test-").tempdir();
        Setup { directory: directory.expect("a temporary directory"), is_nobody: false }
    }

    /// A service that refuses to run as root. If the test is root, the service runs as the user nobody, who owns
    /// its directory.
    ///
    /// # Panics
    /// If root cannot give a directory away.
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

    /// Adds a file to its directory that only the service's user can read.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.directory.path().join(name), text).expect("the service's own file");
    }

    /// Gives a file of its directory to the service's user.
    ///
    /// # Panics
    /// If that is not allowed.
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
        // A starting server deletes what it takes for its own leftovers.
        command.env("TMPDIR", self.directory.path()).stdin(Stdio::null());
        command
    }

    /// Runs a command to its end, as the service's user. There is no deadline, because a busy machine is slow.
    ///
    /// # Panics
    /// If the command fails; the message holds its output.
    pub fn run(&self, program: &str, arguments: &[&str]) {
        let output = self.command(program, arguments).output().expect("a program of the system");
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&said));
    }

    /// Starts the service below a keeper, which ends it with `signal` ("KILL", "QUIT").
    ///
    /// # Panics
    /// If the shell cannot be run.
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
    /// Waits until the service is ready.
    ///
    /// # Panics
    /// If it is not ready in time; the message holds its log.
    pub fn wait_until(self, ready: impl Fn() -> bool) -> Service {
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            until_within(START_PATIENCE, "a service to be ready", || ready().then_some(()));
        }));
        assert!(found.is_ok(), "the service said:\n{}", self.log());
        self
    }

    /// Waits until the service listens on a port of the loopback.
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
        // The keeper has signalled the service; a process that ignores the signal is killed with the group.
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            until("a service's end", || self.keeper.try_wait().expect("it is our child"));
        }));
        if let Some(group) = Pid::from_raw(self.keeper.id() as i32) {
            // No process may be left in the group.
            let _ = kill_process_group(group, Signal::KILL);
        }
        if ended.is_err() {
            let _ = self.keeper.wait();
        }
    }
}

/// A port of the loopback that was free a moment ago, for services that cannot let the kernel choose one.
///
/// The port lies below the range that the kernel assigns to connections (32768 and above: `ip_local_port_range`,
/// ip(7)). A port of that range could be assigned to another process before the service has it, or while the service is
/// down. A client that tries to reach the service could even get it, and then reach itself.
///
/// # Panics
/// If there is none.
pub fn free_port() -> u16 {
    const FIRST: u32 = 10_000;
    const COUNT: u32 = 20_000;
    static TRIED: AtomicU32 = AtomicU32::new(0);
    // Tests of other processes begin at another port.
    let begin = std::process::id().wrapping_mul(127);
    let mut ports = (0..COUNT).map(|_| {
        let number = begin.wrapping_add(TRIED.fetch_add(1, Ordering::Relaxed));
        (FIRST + number % COUNT) as u16
    });
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("a free port")
}
