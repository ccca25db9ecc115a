//! A position in an array of iovec, for calls that continue after a partial result.
#![allow(unsafe_code)]

use libc::{c_int, iovec, msghdr};

/// The rest of what an iovec array describes.
pub struct Vectors {
    rest: Vec<iovec>,
    first: usize,
}

impl Vectors {
    /// Copies the array.
    ///
    /// # Safety
    /// `vectors` must point to `count` entries.
    pub unsafe fn new(vectors: *const iovec, count: usize) -> Vectors {
        let rest = match count {
            0 => Vec::new(),
            // SAFETY: by contract.
            _ => unsafe { std::slice::from_raw_parts(vectors, count) }.to_vec(),
        };
        Vectors { rest, first: 0 }
    }

    /// Copies the array of a message.
    ///
    /// # Safety
    /// `message` must be a valid msghdr.
    pub unsafe fn of_message(message: *const msghdr) -> Vectors {
        // SAFETY: by contract.
        unsafe { Vectors::new((*message).msg_iov, (*message).msg_iovlen) }
    }

    /// Skips the bytes that are done.
    pub fn advance(&mut self, mut bytes: usize) {
        while let Some(vector) = self.rest.get_mut(self.first) {
            let taken = bytes.min(vector.iov_len);
            vector.iov_base = vector.iov_base.wrapping_byte_add(taken);
            vector.iov_len -= taken;
            bytes -= taken;
            if vector.iov_len > 0 {
                return;
            }
            self.first += 1;
        }
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.first == self.rest.len()
    }

    /// The rest.
    pub fn as_slice(&self) -> &[iovec] {
        &self.rest[self.first..]
    }

    /// A message of the rest, without address and control data. It borrows by pointer: use it before the next advance.
    pub fn message(&mut self) -> msghdr {
        // SAFETY: the all-zero msghdr is valid and empty.
        let mut message: msghdr = unsafe { std::mem::zeroed() };
        let rest = &mut self.rest[self.first..];
        message.msg_iov = rest.as_mut_ptr();
        message.msg_iovlen = rest.len() as _;
        message
    }

    /// How many bytes an array describes.
    ///
    /// # Safety
    /// `vectors` must point to `count` entries.
    pub unsafe fn total(vectors: *const iovec, count: c_int) -> usize {
        // SAFETY: by contract.
        (0..count.max(0) as usize).map(|index| unsafe { (*vectors.add(index)).iov_len }).sum()
    }
}
