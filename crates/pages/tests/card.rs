//! Tests of the public interface.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, too")]

use ep_pages::share_image::{Card, Choice, HEIGHT, PALETTE, Seat, WIDTH};
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

/// Removes the mark, which has circles like the seats.
fn without_mark(svg: &str) -> String {
    let mark = include_str!("../../../well-known/logo.svg").trim();
    svg.replace(&mark[mark.find("<rect").unwrap()..], "")
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
fn the_answer_has_its_colour_and_the_panel_its_seats() {
    let svg = sample("ordinary").svg();
    let answer = svg.split("<text").find(|text| text.contains(">TypeScript</text>")).unwrap();
    assert!(answer.contains(&format!("fill=\"{}\"", PALETTE[0])), "{answer}");
    let svg = without_mark(&svg);
    assert_eq!(svg.split("<circle").skip(1).count(), 18);
    let filled = |fill: &str| {
        svg.split("<circle").skip(1).filter(|seat| seat.split_once("/>").unwrap().0.contains(fill)).count()
    };
    assert_eq!(
        [filled(PALETTE[0]), filled(PALETTE[1]), filled(PALETTE[2]), filled(PALETTE[3])],
        [8, 2, 1, 0]
    );
    assert_eq!((filled("stroke-dasharray"), filled("#e3e0d7")), (1, 6));
    // A tie has no colour.
    let tie = sample("tie").svg();
    let answer = tie.split("<text").find(|text| text.contains(">A tie</text>")).unwrap();
    assert!(!PALETTE.iter().any(|colour| answer.contains(colour)), "{answer}");
}

#[test]
fn simulated_voters_have_square_seats_and_are_named() {
    let (real, simulated) = (sample("ordinary").svg(), sample("simulated").svg());
    assert!(
        texts(&simulated).contains("9 of 14 simulated voters")
            && !without_mark(&simulated).contains("<circle")
    );
    assert!(!texts(&real).contains("simulated") && without_mark(&real).contains("<circle"));
}

#[test]
fn the_picture_is_drawn_in_the_colours_of_the_votes() {
    let card = sample("ordinary");
    let picture = Pixmap::decode_png(&card.png().unwrap()).unwrap();
    assert_eq!(pixel(&picture, 2, 2), (0xfc, 0xfb, 0xf8));
    let chamber = ep_pages::share_image::chamber::Chamber::new(18);
    let scale = 560.0 / ep_pages::share_image::chamber::WIDTH;
    for (place, seat) in chamber.places.iter().zip(&card.seats) {
        let (x, y) = place.position();
        // Beside the letter.
        let (x, y) = (592.0 + (x - chamber.radius * 0.7) * scale, 262.0 + y * scale);
        let expected = match seat {
            Seat::Vote(option) => PALETTE[*option],
            Seat::NoVote => "#fcfbf8",
            Seat::Empty => "#e3e0d7",
        };
        let (red, green, blue) = pixel(&picture, x as u32, y as u32);
        assert_eq!(format!("#{red:02x}{green:02x}{blue:02x}"), expected);
    }
}

#[test]
fn the_picture_contains_all_texts_of_the_card() {
    let texts = texts(&sample("running").svg()).replace('\n', " ");
    for text in [
        "Ensemble Poll",
        "poll.example.org",
        "Should the meeting be moved to Thursday?",
        "Yes",
        "leads with 5 of 7 AI models",
        "B No 2",
        "C I do not mind 0",
    ] {
        assert!(texts.contains(text), "{text} in {texts}");
    }
}

#[test]
fn the_remaining_options_are_counted() {
    let texts = texts(&sample("ten").svg());
    let lines: Vec<&str> = texts.lines().collect();
    assert!(lines.contains(&"Option number 2"), "{texts}");
    let more = lines.iter().find_map(|line| line.strip_prefix('+')?.strip_suffix(" more")).unwrap();
    let shown =
        lines.iter().filter(|line| line.starts_with("Option number ") && **line != "Option number 1").count();
    // The answer is set apart.
    assert_eq!(shown + more.parse::<usize>().unwrap(), 9, "{texts}");
}

#[test]
fn long_texts_are_truncated_with_an_ellipsis() {
    let texts = texts(&sample("long-option").svg());
    assert!(texts.lines().filter(|line| line.ends_with('…')).count() >= 3, "{texts}");
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
        answer: endless("\u{300}"),
        answer_option: Some(usize::MAX),
        score: endless(" "),
        options: vec![Choice { label: endless("\u{200d}"), votes: u32::MAX }; 300],
        seats: vec![Seat::Vote(usize::MAX); 10_000],
        square: true,
    };
    for card in [Card::default(), card] {
        assert!(card.svg().len() < 100_000);
        card.png().unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn any_text_can_be_drawn(question in any::<String>(), label in "\\PC{0,80}", answer in any::<String>()) {
        let options = vec![Choice { label, votes: 3 }];
        let card = Card { question, options, answer, ..Card::default() };
        prop_assert!(card.png().is_ok());
    }
}
