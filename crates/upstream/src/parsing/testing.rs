//! Ballot views for the tests of this module.

use ep_polling::{BallotView, Choice, ChoiceForm};

/// Returns a view of these options in this order.
pub(super) fn view(texts: &[&str]) -> BallotView {
    let choice = |(option, text): (usize, &&str)| Choice { text: (*text).to_owned(), option };
    BallotView {
        question: "Which of these planets is the red one? 这些行星中哪一颗是红色的？".into(),
        choices: texts.iter().enumerate().map(choice).collect(),
        answer: ChoiceForm::Text,
        delimiter_mark: 0x1234_abcd,
    }
}
