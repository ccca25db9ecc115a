//! Hosts with a network of their own: network namespaces (network_namespaces(7)), joined by a bridge.
//!
//! Must not know what runs on the hosts. Invariant: the bridge and all that is joined to it belong to a namespace of the
//! test's own process, so that nothing is left of them however that process ends.

use std::net::{IpAddr, Ipv4Addr};
use std::process::{Child, Command, Stdio};

use crate::command;
use crate::server::Server;
use crate::wait::until;

/// Tells the process of a test that it has the namespace.
const INSIDE: &str = "TEST_HAS_OWN_NETWORK";

/// The network.
#[derive(Debug)]
pub struct Network {
    has_namespaces: bool,
}

/// A host of it.
#[derive(Debug)]
pub struct Host {
    /// Its address.
    pub address: IpAddr,
    number: u8,
    /// A process that does nothing but have the namespace; it ends when its standard input does.
    holder: Option<Child>,
}

fn shell(script: &str) {
    let output = command::finish(Command::new("sh").args(["-ec", script]));
    assert_eq!(output.code, Some(0), "{script}: {}", output.stderr);
}

impl Network {
    /// Runs the calling test, whose name this is, in a process with a namespace of its own; there it returns the network,
    /// and otherwise `None` when that process has passed. Who may not make namespaces gets hosts at several addresses of
    /// the loopback, which cannot be cut off.
    ///
    /// # Panics
    /// If the test fails there.
    pub fn own(test: &str) -> Option<Network> {
        if std::env::var_os(INSIDE).is_some() {
            shell(
                "ip link set lo up; ip link add weft type bridge
                 ip address add 10.77.0.1/24 dev weft; ip link set weft up",
            );
            return Some(Network { has_namespaces: true });
        }
        let mut possible = Command::new("unshare");
        if command::finish(possible.args(["--net", "ip", "link", "add", "weft", "type", "bridge"])).code
            != Some(0)
        {
            eprintln!("{test}: no network namespaces can be made here; the hosts share the loopback");
            return Some(Network { has_namespaces: false });
        }
        let program = std::env::current_exe().expect("a test knows its own path");
        let mut inside = Command::new("setpriv");
        inside.args(["--pdeathsig", "KILL", "unshare", "--net"]).arg(program);
        inside.args(["--exact", test, "--nocapture"]).env(INSIDE, "1").stdin(Stdio::null());
        let output = inside.output().expect("setpriv");
        let said = String::from_utf8_lossy(&output.stdout);
        let complained = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("ok. 1 passed"), "{said}\n{complained}");
        None
    }

    /// Where the test itself is, and what serves all hosts.
    pub fn address(&self) -> IpAddr {
        if self.has_namespaces { Ipv4Addr::new(10, 77, 0, 1) } else { Ipv4Addr::LOCALHOST }.into()
    }

    /// A further host: `number` is 1 to 99.
    ///
    /// # Panics
    /// If it cannot be made.
    pub fn host(&self, number: u8) -> Host {
        if !self.has_namespaces {
            return Host { address: Ipv4Addr::new(127, 0, 0, 1 + number).into(), number, holder: None };
        }
        let mut holder = Command::new("unshare");
        let holder = holder.args(["--net", "cat"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        let host = Host {
            address: Ipv4Addr::new(10, 77, 0, 1 + number).into(),
            number,
            holder: Some(holder.expect("unshare")),
        };
        let namespace = |path: &str| std::fs::read_link(path).ok();
        let inside = host.namespace().expect("it has one");
        until("a namespace", || {
            let theirs = namespace(&inside)?;
            (Some(theirs) != namespace("/proc/self/ns/net")).then_some(())
        });
        shell(&format!(
            "ip link add host{number} type veth peer name eth0 netns {}
             ip link set host{number} master weft up
             nsenter --net={inside} ip link set lo up
             nsenter --net={inside} ip address add {}/24 dev eth0
             nsenter --net={inside} ip link set eth0 up",
            host.pid().expect("it has a holder"),
            host.address
        ));
        host
    }
}

impl Host {
    fn pid(&self) -> Option<u32> {
        self.holder.as_ref().map(Child::id)
    }

    fn namespace(&self) -> Option<String> {
        self.pid().map(|pid| format!("/proc/{pid}/ns/net"))
    }

    /// The server runs on this host, and listens at a port of its address.
    pub fn of(&self, server: Server) -> Server {
        let server = server.with("--listen", &format!("{}:0", self.address));
        let Some(namespace) = self.namespace() else { return server };
        let program = server.directory().join("weft-of-host");
        let script =
            format!("#!/bin/sh\nexec nsenter --net={namespace} {} \"$@\"\n", command::binary().display());
        command::write_program(&program, script.as_bytes());
        server.run_by(&program)
    }

    /// Takes the host off the network: nothing arrives any more, and nothing says so. False where that cannot be done.
    pub fn cut(&self) -> bool {
        self.set("down")
    }

    /// Joins it again.
    pub fn mend(&self) -> bool {
        self.set("up")
    }

    fn set(&self, state: &str) -> bool {
        if self.holder.is_some() {
            shell(&format!("ip link set host{} {state}", self.number));
        }
        self.holder.is_some()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if let Some(holder) = &mut self.holder {
            drop(holder.stdin.take());
            // It has nothing else to do.
            let _ = holder.wait();
        }
    }
}
