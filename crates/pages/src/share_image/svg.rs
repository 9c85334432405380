//! The picture as SVG: with texts for browsers, or with outlines of this crate's fonts for drawing.

use std::fmt::Write;

use harfrust::GlyphId;
use harfrust::font::glyph::outline::{DrawMemory, DrawOptions, PathSink};

use crate::share_image::chamber::SQUARE;
use crate::share_image::clean::{clean, clean_sentence, escape};
use crate::share_image::faces::{self, Face, Weight};
use crate::share_image::palette::MUTED;
use crate::share_image::picture::{Element, Picture, Side, Text};
use crate::share_image::{Card, HEIGHT, WIDTH};

mod colour;

const MARK: &str = include_str!("../../../../well-known/logo.svg");

/// Isolates the direction of a text: RIGHT-TO-LEFT ISOLATE, LEFT-TO-RIGHT ISOLATE, POP DIRECTIONAL ISOLATE.
const ISOLATES: (char, char, char) = ('\u{2067}', '\u{2066}', '\u{2069}');

const SANS: &str = "Figtree,'Noto Sans',system-ui,sans-serif";
const SERIF: &str = "Newsreader,Georgia,'Noto Serif',serif";

/// The additional stroke width of letters, in em, if a font has no bold weight.
const BOLDER: f32 = 0.024;

/// Returns an SVG with texts, a title and a description.
pub(crate) fn with_text(card: &Card, picture: &Picture) -> String {
    let title = escape(&clean(&card.question, 300));
    let mut description = format!("{}: {}.", clean(&card.answer, 200), clean_sentence(&card.score, 120));
    for option in card.options.iter().take(26) {
        let _ = write!(description, " {} {},", clean(&option.label, 60), option.votes);
    }
    let mut svg = open(&format!(r#" role="img" aria-label="{title}""#));
    let _ = write!(svg, "<title>{title}</title><desc>{}</desc>", escape(description.trim_end_matches(',')));
    svg.push_str("<g>");
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
            Element::Seat { x, y, radius, square, fill } => seat(svg, (*x, *y), *radius, *square, *fill),
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

/// Writes a seat. A hollow one has its edge inside.
fn seat(
    svg: &mut String,
    (x, y): (f32, f32),
    radius: f32,
    square: bool,
    fill: Option<&'static str>,
) -> std::fmt::Result {
    let edge = if fill.is_none() { (radius * 0.09).max(1.0) } else { 0.0 };
    let radius = if square { radius * SQUARE as f32 } else { radius } - edge / 2.0;
    if square {
        let (x, y, side) = (x - radius, y - radius, 2.0 * radius);
        write!(svg, r#"<rect x="{x:.1}" y="{y:.1}" width="{side:.1}" height="{side:.1}" rx="3""#)?;
    } else {
        write!(svg, r#"<circle cx="{x:.1}" cy="{y:.1}" r="{radius:.1}""#)?;
    }
    match fill {
        Some(fill) => write!(svg, r#" fill="{fill}"/>"#),
        None => write!(
            svg,
            r#" fill="none" stroke="{MUTED}" stroke-width="{edge:.1}" stroke-dasharray="{:.1} {:.1}"/>"#,
            edge * 2.0,
            edge * 1.6
        ),
    }
}

fn text(svg: &mut String, element: &Text) {
    let Text { x, y, size, fill, line, side } = element;
    let width = line.width * size;
    let (anchor, x) = match side {
        Side::Left => ("start", *x),
        Side::Right => ("end", x + width),
        Side::Middle => ("middle", x + width / 2.0),
    };
    let (family, weight) = match line.weight {
        Weight::Regular => (SANS, 400),
        Weight::Bold => (SANS, 600),
        Weight::Serif => (SERIF, 500),
    };
    let _ = write!(
        svg,
        r#"<text x="{x:.1}" y="{y:.1}" font-family="{family}" font-size="{size:.1}" font-weight="{weight}" fill="{fill}" text-anchor="{anchor}""#
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
        let _ = write!(svg, r#"<g transform="matrix({scale} 0 0 -{scale} {left} {y})">"#);
        let mut plain = String::new();
        for glyph in &run.glyphs {
            if !colour::write(svg, face, glyph, fill) {
                outline(&mut plain, face, GlyphId::new(glyph.id), (glyph.x, glyph.y));
            }
        }
        if !plain.is_empty() {
            let _ = write!(svg, r#"<path fill="{fill}""#);
            if face.is_too_light(line.weight) {
                let stroke = f32::from(face.font.units_per_em()) * BOLDER;
                let _ = write!(svg, r#" stroke="{fill}" stroke-width="{stroke:.0}" stroke-linejoin="round""#);
            }
            let _ = write!(svg, r#" d="{plain}"/>"#);
        }
        svg.push_str("</g>");
    }
}

/// Writes the path data of a glyph at a position in font units. An invalid outline leaves a gap; a test draws every
/// glyph.
fn outline(data: &mut String, face: &Face, glyph: GlyphId, (x, y): (i32, i32)) {
    if let Some(outline) = face.font.outline_glyphs().get(glyph) {
        let mut sink = PathData { data, x, y };
        let _ = outline.draw(&DrawOptions::new(), DrawMemory::Scratch, &mut sink);
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
