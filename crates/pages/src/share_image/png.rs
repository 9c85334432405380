//! Rasterisation and PNG encoding.

use std::cmp::Reverse;
use std::collections::HashMap;

use png::{BitDepth, ColorType, DeflateCompression, Encoder, Filter};
use resvg::tiny_skia::{Pixmap, PremultipliedColorU8, Transform};
use resvg::usvg::{Options, Tree};

use crate::share_image::{Error, HEIGHT, WIDTH};

/// The size of an eight-bit palette.
const COLOURS: usize = 256;

type Colour = [u8; 3];

pub(crate) fn draw(svg: &str) -> Result<Vec<u8>, Error> {
    let tree = Tree::from_str(svg, &Options::default())?;
    let mut pixels = Pixmap::new(WIDTH, HEIGHT).ok_or(Error::Canvas)?;
    resvg::render(&tree, Transform::identity(), &mut pixels.as_mut());
    encode(pixels.data())
}

/// Draws a square picture from an SVG of at most this width and height, without text.
pub(crate) fn icon(svg: &str, pixels: u32) -> Result<Vec<u8>, Error> {
    let tree = Tree::from_str(svg, &Options::default())?;
    let mut canvas = Pixmap::new(pixels, pixels).ok_or(Error::Canvas)?;
    let scale = pixels as f32 / tree.size().width().max(tree.size().height());
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut canvas.as_mut());
    let colours: Vec<u8> = canvas
        .pixels()
        .iter()
        .map(PremultipliedColorU8::demultiply)
        .flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue(), pixel.alpha()])
        .collect();
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, pixels, pixels);
    encoder.set_color(ColorType::Rgba);
    encoder.set_depth(BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&colours)?;
    writer.finish()?;
    Ok(file)
}

/// Encodes with a palette, which takes a third of the bytes and of the time. A card is opaque and has few
/// colours except at the edges of letters.
fn encode(pixels: &[u8]) -> Result<Vec<u8>, Error> {
    let (palette, indexes) = palette(pixels);
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, WIDTH, HEIGHT);
    encoder.set_color(ColorType::Indexed);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_palette(palette.concat());
    encoder.set_deflate_compression(DeflateCompression::Level(3)); // Higher levels save little and take much longer.
    encoder.set_filter(Filter::NoFilter); // Adjacent indexes are not similar colours.
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&indexes)?;
    writer.finish()?;
    Ok(file)
}

/// Returns the most frequent colours, and the index of the nearest one for each pixel (red, green, blue,
/// alpha).
fn palette(pixels: &[u8]) -> (Vec<Colour>, Vec<u8>) {
    // Each colour has a number; a run of pixels of one colour is looked up once.
    let mut numbers: HashMap<Colour, usize> = HashMap::new();
    let mut counts: Vec<(Colour, usize)> = Vec::new();
    let mut rows: Vec<(usize, usize)> = Vec::new();
    let mut last = None;
    for pixel in pixels.chunks_exact(4) {
        let colour = [pixel[0], pixel[1], pixel[2]];
        if last != Some(colour) {
            last = Some(colour);
            let number = *numbers.entry(colour).or_insert(counts.len());
            if number == counts.len() {
                counts.push((colour, 0));
            }
            rows.push((number, 0));
        }
        if let Some((_, length)) = rows.last_mut() {
            *length += 1;
        }
    }
    for (number, length) in &rows {
        counts[*number].1 += length;
    }
    let mut frequent: Vec<usize> = (0..counts.len()).collect();
    frequent.sort_unstable_by_key(|&number| (Reverse(counts[number].1), counts[number].0));
    let palette: Vec<Colour> = frequent.iter().take(COLOURS).map(|&number| counts[number].0).collect();
    let mut indexes = vec![0; counts.len()];
    for (position, &number) in frequent.iter().enumerate() {
        indexes[number] = u8::try_from(position).unwrap_or_else(|_| nearest(&palette, counts[number].0));
    }
    let mut indexed = Vec::with_capacity(pixels.len() / 4);
    for (number, length) in rows {
        indexed.resize(indexed.len() + length, indexes[number]);
    }
    (palette, indexed)
}

fn nearest(palette: &[Colour], colour: Colour) -> u8 {
    let distance = |other: &Colour| -> u32 {
        colour.iter().zip(other).map(|(a, b)| u32::from(a.abs_diff(*b)).pow(2)).sum()
    };
    let nearest = (0..palette.len()).min_by_key(|index| distance(&palette[*index]));
    nearest.and_then(|index| u8::try_from(index).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_colours_map_to_the_nearest_frequent_ones() {
        let grey = |level: u8| [level, level, level, 255];
        let mut pixels: Vec<u8> = (0..=255).flat_map(|level| [grey(level), grey(level)].concat()).collect();
        pixels.extend([10, 10, 12, 255]);
        let (palette, indexes) = palette(&pixels);
        assert_eq!(palette.len(), COLOURS);
        assert_eq!(palette[indexes[20] as usize], [10, 10, 10]);
        assert_eq!(palette[indexes[512] as usize], [11, 11, 11]);
    }
}
