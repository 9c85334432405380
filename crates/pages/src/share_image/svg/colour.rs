//! Glyphs in colour: layers of outlines, each with a colour of the font.

use std::fmt::Write;

use harfrust::GlyphId;
use harfrust::font::glyph::color::{Brush, Color, CompositeMode, PaintSink};
use read_fonts::types::{BoundingBox, Matrix};

use super::outline;
use crate::share_image::faces::Face;
use crate::share_image::shape::Glyph;

/// Writes a glyph in colour. Returns false if the font has only its outline.
pub(super) fn write(svg: &mut String, face: &Face, glyph: &Glyph, fill: &str) -> bool {
    let Some(found) = face.font.color_glyphs().get(GlyphId::new(glyph.id)) else { return false };
    let palette = face.font.palettes().get(0);
    let colours = palette.as_ref().map_or(&[][..], |palette| palette.colors());
    let mut layers = Layers { svg, face, place: (glyph.x, glyph.y), colours, fill };
    found.paint(&mut layers).is_ok()
}

/// A writer of the layers of a glyph. The font of this crate has layers in plain colours only.
struct Layers<'a> {
    svg: &'a mut String,
    face: &'a Face,
    place: (i32, i32),
    colours: &'a [Color],
    fill: &'a str,
}

impl PaintSink for Layers<'_> {
    fn fill_glyph(&mut self, glyph: GlyphId, _: Option<Matrix<f32>>, brush: Brush<'_>) {
        let Brush::Solid { palette_index, .. } = brush else { return };
        let _ = match self.colours.get(usize::from(palette_index)) {
            Some(Color { red, green, blue, alpha }) => {
                let opacity = f32::from(*alpha) / 255.0;
                write!(
                    self.svg,
                    r##"<path fill="#{red:02x}{green:02x}{blue:02x}" fill-opacity="{opacity:.2}" d=""##
                )
            }
            None => write!(self.svg, r#"<path fill="{}" d=""#, self.fill),
        };
        outline(self.svg, self.face, glyph, self.place);
        self.svg.push_str(r#""/>"#);
    }

    fn push_transform(&mut self, _: Matrix<f32>) {}
    fn pop_transform(&mut self) {}
    fn push_clip_glyph(&mut self, _: GlyphId) {}
    fn push_clip_box(&mut self, _: BoundingBox<f32>) {}
    fn pop_clip(&mut self) {}
    fn fill(&mut self, _: Brush<'_>) {}
    fn push_layer(&mut self, _: CompositeMode) {}
}
