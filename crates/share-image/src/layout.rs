//! The layout of a card.

use crate::clean::{clean, clean_sentence, is_rtl};
use crate::faces::Weight::{Bold, Regular};
use crate::fit::Block;
use crate::palette::{BRAND, INK, MUTED, ON_BRAND, PALETTE, PAPER, QUIET_ON_BRAND, TRACK, WARNING};
use crate::picture::{Element, Picture, Room, Side};
use crate::shape::{Line, Typesetter};
use crate::{Bar, Card, HEIGHT, Status, WIDTH};

/// The maximum number of grapheme clusters considered, more than fit.
const MAX_QUESTION: usize = 400;
const MAX_SENTENCE: usize = 300;
const MAX_LABEL: usize = 120;
const MAX_NAME: usize = 60;

const MARGIN: f32 = 64.0;
const CONTENT: Room = Room { x: MARGIN, width: WIDTH as f32 - 2.0 * MARGIN };
const BAND: f32 = 54.0;
const MARK: f32 = 44.0;
/// The maximum number of bars, and the minimum height of one.
const MAX_ROWS: usize = 6;
const MIN_ROW: f32 = 36.0;
const MAX_ROW: f32 = 84.0;
const MORE_ROW: f32 = 32.0;
/// The gap below the question, and between the bars and the sentences below.
const GAP: f32 = 22.0;
const LEAST_SPACE: f32 = 18.0;

/// The space between columns.
const SPACE: f32 = 20.0;

/// The minimum width of a visible bar: any share above zero is shown.
const MIN_BAR: f32 = 6.0;

/// Font sizes in pixels, with the maximum number of lines at each.
const QUESTION: &[(f32, usize)] = &[(60.0, 1), (52.0, 2), (44.0, 2), (38.0, 3), (34.0, 3)];
const OUTCOME: &[(f32, usize)] = &[(32.0, 1), (28.0, 1), (25.0, 2)];
const CONFIDENCE: &[(f32, usize)] = &[(24.0, 1), (21.0, 2)];

/// A tick in a disc of 28 pixels.
const TICK: &str =
    "M14 0a14 14 0 1 0 0 28a14 14 0 1 0 0-28zM12.2 20.6L6.2 14.7L8.3 12.5L12.1 16.2L19.6 8.3L21.8 10.4z";

pub(crate) fn lay_out(card: &Card) -> Picture {
    let labels = card.bars.iter().map(|bar| &bar.label);
    let setter = Typesetter::of(labels.chain([&card.question, &card.outcome, &card.confidence]));
    let mut picture = Picture::default();
    picture.fill(PAPER);

    let mut top = 36.0;
    if card.simulated {
        band(&mut picture, setter);
        top += BAND - 6.0;
    }
    header(&mut picture, setter, card, top);
    top += MARK + 24.0;

    let outcome = setter.block(&clean_sentence(&card.outcome, MAX_SENTENCE), Bold, CONTENT.width, OUTCOME);
    let confidence =
        setter.block(&clean_sentence(&card.confidence, MAX_SENTENCE), Regular, CONTENT.width, CONFIDENCE);
    let bottom = sentences(&mut picture, outcome, confidence);

    let question = clean(&card.question, MAX_QUESTION);
    let rtl = is_rtl(&question);
    let question = fit_question(setter, &question, card.bars.len(), bottom - top);
    let height = question.height();
    picture.block(question, CONTENT, top, INK);
    top += height + GAP;

    bars(&mut picture, setter, card, rtl, top, bottom);
    picture
}

/// Sets the question as large as possible with room for every option that may be shown.
fn fit_question(setter: Typesetter, question: &str, options: usize, room: f32) -> Block {
    let mut sizes = QUESTION;
    loop {
        let block = setter.block(question, Bold, CONTENT.width, sizes);
        if sizes.len() <= 1 || rows_in(room - block.height() - GAP, options) >= options.min(MAX_ROWS) {
            return block;
        }
        sizes = &sizes[1..];
    }
}

/// Returns the number of these options that fit into this height.
fn rows_in(height: f32, options: usize) -> usize {
    let fitting = |height: f32| ((height / MIN_ROW) as usize).clamp(1, MAX_ROWS);
    let room = height - LEAST_SPACE;
    if options <= fitting(room) { options } else { fitting(room - MORE_ROW) }
}

