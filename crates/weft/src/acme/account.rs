//! The account with the authority: found in the storage, or made.
//!
//! Must not know names. Invariant: hosts that share the storage share the account.

use instant_acme::{Account, AccountCredentials, CertificateIdentifier, Error, NewAccount};
use serde_json::{Value, json};

use super::client::{Client, Later, done};
use super::failure::{Failure, is};
use super::storage::Storage;
use crate::config::Acme;

/// Its file.
const FILE: &str = "account.json";
/// The name under which it is locked while it is made.
const LOCK: &str = "account";
/// Nonces that are refused in a row; the library makes three attempts each time.
const NONCES_MAX: usize = 5;
/// How often to look whether another process has made it.
const LOOKS_MAX: usize = 120;
const LOOK_EVERY: std::time::Duration = std::time::Duration::from_millis(500);

/// A window for renewal, from and to in seconds since 1970, and for how many seconds that answer stands.
pub type Answer = ((u64, u64), u64);

/// The authority, asked when something is due.
pub struct Authority<'c> {
    acme: &'c Acme,
    known: Option<(Account, Later)>,
}

impl<'c> Authority<'c> {
    /// That of `[acme]`.
    pub fn new(acme: &'c Acme) -> Authority<'c> {
        Authority { acme, known: None }
    }

    /// The account there, and when the authority wants to be asked again.
    pub fn account(&mut self, storage: &Storage) -> Result<(&Account, &Later), Failure> {
        if self.known.is_none() {
            self.known = Some(self.find_or_make(storage)?);
        }
        let (account, later) = self.known.as_ref().expect("it is known now");
        Ok((account, later))
    }

    /// When the authority wants a certificate renewed, and for how many seconds that stands; `None` if it does not say.
    pub fn wish(
        &mut self,
        storage: &Storage,
        id: &CertificateIdentifier<'_>,
    ) -> Result<Option<Answer>, Failure> {
        let (account, later) = self.account(storage)?;
        match done(account.renewal_info(id)) {
            Ok((wish, pause)) => {
                let time = |at: i64| u64::try_from(at).unwrap_or_default();
                let window = &wish.suggested_window;
                let (start, end) = (window.start.unix_timestamp(), window.end.unix_timestamp());
                // RFC 9773 section 4.2: a window that ends before it begins is no window.
                Ok((start < end).then(|| ((time(start), time(end)), pause.as_secs())))
            }
            Err(Error::Unsupported(_)) => Ok(None),
            Err(error) => Err(Failure::of(&error, later)),
        }
    }

    fn find_or_make(&self, storage: &Storage) -> Result<(Account, Later), Failure> {
        let mut lock = None;
        for _ in 0..LOOKS_MAX {
            lock = storage.lock(LOCK).map_err(Failure::own)?;
            if lock.is_some() {
                break;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        if lock.is_none() {
            return Err(Failure::own("another process has been making the account for a minute"));
        }
        match storage.read(FILE).and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok()) {
            Some(kept) => self.use_kept(storage, &kept),
            None => self.make(storage),
        }
    }

    /// Contacts as URLs, in a fixed order.
    fn contacts(&self) -> Vec<String> {
        self.acme.contact.iter().map(|address| format!("mailto:{address}")).collect()
    }

    fn use_kept(&self, storage: &Storage, kept: &Value) -> Result<(Account, Later), Failure> {
        let (client, later) = Client::new(self.acme).map_err(Failure::own)?;
        let Ok(credentials) = serde_json::from_value::<AccountCredentials>(kept["credentials"].clone())
        else {
            return self.make(storage);
        };
        let builder = Account::builder_with_http(Box::new(client));
        let account =
            done(builder.from_credentials(credentials)).map_err(|error| Failure::of(&error, &later))?;
        let contacts = self.contacts();
        if kept["contact"] == json!(contacts) {
            return Ok((account, later));
        }
        let contact: Vec<&str> = contacts.iter().map(String::as_str).collect();
        match again(|| done(account.update_contacts(&contact))) {
            Ok(()) => {
                let kept = json!({ "contact": contacts, "credentials": kept["credentials"] });
                storage.write(FILE, kept.to_string().as_bytes(), 0o600).map_err(Failure::own)?;
                Ok((account, later))
            }
            Err(error) if is(&error, "accountDoesNotExist") => self.make(storage),
            Err(error) => Err(Failure::of(&error, &later)),
        }
    }

    fn make(&self, storage: &Storage) -> Result<(Account, Later), Failure> {
        let contacts = self.contacts();
        let contact: Vec<&str> = contacts.iter().map(String::as_str).collect();
        let wanted = NewAccount {
            contact: &contact,
            terms_of_service_agreed: self.acme.terms_agreed,
            only_return_existing: false,
        };
        let (client, mut later) = Client::new(self.acme).map_err(Failure::own)?;
        let mut client = Some(client);
        let made = again(|| {
            // The library consumes it with each attempt.
            let client = match client.take() {
                Some(client) => client,
                None => {
                    let (client, new) = Client::new(self.acme).map_err(|why| Error::Other(why.into()))?;
                    later = new;
                    client
                }
            };
            let builder = Account::builder_with_http(Box::new(client));
            done(builder.create(&wanted, self.acme.directory.clone(), None))
        });
        let (account, credentials) = made.map_err(|error| Failure::of(&error, &later))?;
        let kept = serde_json::to_value(&credentials).map_err(|error| Failure::own(error.to_string()))?;
        let kept = json!({ "contact": contacts, "credentials": kept });
        storage.write(FILE, kept.to_string().as_bytes(), 0o600).map_err(Failure::own)?;
        Ok((account, later))
    }

    /// The authority does not know the account any more: the next one is new.
    pub fn forget(&mut self, storage: &Storage) {
        self.known = None;
        storage.remove(FILE);
    }
}

/// Makes a call until its nonce is accepted (RFC 8555 section 6.5).
fn again<T>(mut call: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    let mut left = NONCES_MAX;
    loop {
        left -= 1;
        match call() {
            Err(error) if is(&error, "badNonce") && left > 0 => (),
            result => return result,
        }
    }
}
