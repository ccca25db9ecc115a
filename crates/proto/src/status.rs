//! Status codes with their registered reason phrases, and whole status lines.
//!
//! Source: the IANA HTTP Status Code Registry. Invariant: a line ends with CRLF and is one memcpy.

macro_rules! statuses {
    ($($code:literal $reason:literal)+) => {
        /// The registered reason phrase of a status code.
        pub fn reason_phrase(status: u16) -> Option<&'static str> {
            match status {
                $($code => Some($reason),)+
                _ => None,
            }
        }

        fn registered_line(status: u16) -> Option<&'static [u8]> {
            match status {
                $($code => Some(concat!("HTTP/1.1 ", $code, " ", $reason, "\r\n").as_bytes()),)+
                _ => None,
            }
        }
    };
}

statuses! {
    100 "Continue"
    101 "Switching Protocols"
    102 "Processing"
    103 "Early Hints"
    200 "OK"
    201 "Created"
    202 "Accepted"
    203 "Non-Authoritative Information"
    204 "No Content"
    205 "Reset Content"
    206 "Partial Content"
    207 "Multi-Status"
    208 "Already Reported"
    226 "IM Used"
    300 "Multiple Choices"
    301 "Moved Permanently"
    302 "Found"
    303 "See Other"
    304 "Not Modified"
    305 "Use Proxy"
    307 "Temporary Redirect"
    308 "Permanent Redirect"
    400 "Bad Request"
    401 "Unauthorized"
    402 "Payment Required"
    403 "Forbidden"
    404 "Not Found"
    405 "Method Not Allowed"
    406 "Not Acceptable"
    407 "Proxy Authentication Required"
    408 "Request Timeout"
    409 "Conflict"
    410 "Gone"
    411 "Length Required"
    412 "Precondition Failed"
    413 "Content Too Large"
    414 "URI Too Long"
    415 "Unsupported Media Type"
    416 "Range Not Satisfiable"
    417 "Expectation Failed"
    418 "I'm a teapot"
    421 "Misdirected Request"
    422 "Unprocessable Content"
    423 "Locked"
    424 "Failed Dependency"
    425 "Too Early"
    426 "Upgrade Required"
    428 "Precondition Required"
    429 "Too Many Requests"
    431 "Request Header Fields Too Large"
    451 "Unavailable For Legal Reasons"
    500 "Internal Server Error"
    501 "Not Implemented"
    502 "Bad Gateway"
    503 "Service Unavailable"
    504 "Gateway Timeout"
    505 "HTTP Version Not Supported"
    506 "Variant Also Negotiates"
    507 "Insufficient Storage"
    508 "Loop Detected"
    510 "Not Extended"
    511 "Network Authentication Required"
}

/// Appends the status line. An unregistered code gets an empty phrase (RFC 9112 section 4: the space stays).
pub(crate) fn push_status_line(out: &mut Vec<u8>, status: u16) {
    match registered_line(status) {
        Some(line) => out.extend_from_slice(line),
        None => {
            out.extend_from_slice(b"HTTP/1.1 ");
            crate::bytes::push_decimal(out, u64::from(status));
            out.extend_from_slice(b" \r\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_for_known_and_unknown_codes() {
        for (status, line) in [(200, "HTTP/1.1 200 OK\r\n"), (599, "HTTP/1.1 599 \r\n")] {
            let mut out = Vec::new();
            push_status_line(&mut out, status);
            assert_eq!(out, line.as_bytes());
        }
        assert_eq!(reason_phrase(404), Some("Not Found"));
        assert_eq!(reason_phrase(299), None);
    }
}
