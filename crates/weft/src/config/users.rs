//! A password file, as htpasswd(1) writes it: a name, a colon and a hashed password on each line.
//!
//! Must not know requests, or how a password is tried. Invariant: every password that is here can be tried, within the
//! time that a request may cost.

use std::path::Path;

use base64::Engine;

/// A larger file is not a password file.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// The highest cost of bcrypt, for which one try takes about a quarter of a second.
const COST_MAX: u32 = 12;
/// The most rounds of SHA-crypt, for the same reason.
const ROUNDS_MAX: u32 = 200_000;

/// A hashed password.
#[derive(Clone, PartialEq, Eq)]
pub enum Hash {
    /// bcrypt: `htpasswd -B`.
    Bcrypt(String),
    /// Apache's MD5: `htpasswd -m`, `openssl passwd -apr1`. The salt, and all of it.
    Apr1(String, String),
    /// `{SHA}`: SHA-1 in base 64, `htpasswd -s`.
    Sha1([u8; 20]),
    /// SHA-crypt: `htpasswd -2`, `mkpasswd`.
    Sha256(String),
    /// The same: `htpasswd -5`.
    Sha512(String),
}

/// The users of a file.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Users {
    /// Names and passwords.
    pub list: Vec<(String, Hash)>,
}

impl std::fmt::Debug for Users {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} users", self.list.len())
    }
}

impl Users {
    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong with it, with its line.
    pub fn read(path: &Path) -> Result<Users, String> {
        let failed = |error: std::io::Error| format!("auth: {}: {error}", path.display());
        let length = std::fs::metadata(path).map_err(failed)?.len();
        if length > FILE_BYTES_MAX {
            return Err(format!(
                "auth: {} has {length} bytes, at most {FILE_BYTES_MAX} are read",
                path.display()
            ));
        }
        let text = std::fs::read_to_string(path).map_err(failed)?;
        let mut users = Users::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim_end();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |why: &str| format!("auth: {}:{}: {why}", path.display(), index + 1);
            let (name, rest) =
                line.split_once(':').ok_or_else(|| wrong("write NAME:PASSWORD, as htpasswd does"))?;
            let hash = hash(rest.split(':').next().unwrap_or_default()).map_err(|why| wrong(&why))?;
            users.list.push((name.to_owned(), hash));
        }
        if users.list.is_empty() {
            return Err(format!("auth: {} names no user: nobody could pass", path.display()));
        }
        Ok(users)
    }
}

fn hash(text: &str) -> Result<Hash, String> {
    let unread = || "the password has a form that weft does not read: write it with htpasswd -B".to_owned();
    let parts: Vec<&str> = text.split('$').collect();
    match (parts.get(1).copied(), parts.len()) {
        (Some("2a" | "2b" | "2x" | "2y"), 4) => {
            let cost = parts[2].parse::<u32>().map_err(|_| unread())?;
            if cost > COST_MAX {
                return Err(format!(
                    "bcrypt's cost is {cost}, at most {COST_MAX}: a try would take too long"
                ));
            }
            text.parse::<bcrypt::HashParts>().map_err(|_| unread())?;
            Ok(Hash::Bcrypt(text.to_owned()))
        }
        (Some("apr1"), 4) if parts[3].len() == 22 => Ok(Hash::Apr1(parts[2].to_owned(), text.to_owned())),
        (Some(kind @ ("5" | "6")), 4 | 5) => {
            let rounds = parts[2].strip_prefix("rounds=").map(str::parse::<u32>);
            if rounds.is_some_and(|rounds| !matches!(rounds, Ok(1_000..=ROUNDS_MAX))) {
                return Err(format!("SHA-crypt needs 1000 to {ROUNDS_MAX} rounds"));
            }
            let length = if kind == "5" { 43 } else { 86 };
            if parts.last().is_none_or(|hash| hash.len() != length) {
                return Err(unread());
            }
            Ok(if kind == "5" { Hash::Sha256(text.to_owned()) } else { Hash::Sha512(text.to_owned()) })
        }
        _ => {
            let coded = text.strip_prefix("{SHA}").ok_or_else(unread)?;
            let bytes = base64::engine::general_purpose::STANDARD.decode(coded).map_err(|_| unread())?;
            Ok(Hash::Sha1(bytes.try_into().map_err(|_| unread())?))
        }
    }
}
