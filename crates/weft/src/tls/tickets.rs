//! Tickets, with which a client resumes a session at any worker, also after a reload.
//!
//! All workers have the same secret from the master, and make the next one of it by the clock, each for itself. It
//! cannot be turned back: who learns a secret can open the tickets of its period and later ones, but none from before.
//! Must not know processes or sessions. Invariant: a ticket is accepted in the period in which it was made and in the
//! next one.

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Prk};
use rustix::io::{pread, pwrite};
use rustls::server::ProducesTickets;

use crate::memory_file::memory_file;

/// How long a secret makes tickets.
const PERIOD_S: u64 = 6 * 3600;
const SECRET_BYTES: usize = 32;
const NAME_BYTES: usize = 16;
/// Beyond this many periods a clock has jumped: the old secrets are useless, but not worth the hashing.
const PERIODS_MAX: u64 = 10_000;

type Secret = [u8; SECRET_BYTES];

#[derive(Clone)]
struct State {
    period: u64,
    current: Secret,
    previous: Option<Secret>,
}

/// The secrets, for one use: see [`Tickets::clone_for`].
#[derive(Clone)]
pub struct Tickets {
    state: Arc<Mutex<State>>,
    /// What else the keys depend on.
    context: Arc<[u8]>,
}

/// The secrets where the next image of the master finds them.
#[derive(Debug)]
pub struct Kept(OwnedFd);

impl Tickets {
    /// With a new secret.
    ///
    /// # Errors
    /// No randomness, or no memory.
    pub fn new() -> Result<(Tickets, Kept), String> {
        let mut current = [0; SECRET_BYTES];
        aws_lc_rs::rand::fill(&mut current).map_err(|_| "no randomness for TLS".to_owned())?;
        let state = State { period: period_now(), current, previous: None };
        let file = memory_file("weft-tickets")
            .map_err(|error| format!("no memory for the secrets of TLS: {error}"))?;
        let (tickets, kept) = (Tickets::of(state), Kept(file));
        tickets.keep(&kept);
        Ok((tickets, kept))
    }

    /// With the secret of an earlier image; `None` if it is not one.
    pub fn adopt(file: OwnedFd) -> Option<(Tickets, Kept)> {
        let mut bytes = [0; 8 + 2 * SECRET_BYTES + 1];
        if pread(&file, &mut bytes, 0).ok()? != bytes.len() {
            return None;
        }
        let (period, rest) = bytes.split_first_chunk::<8>()?;
        let (current, rest) = rest.split_first_chunk::<SECRET_BYTES>()?;
        let (previous, rest) = rest.split_first_chunk::<SECRET_BYTES>()?;
        let previous = (rest == [1]).then_some(*previous);
        let state = State { period: u64::from_be_bytes(*period), current: *current, previous };
        Some((Tickets::of(state), Kept(file)))
    }

    fn of(state: State) -> Tickets {
        Tickets { state: Arc::new(Mutex::new(state)), context: Arc::default() }
    }

    /// The same secrets for tickets that are worth nothing in another context.
    pub fn clone_for(&self, context: &[u8]) -> Tickets {
        Tickets { state: Arc::clone(&self.state), context: context.into() }
    }

    /// Forgets what is too old, and writes the rest for the next image.
    pub fn keep(&self, kept: &Kept) {
        let state = self.state_at(period_now());
        let previous = state.previous.unwrap_or_default();
        let bytes = [
            &state.period.to_be_bytes()[..],
            &state.current,
            &previous,
            &[u8::from(state.previous.is_some())],
        ]
        .concat();
        // Without it, sessions cannot be resumed after the next reload, but begun.
        let _ = pwrite(&kept.0, &bytes, 0);
    }

    /// The secrets of a period, which is the present one or close to it.
    fn state_at(&self, period: u64) -> State {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if period.saturating_sub(state.period) > PERIODS_MAX {
            (state.period, state.previous) = (period - 2, None);
        }
        while state.period < period {
            let next = derive(&state.current, b"next");
            state.previous = Some(std::mem::replace(&mut state.current, next));
            state.period += 1;
        }
        state.clone()
    }

    fn seal(&self, plain: &[u8], secret: &Secret) -> Option<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        aws_lc_rs::rand::fill(&mut nonce).ok()?;
        let (name, key) = self.key(secret)?;
        let mut sealed = plain.to_vec();
        let aad = Aad::from(&name[..]);
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut sealed).ok()?;
        Some([&name[..], &nonce, &sealed].concat())
    }

    fn open(&self, ticket: &[u8], secret: &Secret) -> Option<Vec<u8>> {
        let (named, rest) = ticket.split_first_chunk::<NAME_BYTES>()?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_LEN>()?;
        let (name, key) = self.key(secret)?;
        let mut plain = sealed.to_vec();
        if *named != name {
            return None;
        }
        let length = key
            .open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(&name[..]), &mut plain)
            .ok()?
            .len();
        plain.truncate(length);
        Some(plain)
    }

    /// The name by which a ticket says which key opens it, and that key.
    fn key(&self, secret: &Secret) -> Option<([u8; NAME_BYTES], LessSafeKey)> {
        let name = derive(secret, &[b"name", &self.context[..]].concat());
        let key = derive(secret, &[b"key ", &self.context[..]].concat());
        let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &key).ok()?);
        Some((*name.first_chunk()?, key))
    }
}

impl ProducesTickets for Tickets {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        PERIOD_S as u32
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.seal(plain, &self.state_at(period_now()).current)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        let state = self.state_at(period_now());
        self.open(cipher, &state.current)
            .or_else(|| state.previous.and_then(|secret| self.open(cipher, &secret)))
    }
}

impl fmt::Debug for Tickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tickets")
    }
}

impl AsFd for Kept {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

struct Length;

impl KeyType for Length {
    fn len(&self) -> usize {
        SECRET_BYTES
    }
}

fn derive(secret: &Secret, label: &[u8]) -> Secret {
    let mut made = [0; SECRET_BYTES];
    // It fails only for a length that SHA-256 cannot make, which this is not.
    let parts = [label];
    let expanded = Prk::new_less_safe(HKDF_SHA256, secret);
    if let Ok(okm) = expanded.expand(&parts, Length) {
        let _ = okm.fill(&mut made);
    }
    made
}

fn period_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / PERIOD_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_opens_in_its_period_and_the_next_and_in_its_context_only() {
        let (tickets, kept) = Tickets::new().unwrap();
        let other = tickets.clone_for(b"other");
        let ticket = tickets.encrypt(b"session").unwrap();
        assert_eq!(tickets.decrypt(&ticket).unwrap(), b"session");
        assert!(other.decrypt(&ticket).is_none() && tickets.decrypt(b"short").is_none());
        let mut forged = ticket.clone();
        *forged.last_mut().unwrap() ^= 1;
        assert!(tickets.decrypt(&forged).is_none());
        // Another process takes the secrets over.
        let (heir, _) = Tickets::adopt(kept.0.try_clone().unwrap()).unwrap();
        assert_eq!(heir.decrypt(&ticket).unwrap(), b"session");
        // Time passes.
        let now = heir.state.lock().unwrap().period;
        let next = heir.state_at(now + 1);
        assert_eq!(heir.open(&ticket, &next.previous.unwrap()).unwrap(), b"session");
        let later = heir.state_at(now + 2);
        assert!(heir.open(&ticket, &later.previous.unwrap()).is_none());
        assert_eq!(heir.state_at(now + 1_000_000).period, now + 1_000_000);
    }
}
