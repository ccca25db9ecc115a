//! Close codes (RFC 6455 section 7.4, and the registry of IANA).
//!
//! Must not know who closes. Invariant: a code that `is_sendable` accepts may be in a close frame, in both directions.

/// The most bytes of a close frame's reason: what two bytes of code leave of 125.
pub const REASON_BYTES_MAX: usize = 123;

/// Why a connection was closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CloseCode(pub u16);

impl CloseCode {
    /// The purpose has been fulfilled.
    pub const NORMAL: CloseCode = CloseCode(1000);
    /// The server goes down, or a browser has left the page.
    pub const GOING_AWAY: CloseCode = CloseCode(1001);
    /// The peer has broken the protocol.
    pub const PROTOCOL_ERROR: CloseCode = CloseCode(1002);
    /// A close frame without a code; it is never sent.
    pub const NO_STATUS: CloseCode = CloseCode(1005);
    /// The connection has ended without a close frame; it is never sent.
    pub const ABNORMAL: CloseCode = CloseCode(1006);
    /// Text that is not UTF-8.
    pub const INVALID_TEXT: CloseCode = CloseCode(1007);
    /// The message is larger than the server takes.
    pub const TOO_BIG: CloseCode = CloseCode(1009);
    /// The server has failed.
    pub const INTERNAL_ERROR: CloseCode = CloseCode(1011);
    /// The server is overloaded, or the client does not keep up: it should come back later.
    pub const TRY_AGAIN_LATER: CloseCode = CloseCode(1013);

    /// Whether it may stand in a close frame: the codes that are defined for that, and those for libraries (3000 to 3999)
    /// and applications (4000 to 4999).
    pub fn is_sendable(self) -> bool {
        matches!(self.0, 1000..=1003 | 1007..=1014 | 3000..=4999)
    }
}
