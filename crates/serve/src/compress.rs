//! Compressing a whole text, and caching the result.
//!
//! Must not know files or connections. Invariant: the cache never exceeds its limit, and returns an entry only for the
//! version of the text from which it was made.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use weft_proto::Coding;

/// Levels at which each coding makes text about four times smaller, at 30 MB a second or more on one core.
const BROTLI_QUALITY: u32 = 4;
const BROTLI_WINDOW_BITS: u32 = 20;
const ZSTD_LEVEL: i32 = 3;
const GZIP_LEVEL: u32 = 5;

/// What says that another client may get another coding.
pub(crate) const VARY: (&[u8], &[u8]) = (b"Vary", b"Accept-Encoding");

/// Compresses `text`; `None` if that does not make it smaller.
pub(crate) fn compress(coding: Coding, text: &[u8]) -> Option<Vec<u8>> {
    let room = Vec::with_capacity(text.len() / 3);
    let coded = match coding {
        Coding::Brotli => {
            let mut writer = brotli::CompressorWriter::new(room, 4096, BROTLI_QUALITY, BROTLI_WINDOW_BITS);
            writer.write_all(text).ok()?;
            writer.into_inner()
        }
        Coding::Zstd => zstd::bulk::compress(text, ZSTD_LEVEL).ok()?,
        Coding::Gzip => {
            let mut writer = flate2::write::GzEncoder::new(room, flate2::Compression::new(GZIP_LEVEL));
            writer.write_all(text).ok()?;
            writer.finish().ok()?
        }
    };
    (coded.len() < text.len()).then_some(coded)
}

/// Compressed files. The least recently used entry is removed first.
#[derive(Default)]
pub(crate) struct Compressed {
    kept: HashMap<(PathBuf, Coding), Kept>,
    bytes: usize,
    clock: u64,
}

struct Kept {
    /// The entity tag of the file from which it was made.
    etag: String,
    /// `None` if compression does not make it smaller.
    coded: Option<Rc<[u8]>>,
    used: u64,
}

/// The cost of an entry in addition to its bytes.
const ENTRY_BYTES: usize = 256;

impl Kept {
    fn bytes(&self) -> usize {
        ENTRY_BYTES + self.coded.as_ref().map_or(0, |coded| coded.len())
    }
}

impl Compressed {
    /// The cached result for this version of a file. The outer `None` means that there is none yet.
    pub(crate) fn find(&mut self, path: &Path, coding: Coding, etag: &str) -> Option<Option<Rc<[u8]>>> {
        self.clock += 1;
        let kept = self.kept.get_mut(&(path.to_owned(), coding)).filter(|kept| kept.etag == etag)?;
        kept.used = self.clock;
        Some(kept.coded.clone())
    }

    /// Caches the result, unless it is larger than the whole cache.
    pub(crate) fn keep(
        &mut self,
        path: &Path,
        coding: Coding,
        etag: &str,
        coded: Option<Rc<[u8]>>,
        bytes_max: usize,
    ) {
        let new = Kept { etag: etag.to_owned(), coded, used: self.clock };
        let size = new.bytes();
        if size > bytes_max {
            return;
        }
        if let Some(old) = self.kept.insert((path.to_owned(), coding), new) {
            self.bytes -= old.bytes();
        }
        self.bytes += size;
        while self.bytes > bytes_max {
            let oldest = self.kept.iter().min_by_key(|(_, kept)| kept.used).map(|(key, _)| key.clone());
            let Some(gone) = oldest.and_then(|key| self.kept.remove(&key)) else { return };
            self.bytes -= gone.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn each_coding_gives_the_text_back() {
        let text = "the same words again and again; ".repeat(1000).into_bytes();
        for coding in Coding::ALL {
            let coded = compress(coding, &text).expect("text becomes smaller");
            assert!(coded.len() < text.len() / 10, "{coding:?}");
            let mut back = Vec::new();
            let read = match coding {
                Coding::Brotli => brotli::Decompressor::new(&coded[..], 4096).read_to_end(&mut back),
                Coding::Zstd => zstd::stream::copy_decode(&coded[..], &mut back).map(|()| 0),
                Coding::Gzip => flate2::read::GzDecoder::new(&coded[..]).read_to_end(&mut back),
            };
            read.expect("it can be read");
            assert_eq!(back, text, "{coding:?}");
            assert_eq!(compress(coding, b"x"), None, "{coding:?} makes one byte no smaller");
        }
    }

    #[test]
    fn what_is_kept_is_bounded_and_of_one_version() {
        let (mut kept, bound) = (Compressed::default(), 10 * 1024);
        let path = |n: u32| PathBuf::from(format!("/{n}"));
        for n in 0..100 {
            kept.keep(&path(n), Coding::Gzip, "a", Some(vec![0; 1000].into()), bound);
            assert!(kept.bytes <= bound);
            assert!(kept.find(&path(0), Coding::Gzip, "a").is_some(), "asked for again and again, it stays");
        }
        assert!(kept.find(&path(50), Coding::Gzip, "a").is_none());
        assert!(kept.find(&path(99), Coding::Gzip, "b").is_none());
        assert!(kept.find(&path(99), Coding::Brotli, "a").is_none());
        kept.keep(&path(7), Coding::Gzip, "a", Some(vec![0; 20_000].into()), bound);
        assert!(kept.find(&path(7), Coding::Gzip, "a").is_none());
        assert_eq!(kept.bytes, kept.kept.values().map(Kept::bytes).sum::<usize>());
    }
}
