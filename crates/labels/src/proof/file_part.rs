//! The digest of the first bytes of a file.

use std::io::Read;
use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::files::regular_file;

/// The first bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FilePart {
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

impl FilePart {
    /// Reads the whole file, which has to be a regular one.
    pub(crate) fn of(path: &Path) -> anyhow::Result<Self> {
        Self::first(path, u64::MAX)
    }

    /// Reads the first bytes of a file.
    pub(crate) fn first(path: &Path, bytes: u64) -> anyhow::Result<Self> {
        let unreadable = || format!("cannot read {}", path.display());
        let mut file = regular_file::open(path).with_context(unreadable)?.take(bytes);
        let mut digest = Sha256::new();
        let mut buffer = vec![0; 64 * 1024];
        let mut length = 0;
        loop {
            let read = file.read(&mut buffer).with_context(unreadable)?;
            let Some(part) = buffer.get(..read).filter(|part| !part.is_empty()) else { break };
            digest.update(part);
            length += part.len() as u64;
        }
        Ok(Self { bytes: length, sha256: hex::encode(digest.finalize()) })
    }
}
