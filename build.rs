//! Takes the code of `docs/adding-a-tool.md` from the page, so that a test compiles it as written.

use std::path::Path;
use std::{env, fs};

const PAGE: &str = "docs/adding-a-tool.md";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed={PAGE}");
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
