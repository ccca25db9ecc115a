//! systemd's readiness protocol: datagrams to the socket named by `NOTIFY_SOCKET` (sd_notify(3)).
//!
//! Must not know why a state changes. Invariant: without systemd every call does nothing; a notification takes at
//! most a tenth of a second.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, sendto, socket_with};
use rustix::time::{ClockId, clock_gettime};

const ALIVE: &str = "WATCHDOG=1";
/// How long a busy manager has to make room, once.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// The service manager, if there is one.
#[derive(Debug)]
pub struct Notify {
    peer: Option<(OwnedFd, SocketAddrUnix)>,
    /// How often the manager expects `WATCHDOG=1`, halved as sd_watchdog_enabled(3) recommends.
    pub watchdog: Option<Duration>,
}

impl Notify {
    /// Reads `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`.
    pub fn from_environment() -> Self {
        let peer = std::env::var_os("NOTIFY_SOCKET").and_then(|name| connect(name.as_bytes()));
        let variable = |name| std::env::var(name).ok()?.parse::<u64>().ok();
        let ours = variable("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        let every = variable("WATCHDOG_USEC").filter(|usec| ours && *usec > 0 && peer.is_some());
        Notify { peer, watchdog: every.map(|usec| Duration::from_micros(usec / 2)) }
    }

    /// Serving.
    pub fn ready(&self, status: &str) {
        self.send(&format!("READY=1\nMAINPID={}\nSTATUS={status}", std::process::id()));
    }

    /// A reload began; the time distinguishes it from an earlier one (Type=notify-reload).
    pub fn reloading(&self) {
        let now = clock_gettime(ClockId::Monotonic);
        let usec = now.tv_sec * 1_000_000 + now.tv_nsec / 1_000;
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={usec}\nSTATUS=reloading"));
    }

    /// Draining.
    pub fn stopping(&self) {
        self.send("STOPPING=1\nSTATUS=finishing running requests");
    }

    /// Still alive.
    pub fn alive(&self) {
        self.send(ALIVE);
    }

    fn send(&self, text: &str) {
        if let Some((socket, address)) = &self.peer {
            let attempt =
                || sendto(socket, text.as_bytes(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT, address);
            if attempt() == Err(Errno::AGAIN) && text != ALIVE {
                // Its queue is full (net.unix.max_dgram_qlen): a state, unlike a heartbeat, is sent only once. On an
                // unconnected socket there is no event for room in a peer's queue, hence the pause.
                std::thread::sleep(RETRY_AFTER);
                // If the manager does not listen, that is not a reason to fail.
                let _ = attempt();
            }
        }
    }
}

fn connect(name: &[u8]) -> Option<(OwnedFd, SocketAddrUnix)> {
    let address = match name.strip_prefix(b"@") {
        Some(abstract_name) => SocketAddrUnix::new_abstract_name(abstract_name),
        None => SocketAddrUnix::new(name),
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Some((socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None).ok()?, address.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::master::testing::Directory;

    #[test]
    fn a_manager_hears_ready_with_pid_and_status() {
        let directory = Directory::new();
        let path = directory.path().join("notify");
        let manager = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
        let notify = Notify { peer: connect(path.as_os_str().as_bytes()), watchdog: None };
        notify.ready("4 workers");
        notify.reloading();
        let mut packet = [0; 256];
        let length = manager.recv(&mut packet).unwrap();
        let expected = format!("READY=1\nMAINPID={}\nSTATUS=4 workers", std::process::id());
        assert_eq!(&packet[..length], expected.as_bytes());
        let length = manager.recv(&mut packet).unwrap();
        assert!(packet[..length].starts_with(b"RELOADING=1\nMONOTONIC_USEC="));
    }

    #[test]
    fn without_a_manager_nothing_happens() {
        Notify { peer: None, watchdog: None }.ready("4 workers");
        Notify { peer: connect(b"/nonexistent/notify"), watchdog: None }.stopping();
    }
}
