//! Many clients that behave in all ways at once: nothing of them is left behind.

mod common;

use std::io::{Read, Write as _};
use std::net::Shutdown;

use common::*;
use weft_rt::{Runtime, clock};
use weft_serve::{BodyRead, RequestKey, Server, ServerLimits, Waited, Write};

/// A deterministic pseudo-random generator.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Answers in one of several ways, depending on the target; ends the request in each case.
fn answer(server: &'static Server, key: RequestKey) {
    let way = server.with_request(key, |request| request.path().get(1).copied()).unwrap();
    match way {
        Some(b'p') => {
            Runtime::get().unwrap().sleep_until(clock::now() + 300_000);
            let _ = server.respond(key, 200, &[], b"parked");
        }
        Some(b's') => stream(server, key),
        Some(b'b') => {
            let _ = server.respond(key, 200, &[], &vec![b'x'; 300_000]);
        }
        Some(b'r') => read(server, key),
        Some(b'a') => server.abort(key),
        Some(b'f') => {
            if server.respond_file(key, 200, &[], std::path::Path::new("/proc/self/exe")).is_err() {
                server.abort(key);
            }
        }
        _ => {
            let _ = server.respond(key, 200, &[], b"at once");
        }
    }
    assert!(server.with_request(key, |_| ()).is_none(), "{way:?} has not ended");
}

fn stream(server: &Server, key: RequestKey) {
    if server.start(key, 200, &[], None).is_err() {
        return;
    }
    for _ in 0..40 {
        let mut left = 20_000;
        while left > 0 {
            match server.write(key, &[b'y'; 20_000][..left]) {
                Ok(Write::Accepted(count)) => left -= count,
                Ok(Write::Full) if server.wait_writable(key, None) == Waited::Ready => (),
                _ => return server.abort(key),
            }
        }
    }
    if server.finish(key, &[]).is_err() {
        server.abort(key);
    }
}

fn read(server: &Server, key: RequestKey) {
    let (mut offset, mut piece) = (0, [0; 1000]);
    loop {
        match server.read_body(key, offset, &mut piece) {
            BodyRead::Data(count) => offset += count as u64,
            BodyRead::Pending => {
                if server.wait_body(key, offset, None) != Waited::Ready {
                    return server.abort(key);
                }
            }
            BodyRead::End => return drop(server.respond(key, 200, &[], offset.to_string().as_bytes())),
            BodyRead::Failed(status) => return drop(server.respond_error(key, status, None)),
            BodyRead::Gone => return server.abort(key),
        }
    }
}

fn requests(numbers: &mut Numbers) -> Vec<u8> {
    let mut all = Vec::new();
    for _ in 0..=numbers.below(5) {
        let target = ["/now", "/p", "/s", "/b", "/r", "/a", "/f"][numbers.below(7) as usize];
        let body = vec![b'z'; numbers.below(20_000) as usize];
        match numbers.below(4) {
            0 => all.extend(
                format!("POST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len())
                    .bytes(),
            ),
            1 => {
                all.extend(
                    format!("POST {target} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
                        .bytes(),
                );
                all.extend(format!("{:x}\r\n", body.len().max(1)).bytes());
            }
            _ => {
                all.extend(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n").bytes());
                continue;
            }
        }
        all.extend(&body);
        if numbers.below(2) == 0 {
            all.extend(b"\r\n0\r\n\r\n");
        }
    }
    all
}

fn client(server: &TestServer, mut numbers: Numbers) {
    for _ in 0..60 {
        let mut stream = server.connect();
        for piece in requests(&mut numbers).chunks(1 + numbers.below(9000) as usize) {
            if stream.write_all(piece).is_err() {
                break;
            }
        }
        match numbers.below(4) {
            0 => reset(stream),
            1 => drop(stream),
            2 => {
                let _ = stream.read(&mut [0; 5000]);
            }
            _ => {
                // The server may have closed already.
                let _ = stream.shutdown(Shutdown::Write);
                let _ = stream.read_to_end(&mut Vec::new());
            }
        }
    }
}

#[test]
fn whatever_clients_do_nothing_is_left_of_them() {
    let limits = ServerLimits {
        body_memory_bytes_max: 5_000,
        write_buffer_bytes_max: 50_000,
        connections_max: 6,
        ..ServerLimits::default()
    };
    for way in [Answer::OnCoroutine, Answer::AtOnce] {
        let limits = if way == Answer::AtOnce {
            // Here a wait blocks the whole loop: it must end soon if its peer stalls.
            ServerLimits { body_timeout_ms: 20, write_timeout_ms: 20, ..limits.clone() }
        } else {
            limits.clone()
        };
        let server = TestServer::start(way, limits, move |server, key| {
            let parks = server.with_request(key, |request| request.path() == b"/p").unwrap();
            if way == Answer::AtOnce && parks { echo_if_there(server, key) } else { answer(server, key) }
        });
        std::thread::scope(|scope| {
            for seed in 1..=8 {
                let server = &server;
                scope.spawn(move || client(server, Numbers(0x9e37_79b9_7f4a_7c15u64.wrapping_mul(seed))));
            }
        });
        server.until(|server| server.connections() == 0 && server.in_flight() == 0);
        assert_eq!(server.run(|server| server.stats.busy.get()), 0);
        assert!(server.run(|server| server.stats.requests.get()) > 100);
    }
}

fn echo_if_there(server: &'static Server, key: RequestKey) {
    let _ = server.respond(key, 200, &[], b"not parked");
}
