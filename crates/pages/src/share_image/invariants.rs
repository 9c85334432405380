//! Invariants of the layout of every card, for any texts.

use proptest::prelude::*;
use resvg::usvg::roxmltree::{Document, Node};

use crate::share_image::faces::{Face, Weight, face};
use crate::share_image::layout::lay_out;
use crate::share_image::picture::{Element, Picture};
use crate::share_image::shape::{Run, Typesetter};
use crate::share_image::{Card, Choice, HEIGHT, Seat, WIDTH, svg};

#[path = "../../tests/samples.rs"]
mod samples;

fn assert_inside(picture: &Picture) -> Result<(), TestCaseError> {
    let (width, height) = (WIDTH as f32 + 0.5, HEIGHT as f32 + 0.5);
    for element in &picture.elements {
        let (x, y, right, bottom) = match element {
            Element::Rectangle { x, y, width, height, .. } => (*x, *y, x + width, y + height),
            Element::Seat { x, y, radius, .. } => (x - radius, y - radius, x + radius, y + radius),
            Element::Mark { x, y, side } => (*x, *y, x + side, y + side),
            Element::Text(text) => {
                (text.x, text.y - text.size, text.x + text.line.width * text.size, text.y + text.size * 0.3)
            }
        };
        let inside = x >= -0.5 && y >= -0.5 && right <= width && bottom <= height;
        prop_assert!(inside, "{element:?} reaches from ({x}, {y}) to ({right}, {bottom})");
    }
    Ok(())
}

/// The depth and the height of letters from the baseline, in em.
const DEPTH: f32 = 0.26;
const HEIGHT_OF_LETTERS: f32 = 0.74;

/// Asserts that lines with a shared horizontal range do not overlap vertically.
fn assert_no_overlap(picture: &Picture) -> Result<(), TestCaseError> {
    let texts: Vec<_> = picture.texts().collect();
    for (index, a) in texts.iter().enumerate() {
        for b in &texts[index + 1..] {
            let (a_right, b_right) = (a.x + a.line.width * a.size, b.x + b.line.width * b.size);
            let beside = a_right <= b.x + 0.5 || b_right <= a.x + 0.5;
            let (upper, lower) = if a.y < b.y { (a, b) } else { (b, a) };
            let apart = upper.y + upper.size * DEPTH <= lower.y - lower.size * HEIGHT_OF_LETTERS;
            prop_assert!(beside || apart, "{:?} and {:?}", a.line.text, b.line.text);
        }
    }
    Ok(())
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => any::<String>(),
        2 => "\\PC{0,300}",
        1 => "[a-z]{0,400}",
        2 => "[\\u{590}-\\u{6ff}\\u{900}-\\u{97f}\\u{e00}-\\u{e7f}a-c0-9 ().!]{0,200}",
        1 => "[\\u{200b}-\\u{200f}\\u{202a}-\\u{202e}\\u{2066}-\\u{2069}\\u{300}-\\u{310}אa ]{0,300}",
        1 => "[\\u{1f1e6}-\\u{1f1ff}\\u{1f466}-\\u{1f469}\\u{1f3fb}-\\u{1f3ff}\\u{200d}\\u{fe0f}\\u{20e3}1❤]{0,200}",
        1 => "[\\u{4e00}-\\u{9fff}\\u{3041}-\\u{30ff}\\u{ac00}-\\u{d7a3}、。]{0,200}",
    ]
}

fn choice() -> impl Strategy<Value = Choice> {
    (text(), any::<u32>()).prop_map(|(label, votes)| Choice { label, votes })
}

fn seat() -> impl Strategy<Value = Seat> {
    prop_oneof![4 => (0..40_usize).prop_map(Seat::Vote), 1 => Just(Seat::NoVote), 1 => Just(Seat::Empty)]
}

fn card() -> impl Strategy<Value = Card> {
    let texts = [text(), text(), text(), text(), text()];
    let options = proptest::collection::vec(choice(), 0..12);
    let seats = proptest::collection::vec(seat(), 0..250);
    (texts, options, seats, proptest::option::of(0..12_usize), any::<bool>()).prop_map(
        |([service, host, question, answer, score], options, seats, answer_option, square)| Card {
            service,
            host,
            question,
            answer,
            answer_option,
            score,
            options,
            seats,
            square,
        },
    )
}