/// Draws a band across the picture for simulated votes.
fn band(picture: &mut Picture, setter: Typesetter) {
    picture.rectangle(0.0, 0.0, WIDTH as f32, BAND, 0.0, WARNING);
    let line = setter.line("Simulated voters: no AI model was asked", Bold, false);
    let width = line.width * 26.0;
    picture.text(line, 26.0, Room { x: (WIDTH as f32 - width) / 2.0, width }, Side::Left, 36.0, INK);
}

/// Draws the mark, the names of service and host, and the status of the poll.
fn header(picture: &mut Picture, setter: Typesetter, card: &Card, top: f32) {
    picture.elements.push(Element::Mark { x: MARGIN, y: top, side: MARK });
    let baseline = top + MARK / 2.0 + 9.0;
    let x = MARGIN + MARK + 14.0;
    let service = setter.one_line(&clean(&card.service, MAX_NAME), Bold, 380.0, 26.0);
    let end = x + service.width * 26.0;
    picture.text(service, 26.0, Room { x, width: 380.0 }, Side::Left, baseline, INK);

    let host = setter.one_line(&clean(&card.host, MAX_NAME), Regular, 400.0, 23.0);
    let room = Room { x: CONTENT.x + CONTENT.width - 400.0, width: 400.0 };
    picture.text(host, 23.0, room, Side::Right, baseline - 1.0, MUTED);

    if card.status == Status::Running {
        let line = setter.line("Still running", Bold, false);
        let width = line.width * 19.0;
        let x = end + 20.0;
        picture.rectangle(x, top + 5.0, width + 32.0, 34.0, 17.0, BRAND);
        picture.text(line, 19.0, Room { x: x + 16.0, width }, Side::Left, top + 29.0, ON_BRAND);
    }
}

/// Draws the outcome and its confidence above the lower edge. Returns their top.
fn sentences(picture: &mut Picture, outcome: Block, confidence: Block) -> f32 {
    let top = HEIGHT as f32 - 40.0 - outcome.height() - confidence.height();
    let height = outcome.height();
    picture.rectangle(0.0, top - 24.0, WIDTH as f32, HEIGHT as f32 - top + 24.0, 0.0, BRAND);
    picture.block(outcome, CONTENT, top - 2.0, ON_BRAND);
    picture.block(confidence, CONTENT, top + height + 4.0, QUIET_ON_BRAND);
    top - 24.0
}

/// Draws the options with the most votes, as many as fit, and the number of the others.
fn bars(picture: &mut Picture, setter: Typesetter, card: &Card, rtl: bool, top: f32, bottom: f32) {
    let mut order: Vec<(usize, &Bar)> = card.bars.iter().enumerate().collect();
    order.sort_by_key(|(_, bar)| std::cmp::Reverse(bar.votes));
    let room = bottom - top - LEAST_SPACE;
    let shown = rows_in(bottom - top, order.len());
    let hidden = order.split_off(shown.min(order.len()));
    let rest = if hidden.is_empty() { 0.0 } else { MORE_ROW };
    let height = ((room - rest) / shown.max(1) as f32).min(MAX_ROW);
    let top = top + (room - rest - height * shown as f32) * 0.4;

    let table = Table::new(setter, &order, height, rtl);
    for (row, &(index, bar)) in order.iter().enumerate() {
        table.row(picture, setter, index, bar, top + height * row as f32);
    }
    if !hidden.is_empty() {
        let votes = hidden.iter().map(|(_, bar)| u64::from(bar.votes)).sum();
        let text = format!("and {} more: {}", hidden.len(), votes_in_words(votes));
        let line = setter.line(&text, Regular, false);
        let y = top + height * shown as f32 + 23.0;
        picture.text(line, 21.0, table.position(table.label), Side::start(table.rtl), y, MUTED);
    }
}

fn votes_in_words(votes: u64) -> String {
    if votes == 1 { "1 vote".to_owned() } else { format!("{votes} votes") }
}

