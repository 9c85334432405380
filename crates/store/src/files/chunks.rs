//! Chunks: the whole lines of files that are stored together.

use crate::error::{UnexpectedData, failed};
use crate::row::from_row;
use crate::store_error::Result;

/// Maximum size of a chunk of several lines, in bytes. A longer line has a chunk of its own.
const MAX_BYTES: usize = 64 << 10;
/// Maximum number of chunks that are read together.
pub(crate) const READ_TOGETHER: u32 = 16;

/// A part of a file: whole lines with their ends, and the number of the first one.
pub(crate) struct Chunk {
    pub(crate) first: i64,
    pub(crate) lines: i64,
    pub(crate) content: String,
}

from_row!(Chunk { first, lines, content });

/// Packs lines into chunks. `first` is the number of the first line.
pub(crate) fn of_lines(first: u32, lines: &[String]) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = Vec::new();
    for (number, line) in (i64::from(first)..).zip(lines) {
        match chunks.last_mut() {
            Some(chunk) if chunk.content.len() + line.len() <= MAX_BYTES => {
                chunk.content.push_str(line);
                chunk.lines += 1;
            }
            _ => chunks.push(Chunk { first: number, lines: 1, content: line.clone() }),
        }
    }
    chunks
}

/// Returns up to `limit` lines of these chunks with numbers above `after`.
pub(crate) fn lines(chunks: &[Chunk], after: u32, limit: u32) -> Result<Vec<(u32, String)>> {
    let mut found = Vec::new();
    for Chunk { first, lines, content } in chunks {
        let mut number = *first;
        for line in content.split_inclusive('\n') {
            if number > i64::from(after) && found.len() < limit as usize {
                found.push((number as u32, line.to_owned()));
            }
            number += 1;
        }
        if number != first + lines {
            return Err(failed(UnexpectedData::Value("a part of a file")));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Lines come back with their numbers, whatever their lengths, and chunks are bounded.
        #[test]
        fn lines_survive_packing(
            lengths in proptest::collection::vec(prop_oneof![0..40_usize, 30_000..90_000_usize], 1..30),
            first in 1..1000_u32,
            skip in 0..40_u32,
            limit in 0..40_u32,
        ) {
            let packed: Vec<String> = lengths.iter().map(|length| "x".repeat(*length) + "\n").collect();
            let chunks = of_lines(first, &packed);
            for chunk in &chunks {
                prop_assert!(chunk.content.len() <= MAX_BYTES || chunk.lines == 1);
            }
            let all = (first..).zip(packed);
            let expected: Vec<(u32, String)> =
                all.filter(|(number, _)| *number > first + skip).take(limit as usize).collect();
            prop_assert_eq!(lines(&chunks, first + skip, limit).unwrap(), expected);
        }
    }

    #[test]
    fn the_last_line_of_a_file_may_have_no_end() {
        let chunks = of_lines(1, &["a\n".to_owned(), "b".to_owned()]);
        assert_eq!(lines(&chunks, 0, 9).unwrap(), [(1, "a\n".to_owned()), (2, "b".to_owned())]);
    }

    #[test]
    fn a_chunk_with_another_number_of_lines_is_damaged() {
        let damaged = Chunk { first: 1, lines: 2, content: "a\n".to_owned() };
        assert!(lines(&[damaged], 0, 9).is_err());
    }
}
