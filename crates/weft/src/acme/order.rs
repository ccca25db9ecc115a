//! One name is certified: an order, its challenge, and what comes of it (RFC 8555 section 7).
//!
//! Must not know when a name is due, or where its certificate is kept. Invariants: an answer to a challenge is there before
//! the authority is told, and is gone afterwards; every wait has an end.

use std::time::{Duration, Instant};

use instant_acme::{
    Account, AuthorizationStatus, CertificateIdentifier, ChallengeType, Error, Identifier, KeyAuthorization,
    NewOrder, Order, OrderStatus,
};
use rcgen::{CertificateParams, CustomExtension, KeyPair};

use super::challenges::{is_token, pair_file};
use super::client::{Later, done};
use super::failure::{Failure, is};
use super::storage::Storage;

/// How long an authority may take to validate a name, and to certify it.
const STEP_PATIENCE: Duration = Duration::from_secs(90);
/// How long to wait between two looks at an order, if the authority does not say.
const LOOK_MIN: Duration = Duration::from_millis(500);
const LOOK_MAX: Duration = Duration::from_secs(10);
/// Nonces that are refused in a row; the library makes three attempts each time.
const NONCES_MAX: usize = 5;

/// By which challenges this server can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ways {
    /// HTTP-01: there is an address without TLS.
    pub http: bool,
    /// TLS-ALPN-01: clients need no certificate.
    pub tls: bool,
}

impl Ways {
    /// Their kinds; a failure may come of the way, so they take turns.
    fn kinds(self, failures: u32) -> Vec<ChallengeType> {
        let mut kinds = Vec::new();
        kinds.extend(self.http.then_some(ChallengeType::Http01));
        kinds.extend(self.tls.then_some(ChallengeType::TlsAlpn01));
        if failures % 2 == 1 {
            kinds.reverse();
        }
        kinds
    }
}

/// What is needed for an order.
pub struct Request<'a> {
    /// Who asks.
    pub account: &'a Account,
    /// When the authority wants to be asked again.
    pub later: &'a Later,
    /// Where answers to challenges lie.
    pub challenges: &'a Storage,
    /// The name.
    pub name: &'a str,
    /// By which challenges.
    pub ways: Ways,
    /// How often it has failed.
    pub failures: u32,
    /// The certificate that is replaced, if the authority wants to know.
    pub replaces: Option<CertificateIdentifier<'a>>,
}

/// An answer to a challenge, as long as it lives.
struct Answer<'s> {
    challenges: &'s Storage,
    file: String,
}

impl Drop for Answer<'_> {
    fn drop(&mut self) {
        self.challenges.remove(&self.file);
    }
}

impl<'a> Request<'a> {
    /// Has the name certified: the key, the certificate and its chain as PEM.
    pub fn certify(&self) -> Result<String, Failure> {
        let mut order = self.order()?;
        let answer = self.again(|| self.answer(&mut order))?;
        self.wait_for(&mut order, OrderStatus::Ready)?;
        drop(answer);
        let key = self.again(|| done(order.finalize()).map_err(|error| self.failed(error)))?;
        self.wait_for(&mut order, OrderStatus::Valid)?;
        let chain = self.again(|| done(order.certificate()).map_err(|error| self.failed(error)))?;
        let chain = chain.ok_or_else(|| Failure::own("the authority gave no certificate"))?;
        Ok(format!("{}\n{}", key.trim_end(), chain))
    }

    fn failed(&self, error: Error) -> Attempt {
        if is(&error, "badNonce") { Attempt::Again } else { Attempt::Failed(Failure::of(&error, self.later)) }
    }

    /// Makes a call until its nonce is accepted (RFC 8555 section 6.5).
    fn again<T>(&self, mut call: impl FnMut() -> Result<T, Attempt>) -> Result<T, Failure> {
        for _ in 0..NONCES_MAX {
            match call() {
                Ok(result) => return Ok(result),
                Err(Attempt::Again) => (),
                Err(Attempt::Failed(failure)) => return Err(failure),
            }
        }
        Err(Failure::own("the authority refuses each nonce that it gives out"))
    }

    /// A new order. One that replaces a certificate may be refused because another host's has done so already, or because the
    /// authority does not know that certificate (any more): then it is asked for as if it were the first. What an authority
    /// refuses for another reason it refuses again.
    fn order(&self) -> Result<Order, Failure> {
        let identifiers = [Identifier::Dns(self.name.to_owned())];
        if let Some(replaced) = &self.replaces {
            let order = self.again(|| {
                let wanted = NewOrder::new(&identifiers).replaces(replaced.clone());
                match done(self.account.new_order(&wanted)) {
                    Err(error) if !is(&error, "badNonce") && !is(&error, "rateLimited") => Ok(None),
                    other => other.map(Some).map_err(|error| self.failed(error)),
                }
            })?;
            if let Some(order) = order {
                return Ok(order);
            }
        }
        self.again(|| {
            done(self.account.new_order(&NewOrder::new(&identifiers))).map_err(|error| self.failed(error))
        })
    }

