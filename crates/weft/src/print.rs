//! What commands print on stdout.
//!
//! Must not know: what it says. Invariant: a reader that goes away, as `head` does in `weft doctor --extensions |
//! head`, ends the output and nothing else; std's macros would panic.

use std::io::Write;

/// Prints `text` as it is.
pub fn print(text: &str) {
    // Nobody reads it any more: there is nobody to tell, either.
    let _ = print_or_end(text);
}

/// The same; returns whether it was read, for what would go on without end.
pub fn print_or_end(text: &str) -> bool {
    let mut output = std::io::stdout().lock();
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).is_ok()
}
