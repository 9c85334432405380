//! Sample cards of every kind, for tests, the benchmark and inspection.

use ep_pages::share_image::{Card, Choice, Seat};

/// Returns a card with votes for options, of a panel with failed and unneeded models.
pub fn card(question: &str, options: &[(&str, u32)], failed: usize, unneeded: usize) -> Card {
    let all: u32 = options.iter().map(|(_, votes)| votes).sum();
    let most = options.iter().map(|(_, votes)| *votes).max().unwrap_or(0);
    let first = options.iter().position(|(_, votes)| *votes == most && most > 0);
    let tied = options.iter().filter(|(_, votes)| *votes == most).count();
    let winner = first.filter(|_| tied == 1);
    let mut order: Vec<usize> = (0..options.len()).collect();
    order.sort_by_key(|option| std::cmp::Reverse(options[*option].1));
    let votes = order.iter().flat_map(|option| vec![Seat::Vote(*option); options[*option].1 as usize]);
    let rest = [vec![Seat::NoVote; failed], vec![Seat::Empty; unneeded]].concat();
    let (answer, score) = match (winner, first) {
        (Some(winner), _) => (options[winner].0, format!("{most} of {all} AI models")),
        (None, Some(_)) => ("A tie", format!("{tied} options, {most} AI models each")),
        (None, None) => ("No votes", format!("from {failed} AI models")),
    };
    Card {
        service: "Ensemble Poll".to_owned(),
        host: "poll.example.org".to_owned(),
        question: question.to_owned(),
        answer: answer.to_owned(),
        answer_option: winner,
        score,
        options: options.iter().map(|&(label, votes)| Choice { label: label.to_owned(), votes }).collect(),
        seats: votes.chain(rest).collect(),
        square: false,
    }
}

fn ordinary() -> Card {
    let question = "Which language should a small team choose for a new web service?";
    card(question, &[("TypeScript", 8), ("Go", 2), ("Rust", 1), ("Python", 0)], 1, 6)
}

fn simulated() -> Card {
    let question = "Which drink suits a long meeting best?";
    let card = card(question, &[("Tea", 4), ("Water", 9), ("Juice", 1)], 0, 1);
    Card { score: "9 of 14 simulated voters".to_owned(), square: true, ..card }
}

fn running() -> Card {
    let card = card(
        "Should the meeting be moved to Thursday?",
        &[("Yes", 5), ("No", 2), ("I do not mind", 0)],
        1,
        10,
    );
    Card { score: "leads with 5 of 7 AI models".to_owned(), ..card }
}