    /// Answers the challenge, unless the name is still authorized.
    fn answer(&self, order: &mut Order) -> Result<Option<Answer<'a>>, Attempt> {
        let mut authorizations = order.authorizations();
        let mut answer = None;
        while let Some(authorization) = done(authorizations.next()) {
            let mut authorization = authorization.map_err(|error| self.failed(error))?;
            if authorization.status == AuthorizationStatus::Valid {
                continue;
            }
            let offered =
                |kind: &ChallengeType| authorization.challenges.iter().any(|one| one.r#type == *kind);
            let kind = self.ways.kinds(self.failures).into_iter().find(offered).ok_or_else(|| {
                Attempt::Failed(Failure::own(
                    "the authority offers no challenge that this server can answer: listen at port 80 as well (HTTP-01)",
                ))
            })?;
            let mut challenge = authorization.challenge(kind.clone()).expect("it is offered");
            let proof = challenge.key_authorization();
            answer = Some(self.provide(&kind, &challenge.token, &proof).map_err(Attempt::Failed)?);
            done(challenge.set_ready()).map_err(|error| self.failed(error))?;
        }
        Ok(answer)
    }

    /// Puts an answer where workers find it.
    fn provide(
        &self,
        kind: &ChallengeType,
        token: &str,
        proof: &KeyAuthorization,
    ) -> Result<Answer<'a>, Failure> {
        let (file, content) = match kind {
            ChallengeType::Http01 if is_token(token) => (token.to_owned(), proof.as_str().to_owned()),
            ChallengeType::Http01 => return Err(Failure::own("the authority's token is not base64url")),
            _ => (
                pair_file(self.name),
                self.pair(proof.digest().as_ref()).map_err(|e| Failure::own(e.to_string()))?,
            ),
        };
        self.challenges.write(&file, content.as_bytes(), 0o644).map_err(Failure::own)?;
        Ok(Answer { challenges: self.challenges, file })
    }

    /// A certificate whose only use is to show a hash (RFC 8737 section 3). Its key is worth nothing.
    fn pair(&self, digest: &[u8]) -> Result<String, rcgen::Error> {
        let mut params = CertificateParams::new([self.name.to_owned()])?;
        params.custom_extensions = vec![CustomExtension::new_acme_identifier(digest)];
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?;
        Ok(key.serialize_pem() + &certificate.pem())
    }

    /// Looks at an order until it has come so far.
    fn wait_for(&self, order: &mut Order, wanted: OrderStatus) -> Result<(), Failure> {
        let deadline = Instant::now() + STEP_PATIENCE;
        let mut pause = LOOK_MIN;
        loop {
            let status = self.again(|| {
                done(order.refresh()).map(|state| state.status).map_err(|error| self.failed(error))
            })?;
            match status {
                OrderStatus::Invalid => return Err(self.why_invalid(order)),
                OrderStatus::Valid => return Ok(()),
                status if status == wanted => return Ok(()),
                _ => (),
            }
            if Instant::now() > deadline {
                let seconds = STEP_PATIENCE.as_secs();
                return Err(Failure::own(format!("the authority has come to no result within {seconds} s")));
            }
            std::thread::sleep(self.later.take().unwrap_or(pause).clamp(LOOK_MIN, LOOK_MAX));
            pause = (pause * 2).min(LOOK_MAX);
        }
    }

    /// What the authority says of the challenge, or else of the order.
    fn why_invalid(&self, order: &mut Order) -> Failure {
        let of_order = order.state().error.clone();
        let found = self.again(|| {
            let mut authorizations = order.authorizations();
            while let Some(authorization) = done(authorizations.next()) {
                let authorization = authorization.map_err(|error| self.failed(error))?;
                let problem = authorization.challenges.iter().find_map(|challenge| challenge.error.clone());
                if problem.is_some() {
                    return Ok(problem);
                }
            }
            Ok(None)
        });
        match found.unwrap_or_default().or(of_order) {
            Some(problem) => Failure::of_problem(&problem, self.later),
            None => Failure { is_refusal: true, ..Failure::own("the authority does not say why") },
        }
    }
}

/// What comes of one call.
enum Attempt {
    /// Its nonce was not accepted.
    Again,
    Failed(Failure),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_take_turns() {
        let both = Ways { http: true, tls: true };
        assert_eq!(both.kinds(0), [ChallengeType::Http01, ChallengeType::TlsAlpn01]);
        assert_eq!(both.kinds(1), [ChallengeType::TlsAlpn01, ChallengeType::Http01]);
        assert_eq!(Ways { http: false, tls: true }.kinds(3), [ChallengeType::TlsAlpn01]);
    }
}