/// Asserts that the XML contains only shapes and texts.
fn assert_plain(svg: &str) -> Result<(), TestCaseError> {
    let document = Document::parse(svg).map_err(|error| TestCaseError::fail(error.to_string()))?;
    for node in document.descendants().filter(Node::is_element) {
        let name = node.tag_name().name();
        prop_assert!(
            ["svg", "title", "desc", "g", "rect", "circle", "path", "text"].contains(&name),
            "{name}"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_card_fits_its_canvas_without_overlaps_and_is_plain_xml(card in card()) {
        let picture = lay_out(&card);
        assert_inside(&picture)?;
        assert_no_overlap(&picture)?;
        assert_plain(&svg::with_text(&card, &picture))?;
        assert_plain(&svg::with_outlines(&picture))?;
    }
}

#[test]
fn every_sample_fits_its_canvas_without_overlaps() {
    for (name, card) in samples::all() {
        let picture = lay_out(&card);
        assert_inside(&picture)
            .and(assert_no_overlap(&picture))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

/// Letters of every script covered according to `fonts/README.md`, with additions of its languages.
const COVERED: &[&str] = &[
    "The quick brown fox jumps over the lazy dog 0123456789 ÀÖØöøÿ ĀžȘț ẞ Ắỹ ŵ ɐ “quoted” – — … € ₹ ₿ № ™ ½",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία ἄνθρωπος ᾧ",
    "Съешь ещё этих мягких французских булок Їжак ґедзь Ђорђе Љубљана қазақ ҙ ѣ",
    "نص حكيم له سر قاطع وذو شأن عظيم صِف خَلقَ 0٠١٢٣ گچپژ ٹڈڑے ەڕۆ ﷺ",
    "דג סקרן שט בים מאוכזב בְּרֵאשִׁית ₪",
    "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश ०१२ क़ श्री",
    "யாமறிந்த மொழிகளிலே ஸ்ரீ க்ஷ",
    "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า ๐๑๒",
    "ვეპხის ტყაოსანი შოთა რუსთაველი ᲐᲑ",
    "Բել դղյակի ձախ ժամն օֆ",
    "我能吞下玻璃而不伤身体。的一是不了人在有他这为之大来以个中上们",
    "我能吞下玻璃而不傷身體。這個們說會對與國學麼嗎體臺灣",
    "いろはにほへと ちりぬるを アイウエオ ー 「日本語」 直骨角海 ｱｲｳ １２３ ①",
    "키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다 ㄱㅏ",
    "→ ← ⇒ ∞ ≤ ≥ ≠ ∑ √ ✓ ✗ ★ ☆ ■ ● ♥ ♪ ⚠ ⌘",
    "😀 🎉 🤷‍♀️ 👨‍👩‍👧‍👦 👩🏽‍💻 🏳️‍🌈 🏴‍☠️ 🇫🇷 🇯🇵 🏴󠁧󠁢󠁥󠁮󠁧󠁿 1️⃣ #️⃣ ❤️‍🔥 🫠 🪿",
];

#[test]
fn covered_scripts_have_a_glyph_for_every_letter() {
    for text in COVERED {
        for weight in [Weight::Regular, Weight::Bold, Weight::Serif] {
            let line = Typesetter::of([&(*text).to_owned()]).line(text, weight, false);
            assert_eq!(line.missing, 0, "{text}");
            for glyph in line.runs.iter().flat_map(|run| &run.glyphs) {
                assert_ne!(glyph.id, 0, "{text}");
            }
        }
    }
}

/// A sequence missing from the font would be drawn as its separate emoji, side by side.
#[test]
fn an_emoji_sequence_is_one_glyph() {
    for text in ["👨‍👩‍👧‍👦", "👩🏽‍💻", "🏳️‍🌈", "🇫🇷", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "1️⃣", "❤️‍🔥", "👍🏽"]
    {
        let line = Typesetter { japanese: false }.line(text, Weight::Regular, false);
        let wide = Typesetter { japanese: false }.line("😀", Weight::Regular, false).width;
        assert!((line.width - wide).abs() < 0.01, "{text}: {} em", line.width);
    }
}

#[test]
fn a_letter_without_a_glyph_is_counted_and_drawn_as_a_box() {
    let line = Typesetter { japanese: false }.line("aខ", Weight::Regular, false);
    assert_eq!(line.missing, 1);
    assert!(line.width > 0.9);
}

#[test]
fn right_to_left_words_are_set_from_right_to_left() {
    let setter = Typesetter { japanese: false };
    let (first, second) = ("אב", "1");
    let rtl = setter.line(&format!("{first} {second}"), Weight::Regular, true);
    // The face of the pages draws the digit, on the left.
    assert!(rtl.runs.len() > 1);
    let of_pages = |run: Option<&Run>| run.and_then(|run| face(run.face)).is_some_and(Face::is_of_pages);
    assert!(of_pages(rtl.runs.first()) && !of_pages(rtl.runs.last()));
    let ltr = setter.line(&format!("a {first} b"), Weight::Regular, false);
    assert!(of_pages(ltr.runs.first()) && of_pages(ltr.runs.last()));
}

#[test]
fn the_faces_of_the_pages_draw_latin_texts_and_kern_them() {
    let setter = Typesetter { japanese: false };
    for weight in [Weight::Serif, Weight::Regular, Weight::Bold] {
        for text in ["TypeScript: 8 of 11 AI models · “why”?", "Łódź Čeština Türkçe ő ğ"] {
            assert!(setter.line(text, weight, false).is_low(), "{text}");
        }
        let width = |text| setter.line(text, weight, false).width;
        assert!(width("ToAV") < width("T") + width("o") + width("A") + width("V") - 0.05);
    }
    assert!(!setter.line("Київ", Weight::Serif, false).is_low());
}

#[test]
fn emoji_have_several_colours() {
    let picture = lay_out(&Card { question: "🍕?".to_owned(), ..Card::default() });
    let svg = svg::with_outlines(&picture);
    let mut colours: Vec<&str> = svg.split("fill=\"#").skip(1).map(|rest| &rest[..6]).collect();
    colours.sort_unstable();
    colours.dedup();
    // More than paper, ink and the mark's white.
    assert!(colours.len() > 5, "{colours:?}");
}
