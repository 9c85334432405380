//! The database file: closed to other users, and watched.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use ep_kernel::ports::StoreError;

use rustix::fs::statvfs;

use crate::error::{DiskFull, FileLost, failed};

/// Read and written by its owner alone: it holds what private polls asked, and the hashes of keys.
const MODE: u32 = 0o600;

/// A disk with less room than this, in bytes, counts as full: a few polls need it.
const LEAST_FREE: u64 = 4 << 20;

/// Creates a folder and those above it, closed to other users.
pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Creates the file where there is none, and closes it to other users. SQLite gives the files that it makes
/// beside it the same permissions.
pub(super) fn close_to_others(file: &Path) -> io::Result<()> {
    OpenOptions::new().append(true).create(true).mode(MODE).open(file).and_then(|file| close(&file))?;
    for suffix in ["-wal", "-shm"] {
        let mut beside = file.as_os_str().to_owned();
        beside.push(suffix);
        match File::open(beside) {
            Ok(beside) => close(&beside)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn close(file: &File) -> io::Result<()> {
    let metadata = file.metadata()?;
    // Pipes and devices are nobody's to close; opening one as a database fails with its own message.
    if metadata.is_file() && metadata.mode() & 0o777 & !MODE != 0 {
        match file.set_permissions(Permissions::from_mode(MODE)) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                tracing::warn!("the database file is open to other users, and its owner alone can close it");
            }
            done => return done,
        }
    }
    Ok(())
}

/// The file that was opened. A deleted file is still written by whoever has it open, and lost when they close it.
pub(super) struct OpenFile {
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
    lost: AtomicBool,
}

impl OpenFile {
    /// The file of this name, which the database has open.
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        let identity = (metadata.dev(), metadata.ino());
        Ok(Self { path: path.to_owned(), identity, lost: AtomicBool::new(false) })
    }

    /// Looks whether the file still has its name and its disk some room.
    pub(super) fn look(&self) -> Result<(), StoreError> {
        let lost = match fs::metadata(&self.path) {
            Ok(metadata) => (metadata.dev(), metadata.ino()) != self.identity,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        self.lost.store(lost, Ordering::Relaxed);
        self.check()?;
        // The write-ahead log reuses its room, so that small writes succeed on a full disk for a while.
        match statvfs(&self.path) {
            Ok(disk) if disk.f_bavail.saturating_mul(disk.f_frsize) < LEAST_FREE => Err(failed(DiskFull)),
            Ok(_) => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }

    /// Fails if the last look did not find the file under its name.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        if self.lost.load(Ordering::Relaxed) { Err(failed(FileLost)) } else { Ok(()) }
    }
}
