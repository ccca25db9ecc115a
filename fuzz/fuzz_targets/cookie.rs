//! Cookie fields: names are never empty, parts lie within the input in order, and parsing the parts again gives the
//! same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weft_proto::cookies;

fuzz_target!(|data: &[u8]| {
    let pairs: Vec<_> = cookies(data).collect();
    let range = data.as_ptr_range();
    let mut last = range.start;
    let mut again = Vec::new();
    for (name, value) in &pairs {
        assert!(!name.is_empty() && !name.contains(&b'=') && !name.contains(&b';') && !value.contains(&b';'));
        assert!(!matches!(name[0], b' ' | b'\t'..=b'\r'));
        let (name_range, value_range) = (name.as_ptr_range(), value.as_ptr_range());
        assert!(
            last <= name_range.start && name_range.end <= value_range.start && value_range.end <= range.end
        );
        last = value_range.end;
        again.extend_from_slice(&[name, &b"="[..], value, b"; "].concat());
    }
    assert!(cookies(&again).eq(pairs));
});
