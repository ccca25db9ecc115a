//! How much of the processor another thread of this process has had, and whether it wants more.
//!
//! It must not know what the thread does. Invariant: asking disturbs the thread in nothing.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};

/// The clock of one thread.
#[derive(Debug)]
pub(crate) struct ThreadClock {
    clock: libc::clockid_t,
    /// Its `stat` (proc_pid_stat(5)); `None` where there is no /proc.
    stat: Option<OwnedFd>,
}

impl ThreadClock {
    /// That of the calling thread.
    ///
    /// # Errors
    /// Those of pthread_getcpuclockid(3).
    pub fn of_this_thread() -> io::Result<ThreadClock> {
        let mut clock = 0;
        // SAFETY: the calling thread exists, and the clock is a live place for the answer.
        let error = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
        if error != 0 {
            return Err(io::Error::from_raw_os_error(error));
        }
        let path = format!("/proc/self/task/{}/stat", rustix::thread::gettid().as_raw_nonzero());
        let stat = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok();
        Ok(ThreadClock { clock, stat })
    }

    /// The processor time that it has had.
    pub fn used(&self) -> Duration {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the time is a live place for the answer. If the thread has ended, it stays zero.
        unsafe { libc::clock_gettime(self.clock, &raw mut time) };
        Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
    }

    /// Whether it has a processor, or waits for one and for nothing else.
    pub fn is_runnable(&self) -> bool {
        let mut text = [0; 64];
        let read = self.stat.as_ref().and_then(|stat| rustix::io::pread(stat, &mut text, 0).ok());
        // The name, in brackets, may hold brackets and spaces; it has 15 bytes at most.
        let state = text[..read.unwrap_or(0)].rsplit(|byte| *byte == b')').next();
        state.is_some_and(|rest| rest.starts_with(b" R"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::sync::mpsc::channel;

    #[test]
    fn a_thread_that_computes_is_runnable_and_one_that_waits_is_not() {
        let (tell, told) = channel();
        let (end, ends) = channel::<()>();
        let thread = std::thread::Builder::new().name("a) (b".to_owned());
        let thread = thread.spawn(move || {
            let clock = ThreadClock::of_this_thread().unwrap();
            assert!(clock.is_runnable());
            tell.send(clock).unwrap();
            let _ = ends.recv();
        });
        let clock = told.recv().unwrap();
        while clock.is_runnable() {
            std::thread::yield_now();
        }
        end.send(()).unwrap();
        thread.unwrap().join().unwrap();
    }

    #[test]
    fn the_clock_of_a_thread_stands_still_while_it_waits() {
        static COMPUTES: AtomicBool = AtomicBool::new(true);
        let (tell, told) = channel();
        let (end, ends) = channel::<()>();
        let thread = std::thread::spawn(move || {
            tell.send(ThreadClock::of_this_thread().unwrap()).unwrap();
            while COMPUTES.load(Relaxed) {
                std::hint::spin_loop();
            }
            let _ = ends.recv();
        });
        let clock = told.recv().unwrap();
        let begun = clock.used();
        while clock.used() < begun + Duration::from_millis(20) {}
        COMPUTES.store(false, Relaxed);
        let mut last = clock.used();
        loop {
            std::thread::yield_now();
            let now = clock.used();
            if now == last {
                break;
            }
            last = now;
        }
        end.send(()).unwrap();
        thread.join().unwrap();
    }
}
