//! A terminal in which the binary runs: what it shows at this moment, and keys for it.
//!
//! Must not know what is shown. Invariant: the process ends with its terminal.

use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::command::{binary, command};
use crate::wait::until;

/// A terminal with 40 lines of 120 characters, and who runs in it.
pub struct Terminal {
    /// The keyboard, and what goes to the screen.
    master: OwnedFd,
    /// Kept open, so that its modes can be seen at the end.
    slave: OwnedFd,
    child: Child,
    screen: vt100::Parser,
}

impl Terminal {
    /// Runs `weft` with these arguments in `directory`; it is the leader of a session of its own.
    ///
    /// # Panics
    /// If there is no terminal, or the command cannot be started.
    pub fn run(directory: &Path, arguments: &[&str]) -> Terminal {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("it is ours");
        let size = (NonZero::new(40).expect("not 0"), NonZero::new(120).expect("not 0"));
        let winsize = Winsize { ws_row: size.0.get(), ws_col: size.1.get(), ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, winsize).expect("it has a size");
        let name = ptsname(&master, Vec::new()).expect("it has a name");
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave = openat(CWD, &name, flags, Mode::empty()).expect("its other end");
        let end = || Stdio::from(slave.try_clone().expect("a descriptor"));
        let plain = command(directory);
        let removed = plain.get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name);
        let mut command = Command::new("setsid");
        for name in removed {
            command.env_remove(name);
        }
        command.arg("--ctty").arg(binary()).args(arguments).current_dir(directory);
        command.env("TERM", "xterm-256color").env_remove("NO_COLOR").stdin(end()).stdout(end()).stderr(end());
        let child = command.spawn().expect("util-linux has setsid");
        Terminal { master, slave, child, screen: vt100::Parser::new(size.0, size.1, 0) }
    }

    /// Presses keys.
    ///
    /// # Panics
    /// If the terminal takes none.
    pub fn press(&self, keys: &str) {
        let count = rustix::io::write(&self.master, keys.as_bytes()).expect("the terminal takes keys");
        assert_eq!(count, keys.len());
    }

    /// Waits until the screen shows something that `look` wants, and returns that.
    ///
    /// # Panics
    /// If it does not in time.
    pub fn wait_for<T>(&mut self, what: &str, mut look: impl FnMut(&str) -> Option<T>) -> T {
        until(what, || {
            self.receive();
            look(&self.screen.screen().contents())
        })
    }

    /// Waits until the process has ended, and returns its exit status, and whether the terminal is as it was.
    ///
    /// # Panics
    /// If it does not in time.
    pub fn wait(mut self) -> (ExitStatus, bool) {
        let status = until("it to end", || {
            self.receive();
            self.child.try_wait().expect("it is our child")
        });
        self.receive();
        let modes = tcgetattr(&self.slave).expect("a terminal has modes").local_modes;
        let is_cooked = modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
        (status, is_cooked && !self.screen.screen().alternate_screen() && !self.screen.screen().hide_cursor())
    }

    /// What has come meanwhile goes to the screen.
    fn receive(&mut self) {
        let mut bytes = [0; 4096];
        let soon = Timespec { tv_sec: 0, tv_nsec: 0 };
        while poll(&mut [PollFd::new(&self.master, PollFlags::IN)], Some(&soon)).is_ok_and(|ready| ready > 0)
        {
            // An error says that the other end is closed.
            match rustix::io::read(&self.master, &mut bytes) {
                Ok(count @ 1..) => self.screen.process(&bytes[..count]),
                _ => return,
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
