//! Basic authentication (RFC 7617): tries the password of a request against a file's.
//!
//! Must not know which paths need one. Invariants: a password that was right once costs no second try; wrong ones take a
//! fifth of a worker's time at most, whoever sends them.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::time::{Duration, Instant};

use aws_lc_rs::{constant_time, digest, hmac};
use base64::Engine;
use md5::{Digest, Md5};

use crate::config::{Hash, Users};

/// Right passwords that are remembered; beyond it all are tried again.
const KNOWN_MAX: usize = 4_096;
/// A wrong try that takes at least this long makes the next unknown password wait.
const SLOW: Duration = Duration::from_millis(10);
/// How many times as long as the wrong try itself.
const REST: u32 = 4;

/// What became of a try.
#[derive(Debug, PartialEq, Eq)]
pub enum Tried {
    /// It is this user.
    Right(Vec<u8>),
    /// There are no credentials, or they are wrong.
    Wrong,
    /// Too many wrong ones came: later.
    Later,
}

/// What is known of passwords.
pub struct Passwords {
    /// Random for each worker, so that what is remembered says nothing elsewhere.
    key: hmac::Key,
    known: RefCell<HashSet<[u8; 32]>>,
    rests_until: Cell<Option<Instant>>,
}

impl std::fmt::Debug for Passwords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passwords", self.known.borrow().len())
    }
}

impl Passwords {
    /// None is known.
    pub fn new() -> Passwords {
        let mut random = [0u8; 32];
        // The kernel's generator cannot fail once the machine runs; aws-lc ends the process without it as well.
        let _ = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
        Passwords {
            key: hmac::Key::new(hmac::HMAC_SHA256, &random),
            known: RefCell::default(),
            rests_until: Cell::new(None),
        }
    }

    /// Tries what a request sends in its Authorization field.
    pub fn try_field(&self, users: &Users, field: Option<&[u8]>) -> Tried {
        let Some((name, password)) = field.and_then(credentials) else { return Tried::Wrong };
        let found = users.list.iter().find(|(known, _)| known.as_bytes() == name);
        // A name that does not exist costs the same.
        let Some(hash) = found.or(users.list.first()).map(|(_, hash)| hash) else { return Tried::Wrong };
        let mark = self.mark(hash, &name, &password);
        if found.is_some() && self.known.borrow().contains(&mark) {
            return Tried::Right(name);
        }
        let now = Instant::now();
        if self.rests_until.get().is_some_and(|until| now < until) {
            return Tried::Later;
        }
        let is_right = is_password(hash, &password);
        if is_right && found.is_some() {
            let mut known = self.known.borrow_mut();
            if known.len() >= KNOWN_MAX {
                known.clear();
            }
            known.insert(mark);
            return Tried::Right(name);
        }
        let took = now.elapsed();
        if took >= SLOW {
            self.rests_until.set(Some(now + took + took * REST));
        }
        Tried::Wrong
    }

    /// What is remembered of a right password.
    fn mark(&self, hash: &Hash, name: &[u8], password: &[u8]) -> [u8; 32] {
        let mut context = hmac::Context::with_key(&self.key);
        let stored: &[u8] = match hash {
            Hash::Bcrypt(text) | Hash::Apr1(_, text) | Hash::Sha256(text) | Hash::Sha512(text) => {
                text.as_bytes()
            }
            Hash::Sha1(bytes) => bytes,
        };
        for part in [stored, name, password] {
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part);
        }
        let mut mark = [0u8; 32];
        mark.copy_from_slice(context.sign().as_ref());
        mark
    }
}

/// Name and password.
fn credentials(field: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let space = field.iter().position(|byte| *byte == b' ')?;
    let (scheme, coded) = field.split_at(space);
    if !scheme.eq_ignore_ascii_case(b"Basic") {
        return None;
    }
    let decoded = base64::engine::general_purpose::STANDARD.decode(coded.trim_ascii()).ok()?;
    let colon = decoded.iter().position(|byte| *byte == b':')?;
    Some((decoded[..colon].to_vec(), decoded[colon + 1..].to_vec()))
}

fn is_password(hash: &Hash, password: &[u8]) -> bool {
    let same = |a: &[u8], b: &[u8]| constant_time::verify_slices_are_equal(a, b).is_ok();
    // SHA-crypt's crate takes text only; a password that is none is wrong.
    let text = || std::str::from_utf8(password).ok();
    match hash {
        Hash::Bcrypt(stored) => bcrypt::verify(password, stored).unwrap_or(false),
        Hash::Apr1(salt, stored) => same(apr1(salt.as_bytes(), password).as_bytes(), stored.as_bytes()),
        Hash::Sha1(stored) => {
            same(digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, password).as_ref(), stored)
        }
        Hash::Sha256(stored) => text().is_some_and(|text| sha_crypt::sha256_check(text, stored).is_ok()),
        Hash::Sha512(stored) => text().is_some_and(|text| sha_crypt::sha512_check(text, stored).is_ok()),
    }
}

/// MD5 as Apache's passwords use it: a thousand rounds in which password, salt and the last result take turns (the
/// order is that of Poul-Henning Kamp's md5crypt, as described in apr_md5.c).
fn apr1(salt: &[u8], password: &[u8]) -> String {
    const MAGIC: &[u8] = b"$apr1$";
    let salt = &salt[..salt.len().min(8)];
    let inner = Md5::new().chain_update(password).chain_update(salt).chain_update(password).finalize();
    let mut first = Md5::new().chain_update(password).chain_update(MAGIC).chain_update(salt);
    for at in (0..password.len()).step_by(inner.len()) {
        first.update(&inner[..inner.len().min(password.len() - at)]);
    }
    let mut bits = password.len();
    while bits > 0 {
        first.update(if bits & 1 == 1 { &[0][..] } else { &password[..1] });
        bits >>= 1;
    }
    let mut last = first.finalize();
    for round in 0..1_000 {
        let odd = round % 2 == 1;
        let mut next = Md5::new();
        next.update(if odd { password } else { &last[..] });
        if round % 3 != 0 {
            next.update(salt);
        }
        if round % 7 != 0 {
            next.update(password);
        }
        next.update(if odd { &last[..] } else { password });
        last = next.finalize();
    }
    let mut text = format!("$apr1${}$", String::from_utf8_lossy(salt));
    for [a, b, c] in [[0, 6, 12], [1, 7, 13], [2, 8, 14], [3, 9, 15], [4, 10, 5]] {
        put_base64(&mut text, u32::from(last[a]) << 16 | u32::from(last[b]) << 8 | u32::from(last[c]), 4);
    }
    put_base64(&mut text, u32::from(last[11]), 2);
    text
}

/// The alphabet and the order of crypt(3): the lowest six bits first.
fn put_base64(text: &mut String, mut bits: u32, digits: usize) {
    const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for _ in 0..digits {
        text.push(char::from(ALPHABET[(bits & 63) as usize]));
        bits >>= 6;
    }
}
