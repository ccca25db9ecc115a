//! What PHP learns of a connection's TLS in `$_SERVER`: the names that nginx's variables have there by custom.
//!
//! Must not know requests. Invariant: a client cannot set one of these by a header, whose names all begin with `HTTP_`.

use weft_serve::Session;
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;
use x509_parser::time::ASN1Time;

/// Names, with a NUL behind each, and values.
pub type Variables = Vec<(&'static [u8], Vec<u8>)>;

/// The variables of one connection.
pub fn variables(session: &Session) -> Variables {
    let mut variables: Variables = Vec::new();
    let version = match session.protocol_version() {
        Some(rustls::ProtocolVersion::TLSv1_2) => "TLSv1.2",
        _ => "TLSv1.3",
    };
    variables.push((b"SSL_PROTOCOL\0", version.into()));
    if let Some(suite) = session.negotiated_cipher_suite() {
        let name = format!("{:?}", suite.suite()).replacen("TLS13_", "TLS_", 1);
        variables.push((b"SSL_CIPHER\0", name.into_bytes()));
    }
    let resumed = matches!(session.handshake_kind(), Some(rustls::HandshakeKind::Resumed));
    variables.push((b"SSL_SESSION_REUSED\0", if resumed { b"r".to_vec() } else { b".".to_vec() }));
    if let Some(name) = session.server_name() {
        variables.push((b"SSL_SERVER_NAME\0", name.into()));
    }
    match session.peer_certificates().and_then(<[_]>::first) {
        None => variables.push((b"SSL_CLIENT_VERIFY\0", b"NONE".to_vec())),
        Some(der) => add_client(&mut variables, der),
    }
    variables
}

/// A client's certificate, which has been verified.
fn add_client(variables: &mut Variables, der: &[u8]) {
    let Ok((_, certificate)) = X509Certificate::from_der(der) else { return };
    let validity = certificate.validity();
    let days = (validity.not_after.timestamp() - ASN1Time::now().timestamp()).max(0) / 86_400;
    let serial: String = certificate.raw_serial().iter().map(|byte| format!("{byte:02X}")).collect();
    let fingerprint = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY, der);
    let fingerprint: String = fingerprint.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    variables.extend([
        (&b"SSL_CLIENT_VERIFY\0"[..], b"SUCCESS".to_vec()),
        (b"SSL_CLIENT_S_DN\0", certificate.subject().to_string().into_bytes()),
        (b"SSL_CLIENT_I_DN\0", certificate.issuer().to_string().into_bytes()),
        (b"SSL_CLIENT_SERIAL\0", serial.into_bytes()),
        (b"SSL_CLIENT_FINGERPRINT\0", fingerprint.into_bytes()),
        (b"SSL_CLIENT_V_START\0", gmt(validity.not_before)),
        (b"SSL_CLIENT_V_END\0", gmt(validity.not_after)),
        (b"SSL_CLIENT_V_REMAIN\0", days.to_string().into_bytes()),
        (b"SSL_CLIENT_CERT\0", pem(der)),
    ]);
}

/// A time as OpenSSL writes it.
fn gmt(time: ASN1Time) -> Vec<u8> {
    time.to_string().replace("+00:00", "GMT").into_bytes()
}

/// A certificate as text (RFC 7468).
fn pem(der: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text: Vec<u8> = Vec::new();
    for group in der.chunks(3) {
        let word =
            group.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        let digits = [18, 12, 6, 0].map(|shift| DIGITS[(word >> shift) as usize & 63]);
        text.extend_from_slice(&digits[..=group.len()]);
        text.resize(text.len() + 3 - group.len(), b'=');
    }
    let lines = text.chunks(64).flat_map(|line| [line, b"\n"]).collect::<Vec<_>>().concat();
    [b"-----BEGIN CERTIFICATE-----\n", &lines[..], b"-----END CERTIFICATE-----\n"].concat()
}

#[cfg(test)]
mod tests {
    use super::pem;

    #[test]
    fn a_certificate_as_text() {
        for (bytes, text) in [(&b"a"[..], "YQ=="), (b"ab", "YWI="), (b"abc", "YWJj"), (b"abcd", "YWJjZA==")] {
            let whole = String::from_utf8(pem(bytes)).unwrap();
            assert_eq!(whole.lines().nth(1), Some(text));
        }
        assert!(pem(&[0; 100]).split(|byte| *byte == b'\n').all(|line| line.len() <= 64));
    }
}
