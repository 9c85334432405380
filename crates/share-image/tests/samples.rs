//! Sample cards of every kind, for tests, the benchmark and inspection.

use ep_share_image::{Bar, Card, Status};

/// Returns a card with votes for options; the first `winners` of them win.
pub fn card(question: &str, outcome: &str, bars: &[(&str, u32)]) -> Card {
    let total: u32 = bars.iter().map(|(_, votes)| votes).sum();
    let most = bars.iter().map(|(_, votes)| *votes).max().unwrap_or(0);
    let alone = bars.iter().filter(|(_, votes)| *votes == most).count() == 1;
    Card {
        service: "Ensemble Poll".to_owned(),
        host: "poll.example.org".to_owned(),
        question: question.to_owned(),
        bars: bars
            .iter()
            .map(|&(label, votes)| Bar {
                label: label.to_owned(),
                votes,
                share: if total == 0 { 0.0 } else { f64::from(votes) / f64::from(total) },
                winner: alone && votes == most,
            })
            .collect(),
        outcome: outcome.to_owned(),
        confidence: "If all 50 models were asked, it would still win: at least 98.8 % sure.".to_owned(),
        simulated: false,
        status: Status::Ended,
    }
}

fn ordinary() -> Card {
    card(
        "Which drink suits a long meeting best?",
        "Water won with 24 of 31 votes.",
        &[("Tea", 6), ("Water", 24), ("Juice", 1)],
    )
}

