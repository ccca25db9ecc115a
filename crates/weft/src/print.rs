//! What commands print on stdout.
//!
//! Must not know: what it says. Invariant: a reader that goes away, as `head` does in `weft doctor --extensions |
//! head`, ends the output and nothing else; std's macros would panic.

use std::io::Write;

/// Prints `text` as it is.
pub fn print(text: &str) {
    let mut output = std::io::stdout().lock();
    // Nobody reads it any more: there is nobody to tell, either.
    let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
}
