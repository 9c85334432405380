//! Property tests with arbitrary responses.

use std::borrow::Cow;

use ep_polling::ballot::ChoiceForm;
use proptest::prelude::*;

use super::testing::view;
use super::{ParsedVote, ResponseContent, parse};

const OPTIONS: [&str; 4] = ["Earth", "Mars", "Earthrise now", "No"];
const FORMS: [ChoiceForm; 2] = [ChoiceForm::Text, ChoiceForm::Letter];

fn as_text(text: &str, form: ChoiceForm) -> ParsedVote {
    parse(&ResponseContent { calls: Vec::new(), text: Some(Cow::Borrowed(text)) }, &view(&OPTIONS), form)
}

fn as_call(arguments: &str, form: ChoiceForm) -> ParsedVote {
    let content = ResponseContent { calls: vec![Cow::Borrowed(arguments)], text: None };
    parse(&content, &view(&OPTIONS), form)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let text = String::from_utf8_lossy(&bytes);
        for form in FORMS {
            as_text(&text, form);
            as_call(&text, form);
        }
    }

    #[test]
    fn nothing_panics_on_text_like_an_answer(
        text in r#"([{}\[\]"'`:=,<>\\ \n]|option|vote|A|DF|Earth|No|not|</?think>|</?reasoning>|\\u00|“|”|é){0,40}"#
    ) {
        for form in FORMS {
            as_text(&text, form);
            as_call(&text, form);
        }
    }

    #[test]
    fn a_named_option_is_always_found(
        before in "([b-lp-z ,.\n]{0,30}[ \n.,])?",
        after in "([ \n.,][b-lp-z ,.\n]{0,30})?",
    ) {
        prop_assume!(!names_a_text(&before) && !names_a_text(&after));
        let value = format!("{}Mars{}", before.replace('\n', " "), after.replace('\n', " "));
        prop_assert_eq!(as_text(&format!("{before}Mars{after}"), ChoiceForm::Text), ParsedVote::Vote(1));
        prop_assert_eq!(as_call(&format!("{{\"option\":\"{value}\"}}"), ChoiceForm::Text), ParsedVote::Vote(1));
    }

    #[test]
    fn an_option_that_is_not_named_gets_no_vote(text in r#"([{}":,<>. \n]|option|vote|answer|[klp-z]{3,9}|XY|Ear|rise){0,30}"#) {
        prop_assume!(!names_a_text(&text));
        for form in FORMS {
            prop_assert_eq!(as_text(&text, form), ParsedVote::Missing, "{}", text);
            prop_assert_eq!(as_call(&text, form), ParsedVote::Missing, "{}", text);
        }
    }
}

/// Returns true if the text contains an option, independently of the code under test.
fn names_a_text(text: &str) -> bool {
    let flat: String = text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
    ["earth", "mars", "no"].iter().any(|word| flat.contains(word))
}