/// Formats a share in whole percent; only exact shares are shown as 0 % or 100 %.
fn percent(share: f64) -> String {
    let percent = share_of(share) * 100.0;
    if percent > 0.0 && percent < 1.0 {
        "<1%".to_owned()
    } else if (99.5..100.0).contains(&percent) {
        ">99%".to_owned()
    } else {
        format!("{percent:.0}%")
    }
}

fn share_of(share: f64) -> f64 {
    if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
}

/// The columns of the bars, in the order of a left-to-right card: tick, label, bar, percent, votes.
struct Table {
    rtl: bool,
    /// The height of a row and the size of its texts.
    height: f32,
    size: f32,
    label: Room,
    bar: Room,
    percent: Room,
    votes: Room,
}

impl Table {
    fn new(setter: Typesetter, shown: &[(usize, &Bar)], height: f32, rtl: bool) -> Self {
        let size = (height * 0.52).clamp(22.0, 32.0);
        let widest = |line: &dyn Fn(&Bar) -> Line, size: f32| {
            shown.iter().map(|(_, bar)| line(bar).width * size).fold(0.0, f32::max)
        };
        let label = |bar: &Bar| label(setter, bar, f32::INFINITY, size);
        let tick = if shown.iter().any(|(_, bar)| bar.winner) { 42.0 } else { 0.0 };
        let label = Room { x: CONTENT.x + tick, width: widest(&label, size).ceil().clamp(90.0, 430.0) };
        let votes = widest(&|bar| votes(setter, bar), size * 0.8);
        let votes = Room { x: CONTENT.x + CONTENT.width - votes, width: votes };
        let percent = widest(&|bar| setter.line(&percent(bar.share), Bold, false), size);
        let percent = Room { x: votes.x - SPACE - percent, width: percent };
        let x = label.x + label.width + SPACE;
        let bar = Room { x, width: percent.x - SPACE - x };
        Self { rtl, height, size, label, bar, percent, votes }
    }

    /// Returns the position of a column in the card's direction.
    fn position(&self, room: Room) -> Room {
        Room { x: if self.rtl { WIDTH as f32 - room.x - room.width } else { room.x }, ..room }
    }

    fn row(&self, picture: &mut Picture, setter: Typesetter, index: usize, bar: &Bar, top: f32) {
        let (middle, size) = (top + self.height / 2.0, self.size);
        let baseline = middle + size * 0.36;
        if bar.winner {
            let position = self.position(Room { x: CONTENT.x, width: 28.0 });
            picture.elements.push(Element::Path { x: position.x, y: middle - 14.0, data: TICK, fill: INK });
        }

        let label = label(setter, bar, self.label.width, size);
        picture.text(label, size, self.position(self.label), Side::start(self.rtl), baseline, INK);

        let thick = (self.height * 0.56).clamp(20.0, 42.0);
        let position = self.position(self.bar);
        picture.rectangle(position.x, middle - thick / 2.0, position.width, thick, thick / 2.0, TRACK);
        let share = share_of(bar.share) as f32;
        if share > 0.0 {
            let width = (position.width * share).max(MIN_BAR);
            let x = if self.rtl { position.x + position.width - width } else { position.x };
            let radius = f32::min(thick, width) / 2.0;
            picture.rectangle(x, middle - thick / 2.0, width, thick, radius, PALETTE[index % PALETTE.len()]);
        }

        let end = if self.rtl { Side::Left } else { Side::Right };
        let share = setter.line(&percent(bar.share), Bold, false);
        picture.text(share, size, self.position(self.percent), end, baseline, INK);
        picture.text(votes(setter, bar), size * 0.8, self.position(self.votes), end, baseline, MUTED);
    }
}

fn label(setter: Typesetter, bar: &Bar, width: f32, size: f32) -> Line {
    let weight = if bar.winner { Bold } else { Regular };
    setter.one_line(&clean(&bar.label, MAX_LABEL), weight, width, size)
}

fn votes(setter: Typesetter, bar: &Bar) -> Line {
    setter.line(&votes_in_words(u64::from(bar.votes)), Regular, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exact_shares_are_shown_as_zero_or_all() {
        let shares = [0.0, 0.001, 0.125, 0.996, 1.0, 7.0, f64::NAN];
        assert_eq!(shares.map(percent), ["0%", "<1%", "12%", ">99%", "100%", "100%", "0%"]);
    }
}
