//! Why a message is refused: one constant per rule, with its status, its reason and its section.
//!
//! Must not know the parser. Invariant: each status here is one that the peer can act on. The connection is closed
//! after any of them, because where the next message starts is no longer certain.

use std::fmt;

/// A refused message: the status to answer with, and the reason for the log and the response body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reject {
    /// 400, 413, 414, 417, 431, 501 or 505.
    pub status: u16,
    /// What is wrong, for the author of the client. Contains nothing that the peer sent.
    pub reason: &'static str,
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.status, self.reason)
    }
}

impl std::error::Error for Reject {}

macro_rules! rules {
    ($($(#[$doc:meta])+ $name:ident = $status:literal $reason:literal;)+) => {
        impl Reject {
            $($(#[$doc])+ pub const $name: Reject = Reject { status: $status, reason: $reason };)+

            /// Every rule, for the documentation and for tests that check that each one is reached.
            pub const ALL: &'static [Reject] = &[$(Reject::$name),+];
        }
    };
}

rules! {
    /// RFC 9112 2.2: a line ends with CRLF. A recipient may accept a lone LF, but recipients that do and those
    /// that do not disagree on where a message ends, so it is refused.
    BARE_LF = 400 "a line ends with LF alone; lines end with CRLF";
    /// RFC 9112 2.2: a CR not followed by LF is invalid.
    BARE_CR = 400 "a CR is not followed by LF";
    /// RFC 9112 2.2: at least one empty line before the request line must be ignored, not any number.
    EMPTY_LINES = 400 "too many empty lines before the request line";
    /// RFC 9112 3: a request starts with a method, a token. TLS and binary protocols on this port are refused
    /// here.
    NOT_HTTP = 400 "the first byte cannot start an HTTP request (is the client speaking TLS to a plain port?)";
    /// RFC 9112 3: `method SP request-target SP HTTP-version`, with exactly one space each.
    REQUEST_LINE = 400 "the request line is not: method, one space, target, one space, HTTP version";
    /// RFC 9110 9.1: a method is a token.
    METHOD = 400 "the method is not a token";
    /// RFC 9112 3: a method longer than any implemented one gets 501.
    METHOD_TOO_LONG = 501 "the method is longer than any known method";
    /// RFC 9110 9.3.6: weft is an origin server and opens no tunnels. 501 instead of 405, because this applies
    /// to every resource and there is no list of other methods to offer.
    CONNECT = 501 "CONNECT is not implemented: this is not a proxy";
    /// RFC 9112 3.2: no whitespace or control characters in a request target.
    TARGET = 400 "the request target holds a byte that must be percent-encoded";
    /// RFC 9112 3.2.1 with RFC 3986 3.5: a target has no fragment.
    TARGET_FRAGMENT = 400 "the request target holds a fragment ('#')";
    /// RFC 9112 3.2: origin-form starts with '/', absolute-form with `http://` or `https://`; `*` stands alone.
    TARGET_FORM = 400 "the request target is neither a path, nor an http(s) URI, nor *";
    /// RFC 9112 3.2.4: `*` is only for OPTIONS.
    TARGET_ASTERISK = 400 "the target * is only for OPTIONS";
    /// RFC 9110 4.2.1 and 4.2.4: an http URI has a host and no user information.
    TARGET_AUTHORITY = 400 "the target's authority is not a host with an optional port";
    /// RFC 9110 15.5.15.
    TARGET_TOO_LONG = 414 "the request target is too long";
    /// RFC 9112 2.3: `HTTP/` DIGIT `.` DIGIT, in capitals.
    VERSION_SYNTAX = 400 "the HTTP version is malformed";
    /// RFC 9110 15.6.6: this connection supports HTTP/1.0 and HTTP/1.1.
    VERSION = 505 "only HTTP/1.0 and HTTP/1.1 are supported here";
    /// RFC 6585 5: the head as a whole.
    HEAD_TOO_LARGE = 431 "the request head is too large";
    /// RFC 6585 5: the number of its lines.
    HEADERS_TOO_MANY = 431 "the request has too many header fields";
    /// RFC 9112 5.2: obs-fold, a field continued on the next line.
    OBS_FOLD = 400 "a header field is folded onto a second line";
    /// RFC 9112 2.2: whitespace between the request line and the first header field.
    SPACE_BEFORE_FIRST_HEADER = 400 "whitespace before the first header field";
    /// RFC 9112 5.1: no whitespace between field name and colon.
    SPACE_BEFORE_COLON = 400 "whitespace between a header field's name and its colon";
    /// RFC 9112 5: `field-name ":" field-value`.
    HEADER_NO_COLON = 400 "a header field has no colon";
    /// RFC 9110 5.1: a field name is a token, at least one character.
    HEADER_NAME_EMPTY = 400 "a header field has an empty name";
    /// RFC 9110 5.1 and 5.6.2.
    HEADER_NAME = 400 "a header field's name holds a character that is not allowed";
    /// RFC 9110 5.5: no NUL and no control characters but the tab.
    HEADER_VALUE = 400 "a header field's value holds a control character";
    /// RFC 9112 3.2: exactly one Host field in HTTP/1.1.
    HOST_MISSING = 400 "an HTTP/1.1 request needs a Host header field";
    /// RFC 9112 3.2.
    HOST_REPEATED = 400 "more than one Host header field";
    /// RFC 9112 3.2 with RFC 3986 3.2.2: `uri-host [":" port]`.
    HOST = 400 "the Host header field is not a host with an optional port";
    /// RFC 9110 8.6: a decimal number. Also refused: an empty value, a sign, a list, more than 64 bits.
    CONTENT_LENGTH = 400 "the Content-Length is not a decimal number";
    /// RFC 9110 5.3: only a field whose value is a list may be repeated.
    FIELD_REPEATED = 400 "more than one Content-Type, or more than one Authorization header field";
    /// RFC 9112 6.3 rule 5: repeated values are refused even when they agree.
    CONTENT_LENGTH_REPEATED = 400 "more than one Content-Length header field";
    /// RFC 9112 6.1 and 6.3 rule 3: the classic smuggling vector; refused outright.
    LENGTH_AND_CODING = 400 "both Content-Length and Transfer-Encoding";
    /// RFC 9112 6.1: an HTTP/1.0 message with Transfer-Encoding has faulty framing.
    CODING_IN_1_0 = 400 "Transfer-Encoding in an HTTP/1.0 request";
    /// RFC 9112 6.3 rule 4: chunked must be the last coding, else the length cannot be known.
    CODING_NOT_FINAL = 400 "chunked is not the last transfer coding";
    /// RFC 9112 6.1: chunked is applied once.
    CODING_TWICE = 400 "the transfer coding chunked is applied more than once";
    /// RFC 9112 6.1 and 7: a coding list without empty members, and chunked without parameters (7.1).
    CODING_SYNTAX = 400 "the Transfer-Encoding is malformed";
    /// RFC 9112 6.1: a transfer coding that is not understood.
    CODING_UNKNOWN = 501 "the only supported transfer coding is chunked";
    /// RFC 9110 10.1.1: an expectation other than 100-continue.
    EXPECTATION = 417 "the only supported expectation is 100-continue";
    /// RFC 9110 15.5.14.
    BODY_TOO_LARGE = 413 "the request body is too large";
    /// RFC 9112 7.1: `1*HEXDIG`. Also: more than 64 bits, or whitespace around it.
    CHUNK_SIZE = 400 "a chunk's size is not a hexadecimal number";
    /// RFC 9112 7.1.1: bytes of an extension.
    CHUNK_EXTENSION = 400 "a chunk extension holds a control character";
    /// RFC 9112 7.1.1: a server ought to limit the total length of chunk extensions.
    CHUNK_LINE_TOO_LONG = 400 "a chunk's size line, or the sum of all chunk extensions, is too long";
    /// RFC 9112 7.1: CRLF after chunk-data.
    CHUNK_END = 400 "a chunk's data is not followed by CRLF";
    /// RFC 9112 7.1.2: malformed trailer section.
    TRAILER = 400 "the trailer section is malformed";
    /// RFC 9110 6.5.1: a trailer must not change framing or routing.
    TRAILER_FORBIDDEN = 400 "a trailer field that would change framing or routing";
    /// RFC 6585 5, for the trailer section.
    TRAILER_TOO_LARGE = 431 "the trailer section is too large";
}
