//! The preview image for links to a poll: 1200×630, as SVG and as PNG.
//!
//! A [`Card`] contains all the content. [`Card::svg`] stores texts as text, for browsers with their fonts;
//! [`Card::png`] is drawn with the fonts of this package. Both use the same layout. [`chamber`] places the seats, for
//! cards and pages.
//!
//! The fonts cover Latin, Greek, Cyrillic, Arabic, Hebrew, Devanagari, Tamil, Thai, Georgian, Armenian,
//! frequent Chinese, Japanese and Korean characters, symbols, and emoji in colour. In the PNG, a character of any
//! other script is drawn as an empty box. `fonts/README.md` lists the exact coverage.

pub mod chamber;
mod clean;
mod faces;
mod fit;
#[cfg(test)]
mod invariants;
mod layout;
mod legend;
mod palette;
mod picture;
mod png;
mod shape;
mod svg;

pub(crate) use clean::escape;
pub use clean::{has_rtl, is_rtl};
pub use palette::PALETTE;

/// The width of the picture in pixels.
pub const WIDTH: u32 = 1200;
/// The height of the picture in pixels.
pub const HEIGHT: u32 = 630;

/// Draws a mark as a square PNG of `pixels` pixels, for uses that do not support SVG.
///
/// # Errors
/// Fails if the SVG is invalid, or `pixels` is 0.
pub fn icon(svg: &str, pixels: u32) -> Result<Vec<u8>, Error> {
    png::icon(svg, pixels)
}

/// The content of a picture. Texts may have any length and content: they are truncated, wrapped and escaped.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Card {
    /// The name of the service.
    pub service: String,
    /// The host that serves the poll.
    pub host: String,
    /// The question. Its first strong character decides the direction of the card.
    pub question: String,
    /// The answer: the option that won or leads, or a short text such as "A tie".
    pub answer: String,
    /// The index of the option that is the answer, which gets its colour.
    pub answer_option: Option<usize>,
    /// The line below the answer, for example "8 of 11 AI models".
    pub score: String,
    /// The options in the poll's order, which determines letters and colours.
    pub options: Vec<Choice>,
    /// The seats of the panel in seating order.
    pub seats: Vec<Seat>,
    /// True for square seats, which stand for simulated voters.
    pub square: bool,
}

/// An option of the poll.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// The option as the caller wrote it.
    pub label: String,
    /// The number of votes.
    pub votes: u32,
}

/// The state of a seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seat {
    /// A vote for the option with this index.
    Vote(usize),
    /// A call without a usable answer: hollow.
    NoVote,
    /// A model without a response, or one that was not needed: pale.
    Empty,
}

/// Returns the letter of the option with this index.
pub fn letter(option: usize) -> char {
    char::from_u32('A' as u32 + option as u32 % 26).unwrap_or('?')
}

/// The error of drawing a PNG. As far as is known, the texts of a card never cause it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The SVG is invalid.
    #[error("the drawing is not valid SVG: {0}")]
    Drawing(#[from] resvg::usvg::Error),
    /// No canvas of this size is available.
    #[error("no canvas of {WIDTH} by {HEIGHT} pixels")]
    Canvas,
    /// The PNG encoder failed.
    #[error("failed to encode the picture: {0}")]
    Encoding(#[from] ::png::EncodingError),
    /// A library panicked.
    #[error("drawing the picture panicked")]
    Panicked,
}

impl Card {
    /// Returns the picture as a self-contained SVG. Texts stay texts in the reader's fonts, at sizes that fit
    /// the fonts of this crate. They are escaped and isolated from each other. The same card gives the same
    /// text.
    pub fn svg(&self) -> String {
        svg::with_text(self, &layout::lay_out(self))
    }

    /// Returns the picture as PNG. The same card gives the same bytes. A panic becomes an error.
    pub fn png(&self) -> Result<Vec<u8>, Error> {
        std::panic::catch_unwind(|| png::draw(&svg::with_outlines(&layout::lay_out(self))))
            .unwrap_or(Err(Error::Panicked))
    }

    /// Returns the number of characters without a glyph, which are drawn as boxes in the PNG.
    pub fn missing_glyphs(&self) -> usize {
        layout::lay_out(self).missing()
    }
}
