//! The process that sees to certificates: which names are due, one after the other, then its end.
//!
//! The master starts it, hears what it prints, and starts it again when it has said so. Must not know listeners, workers or
//! PHP. Invariants: a name is worked on by one process at a time, of all hosts that share the storage, and is looked at
//! again after its lock was taken; a certificate is stored before it is announced; when nobody hears it any more, it ends
//! after the name it is at.

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use instant_acme::CertificateIdentifier;
use rustls::crypto::aws_lc_rs;

use super::account::Authority;
use super::due::{self, ASK_AGAIN_S, Due, Life};
use super::failure::Failure;
use super::local::authority_file;
use super::notice::Notice;
use super::order::{Request, Ways};
use super::state::{State, Wish};
use super::storage::{Lock, Storage, directory_of, file_of};
use crate::config::{ClientCertificates, Config, ListenAddress};
use crate::flags::Settings;
use crate::tls::{Pair, read_pair};

/// How long to wait for another process that works on a name.
const LOCK_PATIENCE: Duration = Duration::from_secs(300);
const LOCK_LOOK_EVERY: Duration = Duration::from_millis(500);
/// Answers to challenges that somebody has left are older than this.
const LEFT_AGE: Duration = Duration::from_secs(3600);
/// The least time until the next look.
const PAUSE_MIN_S: u64 = 1;

/// Runs `weft renew`.
pub fn renew(settings: Settings) -> ExitCode {
    // Without a master nobody would answer challenges.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM));
    let ran =
        settings.load().map_err(|mistakes| mistakes.join("; ")).and_then(|config| Renewal::run(&config));
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            tell(&Notice::Warn(format!("certificates: {why}")));
            ExitCode::FAILURE
        }
    }
}

/// Prints a notice; whether somebody hears it.
fn tell(notice: &Notice) -> bool {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{notice}").and_then(|()| stdout.flush()).is_ok()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// By which challenges this server can be asked.
fn ways(config: &Config) -> Ways {
    let tls = &config.tls;
    let asks = tls.client_ca.is_some() && tls.client_certificates == ClientCertificates::Required;
    Ways { http: config.server.listen.iter().any(|one| matches!(one, ListenAddress::Tcp(_))), tls: !asks }
}

struct Renewal<'c> {
    config: &'c Config,
    storage: Storage,
    challenges: Storage,
    authority: Authority<'c>,
}

