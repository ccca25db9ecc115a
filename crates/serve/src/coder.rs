//! A text that is compressed piece by piece.
//!
//! Must not know responses. Invariant: what was written can be read by the peer at once, because each piece is flushed.

use std::io::{self, Write};
use std::rc::Rc;

use weft_proto::Coding;

/// The brotli window of a coder: it looks back 64 KiB.
const BROTLI_WINDOW_BITS: u32 = 16;
const BROTLI_QUALITY: u32 = 4;
/// The same for zstd.
const ZSTD_WINDOW_LOG: u32 = 17;
const ZSTD_LEVEL: i32 = 3;
const GZIP_LEVEL: u32 = 5;

enum Writer {
    Gzip(flate2::write::GzEncoder<Vec<u8>>),
    Brotli(Box<brotli::CompressorWriter<Vec<u8>>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
}

/// A response that is being compressed.
pub(crate) struct Coder {
    writer: Writer,
    /// Counts among those of the server.
    _place: Rc<()>,
}

impl Coder {
    /// Begins; `place` is kept until it ends.
    pub(crate) fn new(coding: Coding, place: Rc<()>) -> io::Result<Coder> {
        let out = Vec::new();
        let writer = match coding {
            Coding::Gzip => {
                Writer::Gzip(flate2::write::GzEncoder::new(out, flate2::Compression::new(GZIP_LEVEL)))
            }
            Coding::Brotli => Writer::Brotli(Box::new(brotli::CompressorWriter::new(
                out,
                4096,
                BROTLI_QUALITY,
                BROTLI_WINDOW_BITS,
            ))),
            Coding::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(out, ZSTD_LEVEL)?;
                encoder.window_log(ZSTD_WINDOW_LOG)?;
                Writer::Zstd(encoder)
            }
        };
        Ok(Coder { writer, _place: place })
    }

    /// Bytes with which the peer can read all of `data`.
    pub(crate) fn write(&mut self, data: &[u8]) -> io::Result<Vec<u8>> {
        let out = match &mut self.writer {
            Writer::Gzip(writer) => {
                writer.write_all(data)?;
                writer.flush()?;
                writer.get_mut()
            }
            Writer::Brotli(writer) => {
                writer.write_all(data)?;
                writer.flush()?;
                writer.get_mut()
            }
            Writer::Zstd(writer) => {
                writer.write_all(data)?;
                writer.flush()?;
                writer.get_mut()
            }
        };
        Ok(std::mem::take(out))
    }

    /// The bytes that end the response.
    pub(crate) fn finish(self) -> io::Result<Vec<u8>> {
        match self.writer {
            Writer::Gzip(writer) => writer.finish(),
            Writer::Brotli(writer) => Ok(writer.into_inner()),
            Writer::Zstd(writer) => writer.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::rc::Rc;

    use weft_proto::Coding;

    use super::Coder;

    #[test]
    fn each_piece_can_be_read_when_it_was_written() {
        for coding in Coding::ALL {
            let mut coder = Coder::new(coding, Rc::new(())).expect("it begins");
            let mut coded = Vec::new();
            let mut text = Vec::new();
            for number in 0..50 {
                let piece = format!("line {number}\n").repeat(number * 10 + 1);
                text.extend_from_slice(piece.as_bytes());
                let bytes = coder.write(piece.as_bytes()).expect("a vector takes it");
                assert!(!bytes.is_empty(), "{coding:?}");
                coded.extend_from_slice(&bytes);
                assert_eq!(read(coding, &coded, text.len()), text, "{coding:?} {number}");
            }
            coded.extend(coder.finish().expect("it ends"));
            assert_eq!(read(coding, &coded, text.len() + 1), text, "{coding:?}");
        }
    }

    /// Up to so many bytes of a text that may have been cut off.
    fn read(coding: Coding, coded: &[u8], length: usize) -> Vec<u8> {
        let mut text = vec![0; length];
        let mut reader: Box<dyn Read> = match coding {
            Coding::Gzip => Box::new(flate2::read::GzDecoder::new(coded)),
            Coding::Brotli => Box::new(brotli::Decompressor::new(coded, 4096)),
            Coding::Zstd => Box::new(zstd::stream::read::Decoder::new(coded).expect("it begins")),
        };
        let mut at = 0;
        while at < length {
            match reader.read(&mut text[at..]) {
                Ok(0) | Err(_) => break,
                Ok(count) => at += count,
            }
        }
        text.truncate(at);
        text
    }
}
