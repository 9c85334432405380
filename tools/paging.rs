//! Pages of lists: limits and cursors.

use std::fmt;
use std::str::FromStr;

use ep_kernel::Fault;
use ep_polling::{PollId, Timestamp};
use ep_store::BatchId;
use schemars::Schema;

/// Maximum length of a page.
pub const MAX_LIMIT: u32 = 100;

/// Returns the default length of a page.
pub const fn default_limit() -> u32 {
    20
}

/// Rejects a page that is too long or empty.
pub fn check_limit(limit: u32) -> Result<(), Fault> {
    if (1..=MAX_LIMIT).contains(&limit) {
        Ok(())
    } else {
        Err(Fault::invalid("limit", format!("must be a number from 1 to {MAX_LIMIT}")))
    }
}

/// The position after an object in a list that is sorted by time and id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor<I> {
    /// The time when the object was accepted.
    pub at: Timestamp,
    /// The object's id.
    pub id: I,
}

/// The position after a poll.
pub type PollCursor = Cursor<PollId>;
/// The position after a batch.
pub type BatchCursor = Cursor<BatchId>;

impl PollCursor {
    /// Adds the cursor's pattern to its schema.
    pub fn describe(schema: &mut Schema) {
        describe(schema, PollId::PATTERN);
    }
}

impl BatchCursor {
    /// Adds the cursor's pattern to its schema.
    pub fn describe(schema: &mut Schema) {
        describe(schema, BatchId::PATTERN);
    }
}

/// Adds the pattern of a cursor with ids of this pattern.
fn describe(schema: &mut Schema, id: &str) {
    let id = id.trim_start_matches('^');
    schema.insert("pattern".to_owned(), format!(r"^[0-9]{{1,15}}\.{id}").into());
}

/// Cuts a page out of the objects found for it, of which one more than its length shows that there is a next page. Returns
/// the page and the cursor of the next one.
pub fn page<T, I: fmt::Display>(
    mut found: Vec<T>,
    limit: u32,
    cursor: impl Fn(&T) -> Cursor<I>,
) -> (Vec<T>, Option<String>) {
    let more = found.len() > limit as usize;
    found.truncate(limit as usize);
    let next = found.last().filter(|_| more).map(|last| cursor(last).to_string());
    (found, next)
}

impl<I: fmt::Display> fmt::Display for Cursor<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.at.millis(), self.id)
    }
}

impl<I: FromStr> FromStr for Cursor<I> {
    type Err = Fault;

    fn from_str(cursor: &str) -> Result<Self, Fault> {
        let (at, id) = cursor.split_once('.').ok_or_else(malformed_cursor)?;
        let at = Timestamp::from_millis(at.parse().map_err(|_| malformed_cursor())?);
        Ok(Self { at, id: id.parse().map_err(|_| malformed_cursor())? })
    }
}

/// Reads the batch of a list.
pub fn batch_of(id: Option<&str>) -> Result<Option<BatchId>, Fault> {
    let id = id.filter(|id| !id.is_empty()).map(str::parse).transpose();
    id.map_err(|_| Fault::invalid("batch_id", "must be the id of a batch: batch_ and 32 hexadecimal digits"))
}

/// Returns the error for a cursor that no page contained.
pub fn malformed_cursor() -> Fault {
    Fault::invalid("cursor", "must be the next_cursor of an earlier page")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_read_as_written_and_others_are_rejected() {
        let written = "1700000000000.EP-20260131-7KQ2M4X9TB";
        let cursor: PollCursor = written.parse().unwrap();
        assert_eq!((cursor.at.millis(), cursor.to_string().as_str()), (1_700_000_000_000, written));
        for wrong in ["", "1700000000000", "x.EP-20260131-7KQ2M4X9TB", "1700000000000.EP-1"] {
            assert_eq!(wrong.parse::<PollCursor>().unwrap_err().fields()[0].field, "cursor", "{wrong}");
        }
    }
}
