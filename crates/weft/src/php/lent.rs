//! What is lent to PHP until its next question: a name, and bytes.
//!
//! Must not know what they are for. Invariant: each stays where it is until another one takes its place.

use std::cell::{Cell, RefCell};

use weft_serve::TunnelKey;
use weft_zend::Slice;

/// What is lent to PHP until its next question.
#[derive(Default)]
pub struct Lent {
    name: RefCell<String>,
    /// Whose name it is, if it is a connection's of this worker.
    connection: Cell<Option<TunnelKey>>,
    data: RefCell<Vec<u8>>,
}

impl Lent {
    /// Lends a name.
    pub fn name(&self, name: String) -> Slice {
        self.connection.set(None);
        *self.name.borrow_mut() = name;
        Slice::of(self.name.borrow().as_bytes())
    }

    /// Lends the name of a connection, which is written in the place of the last one.
    pub fn connection(&self, key: TunnelKey, write: impl FnOnce(&mut String)) -> Slice {
        let mut name = self.name.borrow_mut();
        if self.connection.replace(Some(key)) != Some(key) {
            name.clear();
            write(&mut name);
        }
        Slice::of(name.as_bytes())
    }

    /// The connection whose name was lent last, if it is this one: as a rule a service answers whom it has heard.
    pub fn connection_of(&self, name: &[u8]) -> Option<TunnelKey> {
        self.connection.get().filter(|_| self.name.borrow().as_bytes() == name)
    }

    /// Lends bytes.
    pub fn data(&self, data: Vec<u8>) -> Slice {
        *self.data.borrow_mut() = data;
        Slice::of(&self.data.borrow())
    }
}
