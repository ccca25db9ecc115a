//! A client of server-sent events: blocks of lines over HTTP/1.1. Must not know what is published. Invariant: it reads no
//! more than a test asks for, a chunk apart.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use crate::{PATIENCE, Running};

/// A client of a stream, over HTTP/1.1.
pub struct Events {
    /// What follows the head.
    pub reader: BufReader<TcpStream>,
    /// The head of the answer.
    pub head: String,
    /// Events that were received and not taken.
    pub text: String,
}

impl Events {
    /// Asks for a stream, with further header lines.
    ///
    /// # Panics
    /// As all of these, if the answer is something else.
    pub fn ask(weft: &Running, target: &str, lines: &str) -> Events {
        let mut stream = TcpStream::connect(weft.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        write!(stream, "GET {target} HTTP/1.1\r\nHost: a\r\n{lines}\r\n").expect("sent");
        let mut events = Events { reader: BufReader::new(stream), head: String::new(), text: String::new() };
        while !events.head.ends_with("\r\n\r\n") {
            assert!(events.reader.read_line(&mut events.head).expect("a line") > 0, "{}", weft.log());
        }
        events
    }

    /// One that is subscribed; returns the id with which it begins.
    pub fn open(weft: &Running, target: &str) -> (Events, String) {
        let mut events = Events::ask(weft, target, "");
        assert!(
            events.head.contains("Content-Type: text/event-stream\r\n"),
            "{} {}",
            events.head,
            weft.log()
        );
        assert!(events.block().starts_with("retry: "));
        let first = events.block();
        let id = first.strip_prefix("id: ").unwrap_or_else(|| panic!("{first:?}"));
        (events, id.to_owned())
    }

    /// One that comes back.
    pub fn resume(weft: &Running, target: &str, last: &str) -> Events {
        let mut events = Events::ask(weft, target, &format!("Last-Event-ID: {last}\r\n"));
        assert!(events.block().starts_with("retry: "));
        events
    }

    /// The next lines up to an empty one; `None` if the response has ended as it should.
    pub fn next_block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                return Some(block);
            }
            let mut length = String::new();
            self.reader.read_line(&mut length).expect("a chunk");
            let length =
                usize::from_str_radix(length.trim_end(), 16).unwrap_or_else(|_| panic!("{length:?}"));
            let mut chunk = vec![0; length + 2];
            self.reader.read_exact(&mut chunk).expect("the chunk");
            if length == 0 {
                assert_eq!(self.reader.read(&mut [0]).expect("an end"), 0);
                return None;
            }
            chunk.truncate(length);
            self.text += &String::from_utf8(chunk).expect("UTF-8");
        }
    }

    /// The next lines up to an empty one.
    pub fn block(&mut self) -> String {
        self.next_block().expect("more")
    }

    /// The data of the next event, and its id.
    pub fn event(&mut self) -> (String, String) {
        let block = loop {
            let block = self.block();
            if block.contains("\ndata: ") {
                break block;
            }
        };
        let (id, data) = block.split_once("\ndata: ").unwrap_or_else(|| panic!("{block:?}"));
        (data.to_owned(), id.strip_prefix("id: ").unwrap_or_else(|| panic!("{block:?}")).to_owned())
    }
}
