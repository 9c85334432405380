//! Files on their way in: split into lines and stored as they arrive, in bounded memory.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::quota;
use super::room::Room;
use crate::batch_id::FileId;
use crate::caller::UserId;
use crate::fault::{Fault, Kind};
use crate::ports::{FileSize, FileStore};
use ep_polling::time::Timestamp;

/// Maximum size of a file, in bytes.
pub const MAX_FILE_BYTES: u64 = 200 << 20;
/// Maximum size of a line, in bytes, with its end.
const MAX_LINE_BYTES: usize = 1 << 20;
/// Maximum number of files of an account.
const MAX_FILES: u32 = 10_000;
/// Maximum number of lines of a file.
const MAX_LINES: u32 = 200_000;
/// Maximum number of files that this process receives at once.
const MAX_UPLOADS: u32 = 32;
/// Maximum number of files that this process receives at once from an account.
const MAX_UPLOADS_OF_ACCOUNT: u32 = 4;
/// Bytes of lines that are stored together.
const STORED_TOGETHER: usize = 256 << 10;

/// The uploads in progress, by account.
#[derive(Default)]
pub(super) struct Uploads(Arc<Mutex<HashMap<UserId, u32>>>);

/// The right to receive one file, given back when dropped.
pub struct UploadPermit {
    user: UserId,
    uploads: Arc<Mutex<HashMap<UserId, u32>>>,
}

impl Uploads {
    /// Admits an upload.
    pub(super) fn begin(&self, user: UserId) -> Result<UploadPermit, Fault> {
        let mut uploads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = uploads.get(&user).copied().unwrap_or_default();
        if own >= MAX_UPLOADS_OF_ACCOUNT || uploads.values().sum::<u32>() >= MAX_UPLOADS {
            let text = format!(
                "too many files are being received; an account can upload {MAX_UPLOADS_OF_ACCOUNT} at once: try again \
                 in a few seconds"
            );
            return Err(Fault::new(Kind::Busy, text).retry_after(Duration::from_secs(5)));
        }
        uploads.insert(user, own + 1);
        Ok(UploadPermit { user, uploads: Arc::clone(&self.0) })
    }
}

impl Drop for UploadPermit {
    fn drop(&mut self) {
        let mut uploads = self.uploads.lock().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Occupied(mut own) = uploads.entry(self.user) {
            *own.get_mut() -= 1;
            if *own.get() == 0 {
                own.remove();
            }
        }
    }
}

/// A file that is being received.
pub struct Upload<'a> {
    store: &'a dyn FileStore,
    room: &'a Room,
    id: FileId,
    /// The begun line.
    line: Vec<u8>,
    lines: Vec<String>,
    /// Bytes of `lines`.
    waiting: usize,
    /// Number of stored lines.
    stored: u32,
    bytes: u64,
}

impl<'a> Upload<'a> {
    /// Receives the content of a file that has begun.
    pub(super) const fn new(store: &'a dyn FileStore, room: &'a Room, id: FileId) -> Self {
        Self { store, room, id, line: Vec::new(), lines: Vec::new(), waiting: 0, stored: 0, bytes: 0 }
    }

    /// Receives a part of the content.
    pub async fn write(&mut self, part: &[u8]) -> Result<(), Fault> {
        self.bytes += part.len() as u64;
        if self.bytes > MAX_FILE_BYTES {
            let message = format!("the file is larger than {} MiB; split it", MAX_FILE_BYTES >> 20);
            return Err(Fault::new(Kind::PayloadTooLarge, message));
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

    async fn end_line(&mut self) -> Result<(), Fault> {
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

    async fn flush(&mut self) -> Result<(), Fault> {
        if self.lines.is_empty() {
            return Ok(());
        }
        self.room.take(self.waiting as u64).await?;
        self.store.add_lines(self.id, self.stored + 1, &self.lines).await.map_err(quota::fault)?;
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

    /// Stores the rest, and completes the file.
    pub(super) async fn complete(mut self, expires_at: Timestamp) -> Result<(), Fault> {
        if !self.line.is_empty() {
            self.end_line().await?;
        }
        self.flush().await?;
        let size = FileSize { bytes: self.bytes, lines: self.stored };
        self.store.complete_file(self.id, size, expires_at, MAX_FILES).await.map_err(quota::fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uploads_are_bounded_and_leave_nothing_behind() {
        let uploads = Uploads::default();
        let user = |number: u8| UserId::from_random([number; 16]);
        let mut permits: Vec<UploadPermit> = std::iter::from_fn(|| uploads.begin(user(0)).ok()).collect();
        assert_eq!(permits.len(), 4);
        permits.extend((1..200).filter_map(|number| uploads.begin(user(number)).ok()));
        assert_eq!(permits.len(), 32);
        drop(permits);
        assert!(uploads.0.lock().unwrap().is_empty());
        assert!(uploads.begin(user(0)).is_ok());
    }
}
