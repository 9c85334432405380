//! Writes the rendered files that are kept in the repository, or checks that they are current.

use std::path::Path;

use ep_tools::TOOLS;

use super::{Site, agent_card, error_reference, tool_reference};

/// A kept file and its renderer.
type Kept = (&'static str, fn(&Site) -> String);

/// The rendered files that are kept in the repository.
const KEPT: &[Kept] = &[
    ("agent-cards/agent-card.json", agent_card::hybrid),
    ("agent-cards/agent-card.v1.json", agent_card::pure),
    ("docs/tools.md", tool_reference::markdown),
    ("docs/errors.md", error_reference::markdown),
];

/// The base URL in kept files.
const EXAMPLE: &str = "https://ensemble-poll.example";

/// Writes every kept file below `root`.
pub fn write(root: &Path) -> std::io::Result<()> {
    let site = Site::new(EXAMPLE, TOOLS);
    for (file, render) in KEPT {
        std::fs::write(root.join(file), render(&site))?;
    }
    Ok(())
}

/// The kept files below `root` that are not as they would be written.
pub fn stale(root: &Path) -> Vec<&'static str> {
    let site = Site::new(EXAMPLE, TOOLS);
    let current =
        |file: &str, text: String| std::fs::read_to_string(root.join(file)).is_ok_and(|kept| kept == text);
    KEPT.iter().filter(|(file, render)| !current(file, render(&site))).map(|(file, _)| *file).collect()
}
