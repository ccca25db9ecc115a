//! The status that a client gets for a file that cannot be sent.
//!
//! Must not know who wanted to send it. Invariant: whoever gets a 500 finds the reason in the log.

use std::path::Path;

use weft_serve::Error;

/// The status for a file that cannot be sent; the reason of a 500 is logged. Other errors are not about the file.
pub fn status_of(error: Error, name: &Path) -> Result<u16, Error> {
    match error {
        Error::NotFound => Ok(404),
        Error::Forbidden => Ok(403),
        Error::File(error) => {
            tracing::error!("{}: {error}", name.display());
            Ok(500)
        }
        error => Err(error),
    }
}
