//! The database file: its permissions, and checks that it is still in place.

use std::fs;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::store_error::Result;

use rustix::fs::statvfs;

use crate::error::{DiskFull, FileLost, failed};

/// Only the owner may read and write the file, because it contains private polls and the hashes of keys.
const MODE: u32 = 0o600;

/// The minimum free space, in bytes. With less, which a few polls would fill, the disk counts as full.
const LEAST_FREE: u64 = 4 << 20;

/// The suffix of the write-ahead log.
const LOG: &str = "-wal";

/// Creates a folder and its parents, inaccessible to other users.
pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Creates a missing file and makes it inaccessible to other users. SQLite gives the same permissions to the
/// files that it creates next to it.
pub(super) fn restrict_access(file: &Path) -> io::Result<()> {
    OpenOptions::new().append(true).create(true).mode(MODE).open(file).and_then(|file| restrict(&file))?;
    for suffix in [LOG, "-shm"] {
        match File::open(with_suffix(file, suffix)) {
            Ok(sibling) => restrict(&sibling)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn restrict(file: &File) -> io::Result<()> {
    let metadata = file.metadata()?;
    // Permissions of pipes and devices stay unchanged; opening one as a database fails with its own message.
    if metadata.is_file() && metadata.mode() & 0o777 & !MODE != 0 {
        match file.set_permissions(Permissions::from_mode(MODE)) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                tracing::warn!(
                    "the database file is accessible to other users, and only its owner can change that"
                );
            }
            done => return done,
        }
    }
    Ok(())
}

/// The opened files: the database and its write-ahead log. A process can still write to an open file after
/// its deletion, but the data is lost when the process closes it.
pub(super) struct OpenFile {
    path: PathBuf,
    files: Vec<(PathBuf, Identity)>,
    lost: AtomicBool,
}

/// Device and inode.
type Identity = (u64, u64);

impl OpenFile {
    /// Records the file at this path, which the database has open.
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        let mut files = vec![(path.to_owned(), identity(path)?)];
        let log = with_suffix(path, LOG);
        if let Ok(identity) = identity(&log) {
            files.push((log, identity));
        }
        Ok(Self { path: path.to_owned(), files, lost: AtomicBool::new(false) })
    }

    /// Checks that the files are still at their paths. Logs the first failure and the recovery.
    pub(super) fn verify(&self) -> Result<(), FileLost> {
        let gone = |(path, opened): &(PathBuf, Identity)| match identity(path) {
            Ok(found) => found != *opened,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        let lost = self.files.iter().any(gone);
        let before = self.lost.swap(lost, Ordering::Relaxed);
        let file = self.path.display();
        match (before, lost) {
            (false, true) => tracing::error!(%file, "{FileLost}"),
            (true, false) => tracing::info!(%file, "the database file is available again"),
            _ => {}
        }
        if lost { Err(FileLost) } else { Ok(()) }
    }

    /// Fails if the last [`verify`](Self::verify) found a file missing, and still does.
    pub(super) fn check(&self) -> Result<(), FileLost> {
        if self.lost.load(Ordering::Relaxed) { self.verify() } else { Ok(()) }
    }

    /// Fails if the disk is full. Small writes would succeed on a full disk for a while, because the
    /// write-ahead log reuses its space.
    pub(super) fn check_room(&self) -> Result<()> {
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

/// Returns the path of the database file with this suffix.
fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}
