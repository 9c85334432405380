//! The layout of a card: the question above, the answer beside the chamber, the service below.

use crate::share_image::chamber::{self, Chamber};
use crate::share_image::clean::{clean, clean_sentence, is_rtl};
use crate::share_image::faces::Weight::{Bold, Regular, Serif};
use crate::share_image::fit::{Block, line_height};
use crate::share_image::legend::Legend;
use crate::share_image::palette::{INK, MUTED, ON_PALETTE, PALE, PALETTE, PAPER};
use crate::share_image::picture::{Element, Picture, Room, Side};
use crate::share_image::shape::{Line, Typesetter};
use crate::share_image::{Card, Seat, WIDTH, letter};

/// The maximum number of grapheme clusters considered, more than fit.
const MAX_QUESTION: usize = 400;
const MAX_SCORE: usize = 120;
const MAX_ANSWER: usize = 200;
const MAX_NAME: usize = 60;
/// The maximum number of seats drawn, more than a panel has.
const MAX_SEATS: usize = 200;

const MARGIN: f32 = 64.0;
const CONTENT: Room = Room { x: MARGIN, width: WIDTH as f32 - 2.0 * MARGIN };
/// The column of the answer, and the chamber on its right.
const COLUMN: Room = Room { x: MARGIN, width: 496.0 };
const CHAMBER: Room = Room { x: 592.0, width: 560.0 };
const CHAMBER_TOP: f32 = 262.0;
/// The top of the question, and the top and the height of the answer's column.
const QUESTION_TOP: f32 = 54.0;
const COLUMN_TOP: f32 = 247.0;
const COLUMN_HEIGHT: f32 = 280.0;
/// The height that the answer leaves to the other options.
const LEGEND: f32 = 90.0;
/// The gap below the answer, and below the score.
const GAP: f32 = 10.0;

const MARK: f32 = 38.0;
const MARK_TOP: f32 = 544.0;

/// Font sizes in pixels, with the maximum number of lines at each.
const QUESTION: &[(f32, usize)] = &[(58.0, 1), (46.0, 2), (42.0, 3), (36.0, 4)];
const ANSWER: &[(f32, usize)] =
    &[(112.0, 1), (96.0, 1), (80.0, 1), (72.0, 2), (60.0, 2), (52.0, 3), (44.0, 3), (38.0, 4)];
const SCORE: &[(f32, usize)] = &[(42.0, 1), (36.0, 1), (30.0, 2)];

pub(crate) fn lay_out(card: &Card) -> Picture {
    let labels = card.options.iter().map(|option| &option.label);
    let setter = Typesetter::of(labels.chain([&card.question, &card.answer, &card.score]));
    let mut picture = Picture::default();
    picture.fill(PAPER);
    let question = clean(&card.question, MAX_QUESTION);
    let rtl = is_rtl(&question);
    let question = setter.block(&question, Serif, CONTENT.width, QUESTION);
    picture.block(question, CONTENT, Side::start(rtl), QUESTION_TOP, INK);
    column(&mut picture, setter, card, rtl);
    seats(&mut picture, setter, card, rtl);
    footer(&mut picture, setter, card, rtl);
    picture
}

/// Draws the answer, its score and the other options, in the middle of their column.
fn column(picture: &mut Picture, setter: Typesetter, card: &Card, rtl: bool) {
    let score = setter.block(&clean_sentence(&card.score, MAX_SCORE), Bold, COLUMN.width, SCORE);
    let legend = Legend::new(setter, card, rtl, COLUMN.width);
    let least = if legend.is_empty() { 0.0 } else { Legend::height(legend.rows_in(LEGEND)) + GAP };
    let room = COLUMN_HEIGHT - score.height() - GAP - least;
    let answer = fit_answer(setter, &clean(&card.answer, MAX_ANSWER), room);
    let rows = legend.rows_in(COLUMN_HEIGHT - score.height() - answer.height() - 2.0 * GAP);

    let rest = if legend.is_empty() { 0.0 } else { Legend::height(rows) + GAP };
    let height = answer.height() + GAP + score.height() + rest;
    let mut top = COLUMN_TOP + (COLUMN_HEIGHT - height).max(0.0) / 2.0;
    let (room, side) = (position(COLUMN, rtl), Side::start(rtl));
    let colour = card.answer_option.map_or(INK, |option| PALETTE[option % PALETTE.len()]);
    let heights = [answer.height(), score.height()];
    for ((block, colour), height) in [(answer, colour), (score, INK)].into_iter().zip(heights) {
        picture.block(block, room, side, top, colour);
        top += height + GAP;
    }
    legend.draw(picture, setter, room, top, rows);
}

