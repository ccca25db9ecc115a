//! What an application's own fields say about the framing and the connection of a response.
//!
//! Must not know the rest of the response. Invariant: a field that the server decides itself is never written.

use crate::bytes::{decimal, list};
use crate::encode::{InvalidHeader, Part, push_field};

/// What the application's own fields say about the framing and the connection.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Declared {
    pub length: Option<u64>,
    pub close: bool,
    pub date: bool,
}

impl Declared {
    /// Writes one field, or records what it says.
    pub fn take(&mut self, name: &[u8], value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidHeader> {
        // Length first: most fields match none of these.
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"date") => self.date = true,
            10 if name.eq_ignore_ascii_case(b"connection") => {
                self.close |= list(value).any(|option| option.eq_ignore_ascii_case(b"close"));
                return Ok(());
            }
            10 if name.eq_ignore_ascii_case(b"keep-alive") => return Ok(()),
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                let length = decimal(value).filter(|_| self.length.is_none());
                self.length = Some(length.ok_or_else(|| InvalidHeader::new(Part::Value, name))?);
                return Ok(());
            }
            16 if name.eq_ignore_ascii_case(b"proxy-connection") => return Ok(()),
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => return Ok(()),
            _ => {}
        }
        push_field(out, name, value)
    }
}
