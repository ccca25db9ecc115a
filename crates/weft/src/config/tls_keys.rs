//! The rows of `[tls]` in the table of every setting: see [`super::keys`].
//!
//! Must not know: where a value came from. Invariant: this section has no row elsewhere.

use super::key::{AGE_S, Arity, Key, key, number};
use super::value::Unit;
use super::{Config, Value};

/// The rows of `[tls]`.
pub const TLS: &[Key] = &[
    key!(
        tls.certificates,
        "tls-certificates",
        Many,
        "PATH",
        "PEM files",
        "none",
        |v| v.each(Value::path)?,
        "A file with a certificate and its chain, for the addresses that begin with https://; may be repeated: clients get the one with the name that they ask for, else the first"
    ),
    key!(
        tls.keys,
        "tls-keys",
        Many,
        "PATH",
        "PEM files",
        "none",
        |v| v.each(Value::path)?,
        "The private key of a certificate, in the order of the certificates; the master reads it, before it starts a worker"
    ),
    key!(
        tls.client_ca,
        "tls-client-ca",
        One,
        "PATH",
        "a PEM file",
        "none",
        |v| Some(v.path()?),
        "The authorities that certify clients; with it, clients need a certificate"
    ),
    key!(
        tls.client_certificates,
        "tls-client-certificates",
        One,
        "WHO",
        "required, optional, off",
        "required",
        |v| v.client_certificates()?,
        "Whether clients need a certificate of tls.client_ca, may have one, or are not asked"
    ),
    key!(
        tls.redirect,
        "tls-redirect",
        Switch,
        "",
        "true, false",
        "false",
        |v| v.boolean()?,
        "Answer requests that come without TLS, by TCP, with a redirect to the first https:// address"
    ),
    number!(
        tls.hsts_s,
        "tls-hsts-s",
        Seconds,
        0..=AGE_S,
        "Seconds for which browsers are told to use TLS only (Strict-Transport-Security); 0 tells them nothing"
    ),
];