/// Sets the answer as large as possible within a height.
fn fit_answer(setter: Typesetter, answer: &str, room: f32) -> Block {
    let is_low = setter.line(answer, Serif, false).is_low();
    let within = |&(size, most): &(f32, usize)| {
        let lines = (room / line_height(size, is_low)) as usize;
        (lines > 0).then(|| (size, lines.min(most)))
    };
    let sizes: Vec<(f32, usize)> = ANSWER.iter().filter_map(within).collect();
    setter.block(answer, Serif, COLUMN.width, &sizes)
}

/// Draws every model of the panel in a seat, with the letter of its vote.
fn seats(picture: &mut Picture, setter: Typesetter, card: &Card, rtl: bool) {
    let seats = &card.seats[..card.seats.len().min(MAX_SEATS)];
    let chamber = Chamber::new(seats.len());
    let scale = CHAMBER.width / chamber::WIDTH as f32;
    let left = position(CHAMBER, rtl).x;
    let radius = chamber.radius as f32 * scale;
    let size = radius * chamber::LETTER as f32;
    let letters: Vec<Line> = (0..card.options.len().min(26))
        .map(|option| setter.line(&letter(option).to_string(), Bold, false))
        .collect();
    for (place, seat) in chamber.places.iter().zip(seats) {
        let (x, y) = place.position();
        let (x, y) = (left + x as f32 * scale, CHAMBER_TOP + y as f32 * scale);
        let fill = match seat {
            Seat::Vote(option) => Some(PALETTE[option % PALETTE.len()]),
            Seat::NoVote => None,
            Seat::Empty => Some(PALE),
        };
        picture.elements.push(Element::Seat { x, y, radius, square: card.square, fill });
        if let Seat::Vote(option) = seat
            && let Some(line) = letters.get(option % 26)
        {
            let room = Room { x: x - radius, width: 2.0 * radius };
            let fill = ON_PALETTE[option % PALETTE.len()];
            picture.text(line.clone(), size, room, Side::Middle, y + size * 0.36, fill);
        }
    }
}

/// Draws the mark, and the names of service and host.
fn footer(picture: &mut Picture, setter: Typesetter, card: &Card, rtl: bool) {
    let side = Side::start(rtl);
    let baseline = MARK_TOP + MARK / 2.0 + 9.0;
    let mark = position(Room { x: MARGIN, width: MARK }, rtl);
    picture.elements.push(Element::Mark { x: mark.x, y: MARK_TOP, side: MARK });
    let x = MARGIN + MARK + 14.0;
    let service = setter.one_line(&clean(&card.service, MAX_NAME), Bold, 260.0, 27.0);
    let room = Room { x, width: (service.width * 27.0).max(1.0) };
    let x = room.x + room.width + 16.0;
    picture.text(service, 27.0, position(room, rtl), side, baseline, INK);
    let room = Room { x, width: COLUMN.x + COLUMN.width - x };
    let host = setter.one_line(&clean(&card.host, MAX_NAME), Regular, room.width, 23.0);
    picture.text(host, 23.0, position(room, rtl), side, baseline, MUTED);
}

/// Returns the position of a room in a card of this direction.
fn position(room: Room, rtl: bool) -> Room {
    Room { x: if rtl { WIDTH as f32 - room.x - room.width } else { room.x }, ..room }
}