/// Returns every kind of card by name.
pub fn all() -> Vec<(&'static str, Card)> {
    let long = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft".repeat(3);
    let long: String = long.chars().take(200).collect();
    let ten: Vec<(String, u32)> = (1..=10).map(|n| (format!("Option number {n}"), 40 / n)).collect();
    let ten: Vec<(&str, u32)> = ten.iter().map(|(label, votes)| (label.as_str(), *votes)).collect();
    let turned: Vec<(&str, u32)> =
        ten.iter().enumerate().map(|(index, (label, _))| (*label, index as u32)).collect();
    let words = "Considering cost, latency, licences, the state of tooling and how many people can be hired for it, \
                 which language should a small team choose for a long-lived service that handles payments, and would \
                 you still choose it if half of the team had never written a line of it before they joined?";
    let (han, faces) = ("人工智能会在十年内取代程序员吗".repeat(30), "👩🏽‍💻🤖🎉".repeat(40));
    let dense: Vec<(&str, u32)> = [han.as_str(), &faces].into_iter().cycle().take(10).zip(1..).collect();
    vec![
        ("ordinary", ordinary()),
        ("dense", Card { confidence: han.clone(), ..card(&han, &faces, &dense) }),
        (
            "tie",
            Card {
                confidence: "Asking the remaining models could have decided it either way.".to_owned(),
                ..card(
                    "Tabs or spaces?",
                    "Tabs and spaces tie with 12 votes each.",
                    &[("Tabs", 12), ("Spaces", 12)],
                )
            },
        ),
        (
            "no-votes",
            Card {
                confidence: String::new(),
                ..card("Is anybody there?", "No model responded.", &[("Yes", 0), ("No", 0)])
            },
        ),
        (
            "running",
            Card {
                status: Status::Running,
                confidence: "14 of 50 models have responded.".to_owned(),
                ..card(
                    "Should the meeting be moved to Thursday?",
                    "Yes leads with 9 of 14 votes.",
                    &[("Yes", 9), ("No", 4), ("I do not mind", 1)],
                )
            },
        ),
        ("simulated", Card { simulated: true, ..ordinary() }),
        (
            "simulated-running-ten",
            Card { simulated: true, status: Status::Running, ..card(words, "Option number 1 leads.", &ten) },
        ),
        ("ten", card("Which of these ten would you pick?", "Option number 1 won with 40 votes.", &ten)),
        ("ten-turned", card("And which of these?", "Option number 10 won.", &turned)),
        (
            "long-question",
            card(words, "Rust won with 20 of 34 votes.", &[("Rust", 20), ("Go", 9), ("Java", 5)]),
        ),
        ("long-option", card(&long, &format!("{long} won."), &[(&long, 15), ("No", 3), (&words[..200], 2)])),
        (
            "arabic",
            card(
                "ما هي أفضل لغة برمجة لتعلمها في عام 2026؟",
                "فازت لغة Rust بـ 18 صوتًا من أصل 30.",
                &[("بايثون", 10), ("Rust", 18), ("جافا سكريبت!", 2)],
            ),
        ),
        (
            "hebrew-mixed",
            card(
                "האם GPT-5 טוב יותר מ-Claude בכתיבת קוד ב-Rust (2026)?",
                "\u{2068}כן, בהחלט!\u{2069} won with 12 of 20 votes.",
                &[("כן, בהחלט!", 12), ("לא (no)", 6), ("Depends on context", 2)],
            ),
        ),
        (
            "rtl-options",
            card(
                "Which greeting is warmest?",
                "\u{2068}שלום\u{2069} won with 9 of 20 votes.",
                &[("שלום (hello)", 9), ("مرحبًا!", 7), ("hello", 4)],
            ),
        ),
        (
            "hindi",
            card(
                "क्या कृत्रिम बुद्धिमत्ता शिक्षकों की जगह ले सकती है?",
                "“नहीं” को 30 में से 22 मत मिले।",
                &[("हाँ", 5), ("नहीं", 22), ("शायद, श्रद्धा से", 3)],
            ),
        ),
        (
            "chinese",
            card(
                "人工智能会在十年内取代程序员吗?你认为最可能的结果是什么?",
                "「不会」以 24 票获胜。",
                &[("会", 4), ("不会", 24), ("取決於監管與教育的發展", 3)],
            ),
        ),
        (
            "japanese",
            card(
                "プログラミングを学ぶなら、どの言語から始めるのが一番良いと思いますか?",
                "「Python」が31票中20票で勝ちました。",
                &[("Python", 20), ("ジャバスクリプト", 7), ("直感で選ぶ", 4)],
            ),
        ),
        (
            "korean",
            card(
                "인공지능이 10년 안에 프로그래머를 대체할까요?",
                "“아니요”가 31표 중 22표로 이겼습니다.",
                &[("예", 6), ("아니요", 22), ("잘 모르겠습니다", 3)],
            ),
        ),
        (
            "greek",
            card(
                "Ποιος πλανήτης έχει τα περισσότερα φεγγάρια;",
                "Ο Κρόνος κέρδισε με 24 ψήφους.",
                &[("Δίας", 6), ("Κρόνος", 24), ("Ἀθήνα ᾧ", 1)],
            ),
        ),
        (
            "cyrillic",
            card(
                "Какой язык программирования стоит выучить первым?",
                "Победил Python: 20 голосов из 31.",
                &[("Python", 20), ("Українська їжа", 7), ("Ћирилица", 4)],
            ),
        ),
        (
            "emoji",
            card(
                "Which one is the best? 👨‍👩‍👧‍👦 🇫🇷 🏳️‍🌈 👍🏽 1️⃣ ❤️‍🔥",
                "🍕 won with 14 votes 🎉",
                &[("🍕 Pizza", 14), ("👩🏽‍💻 Coding", 6), ("🇯🇵 🇧🇷 🏴󠁧󠁢󠁳󠁣󠁴󠁿 flags", 3), ("→ ✓ ★ ≤ ∞ € ₿", 1)],
            ),
        ),
        (
            "markup",
            card(
                "<script>alert(\"1\")</script> & <b>bold</b> 'quoted'?",
                "</text></svg><script>x</script> won.",
                &[
                    ("<img src=x onerror=alert(1)>", 5),
                    ("&amp; ]]> <!-- -->", 4),
                    ("\u{0}\u{8}\u{1b}[31m red", 2),
                ],
            ),
        ),
        (
            "controls",
            card(
                "\u{202e}gnp.exe\u{202c} \u{2066}\u{2067}or\u{202d} not?\n\n\tSecond line",
                "\u{202e}Reversed won.",
                &[
                    ("\u{202e}one", 5),
                    ("tw\u{200b}o\u{2069}\u{2069}", 4),
                    (&format!("z{}", "\u{335}\u{301}".repeat(60)), 2),
                ],
            ),
        ),
        (
            "other-scripts",
            card(
                "ภาษาไทย தமிழ் ქართული Հայերեն — ខ្មែរ မြန်မာ አማርኛ?",
                "𝗕𝗼𝗹𝗱 ﬁ ① won.",
                &[("ใช่แล้ว", 5), ("ஆம், நிச்சயமாக", 4), ("ខ្មែរ", 2)],
            ),
        ),
    ]
}
