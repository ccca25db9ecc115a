//! Range fields: every range lies within the representation, and together they are not longer than it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weft_proto::{Ranges, parse_range};

fuzz_target!(|data: &[u8]| {
    let Some((prefix, value)) = data.split_first_chunk::<9>() else { return };
    let (length, ranges_max) = prefix.split_at(8);
    let length = u64::from_le_bytes(length.try_into().unwrap_or_default());
    let ranges_max = usize::from(ranges_max[0]);
    let Ranges::Satisfiable(ranges) = parse_range(value, length, ranges_max) else { return };
    assert!(!ranges.is_empty() && ranges.len() <= ranges_max);
    let mut total = 0u64;
    for range in &ranges {
        assert!(range.first <= range.last && range.last < length);
        total = total.checked_add(range.byte_count()).expect("no more than the length");
        assert_eq!(range.content_range(length), format!("bytes {}-{}/{length}", range.first, range.last));
    }
    assert!(total <= length);
    let again: Vec<_> = ranges.iter().map(|range| format!("{}-{}", range.first, range.last)).collect();
    let again = format!("bytes={}", again.join(","));
    assert_eq!(parse_range(again.as_bytes(), length, ranges_max), Ranges::Satisfiable(ranges));
});