impl Renewal<'_> {
    fn run(config: &Config) -> Result<(), String> {
        let storage = Storage::open(&directory_of(config, false))?;
        let challenges = storage.challenges()?;
        challenges.remove_older(LEFT_AGE);
        let mut renewal = Renewal { config, storage, challenges, authority: Authority::new(&config.acme) };
        let mut next = u64::MAX;
        for name in config.acme_names() {
            let Some(at) = renewal.see_to(name)? else { return Ok(()) };
            next = next.min(at);
        }
        let pause = next.saturating_sub(now()).max(PAUSE_MIN_S);
        tell(&Notice::Next(Duration::from_secs(pause)));
        Ok(())
    }

    /// Has a name certified if it is due; returns when to look again, or `None` if nobody hears us any more.
    fn see_to(&mut self, name: &str) -> Result<Option<u64>, String> {
        let Some(lock) = self.lock(name)? else {
            return Ok(Some(now() + LOCK_PATIENCE.as_secs()));
        };
        let pair = self.pair(name);
        let mut state = State::read(&self.storage, name);
        if let Some((pair, life)) = &pair {
            self.hear_wish(name, pair, life, &mut state);
        }
        let life = pair.as_ref().map(|(_, life)| life);
        if let Due::At(at) = due::due(&state, life, now()) {
            let ask_again = state.wish.as_ref().map_or(at, |wish| wish.ask_again);
            return Ok(Some(at.min(ask_again.max(now() + PAUSE_MIN_S))));
        }
        let is_new = pair.is_none();
        let what = if is_new { "asking for a certificate" } else { "renewing its certificate" };
        if !tell(&Notice::Info(format!("{name}: {what} at {}", self.config.acme.directory))) {
            return Ok(None);
        }
        let mut outcome = self.certify(name, &state, pair.as_ref());
        if outcome.as_ref().is_err_and(|failure| failure.kind == "accountDoesNotExist") {
            self.authority.forget(&self.storage);
            outcome = self.certify(name, &state, pair.as_ref());
        }
        let said = match outcome {
            Ok(()) => {
                state = State::default();
                Notice::Certified(name.to_owned())
            }
            Err(failure) => {
                state.failures = state.failures.saturating_add(1);
                let pause = failure.pause(state.failures);
                state.not_before = now() + pause.as_secs();
                state.why = failure.text;
                let minutes = pause.as_secs().div_ceil(60);
                Notice::Warn(format!("{name} is not certified: {}; next attempt in {minutes} min", state.why))
            }
        };
        // What the operator reads is true after a restart too.
        state.write(&self.storage, name)?;
        let is_heard = tell(&said);
        drop(lock);
        let life = self.pair(name).map(|(_, life)| life);
        Ok(is_heard.then(|| match due::due(&state, life.as_ref(), now()) {
            Due::Now => now() + PAUSE_MIN_S,
            Due::At(at) => at,
        }))
    }

    /// Waits until no other process works on a name; `None` if one does so for too long.
    fn lock(&self, name: &str) -> Result<Option<Lock>, String> {
        let deadline = Instant::now() + LOCK_PATIENCE;
        loop {
            if let Some(lock) = self.storage.lock(name)? {
                return Ok(Some(lock));
            }
            if Instant::now() > deadline {
                tell(&Notice::Warn(format!(
                    "{name}: another process has been at its certificate for minutes"
                )));
                return Ok(None);
            }
            std::thread::sleep(LOCK_LOOK_EVERY);
        }
    }

    /// The certificate that there is, if it can be used.
    fn pair(&self, name: &str) -> Option<(Pair, Life)> {
        let file = format!("{name}.pem");
        self.storage.read(&file)?;
        let path = self.storage.path_of(&file);
        let pair = read_pair(&path, &path, &aws_lc_rs::default_provider());
        match pair {
            Ok(pair) => {
                let id = identifier(&pair).map_or_else(String::new, |id| id.to_string());
                let life = Life { begin: pair.begin, end: pair.end, id };
                Some((pair, life))
            }
            Err(why) => {
                tell(&Notice::Info(format!("{name}: {why}")));
                None
            }
        }
    }

    /// Asks when the authority wants the certificate renewed, if that is due.
    fn hear_wish(&mut self, name: &str, pair: &Pair, life: &Life, state: &mut State) {
        if !due::asks(state, life, now()) {
            return;
        }
        let Some(id) = identifier(pair) else { return };
        let mut chance = [0; 4];
        // Without randomness the window's begin will do.
        let _ = aws_lc_rs::default_provider().secure_random.fill(&mut chance);
        let chance = f64::from(u32::from_le_bytes(chance)) / f64::from(u32::MAX);
        let before = state.wish.take();
        let wish = match self.authority.wish(&self.storage, &id) {
            Ok(Some((window, pause))) => due::wish(before.as_ref(), &life.id, window, now() + pause, chance),
            // It has no wishes, or cannot be asked: what is known stands.
            Ok(None) | Err(_) => {
                let known = before.filter(|wish| wish.certificate == life.id).unwrap_or_default();
                Wish { certificate: life.id.clone(), ask_again: now() + ASK_AGAIN_S, ..known }
            }
        };
        state.wish = Some(wish);
        if let Err(why) = state.write(&self.storage, name) {
            tell(&Notice::Warn(why));
        }
    }

    fn certify(&mut self, name: &str, state: &State, pair: Option<&(Pair, Life)>) -> Result<(), Failure> {
        let (account, later) = self.authority.account(&self.storage)?;
        let has_wishes = state.wish.as_ref().is_some_and(|wish| wish.at > 0);
        let replaces = pair.filter(|_| has_wishes).and_then(|(pair, _)| identifier(pair));
        let request = Request {
            account,
            later,
            challenges: &self.challenges,
            name,
            ways: ways(self.config),
            failures: state.failures,
            replaces,
        };
        let pem = request.certify()?;
        self.check(name, &pem)?;
        self.storage.write(&format!("{name}.pem"), pem.as_bytes(), 0o600).map_err(Failure::own)
    }

    /// What cannot be used must not take the place of what can.
    fn check(&self, name: &str, pem: &str) -> Result<(), Failure> {
        let file = format!("{name}.new");
        self.storage.write(&file, pem.as_bytes(), 0o600).map_err(Failure::own)?;
        let path = self.storage.path_of(&file);
        let pair = read_pair(&path, &path, &aws_lc_rs::default_provider());
        self.storage.remove(&file);
        match pair {
            Ok(pair) if pair.covers(name) => Ok(()),
            Ok(_) => Err(Failure::own("the authority's certificate is for another name")),
            Err(why) => Err(Failure::own(format!("the authority's certificate cannot be used: {why}"))),
        }
    }
}

fn identifier(pair: &Pair) -> Option<CertificateIdentifier<'static>> {
    let id = CertificateIdentifier::try_from(pair.key.cert.first()?).ok();
    id.map(CertificateIdentifier::into_owned)
}

/// What `weft check` says of the names: what there is, and what would be asked for.
pub fn describe(config: &Config) -> Vec<String> {
    let authority = &config.acme.directory;
    let ways = ways(config);
    let by = match (ways.http, ways.tls) {
        (true, true) => "by HTTP-01 or TLS-ALPN-01",
        (true, false) => "by HTTP-01",
        (false, true) => "by TLS-ALPN-01",
        (false, false) => "by no challenge: clients need certificates, and no address is without TLS",
    };
    let of_name = |name: &&str| {
        let path = file_of(config, name, false);
        match path.exists().then(|| read_pair(&path, &path, &aws_lc_rs::default_provider())) {
            None => format!("{name}: would be asked for at {authority}, {by}"),
            Some(Ok(pair)) => {
                let days = pair.end.saturating_sub(now()) / 86_400;
                format!("{name}: {}, valid for {days} more days", path.display())
            }
            Some(Err(why)) => format!("{name}: would be asked for again at {authority}, {by}: {why}"),
        }
    };
    let local =
        |name: &&str| format!("{name}: by weft's own authority, {}", authority_file(config).display());
    config.acme_names().iter().map(of_name).chain(config.local_names().iter().map(local)).collect()
}
