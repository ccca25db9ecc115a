//! The field lines that the server adds to answers.
//!
//! Must not know which answers get them. Invariant: they are made once, because a head that equals the last one is found by
//! them.

/// The server's own field lines.
pub(crate) struct OwnLines {
    server: &'static [u8],
    hsts: &'static [u8],
    both: &'static [u8],
}

impl OwnLines {
    /// Made once; they stay for good.
    pub(crate) fn new(hsts_s: u64) -> OwnLines {
        let hsts = format!("Strict-Transport-Security: max-age={hsts_s}\r\n");
        let server = "Server: weft\r\n";
        OwnLines {
            server: server.as_bytes(),
            both: Box::leak(format!("{server}{hsts}").into_boxed_str()).as_bytes(),
            hsts: Box::leak(hsts.into_boxed_str()).as_bytes(),
        }
    }

    /// The lines of one answer.
    pub(crate) fn get(&self, names_server: bool, says_hsts: bool) -> &'static [u8] {
        match (names_server, says_hsts) {
            (false, false) => self.server,
            (true, false) => b"",
            (false, true) => self.both,
            (true, true) => self.hsts,
        }
    }
}
