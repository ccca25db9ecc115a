//! How much of the machine's memory this process uses.
//!
//! Must not know which code asks, or what is too much. Invariant: it allocates no memory, so that its answer is the
//! same however often it is called.

use std::fs::File;
use std::io::Read;

/// Resident memory of this process in bytes, from /proc/self/statm (proc(5)); 0 if it cannot be read.
pub fn resident_bytes() -> u64 {
    let mut buffer = [0u8; 128];
    let length = File::open("/proc/self/statm").and_then(|mut file| file.read(&mut buffer)).unwrap_or(0);
    let text = std::str::from_utf8(&buffer[..length]).unwrap_or("");
    let pages: u64 = text.split(' ').nth(1).and_then(|field| field.parse().ok()).unwrap_or(0);
    pages * rustix::param::page_size() as u64
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_process_has_memory() {
        assert!(super::resident_bytes() > 100_000);
    }
}
