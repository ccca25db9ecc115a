//! A worker that answers every connection with one fixed response: what the master's lifecycle needs to be tried out
//! before PHP is linked.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, poll};

use crate::master::WorkerSetup;
use crate::master::control::{Received, ToMaster, ToWorker};

/// Serves until it is told to drain or its master is gone.
pub fn run(setup: WorkerSetup) -> ExitCode {
    let _ = setup.control.send(&ToMaster::Ready);
    loop {
        let mut fds = vec![PollFd::from_borrowed_fd(setup.control.fd(), PollFlags::IN)];
        fds.extend(setup.listeners.iter().map(|l| PollFd::from_borrowed_fd(l.fd.as_fd(), PollFlags::IN)));
        let _ = poll(&mut fds, None);
        match setup.control.receive() {
            Received::Message(ToWorker::ReopenLogs) => crate::log::reopen(),
            Received::Message(_) | Received::Closed => return ExitCode::SUCCESS,
            Received::Nothing => {}
        }
        for listener in &setup.listeners {
            while let Ok(socket) = rustix::net::accept(&listener.fd) {
                let mut socket = std::net::TcpStream::from(socket);
                let mut head = [0; 4096];
                let _ = socket.read(&mut head);
                let body = format!("{} {} {}\n", setup.generation, setup.slot, std::process::id());
                let _ = write!(
                    socket,
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                );
            }
        }
    }
}
