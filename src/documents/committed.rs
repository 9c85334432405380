//! Writes and checks the rendered files that are committed to the repository.

use std::path::Path;

use super::Site;

/// The base URL in committed files.
pub const EXAMPLE_URL: &str = "https://ensemble-poll.example";

/// Writes every committed file of a site below `root`.
pub fn write(site: &Site, root: &Path) -> std::io::Result<()> {
    for (file, bytes) in files(site) {
        std::fs::write(root.join(file), bytes)?;
    }
    Ok(())
}

/// Returns the committed files below `root` that are out of date.
pub fn stale(site: &Site, root: &Path) -> Vec<&'static str> {
    let current =
        |file: &str, bytes: &[u8]| std::fs::read(root.join(file)).is_ok_and(|stored| stored == bytes);
    files(site).into_iter().filter(|(file, bytes)| !current(file, bytes)).map(|(file, _)| file).collect()
}

fn files(site: &Site) -> Vec<(&'static str, axum::body::Bytes)> {
    Site::forms()
        .filter_map(|(form, document, index)| {
            Some((form.committed?, site.rendered(document, index)?.bytes.clone()))
        })
        .collect()
}
