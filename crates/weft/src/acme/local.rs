//! weft's own authority, for `localhost`: browsers on this machine believe it once they were told to.
//!
//! Must not know the network. Invariants: it certifies nothing but `localhost` and names below it, and says so in its own
//! certificate, so that its key is worth nothing elsewhere; the master makes what is missing before a worker starts.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, GeneralSubtree, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, NameConstraints, SanType,
};
use rustls::crypto::aws_lc_rs;
use time::OffsetDateTime;

use super::storage::{Storage, directory_of};
use crate::config::Config;
use crate::tls::read_pair;

/// Its files.
const CERTIFICATE: &str = "authority.pem";
const KEY: &str = "authority.key";
/// How long it lasts, and what it certifies: browsers accept no more.
const AUTHORITY_DAYS: u64 = 3650;
const LEAF_DAYS: u64 = 365;
/// What has less than this left is made anew.
const LEFT_DAYS_MIN: u64 = 30;
const DAY_S: u64 = 86_400;

/// Where its certificate is, which browsers need.
pub fn authority_file(config: &Config) -> PathBuf {
    let path = directory_of(config, true).join(CERTIFICATE);
    std::path::absolute(&path).unwrap_or(path)
}

/// Makes what is missing for the names that mean this machine.
///
/// # Errors
/// One line: the storage cannot be used.
pub fn certify(config: &Config) -> Result<(), String> {
    let names = config.local_names();
    if names.is_empty() {
        return Ok(());
    }
    let storage = Storage::open(&directory_of(config, true))?;
    let failed = |error: rcgen::Error| format!("a certificate for localhost cannot be made: {error}");
    // Another master may be at it.
    let _lock = storage.lock("authority")?;
    let (issuer, certificate, is_new) = authority(&storage)?;
    for name in names {
        let file = format!("{name}.pem");
        if !is_new && lasts(&storage, &file) {
            continue;
        }
        let key = KeyPair::generate().map_err(failed)?;
        let leaf = leaf(name).and_then(|leaf| leaf.signed_by(&key, &issuer)).map_err(failed)?;
        let text = key.serialize_pem() + &leaf.pem() + &certificate;
        storage.write(&file, text.as_bytes(), 0o600)?;
    }
    Ok(())
}

/// The authority that there is, or a new one; with its certificate, and whether it is new.
fn authority(storage: &Storage) -> Result<(Issuer<'static, KeyPair>, String, bool), String> {
    let failed = |error: rcgen::Error| format!("an authority for localhost cannot be made: {error}");
    let text = |file: &str| storage.read(file).and_then(|bytes| String::from_utf8(bytes).ok());
    let pair_lasts = {
        let (chain, key) = (storage.path_of(CERTIFICATE), storage.path_of(KEY));
        read_pair(&chain, &key, &aws_lc_rs::default_provider())
            .is_ok_and(|pair| left_days(pair.end) > LEFT_DAYS_MIN)
    };
    if let (Some(certificate), Some(key), true) = (text(CERTIFICATE), text(KEY), pair_lasts) {
        let key = KeyPair::from_pem(&key).map_err(failed)?;
        // Its name and its key are all that a certificate says of its issuer.
        return Ok((Issuer::new(params(), key), certificate, false));
    }
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = params().self_signed(&key).map_err(failed)?.pem();
    storage.write(KEY, key.serialize_pem().as_bytes(), 0o600)?;
    storage.write(CERTIFICATE, certificate.as_bytes(), 0o644)?;
    Ok((Issuer::new(params(), key), certificate, true))
}

fn params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "weft's authority for localhost");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let own = ["localhost"].map(|name| GeneralSubtree::DnsName(name.to_owned()));
    params.name_constraints =
        Some(NameConstraints { permitted_subtrees: own.to_vec(), excluded_subtrees: Vec::new() });
    (params.not_before, params.not_after) = days(AUTHORITY_DAYS);
    params
}

fn leaf(name: &str) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.subject_alt_names = vec![SanType::DnsName(name.try_into()?)];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.use_authority_key_identifier_extension = true;
    (params.not_before, params.not_after) = days(LEAF_DAYS);
    Ok(params)
}

/// From yesterday on, because clocks differ.
fn days(count: u64) -> (OffsetDateTime, OffsetDateTime) {
    let at = |seconds: u64| {
        OffsetDateTime::from_unix_timestamp(i64::try_from(seconds).unwrap_or(i64::MAX))
            .unwrap_or(OffsetDateTime::UNIX_EPOCH)
    };
    let begin = now().saturating_sub(DAY_S);
    (at(begin), at(begin + count * DAY_S))
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn left_days(end: u64) -> u64 {
    end.saturating_sub(now()) / DAY_S
}

fn lasts(storage: &Storage, file: &str) -> bool {
    let path = storage.path_of(file);
    let pair = read_pair(&path, &path, &aws_lc_rs::default_provider());
    pair.is_ok_and(|pair| left_days(pair.end) > LEFT_DAYS_MIN)
}
