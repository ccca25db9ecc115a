//! A self-signed certificate for 127.0.0.1 and localhost, made by openssl(1).

use std::path::Path;
use std::process::Command;

use crate::command;

/// `cert.pem` and `key.pem` in a directory.
#[derive(Debug)]
pub struct Certificate;

impl Certificate {
    /// Writes both files. Only the owner can read the key, as PostgreSQL requires.
    ///
    /// # Panics
    /// If openssl fails; the message holds the output.
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
