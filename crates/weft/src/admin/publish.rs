//! `POST /publish?topic=NAME`: publishes the body to a topic.
//!
//! Must not know who may: the caller has checked that. Invariant: nothing here waits.

use weft_rt::Nanos;
use weft_serve::{RequestKey, Server};

use super::answer::{Answer, TEXT};
use super::asking::{Asking, Told};
use super::bodies::{Bodies, body_of};
use crate::bus::{NotPublished, Post, Publication, What, publish_at_once};

/// Publications.
pub struct Publications {
    post: &'static Post,
    /// Those whose messages have not arrived.
    bodies: Bodies,
    /// Those whose subscribers are being counted.
    counting: Asking<Counting>,
}

/// A message that is published, and for which other workers count its subscribers.
struct Counting {
    id: String,
    /// Those in this worker.
    own: usize,
}

impl Publications {
    pub fn new(post: &'static Post) -> Publications {
        let counting = Asking::new(post, counted);
        Publications { post, bodies: Bodies::default(), counting }
    }

    /// Publishes the body of a request, now or when it has arrived.
    pub fn take(&self, server: &Server, key: RequestKey) {
        if self.bodies.has(server, key) {
            self.publish(server, key);
        }
    }

    /// Publishes those that have arrived meanwhile, and answers those whose subscribers have been counted. Returns whether others
    /// wait.
    pub fn turn(&self, server: &Server, now: Nanos) -> bool {
        let waits = self.bodies.turn(server, |key| self.publish(server, key));
        self.counting.turn(server, now) | waits
    }

    /// Publishes a message that is there, and has its subscribers counted.
    fn publish(&self, server: &Server, key: RequestKey) {
        let (topic, id) = match self.try_publish(server, key) {
            Ok(published) => published,
            Err(answer) => return answer.send(server, key),
        };
        let own = server.members(&topic).len();
        let asked = self.counting.ask(server, key, (What::Count, &topic), Counting { id, own });
        if let Err(Counting { id, .. }) = asked {
            published(&id, None).send(server, key);
        }
    }

    fn try_publish(&self, server: &Server, key: RequestKey) -> Result<(Vec<u8>, String), Answer> {
        let asked = server.with_request(key, |request| {
            let fields = Fields::of(request.query().unwrap_or_default());
            let media_type = request.header("content-type").unwrap_or_default();
            (fields, media_type.starts_with(b"application/octet-stream"))
        });
        let unread = || Answer::new(500, TEXT, "500 Internal Server Error: the message cannot be read\n");
        let (Fields { topic, except, key: state }, is_binary) = asked.ok_or_else(unread)?;
        let payload = body_of(server, key).ok_or_else(unread)?;
        let publication =
            Publication { topic: &topic, payload: &payload, is_binary, except: &except, key: &state };
        match publish_at_once(self.post.member.bus, &publication) {
            Ok(id) => Ok((topic, id)),
            Err(failed) => {
                let status = match failed {
                    NotPublished::Topic
                    | NotPublished::NotText
                    | NotPublished::Excluded
                    | NotPublished::Key => 400,
                    NotPublished::TooLong(_) => 413,
                    NotPublished::Full | NotPublished::Busy | NotPublished::Cancelled => 503,
                };
                Err(Answer::new(status, TEXT, format!("{failed}\n")))
            }
        }
    }
}

fn counted(here: Counting, told: Told) -> Answer {
    let number = |row: &Vec<u8>| std::str::from_utf8(row).ok()?.parse::<usize>().ok();
    let of_all = told.ok().filter(|(_, late)| late.is_empty());
    let count = of_all.map(|(rows, _)| here.own + rows.iter().filter_map(number).sum::<usize>());
    published(&here.id, count)
}

/// What is said of a message that was published: how many have subscribed, unless not all workers have answered.
fn published(id: &str, subscribers: Option<usize>) -> Answer {
    let count = subscribers.map_or("null".to_owned(), |count| count.to_string());
    Answer::new(200, "application/json", format!("{{\"id\":\"{id}\",\"subscribers\":{count}}}\n"))
}

/// The fields of a query that matter here.
#[derive(Default)]
struct Fields {
    topic: Vec<u8>,
    except: Vec<u8>,
    key: Vec<u8>,
}

impl Fields {
    fn of(query: &[u8]) -> Fields {
        let mut fields = Fields::default();
        for field in query.split(|byte| *byte == b'&') {
            let at = field.iter().position(|byte| *byte == b'=').unwrap_or(field.len());
            let value = || decoded(field.get(at + 1..).unwrap_or_default());
            match &field[..at] {
                b"topic" => fields.topic = value(),
                b"except" => fields.except = value(),
                b"key" => fields.key = value(),
                _ => (),
            }
        }
        fields
    }
}

/// A value as forms write it: `+` is a space, `%41` an A.
fn decoded(value: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((byte, behind)) = rest.split_first() {
        let hex = behind.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let coded = hex.filter(|_| *byte == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok());
        plain.push(coded.unwrap_or(if *byte == b'+' { b' ' } else { *byte }));
        rest = if coded.is_some() { &behind[2..] } else { behind };
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_as_forms_write_it() {
        let fields = Fields::of(b"x=1&topic=room+1%2f%C3%A9%zz&except=1a-w2+1a-w3&key=%00");
        assert_eq!((&fields.topic[..], &fields.except[..]), ("room 1/é%zz".as_bytes(), &b"1a-w2 1a-w3"[..]));
        assert_eq!(fields.key, [0]);
        assert!(Fields::of(b"").topic.is_empty());
    }
}
