//! What was read from the bus goes to this worker's connections.
//!
//! Must not know how a message got onto the bus. Invariant: a turn delivers only so much that connections are sent to in
//! between: a client that reads is never closed because much was published at once.

use std::cell::Cell;

use weft_proto::websocket::Kind;
use weft_rt::{Nanos, clock};
use weft_serve::{Published, Server, StateKey, TunnelKey};

use super::letter::{Kind as LetterKind, Letter};
use super::member::Next;
use super::message::{Kind as MessageKind, Message, excluded_in};
use super::name::{end_of, id};
use super::presence::Presence;
use super::questions;
use super::recent;
use super::shared::{MAIL, NEWS};

/// Messages of one turn to which this worker has subscribers,
const PER_TURN: usize = 256;
/// ... and others, which cost it next to nothing, and come many at once: nobody is woken for them.
const UNHEARD_PER_TURN: usize = 16 * 1024;
/// ... the bytes of the former
const BYTES_PER_TURN: usize = 64 * 1024;
/// ... and how many connections have got one.
const DELIVERIES_PER_TURN: usize = 4096;

/// Letters of one turn.
const LETTERS_PER_TURN: usize = 256;

/// The bus's part of a turn of the loop: next to nothing if the bell has not rung.
pub fn turn(presence: &Presence, server: &Server, now: Nanos) {
    if presence.post.is_due() {
        deliver(presence, server);
        presence.post.note_turn(now);
    }
}

/// What is done at the end of a turn: who was present by a stream of events that has ended, has gone.
pub fn note_ended(presence: &Presence, server: &Server) {
    for stream in server.take_ended_streams() {
        presence.go(stream, None);
    }
}

/// What is done once a second: a worker may have died after it had written, and before it rang.
pub fn look(presence: &Presence, server: &Server) {
    presence.post.hear_bell();
    presence.look(server, clock::now());
}

/// Passes over messages that nobody here gets, for which this worker was not woken, so that a new subscriber gets nothing that
/// was published long before. Others are left to the turn, which delivers only so much at once.
pub fn read_up(presence: &Presence, server: &Server) {
    let is_passed = |record: &[u8]| {
        let is_other = |message: Message<'_>| {
            let is_message = matches!(message.kind, MessageKind::Text | MessageKind::Binary);
            message.is_past || is_message && !server.is_heard(message.topic)
        };
        Message::decode(record).is_none_or(is_other)
    };
    // What was published since: no more than a second's, and an eighth of the ring.
    let (member, head) = (presence.post.member, presence.post.member.bus.head(NEWS));
    while member.position(NEWS) < head && member.pass(NEWS, is_passed) {}
    presence.post.hear_what_is_there();
}

/// Delivers what has come; what is left comes in the next turn ([`Member::has_news`]).
fn deliver(presence: &Presence, server: &Server) {
    let (post, member) = (presence.post, presence.post.member);
    deliver_news(presence, server);
    if member.bus.head(MAIL) != member.position(MAIL) {
        read_up(presence, server); // a letter may subscribe a connection
    }
    for _ in 0..LETTERS_PER_TURN {
        let next = member.next(MAIL, |_, record| {
            let Some(letter) = Letter::decode(record) else { return };
            if let Some(question) = post.take(&letter) {
                debug_assert_eq!(letter.kind, LetterKind::Question);
                let others = || questions::answer(server, &format!("{:x}", member.owner), question);
                let of_history = || recent::answer(server, member, question);
                let rows = presence.answer(question).or_else(of_history).unwrap_or_else(others);
                post.reply(&letter, &rows);
            }
        });
        match next {
            Next::Given => (),
            Next::Nothing => return,
            // Who has asked learns of it by the deadline.
            Next::Missed => tracing::warn!("this worker has missed questions of others"),
        }
    }
}

fn deliver_news(presence: &Presence, server: &Server) {
    let member = presence.post.member;
    let (heard, bytes, deliveries) = (Cell::new(0), Cell::new(0), Cell::new(0));
    for _ in 0..UNHEARD_PER_TURN {
        let next = member.next(NEWS, |at, record| {
            let Some(message) = Message::decode(record) else { return };
            if message.is_past || !presence.take(&message) || !server.is_heard(message.topic) {
                return;
            }
            let except: Vec<TunnelKey> = excluded_in(message.except, member.owner).map(TunnelKey).collect();
            let queued = server.publish(&Published {
                topic: message.topic,
                kind: if message.kind == MessageKind::Binary { Kind::Binary } else { Kind::Text },
                payload: message.payload,
                state: StateKey::of(message.topic, message.key),
                id: &|| id(member.bus.epoch, end_of(at, record), &message),
                except: &except,
            });
            heard.set(heard.get() + 1);
            bytes.set(bytes.get() + record.len());
            deliveries.set(deliveries.get() + queued);
        });
        match next {
            Next::Given
                if heard.get() < PER_TURN
                    && bytes.get() < BYTES_PER_TURN
                    && deliveries.get() < DELIVERIES_PER_TURN => {}
            Next::Given | Next::Nothing => return,
            Next::Missed => {
                presence.begin_anew();
                let closed = server.missed_messages();
                tracing::error!(
                    "this worker has missed messages of topics, because it did not read for too long; {closed} connections are closed"
                );
            }
        }
    }
}
