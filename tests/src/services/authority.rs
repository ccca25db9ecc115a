//! An authority of its own, whose certificates are made by openssl(1).

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;

/// An authority, in a directory: `ca.pem`, and `NAME.pem` (certificate and chain), `NAME.crt` (without it) and `NAME.key`
/// for each name that was certified.
#[derive(Debug)]
pub struct Authority {
    directory: PathBuf,
}

impl Authority {
    /// Makes one.
    ///
    /// # Panics
    /// If openssl fails; the message holds the output.
    pub fn new(directory: &Path) -> Authority {
        let authority = Authority { directory: directory.into() };
        authority.openssl(&format!(
            "req -x509 {EC} -keyout ca.key -out ca.pem -days 30 -subj /CN=Authority -addext basicConstraints=critical,CA:TRUE \
             -addext keyUsage=critical,keyCertSign,cRLSign"
        ));
        authority
    }

    /// Certifies host names (`DNS:a.example,IP:127.0.0.1`) for some days from now on.
    ///
    /// # Panics
    /// As for [`Authority::new`].
    pub fn certify(&self, file: &str, names: &str, days: i32) {
        self.certify_key(EC, file, names, days);
    }

    /// The same with an RSA key.
    ///
    /// # Panics
    /// As for [`Authority::new`].
    pub fn certify_rsa(&self, file: &str, names: &str, days: i32) {
        self.certify_key("-newkey rsa:2048 -nodes", file, names, days);
    }

    fn certify_key(&self, kind: &str, file: &str, names: &str, days: i32) {
        let path = |ending: &str| self.directory.join(format!("{file}.{ending}"));
        self.openssl(&format!("req {kind} -keyout {file}.key -out {file}.csr -subj /CN={file}"));
        let extensions = format!(
            "subjectAltName={names}\nextendedKeyUsage=serverAuth,clientAuth\nauthorityKeyIdentifier=keyid\n"
        );
        std::fs::write(path("ext"), extensions).expect("the test's own file");
        let lifetime = lifetime(days);
        self.openssl(&format!(
            "x509 -req -in {file}.csr -CA ca.pem -CAkey ca.key -CAcreateserial {lifetime} -extfile {file}.ext -out {file}.crt"
        ));
        let read = |path: PathBuf| std::fs::read_to_string(path).expect("openssl has written it");
        let chain = read(path("crt")) + &read(self.directory.join("ca.pem"));
        std::fs::write(path("pem"), chain).expect("the test's own file");
    }

    fn openssl(&self, arguments: &str) {
        let mut openssl = Command::new("openssl");
        let output = command::finish(openssl.current_dir(&self.directory).args(arguments.split(' ')));
        assert_eq!(output.code, Some(0), "openssl {arguments}: {}", output.stderr);
    }
}

/// What makes `openssl x509` write these dates. Since 3.4 it refuses a negative number of days, and takes dates.
fn lifetime(days: i32) -> String {
    let help = command::finish(Command::new("openssl").args(["x509", "-help"]));
    if days < 0 && help.stderr.contains("-not_after") {
        "-not_before 20200101000000Z -not_after 20200102000000Z".to_owned()
    } else {
        format!("-days {days}")
    }
}

const EC: &str = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
