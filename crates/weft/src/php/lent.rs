//! What is lent to PHP until its next question: a name, and bytes.
//!
//! Must not know what they are. Invariant: each stays where it is until another one takes its place.

use std::cell::RefCell;

use weft_zend::Slice;

/// What is lent to PHP until its next question.
#[derive(Default)]
pub struct Lent {
    name: RefCell<String>,
    data: RefCell<Vec<u8>>,
}

impl Lent {
    /// Lends a name.
    pub fn name(&self, name: String) -> Slice {
        *self.name.borrow_mut() = name;
        Slice::of(self.name.borrow().as_bytes())
    }

    /// Lends bytes.
    pub fn data(&self, data: Vec<u8>) -> Slice {
        *self.data.borrow_mut() = data;
        Slice::of(&self.data.borrow())
    }
}
