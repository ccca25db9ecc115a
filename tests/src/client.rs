//! A client that sends exactly the bytes it is given.
//!
//! Invariant: none of its reads or writes lasts longer than [`PATIENCE`], so a server that sends nothing fails
//! the test.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::response::Response;
use crate::wait::PATIENCE;

/// One connection.
#[derive(Debug)]
pub struct Client {
    reader: BufReader<Stream>,
}

#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Client {
    /// Connects over TCP.
    ///
    /// # Panics
    /// If no server listens there.
    pub fn connect(address: SocketAddr) -> Client {
        Client::try_connect(address).unwrap_or_else(|e| panic!("cannot connect to {address}: {e}"))
    }

    /// Connects over TCP.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn try_connect(address: SocketAddr) -> io::Result<Client> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Client { reader: BufReader::new(Stream::Tcp(stream)) })
    }

    /// Connects to a unix socket.
    ///
    /// # Panics
    /// If no server listens there.
    pub fn connect_unix(path: &Path) -> Client {
        let stream =
            UnixStream::connect(path).unwrap_or_else(|e| panic!("cannot connect to {}: {e}", path.display()));
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket takes a timeout");
        stream.set_write_timeout(Some(PATIENCE)).expect("a socket takes a timeout");
        Client { reader: BufReader::new(Stream::Unix(stream)) }
    }

    /// The client's own address on a TCP connection.
    ///
    /// # Panics
    /// On a unix socket.
    pub fn local_address(&self) -> SocketAddr {
        match self.reader.get_ref() {
            Stream::Tcp(stream) => stream.local_addr().expect("a connected socket has an address"),
            Stream::Unix(_) => panic!("a unix socket has no address"),
        }
    }

    /// Sends these bytes.
    ///
    /// # Panics
    /// If the server does not accept them.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_send(bytes).unwrap_or_else(|e| panic!("the server did not take the bytes: {e}"));
    }

    /// Sends these bytes, although the server may have closed.
    ///
    /// # Errors
    /// The connection's error.
    pub fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.reader.get_mut().write_all(bytes.as_ref())
    }

    /// Sends a GET request.
    pub fn get(&mut self, target: &str) {
        self.send(format!("GET {target} HTTP/1.1\r\nHost: weft.test\r\n\r\n"));
    }

    /// Sends a POST request with a body of known length.
    pub fn post(&mut self, target: &str, content_type: &str, body: impl AsRef<[u8]>) {
        let body = body.as_ref();
        let head = format!(
            "POST {target} HTTP/1.1\r\nHost: weft.test\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        self.send([head.as_bytes(), body].concat());
    }

    /// Reads one response.
    ///
    /// # Panics
    /// If no response arrives, or a malformed one.
    pub fn read(&mut self) -> Response {
        self.try_read().unwrap_or_else(|e| panic!("no response: {e}"))
    }

    /// Reads one response, if one arrives.
    ///
    /// # Errors
    /// As [`Response::read`].
    pub fn try_read(&mut self) -> io::Result<Response> {
        Response::read(&mut self.reader, false)
    }

    /// Reads the response to a HEAD request.
    ///
    /// # Panics
    /// As [`Client::read`].
    pub fn read_of_head(&mut self) -> Response {
        Response::read(&mut self.reader, true).unwrap_or_else(|e| panic!("no response: {e}"))
    }

    /// Reads the head of a response and leaves the body unread.
    ///
    /// # Panics
    /// As [`Client::read`].
    pub fn read_head(&mut self) -> Response {
        Response::read_head(&mut self.reader).unwrap_or_else(|e| panic!("no response: {e}"))
    }

    /// Reads exactly `count` bytes.
    ///
    /// # Panics
    /// If they do not arrive.
    pub fn read_bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.reader.read_exact(&mut bytes).unwrap_or_else(|e| panic!("{count} bytes did not come: {e}"));
        bytes
    }

    /// Whether there are bytes to read, or the end of the stream, without waiting.
    pub fn is_readable(&mut self) -> bool {
        if !self.reader.buffer().is_empty() {
            return true;
        }
        self.set_blocking(false);
        let readable = !matches!(self.reader.fill_buf(), Err(e) if e.kind() == io::ErrorKind::WouldBlock);
        self.set_blocking(true);
        readable
    }

    /// Reads until the server closes. A reset after the last byte counts as the end.
    ///
    /// # Panics
    /// If the server does not close.
    pub fn read_to_end(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self.reader.read_to_end(&mut bytes) {
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::ConnectionReset => {}
            Err(e) => panic!("the server did not close: {e}; {:?}", String::from_utf8_lossy(&bytes)),
        }
        bytes
    }

    /// Asserts that the server has closed, or closes now, and sends no more bytes.
    ///
    /// # Panics
    /// If a byte arrives, or the server does not close.
    pub fn expect_closed(&mut self) {
        let rest = self.read_to_end();
        assert!(rest.is_empty(), "the server went on: {:?}", String::from_utf8_lossy(&rest));
    }

    /// Closes the client's sending half.
    pub fn shutdown_write(&mut self) {
        let done = match self.reader.get_ref() {
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Stream::Unix(stream) => stream.shutdown(Shutdown::Write),
        };
        done.expect("the connection is open");
    }

    fn set_blocking(&self, blocking: bool) {
        let done = match self.reader.get_ref() {
            Stream::Tcp(stream) => stream.set_nonblocking(!blocking),
            Stream::Unix(stream) => stream.set_nonblocking(!blocking),
        };
        done.expect("a socket can be made non-blocking");
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(buffer),
            Stream::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
