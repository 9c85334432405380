//! Regular files. A name from a record, or a name beside a file of labels, could be that of a device or a pipe, which never
//! ends or never answers.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result, Take};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Folders of the kernel. Their files look regular, and some never end.
const OF_KERNEL: [&str; 3] = ["/dev", "/proc", "/sys"];

/// Opens a regular file. Reading it ends at the length that it has now.
pub(crate) fn open(path: &Path) -> Result<Take<File>> {
    let real = path.canonicalize()?;
    if OF_KERNEL.iter().any(|folder| real.starts_with(folder)) || !real.metadata()?.is_file() {
        return Err(not_regular());
    }
    // Opening a pipe that replaces the file does not wait for a writer.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(real)?;
    let metadata = file.metadata()?;
    if metadata.is_file() { Ok(file.take(metadata.len())) } else { Err(not_regular()) }
}

fn not_regular() -> Error {
    Error::new(ErrorKind::InvalidInput, "it is not a regular file")
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn devices_pipes_folders_and_links_to_them_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, link) = (folder.path().join("pipe"), folder.path().join("link"));
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        for path in [Path::new("/dev/zero"), Path::new("/proc/self/status"), folder.path(), &pipe, &link] {
            assert_eq!(open(path).unwrap_err().kind(), ErrorKind::InvalidInput, "{}", path.display());
        }
        assert_eq!(open(&folder.path().join("none")).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn reading_ends_at_the_length_of_the_start() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"labels").unwrap();
        let mut reader = open(file.path()).unwrap();
        file.write_all(b" and more").unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "labels");
    }
}
