//! A stream of an HTTP/2 connection as a transport: what arrives in it is a head as HTTP/1.1 writes it, then a body.
//!
//! So everything above treats it as a connection with one request. It owns the stream's handles of the crate h2, which has
//! the frames, the windows and HPACK. Must not know who polls the connection. Invariants: a window is given back only for
//! bytes that were received from here; no more bytes are given to h2 than it has room for (`max_send_buffer_size` and the
//! peer's window), so both sides wait for each other as over a socket.

use std::cell::Cell;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, Response};
use rustix::io::Errno;
use weft_proto::http2::lines;
use weft_proto::{Framing, Head, Version};
use weft_rt::Nanos;

use crate::http2::priority::{Line, Place, Priority, ROUND_BYTES};
use crate::transport::received::Received;

/// What the streams of a connection share with it.
pub(crate) struct Link {
    /// The slot of the connection that carries them, and its generation.
    pub carrier: u32,
    pub generation: u32,
    /// Whether what it sends is encrypted.
    pub is_secure: bool,
    /// Streams that have a place in the table.
    pub streams: Cell<u32>,
    /// When the last of them ended.
    pub quiet_since: Cell<Nanos>,
    /// Which of them sends next.
    pub line: Line,
}

/// How far the answer is.
enum Answer {
    Unsent(SendResponse<Bytes>),
    Sending(SendStream<Bytes>),
}

/// One stream.
pub(crate) struct Carried {
    pub link: Rc<Link>,
    /// The head, until it has been received.
    head: Vec<u8>,
    has_body: bool,
    /// Whether the stream is to become a tunnel: what it brings is no body.
    pub is_tunnel: bool,
    body: RecvStream,
    /// Bytes of the body that h2 has given and that have not been received.
    piece: Bytes,
    /// Trailer fields of the request.
    pub trailers: HeaderMap,
    answer: Answer,
    answer_trailers: Option<HeaderMap>,
    /// Whom h2 tells that something has changed.
    bell: Waker,
    /// Whether everything has been written.
    ends: bool,
    /// Whether END_STREAM has been given to h2.
    is_over: bool,
    /// Its number, and where it stands among the streams of its connection.
    stream: u32,
    place: Place,
}

impl Drop for Carried {
    fn drop(&mut self) {
        self.link.line.leave(self.stream);
    }
}

impl Carried {
    pub(crate) fn new(
        link: Rc<Link>,
        (head, priority): (Vec<u8>, Priority),
        is_tunnel: bool,
        body: RecvStream,
        answer: SendResponse<Bytes>,
    ) -> Carried {
        Carried {
            stream: body.stream_id().into(),
            place: link.line.place(priority),
            link,
            head,
            has_body: !is_tunnel && !body.is_end_stream(),
            is_tunnel,
            body,
            piece: Bytes::new(),
            trailers: HeaderMap::new(),
            answer: Answer::Unsent(answer),
            answer_trailers: None,
            bell: Waker::noop().clone(),
            ends: false,
            is_over: false,
        }
    }

    /// What orders it among the streams of its connection: the least goes first.
    pub(crate) fn key(&self) -> (u8, u64) {
        self.place.key()
    }

    /// Names the bell that h2 rings.
    pub(crate) fn ring(&mut self, bell: Waker) {
        self.bell = bell;
    }

    /// Tells a parsed head how it came.
    pub(crate) fn describe(&self, head: &mut Head) {
        let body = if self.has_body { Framing::UntilEnd } else { Framing::None };
        head.arrived_by(Version::Http2, body);
    }

    /// Whether the peer has given the stream up, or the connection is gone.
    pub(crate) fn is_reset(&mut self) -> bool {
        let mut context = Context::from_waker(&self.bell);
        match &mut self.answer {
            Answer::Unsent(answer) => answer.poll_reset(&mut context).is_ready(),
            Answer::Sending(answer) => answer.poll_reset(&mut context).is_ready(),
        }
    }
}

/// In.
impl Carried {
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> Received {
        if !self.head.is_empty() {
            let count = buffer.len().min(self.head.len());
            buffer[..count].copy_from_slice(&self.head[..count]);
            self.head.drain(..count);
            if self.head.is_empty() {
                self.head = Vec::new();
            }
            return Received::Bytes(count);
        }
        let mut context = Context::from_waker(&self.bell);
        while self.piece.is_empty() {
            match self.body.poll_data(&mut context) {
                Poll::Ready(Some(Ok(piece))) => self.piece = piece,
                Poll::Ready(Some(Err(_))) => return Received::Broken,
                Poll::Ready(None) => {
                    if let Poll::Ready(Ok(Some(trailers))) = self.body.poll_trailers(&mut context) {
                        self.trailers = trailers;
                    }
                    return Received::End;
                }
                Poll::Pending => return Received::Nothing,
            }
        }
        let count = buffer.len().min(self.piece.len());
        buffer[..count].copy_from_slice(&self.piece.split_to(count));
        // This fails only for more than was received.
        let _ = self.body.flow_control().release_capacity(count);
        Received::Bytes(count)
    }
}

