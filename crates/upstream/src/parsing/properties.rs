//! Property tests with arbitrary responses.

use std::borrow::Cow;

use ep_polling::ChoiceForm;
use proptest::prelude::*;

use super::testing::view;
use super::{ParsedVote, ResponseContent, parse};

const OPTIONS: [&str; 4] = ["Earth", "Mars", "Earthrise now", "No"];
const FORMS: [ChoiceForm; 2] = [ChoiceForm::Text, ChoiceForm::Letter];

fn as_text(text: &str, form: ChoiceForm) -> ParsedVote {
    parse(
        &ResponseContent { calls: Vec::new(), text: Some(Cow::Borrowed(text)) },
        &view(&OPTIONS),
        form,
        false,
    )
}

fn as_call(arguments: &str, form: ChoiceForm) -> ParsedVote {
    let content = ResponseContent { calls: vec![Cow::Borrowed(arguments)], text: None };
    parse(&content, &view(&OPTIONS), form, false)
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
    fn a_declared_option_is_always_found(before in "([b-lp-z ,.\n]{0,30}[.,])?") {
        prop_assume!(!names_a_text(&before));
        for declared in ["Mars", "**Mars**", "Answer: Mars", "My vote is Mars.", "{\"option\":\"Mars\"}"] {
            prop_assert_eq!(as_text(&format!("{before}\n{declared}"), ChoiceForm::Text), ParsedVote::Vote(1));
        }
        let value = before.replace('\n', " ");
        let arguments = format!("{{\"reason\":\"{value}\",\"option\":\"Mars\"}}");
        prop_assert_eq!(as_call(&arguments, ChoiceForm::Text), ParsedVote::Vote(1));
    }

    #[test]
    fn an_option_that_is_not_named_gets_no_vote(text in r#"([{}":,<>. \n]|option|vote|answer|[klp-z]{3,9}|XY|Ear|rise){0,30}"#) {
        prop_assume!(!names_a_text(&text));
        for form in FORMS {
            for vote in [as_text(&text, form), as_call(&text, form)] {
                prop_assert!(matches!(vote, ParsedVote::Missing | ParsedVote::CutOff), "{}", text);
            }
        }
    }
}

/// Returns true if the text contains an option, independently of the code under test.
fn names_a_text(text: &str) -> bool {
    let flat: String = text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
    ["earth", "mars", "no"].iter().any(|word| flat.contains(word))
}
