//! What PHP code connects to, by the function that does: weft's metrics say what requests wait for.
//!
//! Must not know how that is counted. Invariant: a function that is not known says nothing, and the address of the
//! connection decides.

use crate::wait_names::Service;

/// Functions and classes of which each connection has the same purpose, by the beginnings of their names in lower case.
const NAMES: [(&str, Service); 11] = [
    ("mysqli", Service::MySql),
    ("pg_", Service::PostgreSql),
    ("redis", Service::Redis),
    ("relay\\", Service::Redis),
    ("memcache", Service::Memcached),
    ("curl_", Service::Http),
    ("soapclient::", Service::Http),
    ("imap_", Service::Mail),
    ("ldap_", Service::Ldap),
    ("amqp", Service::Queue),
    ("rdkafka\\", Service::Queue),
];

/// The same for the first argument: a URL, or a DSN of PDO.
const SCHEMES: [(&str, Service); 4] = [
    ("mysql:", Service::MySql),
    ("pgsql:", Service::PostgreSql),
    ("http://", Service::Http),
    ("https://", Service::Http),
];

/// Which service the PHP code connects to that runs: its function tells, or else the address, a `struct sockaddr`.
pub fn of_connection(address: &[u8]) -> Option<u8> {
    let mut text = [0; 96];
    let length = weft_zend::code_function(&mut text);
    let told = std::str::from_utf8(&text[..length]).ok().and_then(of);
    told.or_else(|| of_address(address)).map(|service| service as u8)
}

fn of(running: &str) -> Option<Service> {
    let (function, argument) = running.split_once(' ')?;
    let (function, argument) = (function.to_ascii_lowercase(), argument.to_ascii_lowercase());
    let find = |names: &[(&str, Service)], text: &str| {
        names.iter().find(|(beginning, _)| text.starts_with(beginning)).map(|(_, kind)| *kind)
    };
    find(&NAMES, &function).or_else(|| find(&SCHEMES, &argument))
}

/// By the port, or by the path of a Unix socket.
fn of_address(address: &[u8]) -> Option<Service> {
    let (family, rest) = address.split_first_chunk()?;
    match i32::from(u16::from_ne_bytes(*family)) {
        libc::AF_INET | libc::AF_INET6 => of_port(u16::from_be_bytes(*rest.first_chunk()?)),
        libc::AF_UNIX => of_path(rest),
        _ => None,
    }
}

/// The ports that IANA lists, and those that everybody uses.
fn of_port(port: u16) -> Option<Service> {
    Some(match port {
        3306 | 33060 => Service::MySql,
        5432 => Service::PostgreSql,
        6379 | 6380 | 26379 => Service::Redis,
        11211 => Service::Memcached,
        80 | 443 | 3128 | 8000 | 8080 | 8443 => Service::Http,
        25 | 110 | 143 | 465 | 587 | 993 | 995 => Service::Mail,
        389 | 636 => Service::Ldap,
        4222 | 5671 | 5672 | 9092 | 61613 => Service::Queue,
        _ => return None,
    })
}

fn of_path(path: &[u8]) -> Option<Service> {
    let names: [(&[u8], Service); 6] = [
        (b"mysql", Service::MySql),
        (b"maria", Service::MySql),
        (b".s.PGSQL.", Service::PostgreSql),
        (b"redis", Service::Redis),
        (b"valkey", Service::Redis),
        (b"memcached", Service::Memcached),
    ];
    let has = |name: &[u8]| path.windows(name.len()).any(|part| part == name);
    names.iter().find(|(name, _)| has(name)).map(|(_, service)| *service)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_that_connects_says_what_for() {
        let cases = [
            ("mysqli::__construct 127.0.0.1", Some(Service::MySql)),
            ("mysqli_real_connect ", Some(Service::MySql)),
            ("PDO::__construct pgsql:host=127.0", Some(Service::PostgreSql)),
            ("PDO::connect mysql:host=127.0.", Some(Service::MySql)),
            ("Redis::pconnect 127.0.0.1", Some(Service::Redis)),
            ("RedisCluster::__construct ", Some(Service::Redis)),
            ("curl_exec ", Some(Service::Http)),
            ("file_get_contents https://a.exampl", Some(Service::Http)),
            ("SoapClient::__doRequest <?xml", Some(Service::Http)),
            ("stream_socket_client tcp://127.0.0.1", None),
            ("session_start ", None),
            ("", None),
        ];
        for (running, kind) in cases {
            assert_eq!(of(running), kind, "{running}");
        }
    }

    #[test]
    fn an_address_says_what_is_behind_it() {
        let of = |family: i32, rest: &[u8]| of_address(&[&(family as u16).to_ne_bytes(), rest].concat());
        assert_eq!(of(libc::AF_INET, &3306u16.to_be_bytes()), Some(Service::MySql));
        assert_eq!(of(libc::AF_INET6, &6379u16.to_be_bytes()), Some(Service::Redis));
        assert_eq!(of(libc::AF_INET, &4711u16.to_be_bytes()), None);
        assert_eq!(of(libc::AF_INET, &[1]), None);
        assert_eq!(of(libc::AF_UNIX, b"/run/postgresql/.s.PGSQL.5432\0"), Some(Service::PostgreSql));
        assert_eq!(of(libc::AF_UNIX, b"/run/mysqld/mysqld.sock"), Some(Service::MySql));
        assert_eq!(of(libc::AF_UNIX, b""), None);
        assert_eq!(of_address(b""), None);
    }
}
