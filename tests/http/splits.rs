//! A request means the same, however the network splits it.

use weft_tests::Response;

use crate::server;

/// A representative set: each entry is a whole exchange, with the number of its responses.
const EXCHANGES: [(&str, usize); 6] = [
    ("GET /describe?a=b HTTP/1.1\r\nHost: example.org\r\nX-A: b\r\n\r\n", 1),
    ("POST /describe HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", 1),
    (
        "POST /describe HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: u\r\n\r\n",
        1,
    ),
    ("GET /hello HTTP/1.1\r\nHost: a\r\n\r\nGET /describe HTTP/1.1\r\nHost: a\r\n\r\n", 2),
    ("POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhiGET /hello HTTP/1.0\r\n\r\n", 2),
    ("GET /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 1),
];

/// The part that must be the same; the date may differ.
fn essence(mut response: Response) -> Response {
    response.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("date"));
    response
}

#[test]
fn every_split_of_a_request_means_the_same() {
    let weft = server().start();
    for (exchange, count) in EXCHANGES {
        let bytes = exchange.as_bytes();
        let mut client = weft.connect();
        client.send(bytes);
        let whole: Vec<Response> = (0..count).map(|_| essence(client.read())).collect();
        for at in 1..bytes.len() {
            let mut client = weft.connect();
            client.send(&bytes[..at]);
            // Another client's answer proves that the server has seen only the first part.
            assert_eq!(weft.get("/hello").status, 200);
            // The server may refuse the head before the rest arrives.
            let _ = client.try_send(&bytes[at..]);
            let split: Vec<Response> = (0..count).map(|_| essence(client.read())).collect();
            assert_eq!(split, whole, "split at {at} of {exchange:?}");
        }
    }
}

#[test]
fn every_byte_alone_means_the_same() {
    let weft = server().start();
    for (exchange, count) in EXCHANGES {
        let mut client = weft.connect();
        client.send(exchange);
        let whole: Vec<Response> = (0..count).map(|_| essence(client.read())).collect();
        let mut client = weft.connect();
        for byte in exchange.bytes() {
            // A refusal may come before the last byte.
            if client.try_send([byte]).is_err() {
                break;
            }
        }
        let split: Vec<Response> = (0..count).map(|_| essence(client.read())).collect();
        assert_eq!(split, whole, "byte by byte {exchange:?}");
    }
}
