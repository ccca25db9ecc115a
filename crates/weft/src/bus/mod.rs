//! The bus: how workers of one server publish to topics, whoever's connections have subscribed to them.
//!
//! # Layout, in reading order
//! - `shared`: the bus itself, in memory that all processes share: `memory` with its lock, `ring` of records, `places` of
//!   readers, `index` of topics, `interest` of workers in topics; `message`: what is published. `wake`: whom that
//!   wakes, with `bells`.
//! - `member`: a worker's part in it. `publish`: publishing, which may wait; `deliver`: what was read goes to
//!   connections; `missed`: what one gets that comes back; `catch_up`: it has not to
//!   hear twice what it has heard elsewhere; `recent`: what one gets that is new.
//! - `post`: what workers ask each other, in `letter`s; `questions`: what can be asked.
//! - `presence`: who is at a topic, comes and goes.
//! - `hosts`: what is known of other hosts; `name`: what a message is called at all of them.

mod bells;
mod catch_up;
mod deliver;
mod hosts;
mod index;
mod interest;
mod letter;
mod member;
mod memory;
mod message;
mod missed;
mod name;
mod places;
mod post;
mod presence;
mod publish;
mod questions;
mod recent;
mod ring;
mod shared;
mod wake;

pub use bells::Bells;
pub use catch_up::{catch_up, lasts};
pub use deliver::{look, note_ended, read_up, turn};
pub use hosts::{HOSTS, Host};
pub use letter::{Letter, encode_rows, rows_of};
pub use member::{Member, Next};
pub use message::{Kind, Message, Origin, connection_of, now_ms};
pub use missed::{Limits, Missed, missed};
pub use name::{end_of, position};
pub use places::pid_of;
pub use post::{NotAnswered, Post};
pub use presence::{Attendee, PREFIX as PRESENCE, Presence, announcement, attendees_of, rows_of_attendee};
pub use publish::{NotPublished, Publication, publish, publish_at_once};
pub use questions::{NO_TOPIC, Rows, What, answer, name_of, question, write_name};
pub use recent::{Wanted, recent_of_all, rows as recent_rows, send as send_recent, subscribe};
pub use shared::{Bus, MAIL, NEWS, Refused};
