//! Whether there is memory for one more request, in a worker of instances.
//!
//! What counts is the resident memory of the process, and what the requests in flight will still need: each is taken to need what
//! the largest lately did. Reading the former costs a system call or three, so it is read only when the heaps have grown by
//! so much since that it could matter, and now and then.
//!
//! Must not know who waits, or in what order. Invariant: nothing is refused while there is room by the last reading.
#![allow(unsafe_code)]

use std::cell::Cell;

use weft_rt::memory::resident_bytes;

use crate::sys;

/// Questions that one reading answers at most: memory outside of heaps grows, too.
const QUESTIONS_MAX: u32 = 256;

/// The bound on a worker's memory.
#[derive(Debug)]
pub(crate) struct MemoryBound {
    bytes_max: u64,
    resident: Cell<u64>,
    /// Address space of the heaps at the reading.
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

    /// Whether one more request fits. If not, idle instances have given back what they can.
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
