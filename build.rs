//! Takes the code of `docs/adding-a-tool.md` from the page, so that a test compiles it as written; and tells
//! health which commit is built.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

const PAGE: &str = "docs/adding-a-tool.md";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed={PAGE}");
    if let Some(commit) = commit() {
        println!("cargo:rustc-env=EP_GIT_COMMIT={commit}");
    }
    let out = env::var("OUT_DIR")?;
    let folder = Path::new(&out).join("adding_a_tool");
    fs::create_dir_all(&folder)?;
    let page = fs::read_to_string(PAGE)?;
    let blocks: Vec<&str> =
        page.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let [file, declarations, entry] = blocks[..] else {
        return Err(
            format!("{PAGE} must hold three blocks of code: the file, its declarations, its entry").into()
        );
    };
    let file_path = folder.join("count_options.rs");
    fs::write(&file_path, file)?;
    // The declaration as written, with the path of the file.
    fs::write(folder.join("mod.rs"), format!("#[path = \"{}\"]\n{declarations}", file_path.display()))?;
    fs::write(folder.join("entry.rs"), entry.trim().trim_end_matches(','))?;
    Ok(())
}

/// The commit that is built, shortened: the one that `EP_GIT_COMMIT` names, for sources without a repository, or
/// the one checked out. Debug builds have none: it would rebuild the package after every commit.
fn commit() -> Option<String> {
    println!("cargo:rerun-if-env-changed=EP_GIT_COMMIT");
    if let Ok(given) = env::var("EP_GIT_COMMIT") {
        return Some(given.trim().chars().take(12).collect());
    }
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned())
    };
    // The sources may lie inside a repository that is not theirs.
    if env::var("PROFILE").ok()? != "release" || !git(&["rev-parse", "--show-prefix"])?.is_empty() {
        return None;
    }
    println!("cargo:rerun-if-changed={}", git(&["rev-parse", "--git-path", "logs/HEAD"])?);
    git(&["rev-parse", "--short=12", "HEAD"])
}
