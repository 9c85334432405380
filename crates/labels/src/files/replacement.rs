//! Files that are replaced as a whole: a reader sees the earlier content or the new one.

use std::fs::{File, Permissions};
use std::io::{BufWriter, Result, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// Returns the path of a file beside a file of labels: for `labels.jsonl` and `review.csv`, `labels.review.csv`.
pub(crate) fn beside(labels: &Path, name: &str) -> PathBuf {
    if labels.extension().is_some_and(|extension| extension == "jsonl") {
        return labels.with_extension(name);
    }
    let mut path = labels.as_os_str().to_owned();
    path.push(".");
    path.push(name);
    path.into()
}

/// The new content of a file, until it is put in place.
pub struct Replacement {
    file: BufWriter<NamedTempFile>,
    path: PathBuf,
}

impl Replacement {
    /// Begins the new content of a file. It keeps the permissions of the file, and replaces the file that a link leads to.
    ///
    /// # Errors
    ///
    /// No file can be created in the folder.
    pub fn new(path: &Path) -> Result<Self> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        // Like other new files: the umask decides who reads it.
        let permissions = path.metadata().map_or(Permissions::from_mode(0o666), |file| file.permissions());
        let mut builder = Builder::new();
        let file = builder.permissions(permissions).append(true).tempfile_in(folder_of(&path))?;
        Ok(Self { file: BufWriter::new(file), path })
    }

    /// Lets no other process write the new content, until the file is closed.
    pub(crate) fn lock(&self) -> Result<()> {
        self.file.get_ref().as_file().lock()
    }

    /// Puts the new content in place, and returns the file. It is on disk when this returns.
    ///
    /// # Errors
    ///
    /// The content cannot be written. The file is as before.
    pub fn finish(self) -> Result<File> {
        let file = self.file.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        let folder = File::open(folder_of(&self.path))?;
        let file = file.persist(self.path)?;
        folder.sync_all()?;
        Ok(file)
    }
}

/// Returns the folder of a file.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

impl Write for Replacement {
    fn write(&mut self, buffer: &[u8]) -> Result<usize> {
        self.file.write(buffer)
    }

    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }
}
