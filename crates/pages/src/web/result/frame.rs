//! The frame in which other websites show a poll. Its height fits the texts.

use super::answer::Answer;
use super::hero::Seats;
use super::view::View;
use super::words::Length;

/// The width of a frame, in CSS pixels.
const WIDTH: u32 = 600;
/// Frames of at most this width clamp long questions, as phones do.
const PHONE_WIDTH: u32 = 480;
/// The padding on each side.
const PADDING: f64 = 16.0;
/// The width of the chamber and its height in widths.
const CHAMBER: (f64, f64) = (416.0, 360.0 / 648.0);
/// The room for the votes and the share of an option.
const COUNT: f64 = 100.0;
/// The height of a line of small text.
const SMALL_LINE: f64 = 22.4;

impl View {
    /// Returns the width and height of a frame that shows the poll without scrolling, in CSS pixels.
    pub(crate) fn frame_size(&self, max_width: Option<u32>) -> (u32, u32) {
        let width = WIDTH.min(max_width.unwrap_or(WIDTH));
        (width, self.frame_height(width))
    }

    /// Returns the HTML code of a frame of this size. The URL has no characters that need escaping in HTML.
    pub(crate) fn frame_of(&self, width: u32, height: u32) -> String {
        let Self { embed, voters, .. } = self;
        format!(
            "<iframe src=\"{embed}\" width=\"{width}\" height=\"{height}\" title=\"A poll of {voters}\"></iframe>"
        )
    }

    /// Returns the height of the poll in a frame of this width. Sizes are those of `assets/style.css`.
    fn frame_height(&self, width: u32) -> u32 {
        let room = (f64::from(width) - 2.0 * PADDING).max(64.0);
        let kicker = if self.running { SMALL_LINE } else { 0.0 };
        let is_clamped = match self.length {
            Length::Short => false,
            Length::Long => width <= PHONE_WIDTH,
            Length::VeryLong => true,
        };
        let question = if is_clamped { 3.0 * 24.4 + 30.4 } else { lines(&self.question, 20.0, room) * 24.4 };
        let answers = self.leads.iter().chain([&self.answer]);
        let answer = answers.map(|answer| answer_height(answer, room)).fold(0.0, f64::max);
        let chamber = self.chamber.as_ref().map_or(0.0, |chamber| chamber_height(chamber, room));
        let bar = |label: &str| lines(label, 16.0, room - COUNT) * 20.8 + 48.8;
        let bars: f64 = self.bars.iter().map(|bar_of| bar(&bar_of.label)).sum();
        let note = lines(&"n".repeat(60), 14.4, room) * SMALL_LINE + 28.8;
        let height = 2.0 * PADDING + kicker + 8.0 + question + answer + chamber + bars + note;
        height.ceil() as u32
    }
}

/// Returns the height of the answer and its score, beside or below each other.
fn answer_height(answer: &Answer, room: f64) -> f64 {
    let text = if answer.is_close { format!("Close: {}", answer.text) } else { answer.text.clone() };
    let beside = width_of(&text) * 36.0 + 24.0 + width_of(&answer.score) * 20.0 <= room;
    let height =
        if beside { 42.0 } else { lines(&text, 36.0, room) * 39.6 + lines(&answer.score, 20.0, room) * 31.0 };
    40.0 + height
}

fn chamber_height(chamber: &Seats, room: f64) -> f64 {
    let (width, ratio) = CHAMBER;
    let legend = match (chamber.without_vote > 0, chamber.skipped > 0) {
        (false, false) => 0.0,
        (true, true) if room < width => 12.0 + 2.0 * SMALL_LINE + 4.0,
        _ => 12.0 + SMALL_LINE,
    };
    width.min(room) * ratio + 24.0 + legend
}

/// Returns the number of lines of a text at a font size, in a room of this width, both in pixels. Words longer than a line
/// break anywhere.
fn lines(text: &str, size: f64, room: f64) -> f64 {
    let room = room / size;
    let (mut lines, mut used) = (1.0, 0.0);
    for word in text.split_inclusive(|c| matches!(c, ' ' | '\n' | '-') || c >= EAST_ASIAN) {
        let width = width_of(word);
        if used > 0.0 && used + width_of(word.trim_end()) > room {
            lines += 1.0;
            used = 0.0;
        }
        used += width;
        while used > room + SPACE {
            lines += 1.0;
            used -= room;
        }
    }
    lines
}

const SPACE: f64 = 0.26;
/// The first of the characters that are as wide as high, between which lines break.
const EAST_ASIAN: char = '\u{2e80}';

/// Returns the width of a usual text in em, in the wider font of pages.
fn width_of(text: &str) -> f64 {
    text.chars().map(width_of_char).sum()
}

const fn width_of_char(c: char) -> f64 {
    match c {
        ' ' | '\n' => SPACE,
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | 'I' | '.' | ',' | ':' | ';' | '\'' | '!' | '|' | '(' | ')' => {
            0.33
        }
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.9,
        'A'..='Z' => 0.68,
        EAST_ASIAN.. => 1.0,
        _ => 0.56,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_in_long_words() {
        // Ten letters of 0.56 em.
        assert_eq!(lines("nnnnnnnnnn", 10.0, 60.0), 1.0);
        assert_eq!(lines("nnnnnnnnnn nnnnnnnnnn", 10.0, 100.0), 2.0);
        assert_eq!(lines("nnnnnnnnnn nnnnnnnnnn", 10.0, 130.0), 1.0);
        assert_eq!(lines(&"n".repeat(40), 10.0, 60.0), 4.0);
        assert_eq!(lines("", 10.0, 60.0), 1.0);
        assert_eq!(lines(&format!("1 {}", "漢".repeat(20)), 10.0, 110.0), 2.0);
    }
}
