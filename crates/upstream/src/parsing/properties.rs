//! Properties of arbitrary answers.

use std::borrow::Cow;

use proptest::prelude::*;

use super::testing::view;
use super::{AnswerContent, ParsedVote, parse};

const OPTIONS: [&str; 4] = ["Earth", "Mars", "Earthrise now", "No"];

fn as_text(text: &str) -> ParsedVote {
    parse(&AnswerContent { calls: Vec::new(), text: Some(Cow::Borrowed(text)) }, &view(&OPTIONS))
}

fn as_call(arguments: &str) -> ParsedVote {
    parse(&AnswerContent { calls: vec![Cow::Borrowed(arguments)], text: None }, &view(&OPTIONS))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let text = String::from_utf8_lossy(&bytes);
        as_text(&text);
        as_call(&text);
    }

    #[test]
    fn nothing_panics_on_text_like_an_answer(
        text in r#"([{}\[\]"'`:=,<>\\ \n]|option|vote|BC|DF|Earth|No|not|</?think>|\\u00|“|”|é){0,40}"#
    ) {
        as_text(&text);
        as_call(&text);
    }

    #[test]
    fn a_unique_code_always_resolves(
        before in "([b-lp-z ,.\n]{0,30}[ \n.,])?",
        after in "([ \n.,][b-lp-z ,.\n]{0,30})?",
    ) {
        prop_assume!(!names_a_text(&before) && !names_a_text(&after));
        prop_assert_eq!(as_text(&format!("{before}DF{after}")), ParsedVote::Vote(1));
        prop_assert_eq!(as_call(&format!("{{\"option\":\"{}DF{}\"}}", before.replace('\n', " "), after.replace('\n', " "))), ParsedVote::Vote(1));
    }

    #[test]
    fn an_option_that_is_not_named_gets_no_vote(text in r#"([{}":,<>. \n]|option|vote|answer|[klp-z]{3,9}|XY|Ear|rise){0,30}"#) {
        prop_assume!(!names_a_text(&text));
        prop_assert_eq!(as_text(&text), ParsedVote::Missing, "{}", text);
        prop_assert_eq!(as_call(&text), ParsedVote::Missing, "{}", text);
    }
}

/// Whether the text contains an option or a code, found without the code under test.
fn names_a_text(text: &str) -> bool {
    let text = text.to_lowercase();
    let flat: String = text.chars().filter(|c| c.is_alphanumeric()).collect();
    flat.contains("earth")
        || flat.contains("mars")
        || ["bc", "df", "gh", "jk", "no"].iter().any(|word| flat.contains(word))
}
