//! Decodes response bodies that are compressed although nobody asked for it. Requests announce no encoding, because some servers
//! break when they compress.

use std::io::{BufRead, Read};

use brotli_decompressor::Decompressor;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use ruzstd::decoding::StreamingDecoder;

/// The reason for a body that cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecodingError {
    /// The encoding is unknown, or the body is damaged or has no end.
    Unreadable,
    /// The content is too long.
    TooLong,
}

/// The most encodings of one body. Two happen, when a proxy compresses what is compressed.
const MAX_ENCODINGS: usize = 3;
/// The buffer of the decoder for Brotli, in bytes.
const BUFFER: usize = 16 * 1024;

/// Decodes a body with these content encodings (RFC 9110 §8.4) to at most `most` bytes.
pub(crate) fn decoded(encodings: &str, body: Vec<u8>, most: usize) -> Result<Vec<u8>, DecodingError> {
    let names: Vec<&str> = encodings.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    if names.len() > MAX_ENCODINGS {
        return Err(DecodingError::Unreadable);
    }
    // The last one was applied last.
    names.into_iter().rev().try_fold(body, |body, name| decoded_once(&name.to_ascii_lowercase(), body, most))
}

fn decoded_once(encoding: &str, body: Vec<u8>, most: usize) -> Result<Vec<u8>, DecodingError> {
    let body = match encoding {
        "identity" => return Ok(body),
        _ if body.is_empty() => return Ok(body),
        _ => body.as_slice(),
    };
    match encoding {
        "gzip" | "x-gzip" => content(MultiGzDecoder::new(body), most),
        // RFC 9110 asks for the head of zlib (RFC 1950), which some servers leave out.
        "deflate" if has_zlib_head(body) => content(ZlibDecoder::new(body), most),
        "deflate" => content(DeflateDecoder::new(body), most),
        "br" => content(Decompressor::new(body, BUFFER), most),
        "zstd" => content(StreamingDecoder::new(body).map_err(|_| DecodingError::Unreadable)?, most),
        _ => Err(DecodingError::Unreadable),
    }
}

fn content(decoder: impl Read, most: usize) -> Result<Vec<u8>, DecodingError> {
    let mut content = Vec::new();
    let read = decoder.take(most as u64 + 1).read_to_end(&mut content);
    match read {
        Ok(_) if content.len() > most => Err(DecodingError::TooLong),
        Ok(_) => Ok(content),
        Err(_) => Err(DecodingError::Unreadable),
    }
}

/// True for the two bytes that begin zlib's format (RFC 1950 §2.2).
fn has_zlib_head(mut body: &[u8]) -> bool {
    let head = body.fill_buf().unwrap_or_default();
    matches!(head, [method, flags, ..] if method & 0x0F == 8 && (u16::from(*method) << 8 | u16::from(*flags)).is_multiple_of(31))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn every_usual_encoding_is_decoded() {
        let text = br#"{"choices":[]}"#;
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(text).unwrap();
        let mut deflate = DeflateEncoder::new(Vec::new(), Compression::default());
        deflate.write_all(text).unwrap();
        // The same text, as the reference encoder of Brotli stores it: one uncompressed block.
        let mut brotli = vec![0x8B, 0x06, 0x80];
        brotli.extend_from_slice(text);
        brotli.push(0x03);
        let zstd = ruzstd::encoding::compress_to_vec(&text[..], ruzstd::encoding::CompressionLevel::Fastest);
        for (encoding, body) in [
            ("gzip", gzip(text)),
            ("X-GZIP", gzip(text)),
            ("deflate", zlib.finish().unwrap()),
            ("deflate", deflate.finish().unwrap()),
            ("br", brotli),
            ("zstd", zstd),
            ("gzip, gzip", gzip(&gzip(text))),
            ("identity", text.to_vec()),
            ("", text.to_vec()),
        ] {
            assert_eq!(decoded(encoding, body, 1000).as_deref(), Ok(&text[..]), "{encoding}");
        }
    }

    #[test]
    fn damaged_and_long_bodies_are_errors() {
        let cut = gzip(b"text")[..8].to_vec();
        assert_eq!(decoded("gzip", cut, 1000), Err(DecodingError::Unreadable));
        assert_eq!(decoded("gzip", b"text".to_vec(), 1000), Err(DecodingError::Unreadable));
        assert_eq!(decoded("compress", b"text".to_vec(), 1000), Err(DecodingError::Unreadable));
        assert_eq!(decoded("gzip", gzip(&[0; 1001]), 1000), Err(DecodingError::TooLong));
        assert_eq!(decoded("gzip,gzip,gzip,gzip", Vec::new(), 1000), Err(DecodingError::Unreadable));
    }
}