/// Returns every kind of card by name.
pub fn all() -> Vec<(&'static str, Card)> {
    let long = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft".repeat(3);
    let long: String = long.chars().take(200).collect();
    let ten: Vec<(String, u32)> = (1..=10).map(|n| (format!("Option number {n}"), 20 / n)).collect();
    let ten: Vec<(&str, u32)> = ten.iter().map(|(label, votes)| (label.as_str(), *votes)).collect();
    let turned: Vec<(&str, u32)> =
        ten.iter().enumerate().map(|(index, (label, _))| (*label, index as u32)).collect();
    let words = "Considering cost, latency, licences, the state of tooling and how many people can be hired for it, \
                 which language should a small team choose for a long-lived service that handles payments, and would \
                 you still choose it if half of the team had never written a line of it before they joined?";
    let (han, faces) = ("人工智能会在十年内取代程序员吗".repeat(30), "👩🏽‍💻🤖🎉".repeat(40));
    let dense: Vec<(&str, u32)> = [han.as_str(), &faces].into_iter().cycle().take(10).zip(1..).collect();
    let sentence = "It depends on the team, on the product, on the time that there is and on the people";
    vec![
        ("ordinary", ordinary()),
        ("dense", card(&han, &dense, 20, 75)),
        (
            "tie",
            Card {
                score: "Tabs and Spaces, 12 AI models each".to_owned(),
                ..card("Tabs or spaces?", &[("Tabs", 12), ("Spaces", 12)], 0, 0)
            },
        ),
        ("no-votes", card("Is anybody there?", &[("Yes", 0), ("No", 0)], 15, 0)),
        ("running", running()),
        (
            "waiting",
            Card {
                answer: "Waiting".to_owned(),
                score: "for its turn".to_owned(),
                ..card("Is a hot dog a sandwich?", &[("Yes", 0), ("No", 0)], 0, 15)
            },
        ),
        (
            "close",
            Card {
                score: "Close: 6 of 11 AI models".to_owned(),
                ..card("Is a hot dog a sandwich?", &[("Yes", 6), ("No", 5)], 0, 0)
            },
        ),
        ("simulated", simulated()),
        ("three", card("Is a hot dog a sandwich?", &[("Yes", 2), ("No", 1)], 0, 0)),
        ("ten", card("Which of these ten would you pick?", &ten, 3, 5)),
        ("ten-turned", card("And which of these?", &turned, 3, 12)),
        (
            "panel-of-150",
            card(
                "Which of these four would you pick?",
                &[("North", 30), ("East", 60), ("South", 20), ("West", 5)],
                8,
                27,
            ),
        ),
        ("failures", card("Is a hot dog a sandwich?", &[("Yes", 3), ("No", 2)], 13, 0)),
        ("long-question", card(words, &[("Rust", 20), ("Go", 9), ("Java", 5)], 2, 4)),
        ("long-option", card(words, &[(&long, 15), ("No", 3), (&words[..200], 2)], 0, 0)),
        (
            "sentences",
            card("What should we choose?", &[(sentence, 15), (&words[..90], 3), ("Nothing at all", 2)], 0, 0),
        ),
        (
            "arabic",
            card(
                "ما هي أفضل لغة برمجة لتعلمها في عام 2026؟",
                &[("بايثون", 10), ("Rust", 18), ("جافا سكريبت!", 2)],
                0,
                0,
            ),
        ),
        (
            "hebrew-mixed",
            card(
                "האם GPT-5 טוב יותר מ-Claude בכתיבת קוד ב-Rust (2026)?",
                &[("כן, בהחלט!", 12), ("לא (no)", 6), ("Depends on context", 2)],
                1,
                4,
            ),
        ),
        (
            "rtl-options",
            card("Which greeting is warmest?", &[("שלום (hello)", 9), ("مرحبًا!", 7), ("hello", 4)], 0, 0),
        ),
        (
            "hindi",
            card(
                "क्या कृत्रिम बुद्धिमत्ता शिक्षकों की जगह ले सकती है?",
                &[("हाँ", 5), ("नहीं", 22), ("शायद, श्रद्धा से", 3)],
                0,
                0,
            ),
        ),
        (
            "chinese",
            card(
                "人工智能会在十年内取代程序员吗?你认为最可能的结果是什么?",
                &[("会", 4), ("不会", 24), ("取決於監管與教育的發展", 3)],
                0,
                0,
            ),
        ),
        (
            "japanese",
            card(
                "プログラミングを学ぶなら、どの言語から始めるのが一番良いと思いますか?",
                &[("Python", 20), ("ジャバスクリプト", 7), ("直感で選ぶ", 4)],
                0,
                0,
            ),
        ),
        (
            "korean",
            card(
                "인공지능이 10년 안에 프로그래머를 대체할까요?",
                &[("예", 6), ("아니요", 22), ("잘 모르겠습니다", 3)],
                0,
                0,
            ),
        ),
        (
            "greek",
            card(
                "Ποιος πλανήτης έχει τα περισσότερα φεγγάρια;",
                &[("Δίας", 6), ("Κρόνος", 24), ("Ἀθήνα ᾧ", 1)],
                0,
                0,
            ),
        ),
        (
            "cyrillic",
            card(
                "Какой язык программирования стоит выучить первым?",
                &[("Python", 20), ("Українська їжа", 7), ("Ћирилица", 4)],
                0,
                0,
            ),
        ),
        (
            "european",
            card(
                "Który język: Łódź, Čeština, Türkçe, Tiếng Việt?",
                &[("Żółć", 9), ("Příliš žluťoučký", 5), ("Ơ đây", 2)],
                0,
                0,
            ),
        ),
        (
            "emoji",
            card(
                "Which one is the best? 👨‍👩‍👧‍👦 🇫🇷 🏳️‍🌈 👍🏽 1️⃣ ❤️‍🔥",
                &[("🍕 Pizza", 14), ("👩🏽‍💻 Coding", 6), ("🇯🇵 🇧🇷 🏴󠁧󠁢󠁳󠁣󠁴󠁿 flags", 3), ("→ ✓ ★ ≤ ∞ € ₿", 1)],
                0,
                0,
            ),
        ),
        (
            "markup",
            card(
                "<script>alert(\"1\")</script> & <b>bold</b> 'quoted'?",
                &[
                    ("<img src=x onerror=alert(1)>", 5),
                    ("&amp; ]]> <!-- -->", 4),
                    ("\u{0}\u{8}\u{1b}[31m red", 2),
                ],
                0,
                0,
            ),
        ),
        (
            "controls",
            card(
                "\u{202e}gnp.exe\u{202c} \u{2066}\u{2067}or\u{202d} not?\n\n\tSecond line",
                &[
                    ("\u{202e}one", 5),
                    ("tw\u{200b}o\u{2069}\u{2069}", 4),
                    (&format!("z{}", "\u{335}\u{301}".repeat(60)), 2),
                ],
                0,
                0,
            ),
        ),
        (
            "other-scripts",
            card(
                "ภาษาไทย தமிழ் ქართული Հայերեն — ខ្មែរ မြန်မာ አማርኛ?",
                &[("ใช่แล้ว", 5), ("ஆம், நிச்சயமாக", 4), ("ខ្មែរ 𝗕𝗼𝗹𝗱 ﬁ ①", 2)],
                0,
                0,
            ),
        ),
    ]
}
