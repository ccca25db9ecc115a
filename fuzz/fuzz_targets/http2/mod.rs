//! A server's side of HTTP/2 as weft has it: h2 with the same bounds, polled by hand over two buffers, the meter before it, heads
//! as text behind it, answers from text.

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::ext::Protocol;
use h2::server::{Builder, Connection, SendResponse};
use h2::{Reason, RecvStream, SendStream};
use http::Response;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use weft_proto::http2::{Meter, lines, text};
use weft_proto::{Head, Parse, RequestLimits};

/// Small enough to be reached.
pub const STREAMS_MAX: u32 = 8;
pub const HEAD_BYTES_MAX: u32 = 4 * 1024;
const WINDOW: u32 = 64 * 1024;
const CONNECTION_WINDOW: u32 = 96 * 1024;
const SEND_BYTES_MAX: usize = 4 * 1024;

#[derive(Default)]
struct Buffers {
    arrived: Vec<u8>,
    ended: bool,
    out: Vec<u8>,
}

struct Pipe(Rc<RefCell<Buffers>>);

impl AsyncRead for Pipe {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut buffers = self.0.borrow_mut();
        if buffers.arrived.is_empty() {
            return if buffers.ended { Poll::Ready(Ok(())) } else { Poll::Pending };
        }
        let count = buffers.arrived.len().min(into.remaining());
        into.put_slice(&buffers.arrived[..count]);
        buffers.arrived.drain(..count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.borrow_mut().out.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A request that is under way.
struct Stream {
    body: Option<RecvStream>,
    answer: Option<SendResponse<Bytes>>,
    sending: Option<SendStream<Bytes>>,
}

pub struct Server {
    buffers: Rc<RefCell<Buffers>>,
    connection: Connection<Pipe, Bytes>,
    meter: Meter,
    streams: Vec<Stream>,
    /// Heads in the order in which they came.
    pub heads: Vec<Vec<u8>>,
    pub over: bool,
}

impl Server {
    /// A connection whose preface and settings have come.
    pub fn new() -> Server {
        let buffers = Rc::new(RefCell::new(Buffers::default()));
        let mut handshake = Builder::new()
            .enable_connect_protocol()
            .max_concurrent_streams(STREAMS_MAX)
            .max_header_list_size(HEAD_BYTES_MAX)
            .initial_window_size(WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_send_buffer_size(SEND_BYTES_MAX)
            .handshake(Pipe(Rc::clone(&buffers)));
        let opening = [weft_proto::http2::PREFACE, &[0, 0, 0, 4, 0, 0, 0, 0, 0]].concat();
        let mut meter = Meter::new(0);
        assert!(meter.pass(&opening, 0));
        buffers.borrow_mut().arrived.extend_from_slice(&opening);
        let Poll::Ready(Ok(connection)) = Pin::new(&mut handshake).poll(&mut Context::from_waker(Waker::noop())) else {
            panic!("the handshake is complete");
        };
        Server { buffers, connection, meter, streams: Vec::new(), heads: Vec::new(), over: false }
    }

    /// Bytes have arrived. `answers` says whether handlers answer now.
    pub fn feed(&mut self, bytes: &[u8], answers: bool) {
        if self.over {
            return;
        }
        if !self.meter.pass(bytes, 0) {
            self.connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
            let _ = self.connection.poll_closed(&mut Context::from_waker(Waker::noop()));
            self.over = true;
        }
        self.buffers.borrow_mut().arrived.extend_from_slice(bytes);
        for _ in 0..64 {
            self.poll();
            if answers {
                self.answer();
            }
            if self.over || self.buffers.borrow().arrived.is_empty() {
                break;
            }
        }
        let sent = std::mem::take(&mut self.buffers.borrow_mut().out);
        check_frames(&sent);
        self.meter.sent(sent.len());
    }

    fn poll(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        while !self.over {
            match self.connection.poll_accept(&mut context) {
                Poll::Ready(Some(Ok((request, answer)))) => self.take(request, answer),
                Poll::Ready(_) => self.over = true,
                Poll::Pending => return,
            }
        }
    }

    fn take(&mut self, request: http::Request<RecvStream>, mut answer: SendResponse<Bytes>) {
        let (parts, body) = request.into_parts();
        let asked = parts.extensions.get::<Protocol>().map(Protocol::as_str);
        let Some(head) = text(&parts, asked) else {
            answer.send_reset(Reason::PROTOCOL_ERROR);
            return;
        };
        check_head(&head, parts.headers.len());
        self.heads.push(head);
        self.streams.push(Stream { body: Some(body), answer: Some(answer), sending: None });
    }

    fn answer(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        for stream in &mut self.streams {
            while let Some(body) = &mut stream.body {
                match body.poll_data(&mut context) {
                    Poll::Ready(Some(Ok(piece))) => {
                        assert!(piece.len() <= WINDOW as usize, "beyond the window");
                        body.flow_control().release_capacity(piece.len()).expect("what was received is given back");
                    }
                    Poll::Ready(_) => {
                        let _ = body.poll_trailers(&mut context);
                        stream.body = None;
                    }
                    Poll::Pending => break,
                }
            }
            if let Some(mut answer) = stream.answer.take() {
                let fields = lines(&Bytes::from_static(b"HTTP/1.1 200 OK\r\nserver: weft\r\nx: y\r\n\r\n"));
                let mut response = Response::new(());
                *response.headers_mut() = fields;
                stream.sending = answer.send_response(response, false).ok();
            }
            if let Some(sending) = &mut stream.sending {
                sending.reserve_capacity(5);
                if sending.capacity() >= 5 {
                    let _ = sending.send_data(Bytes::from_static(b"hello"), true);
                    stream.sending = None;
                }
            }
        }
        self.streams.retain(|stream| stream.body.is_some() || stream.answer.is_some() || stream.sending.is_some());
    }

    /// The peer has gone.
    pub fn end(&mut self) {
        self.buffers.borrow_mut().ended = true;
        self.poll();
    }
}

/// What is sent are whole frames of permitted sizes.
fn check_frames(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let length = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]) as usize;
        assert!(length <= 16_384 && bytes.len() >= 9 + length, "a frame that is no frame");
        bytes = &bytes[9 + length..];
    }
}

/// A head is one of HTTP/1.1: the parser takes all of it or refuses it, and no field of it makes a second one.
fn check_head(head: &[u8], fields: usize) {
    assert!(head.ends_with(b"\r\n\r\n"));
    let ends = head.windows(2).filter(|two| two == b"\r\n").count();
    assert!(head.iter().filter(|byte| **byte == b'\n').count() == ends && ends <= fields + 6, "a field has made a line");
    let limits = RequestLimits {
        head_bytes_max: 64 * 1024,
        header_count_max: 256,
        target_bytes_max: 16 * 1024,
        body_bytes_max: 1 << 20,
        chunk_line_bytes_max: 32,
        chunk_extension_bytes_max: 64,
        trailer_bytes_max: 64,
        trailer_count_max: 4,
    };
    let mut parsed = Head::new();
    match parsed.parse(head, &limits) {
        Ok(Parse::Complete { head_bytes }) => assert_eq!(head_bytes, head.len(), "a request behind a request"),
        Ok(Parse::Partial) => panic!("a head without an end"),
        Err(_) => (),
    }
}
