//! Answers as HTTP/2: heads, interim responses and trailers.
//!
//! Must not know what is answered. Invariant: what is sent passed the same checks as the text of HTTP/1.1.

use weft_proto::{InvalidHeader, ResponseHead, Sent, SentBody, Version, write_interim, write_last_chunk};

use crate::connection::Connection;
use crate::server::Server;
use crate::stream::respond::Headers;

/// The request was for a tunnel, and what has it does not make any.
const NOT_IMPLEMENTED: u16 = 501;

impl Server {
    /// Gives a head to the stream that carries the answer.
    #[cold]
    pub(crate) fn encode_carried(
        &self,
        connection: &mut Connection,
        head: ResponseHead,
        headers: &Headers<'_>,
    ) -> Result<Sent, InvalidHeader> {
        // A client takes success for the tunnel that it has asked for (RFC 8441 section 5): a page is none.
        let asks = connection.transport.carried().is_some_and(|carried| carried.is_tunnel);
        let status = if asks && (200..300).contains(&head.status) { NOT_IMPLEMENTED } else { head.status };
        let head = ResponseHead { version: Version::Http2, status, ..head };
        let mut text = Vec::with_capacity(256);
        let sent = head.encode(headers, &self.date(), &mut self.repeated.borrow_mut(), &mut text)?;
        let is_whole = matches!(sent.body, SentBody::None | SentBody::Length(0));
        if let Some(carried) = connection.transport.carried_mut()
            && !carried.respond(head.status, text, is_whole)
        {
            connection.transport.broken = true;
        }
        // The connection goes on in any case; what is false later was cut off.
        Ok(Sent { keep_alive: true, ..sent })
    }

    /// Gives an interim response to the stream that carries the answer. Returns false if there is none.
    pub(crate) fn inform_carried(
        &self,
        connection: &mut Connection,
        status: u16,
        headers: &Headers<'_>,
    ) -> Result<bool, InvalidHeader> {
        let Some(carried) = connection.transport.carried_mut() else { return Ok(false) };
        let mut text = Vec::new();
        write_interim(&mut text, Version::Http2, status, headers.iter().copied())?;
        carried.inform(status, text);
        Ok(true)
    }

    /// Opens the tunnel that a stream is to become, with these fields. Returns false if the peer has given up.
    pub(crate) fn open_carried(
        &self,
        connection: &mut Connection,
        fields: &Headers<'_>,
    ) -> Result<bool, InvalidHeader> {
        let Some(carried) = connection.transport.carried_mut() else { return Ok(false) };
        let mut text = Vec::new();
        write_interim(&mut text, Version::Http2, 101, fields.iter().copied())?;
        Ok(carried.respond(200, text, false))
    }

    /// Gives trailers to the stream that carries the answer.
    pub(crate) fn end_carried(
        &self,
        connection: &mut Connection,
        trailers: &Headers<'_>,
    ) -> Result<(), InvalidHeader> {
        let Some(carried) = connection.transport.carried_mut() else { return Ok(()) };
        let mut text = Vec::new();
        write_last_chunk(&mut text, trailers.iter().copied())?;
        carried.end_with(text);
        Ok(())
    }
}
