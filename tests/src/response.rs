//! A response, read byte by byte as RFC 9112 section 6 requires, by a strict reader.
//!
//! Must not know sockets. Invariant: a response that breaks the framing rules fails the test that reads it.

use std::io::{self, BufRead, Read};

/// A parsed response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Response {
    /// The status line, without its line end.
    pub status_line: String,
    /// The status code.
    pub status: u16,
    /// Header fields in order, names as sent.
    pub headers: Vec<(String, String)>,
    /// The interim (1xx) responses before it.
    pub interim: Vec<Response>,
    /// The body, decoded.
    pub body: Vec<u8>,
    /// The sizes of the chunks, if it was chunked.
    pub chunks: Vec<usize>,
    /// The fields after a chunked body.
    pub trailers: Vec<(String, String)>,
}

impl Response {
    /// Reads one final response and the interim ones before it. `head` states whether it answers a HEAD request.
    ///
    /// # Errors
    /// The connection's error; `InvalidData` for a malformed response; `UnexpectedEof` for a truncated one.
    pub fn read(from: &mut impl BufRead, head: bool) -> io::Result<Response> {
        let mut interim = Vec::new();
        loop {
            let mut response = Response::read_head(from)?;
            if response.status < 200 {
                interim.push(response);
                continue;
            }
            response.interim = interim;
            if !head && response.status != 204 && response.status != 304 {
                response.read_body(from)?;
            }
            return Ok(response);
        }
    }

    /// Reads only a head.
    ///
    /// # Errors
    /// As [`Response::read`].
    pub fn read_head(from: &mut impl BufRead) -> io::Result<Response> {
        let status_line = line(from)?;
        let code = status_line.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..4));
        let code = code.and_then(|text| text.strip_suffix(' ')).and_then(|digits| digits.parse().ok());
        let status = code.ok_or_else(|| invalid(format!("not a status line: {status_line:?}")))?;
        Ok(Response { status_line, status, headers: fields(from)?, ..Response::default() })
    }

    fn read_body(&mut self, from: &mut impl BufRead) -> io::Result<()> {
        match (self.header("transfer-encoding"), self.header("content-length")) {
            (Some("chunked"), None) => self.read_chunks(from),
            (None, Some(length)) => {
                let length = length.parse().map_err(|_| invalid(format!("not a length: {length:?}")))?;
                self.body = vec![0; length];
                from.read_exact(&mut self.body)
            }
            (None, None) if self.header("connection") == Some("close") => {
                from.read_to_end(&mut self.body).map(drop)
            }
            other => Err(invalid(format!("a body without an end: {other:?}"))),
        }
    }

    fn read_chunks(&mut self, from: &mut impl BufRead) -> io::Result<()> {
        loop {
            let size = line(from)?;
            let size = usize::from_str_radix(&size, 16)
                .map_err(|_| invalid(format!("not a chunk size: {size:?}")))?;
            if size == 0 {
                self.trailers = fields(from)?;
                return Ok(());
            }
            let start = self.body.len();
            self.body.resize(start + size, 0);
            from.read_exact(&mut self.body[start..])?;
            self.chunks.push(size);
            if !line(from)?.is_empty() {
                return Err(invalid("a chunk is longer than its size".into()));
            }
        }
    }

    /// The only value of a field, by case-insensitive name; `None` if it is missing.
    ///
    /// # Panics
    /// If the field is repeated.
    pub fn header(&self, name: &str) -> Option<&str> {
        let values = self.all(name);
        assert!(values.len() < 2, "{name} came {} times: {values:?}", values.len());
        values.first().copied()
    }

    /// All values of a field.
    pub fn all(&self, name: &str) -> Vec<&str> {
        let named = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str()).collect()
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// If the body is not JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {:?}", self.text()))
    }
}

fn fields(from: &mut impl BufRead) -> io::Result<Vec<(String, String)>> {
    let mut fields = Vec::new();
    loop {
        let line = line(from)?;
        if line.is_empty() {
            return Ok(fields);
        }
        let (name, value) = line.split_once(": ").ok_or_else(|| invalid(format!("not a field: {line:?}")))?;
        fields.push((name.to_string(), value.to_string()));
    }
}

/// A line that ends with CRLF and contains no other CR or LF.
fn line(from: &mut impl BufRead) -> io::Result<String> {
    let mut bytes = Vec::new();
    from.take(64 << 10).read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let text = bytes.strip_suffix(b"\r\n").filter(|text| !text.contains(&b'\r'));
    let text = text.ok_or_else(|| invalid(format!("not a line: {:?}", String::from_utf8_lossy(&bytes))))?;
    Ok(String::from_utf8_lossy(text).into_owned())
}

fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
