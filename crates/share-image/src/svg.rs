//! The picture as SVG: with texts for browsers, or with outlines of this crate's fonts for drawing.

use std::fmt::Write;

use harfrust::GlyphId;
use harfrust::font::glyph::outline::{DrawMemory, DrawOptions, PathSink};

use crate::clean::{clean, clean_sentence, escape};
use crate::faces::{self, Weight};
use crate::picture::{Element, Picture, Side, Text};
use crate::{Card, HEIGHT, WIDTH};

const MARK: &str = include_str!("../../../well-known/logo.svg");

/// Isolates the direction of a text: RIGHT-TO-LEFT ISOLATE, LEFT-TO-RIGHT ISOLATE, POP DIRECTIONAL ISOLATE.
const ISOLATES: (char, char, char) = ('\u{2067}', '\u{2066}', '\u{2069}');

/// The additional stroke width of letters, in em, if a font has no bold weight.
const BOLDER: f32 = 0.024;

/// Returns an SVG with texts, a title and a description.
pub(crate) fn with_text(card: &Card, picture: &Picture) -> String {
    let title = escape(&clean(&card.question, 300));
    let sentences = [clean_sentence(&card.outcome, 300), clean_sentence(&card.confidence, 300)].join(" ");
    let mut svg = open(&format!(r#" role="img" aria-label="{title}""#));
    let _ = write!(svg, "<title>{title}</title><desc>{}</desc>", escape(sentences.trim()));
    svg.push_str(r#"<g font-family="'Noto Sans','Segoe UI',system-ui,-apple-system,Roboto,Helvetica,Arial,sans-serif">"#);
    write_all(&mut svg, picture, text);
    svg.push_str("</g></svg>");
    svg
}

/// Returns an SVG with outlines instead of texts.
pub(crate) fn with_outlines(picture: &Picture) -> String {
    let mut svg = open("");
    write_all(&mut svg, picture, outlines);
    svg.push_str("</svg>");
    svg
}

fn open(attributes: &str) -> String {
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"{attributes}>"#
    )
}

fn write_all(svg: &mut String, picture: &Picture, text: impl Fn(&mut String, &Text)) {
    for element in &picture.elements {
        // Writing to a string cannot fail.
        let _ = match element {
            Element::Rectangle { x, y, width, height, radius, fill } => write!(
                svg,
                r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="{radius:.1}" fill="{fill}"/>"#
            ),
            Element::Path { x, y, data, fill } => {
                write!(svg, r#"<path transform="translate({x:.1} {y:.1})" d="{data}" fill="{fill}"/>"#)
            }
            Element::Mark { x, y, side } => {
                let position = format!(r#"<svg x="{x:.1}" y="{y:.1}" width="{side:.1}" height="{side:.1}" "#);
                write!(svg, "{}", MARK.trim().replacen("<svg ", &position, 1))
            }
            Element::Text(element) => {
                text(svg, element);
                Ok(())
            }
        };
    }
}

fn text(svg: &mut String, element: &Text) {
    let Text { x, y, size, fill, line, side } = element;
    let width = line.width * size;
    let (anchor, x) = match side {
        Side::Left => ("start", *x),
        Side::Right => ("end", x + width),
    };
    let weight = match line.weight {
        Weight::Regular => 400,
        Weight::Bold => 700,
    };
    let _ = write!(
        svg,
        r#"<text x="{x:.1}" y="{y:.1}" font-size="{size:.1}" font-weight="{weight}" fill="{fill}" text-anchor="{anchor}""#
    );
    // Other fonts may be wider, so all but the shortest texts are fitted to the measured width.
    if width > 60.0 && line.missing == 0 {
        let _ = write!(svg, r#" textLength="{width:.1}" lengthAdjust="spacingAndGlyphs""#);
    }
    svg.push('>');
    let (right, left, end) = ISOLATES;
    if line.is_mixed() {
        svg.push(if line.rtl { right } else { left });
        svg.push_str(&escape(&line.text));
        svg.push(end);
    } else {
        svg.push_str(&escape(&line.text));
    }
    svg.push_str("</text>");
}

fn outlines(svg: &mut String, element: &Text) {
    let Text { x, y, size, fill, line, .. } = element;
    for run in &line.runs {
        let Some(face) = faces::face(run.face) else { continue };
        let scale = size / f32::from(face.font.units_per_em().max(1));
        let left = x + run.x * size;
        let _ = write!(svg, r#"<path transform="matrix({scale} 0 0 -{scale} {left} {y})" fill="{fill}""#);
        if face.is_too_light(line.weight) {
            let stroke = f32::from(face.font.units_per_em()) * BOLDER;
            let _ = write!(svg, r#" stroke="{fill}" stroke-width="{stroke:.0}" stroke-linejoin="round""#);
        }
        svg.push_str(r#" d=""#);
        let glyphs = face.font.outline_glyphs();
        for glyph in &run.glyphs {
            if let Some(outline) = glyphs.get(GlyphId::new(glyph.id)) {
                let mut data = PathData { data: svg, x: glyph.x, y: glyph.y };
                // An invalid outline leaves a gap; a test draws every glyph.
                let _ = outline.draw(&DrawOptions::new(), DrawMemory::Scratch, &mut data);
            }
        }
        svg.push_str(r#""/>"#);
    }
}

/// A writer of path data in whole font units.
struct PathData<'a> {
    data: &'a mut String,
    x: i32,
    y: i32,
}

impl PathData<'_> {
    fn command(&mut self, command: char, points: &[(f32, f32)]) {
        self.data.push(command);
        for (x, y) in points {
            let _ = write!(self.data, "{} {} ", self.x + x.round() as i32, self.y + y.round() as i32);
        }
    }
}

impl PathSink for PathData<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        self.command('M', &[(x, y)]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.command('L', &[(x, y)]);
    }

    fn quad_to(&mut self, cx0: f32, cy0: f32, x: f32, y: f32) {
        self.command('Q', &[(cx0, cy0), (x, y)]);
    }

    fn curve_to(&mut self, cx0: f32, cy0: f32, cx1: f32, cy1: f32, x: f32, y: f32) {
        self.command('C', &[(cx0, cy0), (cx1, cy1), (x, y)]);
    }

    fn close(&mut self) {
        self.data.push('Z');
    }
}
