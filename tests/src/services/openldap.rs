//! OpenLDAP's slapd with an empty directory dc=weft,dc=test; its administrator is cn=admin with password secret.

use super::{Service, Setup, free_port};

/// A running slapd.
#[derive(Debug)]
pub struct OpenLdap {
    /// Its port on 127.0.0.1.
    pub port: u16,
    _service: Service,
}

impl OpenLdap {
    /// Starts slapd.
    ///
    /// # Panics
    /// If it does not become ready; the message holds its log.
    pub fn start() -> OpenLdap {
        let setup = Setup::new();
        let data = setup.path("data");
        std::fs::create_dir(&data).expect("the service's own directory");
        setup.write("slapd.conf", &configuration(&data));
        let port = free_port();
        let (url, file) = (format!("ldap://127.0.0.1:{port}/"), setup.path("slapd.conf"));
        // With a debug level it stays in the foreground.
        let service = setup.start("KILL", &[], "slapd", &["-f", &file, "-h", &url, "-d", "0"]);
        OpenLdap { port, _service: service.wait_for_port(port) }
    }
}

fn configuration(data: &str) -> String {
    format!(
        "include /etc/ldap/schema/core.schema\n\
         include /etc/ldap/schema/cosine.schema\n\
         include /etc/ldap/schema/inetorgperson.schema\n\
         modulepath /usr/lib/ldap\n\
         moduleload back_mdb\n\
         database mdb\n\
         maxsize 10485760\n\
         suffix \"dc=weft,dc=test\"\n\
         rootdn \"cn=admin,dc=weft,dc=test\"\n\
         rootpw secret\n\
         directory {data}\n"
    )
}
