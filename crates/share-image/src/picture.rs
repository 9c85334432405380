//! What is drawn and where, before it is written in one way or the other.

use crate::fit::Block;
use crate::shape::Line;
use crate::{HEIGHT, WIDTH};

/// Shapes and texts in the order in which they are painted. Measures are in pixels.
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
    /// SVG path data, moved to a place.
    Path {
        x: f32,
        y: f32,
        data: &'static str,
        fill: &'static str,
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

/// The edge of its room that a text keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

impl Side {
    /// Where texts of a direction begin.
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
    pub(crate) fn rectangle(
        &mut self,
        x: f32,
        y: f32,
        width: f32,
        height: f32,
        radius: f32,
        fill: &'static str,
    ) {
        self.elements.push(Element::Rectangle { x, y, width, height, radius, fill });
    }

    /// A line at one side of its room. It never leaves the room: a line that is too wide is set smaller.
    pub(crate) fn text(&mut self, line: Line, size: f32, room: Room, side: Side, y: f32, fill: &'static str) {
        if line.text.is_empty() {
            return;
        }
        let size = if line.width * size > room.width { room.width / line.width } else { size };
        let x = match side {
            Side::Left => room.x,
            Side::Right => room.x + room.width - line.width * size,
        };
        self.elements.push(Element::Text(Text { x, y, size, fill, line, side }));
    }

    /// The lines of a block, each beginning where its direction does; `y` is the top.
    pub(crate) fn block(&mut self, block: Block, room: Room, y: f32, fill: &'static str) {
        let (height, size) = (block.line_height(), block.size);
        for (index, line) in block.lines.into_iter().enumerate() {
            let side = Side::start(line.rtl);
            self.text(line, size, room, side, y + height * index as f32 + size, fill);
        }
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = &Text> {
        self.elements.iter().filter_map(|element| match element {
            Element::Text(text) => Some(text),
            _ => None,
        })
    }

    /// Characters that no font has.
    pub(crate) fn missing(&self) -> usize {
        self.texts().map(|text| text.line.missing).sum()
    }

    /// The whole canvas as one colour.
    pub(crate) fn fill(&mut self, fill: &'static str) {
        self.rectangle(0.0, 0.0, WIDTH as f32, HEIGHT as f32, 0.0, fill);
    }
}
