//! The rendered files that are kept in the repository: written, or checked.

use std::path::Path;

use ep_tools::TOOLS;

use super::{Settings, Site};

/// The base URL in committed files.
const EXAMPLE: &str = "https://ensemble-poll.example";

/// Writes every committed file below `root`.
pub fn write(root: &Path) -> std::io::Result<()> {
    for (file, bytes) in files() {
        std::fs::write(root.join(file), bytes)?;
    }
    Ok(())
}

/// The committed files below `root` that differ from what would be written.
pub fn stale(root: &Path) -> Vec<&'static str> {
    let current = |file: &str, bytes: &[u8]| std::fs::read(root.join(file)).is_ok_and(|kept| kept == bytes);
    files().into_iter().filter(|(file, bytes)| !current(file, bytes)).map(|(file, _)| file).collect()
}

fn files() -> Vec<(&'static str, axum::body::Bytes)> {
    let site = Site::new(Settings { base_url: EXAMPLE.into() }, &TOOLS);
    Site::forms()
        .filter_map(|(_, form, document, place)| {
            Some((form.committed?, site.rendered(document, place)?.bytes))
        })
        .collect()
}
