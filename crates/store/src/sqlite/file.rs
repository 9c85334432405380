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

/// The suffix of the write-ahead log.
const LOG: &str = "-wal";

/// Creates a folder and those above it, closed to other users.
pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Creates the file where there is none, and closes it to other users. SQLite gives the files that it makes
/// beside it the same permissions.
pub(super) fn close_to_others(file: &Path) -> io::Result<()> {
    OpenOptions::new().append(true).create(true).mode(MODE).open(file).and_then(|file| close(&file))?;
    for suffix in [LOG, "-shm"] {
        match File::open(beside(file, suffix)) {
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

/// The files that were opened: the database, and its write-ahead log. Whoever has a deleted file open can still write to
/// it, and the data is lost when they close it.
pub(super) struct OpenFile {
    path: PathBuf,
    files: Vec<(PathBuf, Identity)>,
    lost: AtomicBool,
}

/// Device and inode.
type Identity = (u64, u64);

impl OpenFile {
    /// The file at this path, which the database has open.
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        let mut files = vec![(path.to_owned(), identity(path)?)];
        let log = beside(path, LOG);
        if let Ok(identity) = identity(&log) {
            files.push((log, identity));
        }
        Ok(Self { path: path.to_owned(), files, lost: AtomicBool::new(false) })
    }

    /// Looks whether the files are still at their paths. The first failure is logged, and so is the recovery.
    pub(super) fn look(&self) -> Result<(), FileLost> {
        let gone = |(path, opened): &(PathBuf, Identity)| match identity(path) {
            Ok(found) => found != *opened,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        let lost = self.files.iter().any(gone);
        let before = self.lost.swap(lost, Ordering::Relaxed);
        let file = self.path.display();
        match (before, lost) {
            (false, true) => tracing::error!(%file, "{FileLost}"),
            (true, false) => tracing::info!(%file, "the database file is back"),
            _ => {}
        }
        if lost { Err(FileLost) } else { Ok(()) }
    }

    /// Fails if the last look did not find the files.
    pub(super) fn check(&self) -> Result<(), FileLost> {
        if self.lost.load(Ordering::Relaxed) { self.look() } else { Ok(()) }
    }

    /// Fails if the disk is full. The write-ahead log reuses its room, so that small writes succeed on a full disk for
    /// a while.
    pub(super) fn check_room(&self) -> Result<(), StoreError> {
        match statvfs(&self.path) {
            Ok(disk) if disk.f_bavail.saturating_mul(disk.f_frsize) < LEAST_FREE => Err(failed(DiskFull)),
            Ok(_) => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }
}

fn identity(path: &Path) -> io::Result<Identity> {
    let metadata = fs::metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

/// The file with this suffix beside the database file.
fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut beside = file.as_os_str().to_owned();
    beside.push(suffix);
    beside.into()
}
