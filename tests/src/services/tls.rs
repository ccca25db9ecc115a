//! A certificate for 127.0.0.1 and localhost, signed by itself, made by openssl(1).

use std::path::Path;
use std::process::Command;

use crate::command;

/// `cert.pem` and `key.pem` of a directory.
#[derive(Debug)]
pub struct Certificate;

impl Certificate {
    /// Writes both files; the key is its owner's only, as PostgreSQL demands.
    ///
    /// # Panics
    /// When openssl fails; with what it said.
    pub fn write(directory: &Path) {
        let mut openssl = Command::new("openssl");
        openssl.current_dir(directory).args([
            "req",
            "-x509",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-keyout",
            "key.pem",
            "-out",
            "cert.pem",
            "-addext",
            "subjectAltName=DNS:localhost,IP:127.0.0.1",
        ]);
        let output = command::finish(&mut openssl);
        assert_eq!(output.code, Some(0), "openssl: {}", output.stderr);
    }
}
