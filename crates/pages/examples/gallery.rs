//! Draws one card of every kind for inspection: `cargo run -p ep-pages --example gallery -- <folder>`.

#[path = "../tests/samples.rs"]
mod samples;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::path::PathBuf::from(std::env::args().nth(1).ok_or("name a folder")?);
    std::fs::create_dir_all(&folder)?;
    for (name, card) in samples::all() {
        std::fs::write(folder.join(format!("{name}.svg")), card.svg())?;
        std::fs::write(folder.join(format!("{name}.png")), card.png()?)?;
        println!("{name}: {} characters without a glyph", card.missing_glyphs());
    }
    Ok(())
}
