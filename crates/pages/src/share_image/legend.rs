//! The other options of a card: each with its letter and its votes, in rows.

use std::cmp::Reverse;

use crate::share_image::clean::clean;
use crate::share_image::faces::Weight::{Bold, Regular};
use crate::share_image::palette::{INK, MUTED, ON_PALETTE, PALE, PALETTE};
use crate::share_image::picture::{Element, Picture, Room, Side};
use crate::share_image::shape::{Line, Typesetter};
use crate::share_image::{Card, letter};

const ROW: f32 = 44.0;
const SIZE: f32 = 27.0;
/// The square with the letter, and the size of the letter.
const CHIP: f32 = 30.0;
const CHIP_TEXT: f32 = 19.0;
/// The gap between the square and the label, and between options.
const GAP: f32 = 10.0;
const SPACE: f32 = 26.0;
/// The maximum number of grapheme clusters of a label, and its maximum width if there are others.
const MAX_LABEL: usize = 60;
const MAX_LABEL_WIDTH: f32 = 300.0;
const MAX_ROWS: usize = 3;

struct Item {
    option: usize,
    votes: u32,
    label: Line,
    count: Line,
}

impl Item {
    fn width(&self) -> f32 {
        CHIP + 2.0 * GAP + (self.label.width + self.count.width) * SIZE
    }
}

/// Every option but the answer, the most voted ones first.
pub(crate) struct Legend {
    items: Vec<Item>,
    rtl: bool,
    width: f32,
}

impl Legend {
    pub(crate) fn new(setter: Typesetter, card: &Card, rtl: bool, width: f32) -> Self {
        let others =
            card.options.iter().enumerate().filter(|(option, _)| card.answer_option != Some(*option));
        let mut others: Vec<_> = others.collect();
        others.sort_by_key(|(_, option)| Reverse(option.votes));
        let alone = others.len() == 1;
        // More options never fit.
        let shown = others.into_iter().take(26);
        let items = shown.map(|(option, choice)| {
            let count = setter.line(&choice.votes.to_string(), Bold, false);
            let most = width - CHIP - 2.0 * GAP - count.width * SIZE;
            let most = if alone { most } else { most.min(MAX_LABEL_WIDTH) };
            let label = setter.one_line(&clean(&choice.label, MAX_LABEL), Regular, most, SIZE);
            Item { option, votes: choice.votes, label, count }
        });
        Self { items: items.collect(), rtl, width }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns the height of this many rows.
    pub(crate) fn height(rows: usize) -> f32 {
        rows as f32 * ROW
    }

    /// Returns the number of rows for this height: at least one, and no more than needed.
    pub(crate) fn rows_in(&self, height: f32) -> usize {
        let needed = self.places().last().map_or(1, |(row, _)| row + 1);
        ((height / ROW) as usize).clamp(1, MAX_ROWS).min(needed)
    }

    /// Returns the row of each option and its distance from the start of the row.
    fn places(&self) -> Vec<(usize, f32)> {
        let (mut row, mut x) = (0, 0.0);
        let place = |item: &Item| {
            if x > 0.0 && x + item.width() > self.width {
                (row, x) = (row + 1, 0.0);
            }
            let place = (row, x);
            x += item.width() + SPACE;
            place
        };
        self.items.iter().map(place).collect()
    }

    /// Draws as many options as fit into these rows, and the number of the others.
    pub(crate) fn draw(&self, picture: &mut Picture, setter: Typesetter, room: Room, top: f32, rows: usize) {
        let places = self.places();
        let fitting = places.iter().take_while(|(row, _)| *row < rows).count();
        let more = |shown: usize| setter.line(&format!("+{} more", self.items.len() - shown), Regular, false);
        let end = |shown: usize| {
            shown.checked_sub(1).map_or(0.0, |last| places[last].1 + self.items[last].width() + SPACE)
        };
        let mut shown = fitting;
        // The number of the others needs room in the last row.
        while shown < self.items.len() && shown > 1 && end(shown) + more(shown).width * SIZE > self.width {
            shown -= 1;
        }
        for (item, (row, x)) in self.items.iter().zip(&places).take(shown) {
            self.item(picture, setter, item, room, *x, top + ROW * *row as f32);
        }
        if shown < self.items.len() {
            let row = shown.checked_sub(1).map_or(0, |last| places[last].0);
            let line = more(shown);
            let left = self.room(room, end(shown), (self.width - end(shown)).max(1.0));
            let y = top + ROW * row as f32 + ROW / 2.0 + SIZE * 0.36;
            picture.text(line, SIZE, left, Side::start(self.rtl), y, MUTED);
        }
    }

    fn item(&self, picture: &mut Picture, setter: Typesetter, item: &Item, room: Room, x: f32, top: f32) {
        let middle = top + ROW / 2.0;
        let chip = self.room(room, x, CHIP);
        let (fill, on) = match item.votes {
            0 => (PALE, INK),
            _ => (PALETTE[item.option % PALETTE.len()], ON_PALETTE[item.option % PALETTE.len()]),
        };
        let (x0, y) = (chip.x, middle - CHIP / 2.0);
        picture.elements.push(Element::Rectangle { x: x0, y, width: CHIP, height: CHIP, radius: 6.0, fill });
        let letter = setter.line(&letter(item.option).to_string(), Bold, false);
        picture.text(letter, CHIP_TEXT, chip, Side::Middle, middle + CHIP_TEXT * 0.36, on);
        let side = Side::start(self.rtl);
        let baseline = middle + SIZE * 0.36;
        let mut x = x + CHIP + GAP;
        for (line, fill) in [(&item.label, MUTED), (&item.count, INK)] {
            let width = line.width * SIZE;
            picture.text(line.clone(), SIZE, self.room(room, x, width), side, baseline, fill);
            x += width + GAP;
        }
    }

    /// Returns the room at this distance from the start of the column.
    fn room(&self, column: Room, x: f32, width: f32) -> Room {
        Room { x: if self.rtl { column.x + column.width - x - width } else { column.x + x }, width }
    }
}
