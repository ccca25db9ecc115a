//! How much of the processor another thread of this process has had.
//!
//! It must not know what the thread does. Invariant: asking disturbs the thread in nothing.

#![allow(unsafe_code)]

use std::io;
use std::time::Duration;

/// The clock of one thread.
#[derive(Debug)]
pub(crate) struct ThreadClock(libc::clockid_t);

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
        Ok(ThreadClock(clock))
    }

    /// The processor time that it has had.
    pub fn used(&self) -> Duration {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the time is a live place for the answer. If the thread has ended, it stays zero.
        unsafe { libc::clock_gettime(self.0, &raw mut time) };
        Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::sync::mpsc::channel;

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
