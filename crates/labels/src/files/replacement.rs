//! Files that are replaced as a whole: a reader sees the earlier content or the new one.

use std::fs::Permissions;
use std::io::{BufWriter, Result, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// Returns the path of a file beside a file of labels: for `labels.jsonl` and `review.csv`, `labels.review.csv`.
pub fn beside(labels: &Path, name: &str) -> PathBuf {
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
    /// Begins the new content of a file.
    pub fn new(path: &Path) -> Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut builder = Builder::new();
        // Like other new files: the umask decides who reads it.
        #[cfg(unix)]
        builder.permissions(<Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o666));
        let file = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
        Ok(Self { file: BufWriter::new(file), path: path.to_owned() })
    }

    /// Puts the new content in place. It is on disk when this returns.
    pub fn finish(self) -> Result<()> {
        let file = self.file.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        file.persist(self.path)?;
        Ok(())
    }
}

impl Write for Replacement {
    fn write(&mut self, buffer: &[u8]) -> Result<usize> {
        self.file.write(buffer)
    }

    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }
}
