//! The embedded fonts, and the choice of a font for each character.

use std::sync::LazyLock;

use harfrust::font::Font;

/// The font weights of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    Regular,
    Bold,
    /// The serif of questions and answers.
    Serif,
}

/// The purpose of a font, in the order in which fonts are tried for a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// The faces of the pages: Newsreader and Figtree.
    Pages,
    European,
    Script,
    /// Japanese forms of Han characters, tried only in Japanese cards.
    Japanese,
    EastAsian,
    Symbols,
    Emoji,
}

pub(crate) struct Face {
    pub(crate) font: Font,
    part: Part,
    weight: Weight,
}

macro_rules! fonts {
    ($($part:ident $weight:ident $file:literal)*) => {
        /// The fonts in the order in which they are tried.
        const FILES: &[(Part, Weight, &[u8])] =
            &[$((Part::$part, Weight::$weight, include_bytes!(concat!("../../fonts/", $file)))),*];
    };
}

fonts! {
    European Regular "sans-regular.ttf"
    European Bold "sans-bold.ttf"
    Pages Serif "serif-medium.ttf"
    Pages Regular "text-regular.ttf"
    Pages Bold "text-semibold.ttf"
    Script Regular "arabic-regular.ttf"
    Script Bold "arabic-bold.ttf"
    Script Regular "hebrew-regular.ttf"
    Script Bold "hebrew-bold.ttf"
    Script Regular "devanagari-regular.ttf"
    Script Regular "tamil-regular.ttf"
    Script Regular "thai-regular.ttf"
    Script Regular "georgian-regular.ttf"
    Script Regular "armenian-regular.ttf"
    Japanese Regular "cjk-jp-medium.otf"
    EastAsian Regular "cjk-medium.otf"
    EastAsian Regular "cjk-kr-medium.otf"
    Symbols Regular "math-regular.ttf"
    Symbols Regular "symbols-regular.ttf"
    Symbols Regular "symbols2-regular.ttf"
    Emoji Regular "emoji-colour.ttf"
}

static FACES: LazyLock<Vec<Face>> = LazyLock::new(|| {
    FILES
        .iter()
        .filter_map(|&(part, weight, file)| Some(Face { font: Font::new(file, 0)?, part, weight }))
        .collect()
});

impl Face {
    /// True for the faces of the pages.
    pub(crate) fn is_of_pages(&self) -> bool {
        self.part == Part::Pages
    }

    /// True if the face may draw a text of this weight.
    fn fits(&self, weight: Weight, japanese: bool) -> bool {
        match self.part {
            Part::Pages => self.weight == weight,
            Part::Japanese => japanese,
            _ => true,
        }
    }

    /// True if text of this weight must be drawn bolder than the font is.
    pub(crate) fn is_too_light(&self, weight: Weight) -> bool {
        weight == Weight::Bold && self.weight == Weight::Regular && self.part != Part::Emoji
    }
}

pub(crate) fn face(index: usize) -> Option<&'static Face> {
    FACES.get(index)
}

/// Returns the first face with every character of a grapheme cluster. `before` draws the preceding cluster.
/// White space uses the same face, so that a phrase is shaped as one run, except after an emoji, because the
/// emoji font has wide spaces.
pub(crate) fn choose(cluster: &str, weight: Weight, japanese: bool, before: Option<usize>) -> Option<usize> {
    if cluster == " "
        && let Some(face) = before.and_then(face)
        && has(face, cluster)
        && face.part != Part::Emoji
    {
        return before;
    }
    let emoji = is_emoji(cluster);
    let candidates = FACES.iter().enumerate();
    let candidates = candidates.filter(|(_, face)| face.fits(weight, japanese) && has(face, cluster));
    let rank = |face: &Face| ((face.part == Part::Emoji) != emoji, face.part, face.weight != weight);
    candidates.min_by_key(|(_, face)| rank(face)).map(|(index, _)| index)
}

/// Returns `true` if a cluster requests its emoji form although other fonts have its characters.
fn is_emoji(cluster: &str) -> bool {
    let mut chars = cluster.chars();
    let first = chars.next().map_or(0, u32::from);
    first >= 0x1f000 || (chars.any(|c| c == '\u{fe0f}' || c == '\u{20e3}'))
}

fn has(face: &Face, cluster: &str) -> bool {
    let characters = face.font.charmap();
    cluster.chars().all(|c| is_invisible(c) || characters.map_unicode(c).is_some())
}

/// Returns `true` for characters that need no glyph, because they are not drawn.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2066}'..='\u{2069}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use harfrust::font::glyph::outline::{DrawMemory, DrawOptions, NullSink};

    use super::*;

    #[test]
    fn every_file_is_a_font() {
        assert_eq!(FACES.len(), FILES.len());
    }

    #[test]
    fn every_glyph_can_be_drawn() {
        for face in FACES.iter() {
            let glyphs = face.font.outline_glyphs();
            assert!(!glyphs.is_empty());
            for (id, glyph) in glyphs.iter() {
                assert!(glyph.draw(&DrawOptions::new(), DrawMemory::Scratch, &mut NullSink).is_ok(), "{id}");
            }
        }
    }

    #[test]
    fn bold_text_is_bold_if_its_script_has_a_bold_font() {
        for (text, bold) in
            [("a", true), ("я", true), ("ω", true), ("س", true), ("ש", true), ("क", false), ("中", false)]
        {
            let face = &FACES[choose(text, Weight::Bold, false, None).unwrap()];
            assert_eq!(face.weight == Weight::Bold, bold, "{text}");
        }
    }

    #[test]
    fn japanese_cards_use_japanese_forms() {
        let part = |japanese| FACES[choose("直", Weight::Regular, japanese, None).unwrap()].part;
        assert_eq!((part(true), part(false)), (Part::Japanese, Part::EastAsian));
    }

    #[test]
    fn emoji_use_the_emoji_font() {
        for text in ["1\u{fe0f}\u{20e3}", "❤\u{fe0f}", "😀", "🇫🇷", "👨\u{200d}👩\u{200d}👧", "☺\u{fe0f}"]
        {
            assert_eq!(FACES[choose(text, Weight::Bold, false, None).unwrap()].part, Part::Emoji, "{text}");
        }
    }
}
