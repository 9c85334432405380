//! Writes and checks the rendered files that are committed to the repository.

use std::path::Path;

use axum::body::Bytes;
use ep_site::Site;

/// The base URL in committed files.
pub const EXAMPLE_URL: &str = "https://ensemble-poll.example";

/// A path in the repository, and the rendered content.
type File = (&'static str, Bytes);

/// Writes files below `root`.
pub fn write(files: &[File], root: &Path) -> std::io::Result<()> {
    files.iter().try_for_each(|(file, bytes)| std::fs::write(root.join(file), bytes))
}

/// Returns the files below `root` that are out of date.
pub fn stale(files: &[File], root: &Path) -> Vec<&'static str> {
    let is_stale =
        |(file, bytes): &&File| !std::fs::read(root.join(file)).is_ok_and(|stored| stored == *bytes);
    files.iter().filter(is_stale).map(|(file, _)| *file).collect()
}

/// Returns the documents of a site that are committed.
pub fn committed_files(site: &Site) -> Vec<File> {
    let forms = site.documents.iter().flat_map(|document| {
        document.forms.iter().enumerate().map(move |(index, form)| (document, index, form))
    });
    forms
        .filter_map(|(document, index, form)| Some((form.committed?, site.rendered(document, index)?)))
        .collect()
}
