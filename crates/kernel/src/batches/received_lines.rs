//! The lines of a file that is being received: checked as they arrive, and stored some at a time.

use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::room::Room;
use super::{UNFINISHED, quota};
use crate::fault::{Fault, Kind, Result};
use crate::ports::Clock;
use ep_store::{FileContent, FileId, NewFile, Store, StoreError};

/// Maximum size of a file, in bytes.
pub const MAX_FILE_BYTES: u64 = 200 << 20;
/// Maximum size of a line, in bytes, with its end.
const MAX_LINE_BYTES: usize = 1 << 20;
/// Maximum number of lines of a file.
const MAX_LINES: u32 = 200_000;
/// Bytes of lines that are stored together.
const STORED_TOGETHER: usize = 256 << 10;
/// Time after which fewer lines are stored, so that a slow upload does not count as abandoned.
pub(super) const STORED_WITHIN: Duration = Duration::from_mins(1);

/// The lines of a file that is being received.
pub(super) struct ReceivedLines<'a> {
    store: &'a Store,
    room: &'a Room,
    clock: &'a dyn Clock,
    id: FileId,
    /// The begun line.
    line: Vec<u8>,
    lines: Vec<String>,
    /// Bytes of `lines`.
    waiting: usize,
    /// Time at which `lines` are stored, even if they are few.
    pub(super) due: Instant,
    /// Number of stored lines.
    stored: u32,
    bytes: u64,
    /// The digest of the content, if repetitions are compared with it.
    digest: Option<Sha256>,
}

impl<'a> ReceivedLines<'a> {
    pub(super) fn new(store: &'a Store, room: &'a Room, clock: &'a dyn Clock, file: &NewFile) -> Self {
        Self {
            store,
            room,
            clock,
            id: file.id,
            line: Vec::new(),
            lines: Vec::new(),
            waiting: 0,
            due: Instant::now() + STORED_WITHIN,
            stored: 0,
            bytes: 0,
            digest: file.request_ref.is_some().then(Sha256::new),
        }
    }

    pub(super) async fn write(&mut self, part: &[u8]) -> Result<()> {
        self.bytes += part.len() as u64;
        if self.bytes > MAX_FILE_BYTES {
            let message = format!("the file is larger than {} MiB; split it", MAX_FILE_BYTES >> 20);
            return Err(Fault::new(Kind::PayloadTooLarge, message));
        }
        if let Some(digest) = &mut self.digest {
            digest.update(part);
        }
        for piece in part.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if self.line.len() > MAX_LINE_BYTES {
                return Err(self.refused(&format!("is longer than {} KiB; shorten it", MAX_LINE_BYTES >> 10)));
            }
            if piece.ends_with(b"\n") {
                self.end_line().await?;
            }
        }
        Ok(())
    }

    async fn end_line(&mut self) -> Result<()> {
        let line = std::mem::take(&mut self.line);
        let line =
            String::from_utf8(line).map_err(|_| self.refused("is not UTF-8; save the file as UTF-8"))?;
        if line.contains('\0') {
            return Err(self.refused("contains the character U+0000; remove it"));
        }
        if self.number() > MAX_LINES {
            return Err(
                self.refused(&format!("is one too many: a file has at most {MAX_LINES} lines; split it"))
            );
        }
        self.waiting += line.len();
        self.lines.push(line);
        if self.waiting >= STORED_TOGETHER { self.flush().await } else { Ok(()) }
    }

    pub(super) async fn flush(&mut self) -> Result<()> {
        self.due = Instant::now() + STORED_WITHIN;
        if self.lines.is_empty() {
            return Ok(());
        }
        self.room.take(self.waiting as u64).await?;
        let now = self.clock.now();
        let added = self.store.add_lines(self.id, self.stored + 1, &self.lines, now).await;
        added.map_err(stored_fault)?;
        self.stored += self.lines.len() as u32;
        self.lines.clear();
        self.waiting = 0;
        Ok(())
    }

    /// Returns the number of the line that is being received.
    const fn number(&self) -> u32 {
        self.stored + self.lines.len() as u32 + 1
    }

    fn refused(&self, rule: &str) -> Fault {
        Fault::invalid("file", format!("line {} {rule}", self.number()))
    }

    /// Stores the rest.
    pub(super) async fn end(mut self) -> Result<FileContent> {
        if !self.line.is_empty() {
            self.end_line().await?;
        }
        self.flush().await?;
        let sha256 = self.digest.map(|digest| hex::encode(digest.finalize()));
        Ok(FileContent { bytes: self.bytes, lines: self.stored, sha256 })
    }
}

/// Returns the fault of storing a part of a file. A file that is gone counts as abandoned.
pub(super) fn stored_fault(error: StoreError) -> Fault {
    if let StoreError::NotFound("file") = error {
        let text = format!(
            "no whole line of the file arrived for {} minutes; send the file again, faster",
            UNFINISHED.as_secs() / 60
        );
        return Fault::new(Kind::IncompleteBody, text);
    }
    quota::fault(error)
}
