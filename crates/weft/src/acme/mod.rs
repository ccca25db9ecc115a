//! Certificates that weft sees to itself: by an authority that speaks ACME (RFC 8555), or for `localhost` by its own.
//!
//! Must not know listeners or workers. Invariants: a process of its own speaks with the authority, which the master starts
//! and which ends when nothing is due; what it gets is in the storage before anybody is told. Workers read nothing of the
//! storage but answers to challenges.
//!
//! Reading order: `storage` (what lies where), `renewal` (which names are due), `order` (how one is certified), `challenges`
//! (what a worker answers), `local` (the authority for `localhost`).

mod account;
mod challenges;
mod client;
mod due;
mod failure;
mod local;
mod notice;
mod order;
mod renewal;
mod state;
mod storage;

pub use self::challenges::{Challenges, PROTOCOL};
pub use self::local::{authority_file, certify as certify_locally};
pub use self::notice::Notice;
pub use self::renewal::{describe, renew};
pub use self::storage::{Storage, directory_of, file_of};
