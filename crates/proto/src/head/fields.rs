//! The fields that decide framing, routing and persistence (RFC 9112 sections 3.2, 6 and 9; RFC 9110 section 10.1.1).
//!
//! All other fields belong to the application. Invariant: a head that allows two readings of where its body ends is
//! refused.

use super::framing::{Framing, Version};
use crate::authority::split_authority;
use crate::bytes::{decimal, is_token, list};
use crate::reject::Reject;
use crate::request_limits::RequestLimits;

/// What the fields seen so far mean together.
#[derive(Debug, Clone, Default)]
pub(super) struct Meaning {
    host: Option<usize>,
    content_type: bool,
    authorization: bool,
    content_length: Option<u64>,
    codings: Codings,
    connection_close: bool,
    connection_keep_alive: bool,
    connection_upgrade: bool,
    expect_continue: bool,
    expect_other: bool,
    traced: bool,
    without_length: Framing,
}

/// The last Host that was found valid. A client sends the same one again and again, and comparing its bytes costs less
/// than checking them.
#[derive(Debug, Clone)]
pub(super) struct KnownHost {
    bytes: [u8; KnownHost::BYTES_MAX],
    length: usize,
}

/// The transfer codings of all Transfer-Encoding fields, in order.
#[derive(Debug, Clone, Default)]
struct Codings {
    present: bool,
    chunked: u32,
    other: bool,
    /// A coding followed a chunked one.
    after_chunked: bool,
}

impl Default for KnownHost {
    fn default() -> KnownHost {
        KnownHost { bytes: [0; KnownHost::BYTES_MAX], length: 0 }
    }
}

impl KnownHost {
    /// Longer hosts are checked each time.
    const BYTES_MAX: usize = 56;

    /// An empty Host is valid (RFC 9112 3.2); a port without a host is invalid.
    fn allows(&mut self, value: &[u8]) -> bool {
        if value == &self.bytes[..self.length] {
            return true;
        }
        let valid = split_authority(value).is_some_and(|authority| !authority.host.is_empty());
        if valid && value.len() <= KnownHost::BYTES_MAX {
            self.bytes[..value.len()].copy_from_slice(value);
            self.length = value.len();
        }
        valid || value.is_empty()
    }
}