/// Out.
impl Carried {
    /// Begins the answer: `text` holds its field lines, behind a status line. Returns false if the peer has given up.
    pub(crate) fn respond(&mut self, status: u16, text: Vec<u8>, is_whole: bool) -> bool {
        let Answer::Unsent(answer) = &mut self.answer else { return false };
        let Some(response) = response(status, text) else { return false };
        let Ok(stream) = answer.send_response(response, is_whole) else { return false };
        self.answer = Answer::Sending(stream);
        self.is_over = is_whole;
        true
    }

    /// Sends an interim response.
    pub(crate) fn inform(&mut self, status: u16, text: Vec<u8>) {
        if let (Answer::Unsent(answer), Some(response)) = (&mut self.answer, response(status, text)) {
            // It says nothing that a client depends on.
            let _ = answer.send_informational(response);
        }
    }

    /// Trailer fields that end the answer.
    pub(crate) fn end_with(&mut self, text: Vec<u8>) {
        self.answer_trailers = Some(lines(&Bytes::from(text))).filter(|fields| !fields.is_empty());
    }

    /// Everything has been written: what is sent last ends the stream.
    pub(crate) fn end(&mut self) {
        self.ends = true;
    }

    /// The answer stays incomplete, and the peer can tell.
    pub(crate) fn cut_off(&mut self) {
        if self.is_over {
            return;
        }
        match &mut self.answer {
            Answer::Unsent(answer) => answer.send_reset(Reason::INTERNAL_ERROR),
            Answer::Sending(answer) => answer.send_reset(Reason::INTERNAL_ERROR),
        }
    }

    /// Nothing was done with the request, and nothing will be.
    pub(crate) fn refuse(&mut self) {
        if let Answer::Unsent(answer) = &mut self.answer {
            answer.send_reset(Reason::REFUSED_STREAM);
        }
    }

    /// A whole answer of text; returns false if there is no room for it.
    pub(crate) fn answer(&mut self, status: u16, body: &[u8]) -> bool {
        let begun =
            self.respond(status, b"content-type: text/plain; charset=utf-8\r\n".to_vec(), body.is_empty());
        self.ends = true;
        begun && (body.is_empty() || self.send(body, false).is_ok_and(|count| count == body.len()))
    }

    /// How many of `wanted` bytes may be sent now; EAGAIN for none.
    pub(crate) fn room(&mut self, wanted: u64) -> rustix::io::Result<u64> {
        let Answer::Sending(answer) = &mut self.answer else { return Err(Errno::PIPE) };
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX).min(ROUND_BYTES);
        if wanted == 0 {
            return Ok(0);
        }
        answer.reserve_capacity(wanted);
        let line = &self.link.line;
        let room = match answer.capacity() {
            0 => match answer.poll_capacity(&mut Context::from_waker(&self.bell)) {
                Poll::Ready(Some(Ok(room))) if room > 0 => room,
                Poll::Ready(Some(Err(_)) | None) => return Err(Errno::PIPE),
                Poll::Ready(Some(Ok(_))) | Poll::Pending => {
                    line.stall(self.stream, &self.place, wanted, &self.bell);
                    return Err(Errno::AGAIN);
                }
            },
            room => room,
        };
        match line.grant(self.stream, &mut self.place, room.min(wanted), &self.bell) {
            0 => {
                // What it has of the connection's window is for who goes first.
                answer.reserve_capacity(0);
                Err(Errno::AGAIN)
            }
            room => Ok(room as u64),
        }
    }

    pub(crate) fn send(&mut self, bytes: &[u8], more: bool) -> rustix::io::Result<usize> {
        let count = self.room(bytes.len() as u64)? as usize;
        let is_last = self.ends && !more && count == bytes.len() && self.answer_trailers.is_none();
        let Answer::Sending(answer) = &mut self.answer else { return Err(Errno::PIPE) };
        answer.send_data(Bytes::copy_from_slice(&bytes[..count]), is_last).map_err(|_| Errno::PIPE)?;
        self.is_over |= is_last;
        self.link.line.give(self.stream, &mut self.place, count);
        Ok(count)
    }

    /// Sends a piece of a file, for which there was [`Carried::room`], as it is: something follows.
    pub(crate) fn send_piece(&mut self, piece: Vec<u8>) -> rustix::io::Result<usize> {
        let count = piece.len();
        let Answer::Sending(answer) = &mut self.answer else { return Err(Errno::PIPE) };
        answer.send_data(Bytes::from(piece), false).map_err(|_| Errno::PIPE)?;
        self.link.line.give(self.stream, &mut self.place, count);
        Ok(count)
    }

    /// Whether the end of the stream must still be said.
    pub(crate) fn has_unsent(&self) -> bool {
        self.ends && !self.is_over
    }

    /// Nothing waits any more: says the end, if this is it.
    pub(crate) fn settle(&mut self) -> rustix::io::Result<()> {
        if !self.has_unsent() {
            return Ok(());
        }
        let Answer::Sending(answer) = &mut self.answer else { return Err(Errno::PIPE) };
        self.is_over = true;
        let said = match self.answer_trailers.take() {
            Some(trailers) => answer.send_trailers(trailers),
            None => answer.send_data(Bytes::new(), true),
        };
        said.map_err(|_| Errno::PIPE)
    }
}

fn response(status: u16, text: Vec<u8>) -> Option<Response<()>> {
    let mut response = Response::new(());
    *response.status_mut() = http::StatusCode::from_u16(status).ok()?;
    *response.headers_mut() = lines(&Bytes::from(text));
    Some(response)
}
