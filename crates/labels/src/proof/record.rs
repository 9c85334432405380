//! The record of a proof: what was fixed before the gold labels were read, and what they showed.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use ep_polling::Timestamp;
use serde::{Deserialize, Serialize};

use super::declaration::Declaration;
use super::file_part::FilePart;
use super::result::ProofResult;
use crate::entry::Key;
use crate::files::regular_file;
use crate::files::replacement::{Replacement, beside};
use crate::openings::OpeningId;

/// A proof, in the file beside the labels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProofRecord {
    /// The names of the files, which decide nothing.
    pub(crate) names: FileNames,
    pub(crate) declaration: Declaration,
    /// The labels at the opening.
    pub(crate) journal: FilePart,
    pub(crate) opening: OpeningId,
    pub(crate) opened_at: Timestamp,
    /// Gold rows that another opening had read before.
    pub(crate) opened_before: BTreeSet<Key>,
    pub(crate) result: ProofResult,
}

/// The files of a proof, as they were named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileNames {
    pub(crate) rows: PathBuf,
    pub(crate) gold: PathBuf,
}

impl ProofRecord {
    /// Returns the path of the record for a file of labels: for `labels.jsonl`, `labels.proof.json`.
    pub(crate) fn path(labels: &Path) -> PathBuf {
        beside(labels, "proof.json")
    }

    /// Reads the record of a file of labels, if there is one.
    pub(crate) fn read(labels: &Path) -> anyhow::Result<Option<Self>> {
        let path = Self::path(labels);
        let read = regular_file::open(&path).and_then(|mut file| {
            let mut text = String::new();
            file.read_to_string(&mut text).map(|_| text)
        });
        let text = match read {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        let record = serde_json::from_str(&text);
        Ok(Some(record.with_context(|| format!("{} is not the record of a proof", path.display()))?))
    }

    /// Writes the record. It is on disk when this returns.
    pub(crate) fn write(&self, labels: &Path) -> anyhow::Result<()> {
        let path = Self::path(labels);
        let mut file = Replacement::new(&path)?;
        serde_json::to_writer_pretty(&mut file, self)?;
        file.write_all(b"\n")?;
        file.finish().map(drop).with_context(|| format!("cannot write {}", path.display()))
    }
}
