//! A compressed page in which one short text differs for each response.
//!
//! The text before and the text after it are compressed once. A response joins them with the text as a stored block
//! (RFC 1951, section 3.2.4), in one gzip member (RFC 1952).

use axum::body::Bytes;
use flate2::{Compress, Compression, Crc, FlushCompress};

/// Deflate, without a time, on an unknown system (RFC 1952, section 2.3).
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

/// A page with a gap.
pub struct Spliced {
    before: Part,
    after: Part,
}

/// A compressed part of a page.
struct Part {
    text: String,
    packed: Vec<u8>,
    crc: Crc,
}

impl Part {
    /// Compresses a part; the last one ends the stream.
    fn new(text: &str, is_last: bool) -> Option<Self> {
        let mut packed = Vec::with_capacity(text.len() + 64);
        let flush = if is_last { FlushCompress::Finish } else { FlushCompress::Full };
        let mut compress = Compress::new(Compression::best(), false);
        compress.compress_vec(text.as_bytes(), &mut packed, flush).ok()?;
        let mut crc = Crc::new();
        crc.update(text.as_bytes());
        (compress.total_in() == text.len() as u64).then(|| Self { text: text.to_owned(), packed, crc })
    }
}

impl Spliced {
    /// Creates a page with a gap at the first place of `gap`; `None` if there is none.
    pub fn new(page: &str, gap: &str) -> Option<Self> {
        let (before, after) = page.split_once(gap)?;
        Some(Self { before: Part::new(before, false)?, after: Part::new(after, true)? })
    }

    /// Returns the page with this text in its gap.
    pub fn plain(&self, text: &str) -> String {
        [&self.before.text, text, &self.after.text].concat()
    }

    /// Returns the page with this text in its gap, compressed; `None` if the text is too long for one block.
    pub fn gzip(&self, text: &str) -> Option<Bytes> {
        let Self { before, after } = self;
        let length = u16::try_from(text.len()).ok()?;
        let mut crc = Crc::new();
        crc.combine(&before.crc);
        crc.update(text.as_bytes());
        crc.combine(&after.crc);
        let mut bytes = Vec::with_capacity(before.packed.len() + text.len() + after.packed.len() + 32);
        bytes.extend(HEADER);
        bytes.extend(&before.packed);
        bytes.push(0); // A stored block that is not the last one.
        bytes.extend(length.to_le_bytes());
        bytes.extend((!length).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.extend(&after.packed);
        bytes.extend(crc.sum().to_le_bytes());
        bytes.extend(crc.amount().to_le_bytes());
        Some(bytes.into())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn a_spliced_page_decompresses_to_the_plain_one() {
        let page = format!("{}GAP{}", "<p>a page</p>\n".repeat(700), "ä 日本 ".repeat(900));
        let spliced = Spliced::new(&page, "GAP").unwrap();
        for text in ["", "0123456789abcdef0123456789abcdef", "ß"] {
            let mut read = String::new();
            GzDecoder::new(&*spliced.gzip(text).unwrap()).read_to_string(&mut read).unwrap();
            assert_eq!(read, spliced.plain(text));
            assert_eq!(read, page.replacen("GAP", text, 1));
        }
        assert!(spliced.gzip(&"x".repeat(70_000)).is_none() && Spliced::new("page", "GAP").is_none());
    }
}
