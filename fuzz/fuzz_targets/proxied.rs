//! The header of the PROXY protocol: whatever comes first on a connection, reading a prefix never contradicts the whole.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weft_proto::Proxied;

fuzz_target!(|bytes: &[u8]| {
    let whole = Proxied::read(bytes);
    for count in 0..bytes.len() {
        let part = Proxied::read(&bytes[..count]);
        assert!(part == Ok(Proxied::Partial) || part == whole);
    }
    if let Ok(Proxied::Complete { length, .. }) = whole {
        assert!(length <= bytes.len() && length <= Proxied::BYTES_MAX);
    }
});
