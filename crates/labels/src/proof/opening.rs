//! The opening: gold labels are read once, for rules that were fixed before.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use super::declaration::{Declaration, DeclaredGold};
use super::file_part::FilePart;
use crate::entry::{Entry, Key};
use crate::files::regular_file;
use crate::gold::RowHash;
use crate::journal::entries;
use crate::openings::{LockedOpenings, OpeningId};

/// An opening, and the gold rows that another one had read before.
pub(crate) struct Opening {
    pub(crate) id: OpeningId,
    pub(crate) opened_before: BTreeSet<Key>,
    /// The digests that are on disk already.
    recorded: HashSet<RowHash>,
}

impl Opening {
    /// Returns the opening of all gold rows: that of the record, or a new one.
    pub(crate) fn find(
        declaration: &Declaration,
        journal: &FilePart,
        openings: &LockedOpenings,
    ) -> anyhow::Result<Self> {
        let first = openings.first(hashes(declaration))?;
        let ids: HashSet<&OpeningId> = first.values().collect();
        let mut found = None;
        for id in ids {
            let opened_before = opened_by_others(declaration, &first, Some(id));
            if declaration.opening(journal, &opened_before)? == *id {
                found = Some((id.clone(), opened_before));
            }
        }
        let (id, opened_before) = if let Some(found) = found {
            found
        } else {
            let opened_before = opened_by_others(declaration, &first, None);
            (declaration.opening(journal, &opened_before)?, opened_before)
        };
        Ok(Self { id, opened_before, recorded: first.into_keys().collect() })
    }

    /// Records the opening of all gold rows. Rows that are set apart are opened, too: they cannot prove another rule later.
    pub(crate) fn record(&self, declaration: &Declaration, openings: &LockedOpenings) -> anyhow::Result<()> {
        openings.add(hashes(declaration).filter(|hash| !self.recorded.contains(*hash)), &self.id)
    }
}

/// Returns the gold rows that an opening other than this one has read.
pub(crate) fn opened_by_others(
    declaration: &Declaration,
    first: &HashMap<RowHash, OpeningId>,
    id: Option<&OpeningId>,
) -> BTreeSet<Key> {
    let is_opened = |row: &&DeclaredGold| {
        row.hashes.each().filter_map(|hash| first.get(hash)).any(|first| Some(first) != id)
    };
    declaration.gold.rows.iter().filter(is_opened).map(|row| row.key).collect()
}

/// Returns the digests of all gold rows.
pub(crate) fn hashes(declaration: &Declaration) -> impl Iterator<Item = &RowHash> {
    declaration.gold.rows.iter().flat_map(|row| row.hashes.each())
}

/// Reads the labels of this part of a file.
pub(crate) fn entries_of(
    labels: &Path,
    journal: &FilePart,
) -> anyhow::Result<impl Iterator<Item = anyhow::Result<Entry>> + use<>> {
    let (file, bytes) = (regular_file::open(labels)?.into_inner(), journal.bytes);
    Ok(entries(&file)?
        .take_while(move |entry| entry.as_ref().map_or(true, |(_, end)| *end <= bytes))
        .map(|entry| entry.map(|(entry, _)| entry)))
}
