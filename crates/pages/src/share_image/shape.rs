//! Conversion of text to positioned glyphs: bidi (UAX 9), a font for each grapheme cluster, shaping.
//!
//! Every run is shaped in one font and one direction. Lengths are in em, so they apply at every size.

use std::ops::Range;

use harfrust::{Buffer, Direction, ShapeOptions, ShaperFont, shape};
use unicode_bidi::{BidiInfo, Level};
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

use crate::share_image::clean;
use crate::share_image::faces::{self, Face, Weight};

/// The typesetting options of one card.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Typesetter {
    pub(crate) japanese: bool,
}

/// A text on one line.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) text: String,
    pub(crate) rtl: bool,
    pub(crate) weight: Weight,
    pub(crate) runs: Vec<Run>,
    /// The width in em.
    pub(crate) width: f32,
    /// The number of characters without a glyph.
    pub(crate) missing: usize,
}

/// Glyphs of one face, from left to right.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) face: usize,
    /// The start position on the line, in em.
    pub(crate) x: f32,
    pub(crate) glyphs: Vec<Glyph>,
}

/// A glyph and its position in its run, in the face's units.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Glyph {
    pub(crate) id: u32,
    pub(crate) x: i32,
    pub(crate) y: i32,
}

/// A grapheme cluster and its width in em.
#[derive(Debug, Clone)]
pub(crate) struct Cluster {
    pub(crate) range: Range<usize>,
    pub(crate) width: f32,
}

/// A piece of text for one face, with the source position of each part in the whole text.
struct Piece {
    face: usize,
    text: String,
    sources: Vec<(usize, usize)>,
}

impl Typesetter {
    /// Sets a text on one line, in a left-to-right or right-to-left paragraph.
    pub(crate) fn line(self, text: &str, weight: Weight, rtl: bool) -> Line {
        let mut line = Line { text: text.to_owned(), rtl, weight, runs: Vec::new(), width: 0.0, missing: 0 };
        self.shape(text, weight, rtl, &mut line, &mut |_, _| ());
        line
    }

    /// Returns the grapheme clusters of a text with their widths in context.
    pub(crate) fn measure(self, text: &str, weight: Weight, rtl: bool) -> Vec<Cluster> {
        let mut clusters: Vec<_> = text
            .grapheme_indices(true)
            .map(|(start, cluster)| Cluster { range: start..start + cluster.len(), width: 0.0 })
            .collect();
        let mut line = Line { text: String::new(), rtl, weight, runs: Vec::new(), width: 0.0, missing: 0 };
        self.shape(text, weight, rtl, &mut line, &mut |source, advance| {
            let index = clusters.partition_point(|cluster| cluster.range.end <= source);
            if let Some(cluster) = clusters.get_mut(index) {
                cluster.width += advance;
            }
        });
        clusters
    }

    /// Adds the runs of `text` to `line`, and reports the advance of each glyph with its source position.
    fn shape(
        self,
        text: &str,
        weight: Weight,
        rtl: bool,
        line: &mut Line,
        advanced: &mut impl FnMut(usize, f32),
    ) {
        let bidi = BidiInfo::new(text, Some(if rtl { Level::rtl() } else { Level::ltr() }));
        for paragraph in &bidi.paragraphs {
            let (levels, runs) = bidi.visual_runs(paragraph, paragraph.range.clone());
            for run in runs {
                let backwards = levels.get(run.start).is_some_and(Level::is_rtl);
                let mut pieces = self.pieces(text, run, weight, line);
                if backwards {
                    pieces.reverse();
                }
                for piece in &pieces {
                    add(piece, backwards, line, advanced);
                }
            }
        }
    }

    /// Returns the text drawn for a cluster, and its face: the cluster, or else its compatibility form (UAX
    /// 15), or else its first character.
    fn drawn(self, cluster: &str, weight: Weight, before: Option<usize>) -> Option<(usize, String)> {
        let by = |text: String| Some((faces::choose(&text, weight, self.japanese, before)?, text));
        by(cluster.to_owned())
            .or_else(|| by(cluster.nfkc().collect()))
            .or_else(|| by(cluster.chars().take(1).collect()))
    }

    /// Splits a part of the text by the faces of its clusters.
    fn pieces(self, text: &str, range: Range<usize>, weight: Weight, line: &mut Line) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        for (start, cluster) in text[range.clone()].grapheme_indices(true) {
            let before = pieces.last().map(|piece| piece.face);
            let (face, drawn) = self.drawn(cluster, weight, before).unwrap_or_else(|| {
                line.missing += 1;
                (0, cluster.chars().take(1).collect()) // Face 0 has the box glyph.
            });
            let source = range.start + start;
            match pieces.last_mut().filter(|piece| piece.face == face) {
                Some(piece) => {
                    piece.sources.push((piece.text.len(), source));
                    piece.text.push_str(&drawn);
                }
                None => pieces.push(Piece { face, text: drawn, sources: vec![(0, source)] }),
            }
        }
        pieces
    }
}

fn add(piece: &Piece, backwards: bool, line: &mut Line, advanced: &mut impl FnMut(usize, f32)) {
    let Some(face) = faces::face(piece.face) else { return };
    let mut buffer = Buffer::new();
    buffer.push_str(&piece.text);
    buffer.guess_segment_properties();
    buffer.set_direction(if backwards { Direction::RightToLeft } else { Direction::LeftToRight });
    if shape(&ShaperFont::new(&face.font), &mut buffer, ShapeOptions::new()).is_err() {
        return;
    }
    let em = f32::from(face.font.units_per_em().max(1));
    let mut x = 0;
    let mut glyphs = Vec::with_capacity(buffer.len());
    for (info, position) in buffer.glyph_infos().iter().zip(buffer.glyph_positions()) {
        glyphs.push(Glyph { id: info.glyph_id, x: x + position.x_offset, y: position.y_offset });
        x += position.x_advance;
        let part = piece.sources.partition_point(|(start, _)| *start <= info.cluster as usize);
        if let Some((_, source)) = part.checked_sub(1).and_then(|part| piece.sources.get(part)) {
            advanced(*source, position.x_advance as f32 / em);
        }
    }
    line.runs.push(Run { face: piece.face, x: line.width, glyphs });
    line.width += x as f32 / em;
}

impl Line {
    /// True if only the faces of the pages draw the text: other scripts are higher and deeper.
    pub(crate) fn is_low(&self) -> bool {
        self.runs.iter().all(|run| faces::face(run.face).is_some_and(Face::is_of_pages))
    }

    /// True if some part of the text runs from right to left.
    pub(crate) fn is_mixed(&self) -> bool {
        self.rtl || unicode_bidi::BidiInfo::new(&self.text, Some(Level::ltr())).has_rtl()
    }
}

impl Typesetter {
    /// Creates the typesetter for the texts of one card.
    pub(crate) fn of<'a>(texts: impl IntoIterator<Item = &'a String>) -> Self {
        Self { japanese: texts.into_iter().any(|text| clean::has_kana(text)) }
    }
}