impl Meaning {
    /// Reads one field; `index` is its position in the table.
    pub(super) fn field(
        &mut self,
        index: usize,
        name: &[u8],
        value: &[u8],
        known: &mut KnownHost,
    ) -> Result<(), Reject> {
        // Length first: most fields match none of these, and one jump skips them.
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => self.host_field(index, value, known),
            6 if name.eq_ignore_ascii_case(b"expect") => {
                self.expect(value);
                Ok(())
            }
            10 if name.eq_ignore_ascii_case(b"connection") => {
                self.connection(value);
                Ok(())
            }
            11 if name.eq_ignore_ascii_case(b"traceparent") => {
                self.traced = true;
                Ok(())
            }
            12 if name.eq_ignore_ascii_case(b"content-type") => once(&mut self.content_type),
            13 if name.eq_ignore_ascii_case(b"authorization") => once(&mut self.authorization),
            14 if name.eq_ignore_ascii_case(b"content-length") => self.length(value),
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.codings.field(value),
            _ => Ok(()),
        }
    }

    /// Applies the rules that need all fields.
    pub(super) fn finish(&self, version: Version, limits: &RequestLimits) -> Result<(), Reject> {
        if self.host.is_none() && version == Version::Http11 {
            return Err(Reject::HOST_MISSING);
        }
        if self.codings.present {
            if self.content_length.is_some() {
                return Err(Reject::LENGTH_AND_CODING);
            }
            if version == Version::Http10 {
                return Err(Reject::CODING_IN_1_0);
            }
            self.codings.check()?;
        }
        if self.content_length.is_some_and(|length| length > limits.body_bytes_max) {
            return Err(Reject::BODY_TOO_LARGE);
        }
        // RFC 9110 10.1.1: an HTTP/1.0 request's 100-continue expectation is ignored; its other expectations
        // are ignored, too.
        if self.expect_other && version == Version::Http11 {
            return Err(Reject::EXPECTATION);
        }
        Ok(())
    }

    pub(super) fn host(&self) -> Option<usize> {
        self.host
    }

    pub(super) fn framing(&self) -> Framing {
        match self.content_length {
            _ if self.codings.present => Framing::Chunked,
            Some(length) => Framing::Length(length),
            None => self.without_length,
        }
    }

    /// Says how a body without a length is delimited.
    pub(super) fn delimit(&mut self, body: Framing) {
        self.without_length = body;
    }

    pub(super) fn keep_alive(&self, version: Version) -> bool {
        !self.connection_close && (version == Version::Http11 || self.connection_keep_alive)
    }

    pub(super) fn expects_continue(&self) -> bool {
        self.expect_continue
    }

    /// Whether there is a field `traceparent`, whatever its value.
    pub(super) fn is_traced(&self) -> bool {
        self.traced
    }

    pub(super) fn upgrades(&self) -> bool {
        self.connection_upgrade
    }

    fn host_field(&mut self, index: usize, value: &[u8], known: &mut KnownHost) -> Result<(), Reject> {
        if self.host.is_some() {
            return Err(Reject::HOST_REPEATED);
        }
        self.host = Some(index);
        if known.allows(value) { Ok(()) } else { Err(Reject::HOST) }
    }

    fn length(&mut self, value: &[u8]) -> Result<(), Reject> {
        if self.content_length.is_some() {
            return Err(Reject::CONTENT_LENGTH_REPEATED);
        }
        self.content_length = Some(decimal(value).ok_or(Reject::CONTENT_LENGTH)?);
        Ok(())
    }

    fn connection(&mut self, value: &[u8]) {
        for option in list(value) {
            match option.len() {
                5 => self.connection_close |= option.eq_ignore_ascii_case(b"close"),
                7 => self.connection_upgrade |= option.eq_ignore_ascii_case(b"upgrade"),
                10 => self.connection_keep_alive |= option.eq_ignore_ascii_case(b"keep-alive"),
                _ => {}
            }
        }
    }

    fn expect(&mut self, value: &[u8]) {
        for expectation in list(value).filter(|member| !member.is_empty()) {
            if expectation.eq_ignore_ascii_case(b"100-continue") {
                self.expect_continue = true;
            } else {
                self.expect_other = true;
            }
        }
    }
}

/// Records a field that identifies the client or describes the body. Two of them are refused, because one recipient
/// would read the first and another the last.
fn once(seen: &mut bool) -> Result<(), Reject> {
    if std::mem::replace(seen, true) { Err(Reject::FIELD_REPEATED) } else { Ok(()) }
}

impl Codings {
    fn field(&mut self, value: &[u8]) -> Result<(), Reject> {
        self.present = true;
        for coding in list(value) {
            let name = coding.split(|&b| b == b';').next().unwrap_or_default();
            let name = crate::bytes::trim_ows(name);
            if !is_token(name) {
                return Err(Reject::CODING_SYNTAX);
            }
            self.after_chunked |= self.chunked > 0;
            if !name.eq_ignore_ascii_case(b"chunked") {
                self.other = true;
            } else if coding.len() == name.len() {
                self.chunked += 1;
            } else {
                return Err(Reject::CODING_SYNTAX);
            }
        }
        Ok(())
    }

    /// Accepts exactly one chunked and nothing else.
    fn check(&self) -> Result<(), Reject> {
        match self.chunked {
            0 => Err(Reject::CODING_NOT_FINAL),
            1 if self.after_chunked => Err(Reject::CODING_NOT_FINAL),
            1 if self.other => Err(Reject::CODING_UNKNOWN),
            1 => Ok(()),
            _ => Err(Reject::CODING_TWICE),
        }
    }
}
