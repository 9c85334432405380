//! The picture of a poll that links to it are shown with: 1200×630, as SVG and as PNG.
//!
//! A [`Card`] says everything that is drawn; the caller words the sentences. [`Card::svg`] keeps texts as text, for
//! browsers with their fonts; [`Card::png`] is drawn with the fonts of this crate. Both come from one layout.
//!
//! The fonts cover Latin, Greek, Cyrillic, Arabic, Hebrew, Devanagari, Tamil, Thai, Georgian, Armenian, frequent
//! Chinese, Japanese and Korean characters, symbols, and emoji (as outlines in one colour). In the PNG, a character of
//! any other script is drawn as an empty box. `fonts/README.md` says exactly what is covered.

#[cfg(test)]
extern crate self as ep_share_image; // So that samples are named alike in all tests.

mod clean;
mod faces;
mod fit;
#[cfg(test)]
mod invariants;
mod layout;
mod palette;
mod picture;
mod png;
mod shape;
mod svg;

pub use clean::is_rtl;
pub use palette::PALETTE;

/// The width of the picture in pixels.
pub const WIDTH: u32 = 1200;
/// The height of the picture in pixels.
pub const HEIGHT: u32 = 630;

/// A mark as a square PNG of so many pixels, for places that take no SVG.
///
/// # Errors
/// If the SVG cannot be read, or is to have no pixels.
pub fn icon(svg: &str, pixels: u32) -> Result<Vec<u8>, Error> {
    png::icon(svg, pixels)
}

/// Everything that is drawn. Texts may be of any length and content: they are shortened, wrapped and escaped.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Card {
    /// The name of the service.
    pub service: String,
    /// The host that shows the poll.
    pub host: String,
    /// The question. Its first strong character decides whether the card reads from right to left.
    pub question: String,
    /// One bar for each option, in the poll's order; that order gives the colours.
    pub bars: Vec<Bar>,
    /// What came out, as one sentence. An option named in it is best put between U+2068 and U+2069 (FIRST STRONG
    /// ISOLATE, POP DIRECTIONAL ISOLATE), so that its direction stays its own.
    pub outcome: String,
    /// How sure that is, and of what, as one short sentence; empty where nothing is to be said.
    pub confidence: String,
    /// The voters were simulated: the picture says so in a band of its own.
    pub simulated: bool,
    /// Whether more votes may come.
    pub status: Status,
}

/// One option of the poll.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bar {
    /// The option as the caller wrote it.
    pub label: String,
    /// Its votes.
    pub votes: u32,
    /// Its share of the votes counted, from 0 to 1; what is no number counts as 0.
    pub share: f64,
    /// It won, or leads where the poll still runs and the caller wants that shown.
    pub winner: bool,
}

/// Whether more votes may come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Status {
    /// Votes are still being cast.
    Running,
    /// The poll is closed.
    #[default]
    Ended,
}

/// Why no PNG could be drawn. The texts of a card are never the reason, as far as is known.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The drawing was not understood.
    #[error("the drawing is not valid SVG: {0}")]
    Drawing(#[from] resvg::usvg::Error),
    /// There is no canvas of that size.
    #[error("no canvas of {WIDTH} by {HEIGHT} pixels")]
    Canvas,
    /// The pixels could not be encoded.
    #[error("the picture could not be encoded: {0}")]
    Encoding(#[from] ::png::EncodingError),
    /// A library panicked.
    #[error("drawing the picture panicked")]
    Panicked,
}

impl Card {
    /// The picture as SVG that needs nothing else: texts stay texts, in the reader's fonts, at sizes that fit the
    /// fonts of this crate. Texts are escaped and isolated from each other. The same card gives the same text.
    pub fn svg(&self) -> String {
        svg::with_text(self, &layout::lay_out(self))
    }

    /// The picture as PNG. The same card gives the same bytes. A panic inside becomes an error.
    pub fn png(&self) -> Result<Vec<u8>, Error> {
        std::panic::catch_unwind(|| png::draw(&svg::with_outlines(&layout::lay_out(self))))
            .unwrap_or(Err(Error::Panicked))
    }

    /// How many characters of this card no font has: they are drawn as boxes in the PNG.
    pub fn missing_glyphs(&self) -> usize {
        layout::lay_out(self).missing()
    }
}

/// Reads the fonts, which the first picture does otherwise.
pub fn load_fonts() {
    faces::load();
}
