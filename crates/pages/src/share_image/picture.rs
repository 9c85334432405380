//! The drawn elements and their positions, independent of the output format.

use crate::share_image::fit::Block;
use crate::share_image::shape::Line;
use crate::share_image::{HEIGHT, WIDTH};

/// The position of the baseline between the top and the bottom of a line.
const BASELINE: f32 = 0.8;

/// Shapes and texts in the order of painting. Lengths are in pixels.
#[derive(Debug, Default)]
pub(crate) struct Picture {
    pub(crate) elements: Vec<Element>,
}

#[derive(Debug)]
pub(crate) enum Element {
    Rectangle {
        x: f32,
        y: f32,
        width: f32,
        height: f32,
        radius: f32,
        fill: &'static str,
    },
    /// A seat around its middle. Without a colour it is hollow, with a dashed edge.
    Seat {
        x: f32,
        y: f32,
        radius: f32,
        square: bool,
        fill: Option<&'static str>,
    },
    /// The mark of the service, in a square.
    Mark {
        x: f32,
        y: f32,
        side: f32,
    },
    Text(Text),
}

/// A line of text; `x` is its left edge and `y` its baseline.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) x: f32,
    pub(crate) y: f32,
    pub(crate) size: f32,
    pub(crate) fill: &'static str,
    pub(crate) line: Line,
    pub(crate) side: Side,
}

/// The edge of its room to which a text is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
    /// Both: the text is in the middle.
    Middle,
}

impl Side {
    /// Returns the side on which texts of a direction begin.
    pub(crate) fn start(rtl: bool) -> Self {
        if rtl { Self::Right } else { Self::Left }
    }
}

/// Room for a text: its left edge and its width.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) x: f32,
    pub(crate) width: f32,
}

impl Picture {
    /// Adds a line at one side of its room. A line that is too wide is set smaller, so that it stays in the
    /// room.
    pub(crate) fn text(&mut self, line: Line, size: f32, room: Room, side: Side, y: f32, fill: &'static str) {
        if line.text.is_empty() {
            return;
        }
        let size = if line.width * size > room.width { room.width / line.width } else { size };
        let x = match side {
            Side::Left => room.x,
            Side::Right => room.x + room.width - line.width * size,
            Side::Middle => room.x + (room.width - line.width * size) / 2.0,
        };
        self.elements.push(Element::Text(Text { x, y, size, fill, line, side }));
    }

    /// Adds the lines of a block, each aligned to one side; `y` is the top.
    pub(crate) fn block(&mut self, block: Block, room: Room, side: Side, y: f32, fill: &'static str) {
        let (height, size) = (block.line_height(), block.size);
        for (index, line) in block.lines.into_iter().enumerate() {
            self.text(line, size, room, side, y + height * (index as f32 + BASELINE), fill);
        }
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = &Text> {
        self.elements.iter().filter_map(|element| match element {
            Element::Text(text) => Some(text),
            _ => None,
        })
    }

    /// Returns the number of characters without a glyph.
    pub(crate) fn missing(&self) -> usize {
        self.texts().map(|text| text.line.missing).sum()
    }

    /// Fills the whole canvas with one colour.
    pub(crate) fn fill(&mut self, fill: &'static str) {
        let (width, height) = (WIDTH as f32, HEIGHT as f32);
        self.elements.push(Element::Rectangle { x: 0.0, y: 0.0, width, height, radius: 0.0, fill });
    }
}
