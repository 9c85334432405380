//! Tests of the public interface.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, too")]

use ep_share_image::{Bar, Card, HEIGHT, Status, WIDTH};
use proptest::prelude::*;
use resvg::tiny_skia::Pixmap;
use resvg::usvg::roxmltree::Document;

mod samples;

fn sample(name: &str) -> Card {
    samples::all().into_iter().find(|(other, _)| *other == name).unwrap().1
}

/// Returns every text of the picture, one per line.
fn texts(svg: &str) -> String {
    let document = Document::parse(svg).unwrap();
    let texts =
        document.descendants().filter(|node| node.has_tag_name("text")).filter_map(|node| node.text());
    texts.collect::<Vec<_>>().join("\n")
}

fn pixel(picture: &Pixmap, x: u32, y: u32) -> (u8, u8, u8) {
    let colour = picture.pixel(x, y).unwrap();
    (colour.red(), colour.green(), colour.blue())
}

#[test]
fn the_picture_has_its_size_and_is_deterministic() {
    let card = sample("ordinary");
    let file = card.png().unwrap();
    let picture = Pixmap::decode_png(&file).unwrap();
    assert_eq!((picture.width(), picture.height()), (WIDTH, HEIGHT));
    assert_eq!(card.png().unwrap(), file);
    assert_eq!(card.svg(), card.svg());
}

#[test]
fn simulated_voters_are_prominent() {
    let (real, simulated) = (sample("ordinary"), sample("simulated"));
    assert!(texts(&simulated.svg()).contains("Simulated voters"));
    assert!(!texts(&real.svg()).contains("Simulated"));
    let real = Pixmap::decode_png(&real.png().unwrap()).unwrap();
    let simulated = Pixmap::decode_png(&simulated.png().unwrap()).unwrap();
    for x in [2, 300, 1197] {
        assert_eq!(pixel(&real, x, 10), (0xfb, 0xfa, 0xf6));
        assert_eq!(pixel(&simulated, x, 10), (0xff, 0xd1, 0x66));
    }
}

#[test]
fn the_picture_contains_all_texts_of_the_card() {
    let texts = texts(&sample("running").svg()).replace('\n', " ");
    for text in [
        "Ensemble Poll",
        "poll.example.org",
        "Should the meeting be moved to Thursday?",
        "I do not mind",
        "64%",
        "9 votes",
        "1 vote",
        "Yes leads with 9 of 14 votes.",
        "14 of 50 models have responded.",
        "Still running",
    ] {
        assert!(texts.contains(text), "{text} in {texts}");
    }
}

#[test]
fn the_remaining_options_are_counted() {
    let texts = texts(&sample("ten").svg());
    assert!(texts.contains("Option number 6\n"), "{texts}");
    assert!(!texts.contains("Option number 7\n"), "{texts}");
    assert!(texts.contains("and 4 more: 18 votes"), "{texts}");
}

#[test]
fn the_winner_has_a_mark_besides_its_colour() {
    let ticks = |card: &Card| card.svg().matches("M14 0a14").count();
    assert_eq!((ticks(&sample("ordinary")), ticks(&sample("tie"))), (1, 0));
    let svg = sample("ordinary").svg();
    let label =
        |name: &str| svg[..svg.find(&format!(">{name}</text>")).unwrap()].rfind("font-weight").unwrap();
    assert!(svg[label("Water")..].starts_with("font-weight=\"700\""));
    assert!(svg[label("Tea")..].starts_with("font-weight=\"400\""));
}

#[test]
fn long_texts_are_truncated_with_an_ellipsis() {
    let texts = texts(&sample("long-option").svg());
    assert_eq!(texts.lines().filter(|line| line.ends_with('…')).count(), 4, "{texts}");
}

#[test]
fn right_to_left_texts_are_aligned_right_and_isolated() {
    let svg = sample("arabic").svg();
    assert!(svg.contains(r#"text-anchor="end""#));
    assert!(texts(&svg).contains("\u{2067}ما هي أفضل لغة برمجة لتعلمها في عام 2026؟\u{2069}"), "{svg}");
}

#[test]
fn markup_stays_text() {
    let svg = sample("markup").svg();
    assert!(!svg.contains("<script") && !svg.contains("<img") && !svg.contains("<b>"), "{svg}");
    assert!(texts(&svg).contains("<script>"));
    assert_eq!(svg.matches("</svg>").count(), 2); // The mark's, and its own.
}

#[test]
fn direction_controls_are_removed() {
    let svg = sample("controls").svg();
    assert!(!svg.contains(|c| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')), "{svg}");
    assert!(texts(&svg).contains("gnp.exe or not? Second line"));
}

#[test]
fn samples_have_no_missing_glyphs() {
    for (name, card) in samples::all() {
        assert_eq!(card.missing_glyphs() > 0, name == "other-scripts", "{name}");
    }
}

#[test]
fn empty_and_very_long_cards_are_drawn() {
    let endless = |text: &str| text.repeat(200_000);
    let card = Card {
        service: endless("service"),
        host: endless("."),
        question: endless("e\u{301}"),
        bars: vec![Bar { label: endless("\u{200d}"), votes: u32::MAX, share: f64::NAN, winner: true }; 300],
        outcome: endless("\u{300}"),
        confidence: endless(" "),
        simulated: true,
        status: Status::Running,
    };
    for card in [Card::default(), card] {
        assert!(card.svg().len() < 100_000);
        card.png().unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn any_text_can_be_drawn(question in any::<String>(), label in "\\PC{0,80}", outcome in any::<String>()) {
        let bars = vec![Bar { label, votes: 3, share: 1.0, winner: true }];
        let card = Card { question, bars, outcome, ..Card::default() };
        prop_assert!(card.png().is_ok());
    }
}
