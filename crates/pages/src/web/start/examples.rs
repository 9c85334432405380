//! Examples of questions for the start page: of taste or judgement, which a poll suits.

use super::form_values::PollFormValues;

/// A question with options.
pub struct Example {
    /// The question in a few words.
    pub title: &'static str,
    question: &'static str,
    options: &'static [&'static str],
}

/// The examples.
pub const EXAMPLES: [Example; 3] = [
    Example {
        title: "Pineapple on pizza?",
        question: "Does pineapple belong on pizza?",
        options: &["Yes", "No"],
    },
    Example {
        title: "Best first programming language?",
        question: "Which programming language should a beginner learn first?",
        options: &["Python", "JavaScript", "Scratch"],
    },
    Example {
        title: "Best drink for a long meeting?",
        question: "Which drink suits a long meeting best?",
        options: &["Tea", "Coffee", "Water"],
    },
];

impl Example {
    /// Returns the form with the example of this number, from 1.
    pub(super) fn form(number: &str) -> Option<PollFormValues> {
        let number: usize = number.parse().ok()?;
        let Self { question, options, .. } = EXAMPLES.get(number.checked_sub(1)?)?;
        Some(PollFormValues {
            question: (*question).to_owned(),
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            ..PollFormValues::default()
        })
    }
}
