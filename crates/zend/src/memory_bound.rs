//! Whether there is memory for one more request, in a worker with instances.
//!
//! The check counts the resident memory of the process and the memory that the requests in flight will still need: each
//! is assumed to need what the largest recent one did. Reading the former costs up to three system calls, so it is read
//! only when the heaps have grown enough since to matter, and from time to time.
//!
//! Must not know which requests wait, or in what order. Invariant: nothing is refused while there is room according to
//! the last reading.
#![allow(unsafe_code)]

use std::cell::Cell;

use weft_rt::memory::resident_bytes;

use crate::sys;

/// The maximum of checks that use one reading, because memory outside of heaps grows, too.
const QUESTIONS_MAX: u32 = 256;

/// The limit on a worker's memory.
#[derive(Debug)]
pub(crate) struct MemoryBound {
    bytes_max: u64,
    resident: Cell<u64>,
    /// Address space of the heaps at the last reading.
    heaps: Cell<u64>,
    questions: Cell<u32>,
}

impl MemoryBound {
    pub(crate) fn new(bytes_max: u64) -> MemoryBound {
        MemoryBound {
            bytes_max,
            resident: Cell::new(0),
            heaps: Cell::new(0),
            questions: Cell::new(QUESTIONS_MAX),
        }
    }

    /// Whether one more request fits. If not, idle instances have returned what they can.
    pub(crate) fn has_room(&self) -> bool {
        if self.questions.get() < QUESTIONS_MAX && self.fits() {
            self.questions.set(self.questions.get() + 1);
            return true;
        }
        self.read();
        if self.fits() {
            return true;
        }
        // SAFETY: on the engine's thread; on a coroutine it does nothing.
        unsafe { sys::weft_instances_relieve() };
        self.read();
        self.fits()
    }

    fn fits(&self) -> bool {
        // SAFETY: reads counters.
        let figures = unsafe { sys::weft_instances_report() };
        let grown = figures.heap_bytes.saturating_sub(self.heaps.get());
        let needed = figures.promised_bytes + figures.typical_bytes;
        self.resident.get() + grown + needed <= self.bytes_max
    }

    fn read(&self) {
        // SAFETY: reads counters.
        self.heaps.set(unsafe { sys::weft_instances_report() }.heap_bytes);
        self.resident.set(resident_bytes());
        self.questions.set(0);
    }
}
