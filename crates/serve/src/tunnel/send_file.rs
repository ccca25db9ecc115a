//! Sending a file on a tunnel that is a stream: sendfile(2), in its turn behind the messages that were sent before it.
//!
//! Must not know which files may be sent: the caller decides. Invariant: what cannot be sent as a whole is refused before anything
//! of it is sent.

use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::Path;

use weft_proto::framing::Unframable;

use crate::keys::TunnelKey;
use crate::root::open_path;
use crate::server::Server;
use crate::stream::respond::Error;
use crate::tunnel::files::Part;

/// Why a file is not sent.
#[derive(Debug)]
pub enum FileNotSent {
    /// It cannot be opened, or is not a regular file.
    File(Error),
    /// It has only so many bytes.
    Range(u64),
    /// The length cannot be announced as the stream announces it.
    Unframable(Unframable),
    /// As many files wait as may.
    Full,
    /// The tunnel has ended, is closing, or is not a stream.
    Gone,
}

/// Whether a part of a file could be sent: so many bytes from an offset on, or the rest.
///
/// # Errors
/// [`FileNotSent::File`] and [`FileNotSent::Range`].
pub fn check_file(path: &Path, offset: u64, length: Option<u64>) -> Result<(), FileNotSent> {
    open_part(path, offset, length).map(drop)
}

fn open_part(path: &Path, offset: u64, length: Option<u64>) -> Result<(OwnedFd, Range<u64>), FileNotSent> {
    let opened = open_path(path).map_err(FileNotSent::File)?;
    let end = length.map_or(Some(opened.length.max(offset)), |length| offset.checked_add(length));
    match end.filter(|end| *end <= opened.length) {
        Some(end) => Ok((opened.file, offset..end)),
        None => Err(FileNotSent::Range(opened.length)),
    }
}

impl Server {
    /// Sends a part of a file, so many bytes from `offset` on, or the rest. It never waits. Where a length announces messages, that of
    /// the part is sent before it; otherwise nothing but its bytes. They do not count for `stream_queue_bytes_max`, because none of
    /// them waits in memory.
    ///
    /// # Errors
    /// See [`FileNotSent`]; nothing is sent.
    pub fn tunnel_send_file(
        &self,
        key: TunnelKey,
        path: &Path,
        offset: u64,
        length: Option<u64>,
    ) -> Result<(), FileNotSent> {
        let (file, bytes) = open_part(path, offset, length)?;
        let connection = {
            let mut tunnels = self.tunnels.borrow_mut();
            let open = tunnels.get_mut(key).filter(|tunnel| tunnel.takes());
            let tunnel = open.ok_or(FileNotSent::Gone)?;
            let framing = tunnel.codec.framing().ok_or(FileNotSent::Gone)?;
            let head = framing.head(bytes.end - bytes.start).map_err(FileNotSent::Unframable)?;
            if !tunnel.out.push_file(Part::new(file, bytes, head)) {
                return Err(FileNotSent::Full);
            }
            tunnel.connection
        };
        if let Some(index) = connection {
            self.touch(index);
        }
        Ok(())
    }
}
