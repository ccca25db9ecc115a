//! What a worker answers an authority that asks whether this server has a name.
//!
//! The answers are files in a directory that every worker was given before it dropped its rights, and that hosts may share:
//! it does not matter which worker of which host is asked. Must not know orders. Invariant: only names that a challenge can
//! have are looked up, one small file each time, and nobody but the authority has a reason to ask.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::storage::{Storage, read_in};

/// Where HTTP-01 asks (RFC 8555 section 8.3).
const PATH: &[u8] = b"/.well-known/acme-challenge/";
/// The protocol that TLS-ALPN-01 asks for (RFC 8737 section 6.2).
pub const PROTOCOL: &[u8] = b"acme-tls/1";
/// A token has at least 128 bits in base64url (RFC 8555 section 8.1); authorities use less than twice as many.
const TOKEN_BYTES_MAX: usize = 128;
/// A token, a dot and a hash.
const ANSWER_BYTES_MAX: usize = 512;
/// A key and a certificate.
const PAIR_BYTES_MAX: usize = 8 << 10;

/// The answers that there are at present.
#[derive(Debug)]
pub struct Challenges(OwnedFd);

/// The file with the answer to TLS-ALPN-01 for a name. No token has a dot.
pub fn pair_file(name: &str) -> String {
    format!("{name}.alpn")
}

/// Whether it can be a token, and so the name of a file.
pub fn is_token(text: &str) -> bool {
    (1..=TOKEN_BYTES_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

impl Challenges {
    /// Those of a storage.
    ///
    /// # Errors
    /// One line: the directory cannot be made.
    pub fn open(storage: &Storage) -> Result<Challenges, String> {
        storage.challenges().map(|challenges| Challenges(challenges.into_directory()))
    }

    /// The answer to HTTP-01, if this is such a question and there is one.
    pub fn answer(&self, path: &[u8]) -> Option<Vec<u8>> {
        let token = std::str::from_utf8(path.strip_prefix(PATH)?).ok().filter(|token| is_token(token))?;
        read_in(&self.0, token, ANSWER_BYTES_MAX)
    }

    /// The certificate with the answer to TLS-ALPN-01 for a name in small letters.
    pub fn certificate(&self, name: &str) -> Option<Arc<CertifiedKey>> {
        let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        let content = is_plain.then(|| read_in(&self.0, &pair_file(name), PAIR_BYTES_MAX)).flatten()?;
        let chain = CertificateDer::pem_slice_iter(&content).collect::<Result<Vec<_>, _>>().ok()?;
        let key = PrivateKeyDer::from_pem_slice(&content).ok()?;
        // `from_der` would refuse it: no verifier but the authority's knows its critical extension.
        let key = aws_lc_rs::default_provider().key_provider.load_private_key(key).ok()?;
        Some(Arc::new(CertifiedKey::new(chain, key)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::master::testing::Directory;

    #[test]
    fn only_tokens_are_looked_up() {
        let directory = Directory::new();
        let storage = Storage::open(&directory.path().join("storage")).unwrap();
        let challenges = Challenges::open(&storage).unwrap();
        storage.write("secret", b"key", 0o600).unwrap();
        storage.challenges().unwrap().write("abc-_1", b"abc-_1.hash", 0o644).unwrap();
        assert_eq!(challenges.answer(b"/.well-known/acme-challenge/abc-_1"), Some(b"abc-_1.hash".to_vec()));
        for path in [
            &b"/.well-known/acme-challenge/"[..],
            b"/.well-known/acme-challenge/other",
            b"/.well-known/acme-challenge/../secret",
            b"/.well-known/acme-challenge/.",
            b"/abc-_1",
            b"/.well-known/acme-challenge/\xff",
        ] {
            assert_eq!(challenges.answer(path), None, "{}", String::from_utf8_lossy(path));
        }
        assert!(
            challenges.certificate("../secret").is_none() && challenges.certificate("a.example").is_none()
        );
    }
}
