//! A log's bytes between the code that writes lines and the thread that writes the file.
//!
//! Must not know what a line means. Invariant: a caller never waits for a file. It appends to memory of at most
//! `bytes_max`; lines that do not fit are dropped, counted, and reported in the log once there is room again.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::output::Output;

/// A bounded queue of finished lines for one output or several, with its writer thread.
#[derive(Debug)]
pub struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    bytes_max: usize,
}

#[derive(Debug, Default)]
struct State {
    /// Of each output.
    lines: Vec<Vec<u8>>,
    /// Of all outputs together.
    bytes: usize,
    dropped: u64,
    reopen: bool,
    closing: bool,
    closed: bool,
}

/// The line with which a log reports dropped lines.
pub type DroppedLine = Box<dyn Fn(u64) -> String + Send>;

impl Queue {
    /// Starts the writer thread. `linger` is how long lines may collect, so that a busy log costs one write per
    /// batch.
    ///
    /// # Errors
    /// The kernel's error, if no thread can be started.
    pub fn start(
        name: &str,
        outputs: Vec<Output>,
        bytes_max: usize,
        linger: Duration,
        dropped_line: DroppedLine,
    ) -> std::io::Result<Arc<Self>> {
        let state = State { lines: vec![Vec::new(); outputs.len()], ..State::default() };
        let queue = Arc::new(Queue { state: Mutex::new(state), changed: Condvar::new(), bytes_max });
        let own = Arc::clone(&queue);
        let thread = std::thread::Builder::new().name(name.to_string());
        // Otherwise the kernel may give it one of the worker's signals, whose handler it must not run.
        weft_rt::hook::with_signals_blocked(|| {
            thread.spawn(move || own.write_all(outputs, linger, &dropped_line))
        })?;
        Ok(queue)
    }

    /// Appends one line, formatted by `format`, for the output with this number. The line is dropped if the queue is full.
    pub fn push(&self, output: usize, format: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.lock();
        let state = &mut *state;
        let Some(lines) = state.lines.get_mut(output) else { return };
        let (before, own) = (state.bytes, lines.len());
        if before < self.bytes_max {
            format(lines);
        }
        let after = before + lines.len() - own;
        if before >= self.bytes_max || after > self.bytes_max {
            lines.truncate(own);
            state.dropped += 1;
            return;
        }
        state.bytes = after;
        // The thread sleeps only while the queue is empty, or lingers until it is half full.
        if before == 0 || (before < self.bytes_max / 2 && after >= self.bytes_max / 2) {
            self.changed.notify_all();
        }
    }

    /// Tells the thread to reopen its file.
    pub fn reopen(&self) {
        self.lock().reopen = true;
        self.changed.notify_all();
    }

    /// Waits until everything is written, for at most `patience`; the queue must not be used afterwards.
    pub fn finish(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        let mut state = self.lock();
        state.closing = true;
        self.changed.notify_all();
        while !state.closed {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code here panics while it holds the lock; a poisoned log is still a log.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The writer thread.
    fn write_all(&self, mut outputs: Vec<Output>, linger: Duration, dropped_line: &DroppedLine) {
        let mut batch = vec![Vec::new(); outputs.len()];
        let mut lost = 0;
        loop {
            let (dropped, reopen, closing) = self.next_batch(&mut batch, linger);
            if reopen {
                outputs.iter_mut().for_each(Output::reopen);
            }
            lost += dropped;
            let first = outputs.first();
            let tell = |output: &Output| output.target().write(dropped_line(lost).as_bytes()).is_ok();
            if lost > 0 && first.is_some_and(tell) {
                lost = 0;
            }
            for (output, lines) in outputs.iter().zip(&mut batch).filter(|(_, lines)| !lines.is_empty()) {
                if output.target().write(lines).is_err() {
                    lost += lines.iter().filter(|byte| **byte == b'\n').count() as u64;
                }
                lines.clear();
                if lines.capacity() > self.bytes_max / outputs.len() {
                    *lines = Vec::new(); // each of many could keep as much as all may have
                }
            }
            if closing {
                break;
            }
        }
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Waits for work; swaps the lines into the empty `batch`, so that the lock is held only briefly.
    fn next_batch(&self, batch: &mut Vec<Vec<u8>>, linger: Duration) -> (u64, bool, bool) {
        let mut state = self.lock();
        while state.bytes == 0 && !state.reopen && !state.closing {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if !linger.is_zero() && !state.closing && !state.reopen && state.bytes < self.bytes_max / 2 {
            state = self.changed.wait_timeout(state, linger).unwrap_or_else(PoisonError::into_inner).0;
        }
        std::mem::swap(&mut state.lines, batch);
        state.bytes = 0;
        (std::mem::take(&mut state.dropped), std::mem::take(&mut state.reopen), state.closing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LogTarget;
    use crate::master::testing::Directory;

    fn queue(directory: &Directory, bytes_max: usize) -> (Arc<Queue>, std::path::PathBuf) {
        let path = directory.path().join("log");
        let output = Output::open(&LogTarget::File(path.clone()), false).unwrap();
        let dropped = Box::new(|n| format!("{n} lines dropped\n"));
        (Queue::start("test", vec![output], bytes_max, Duration::ZERO, dropped).unwrap(), path)
    }

    #[test]
    fn lines_are_written_in_order_before_finish_returns() {
        let directory = Directory::new();
        let (queue, path) = queue(&directory, 1 << 20);
        let expected: String = (0..1000).map(|i| format!("line {i}\n")).collect();
        for i in 0..1000 {
            queue.push(0, |line| line.extend_from_slice(format!("line {i}\n").as_bytes()));
        }
        queue.finish(Duration::from_secs(60));
        assert_eq!(std::fs::read_to_string(path).unwrap(), expected);
    }

    #[test]
    fn a_line_without_room_is_counted_and_told() {
        let directory = Directory::new();
        let (queue, path) = queue(&directory, 64);
        queue.push(0, |line| line.extend_from_slice(&[b'x'; 100]));
        queue.push(0, |line| line.extend_from_slice(b"fits\n"));
        queue.finish(Duration::from_secs(60));
        assert_eq!(std::fs::read_to_string(path).unwrap(), "1 lines dropped\nfits\n");
    }

    #[test]
    fn a_renamed_file_is_left_after_reopen() {
        let directory = Directory::new();
        let (queue, path) = queue(&directory, 1 << 20);
        let rotated = path.with_extension("1");
        std::fs::rename(&path, &rotated).unwrap();
        queue.reopen();
        while !path.exists() {
            std::thread::yield_now();
        }
        queue.push(0, |line| line.extend_from_slice(b"new\n"));
        queue.finish(Duration::from_secs(60));
        assert_eq!(std::fs::read_to_string(path).unwrap(), "new\n");
        assert_eq!(std::fs::read_to_string(rotated).unwrap(), "");
    }
}
