//! Reasons of voters, by option.

use ep_site::layout::one_line;
use ep_tools::polls::sentences::number;
use ep_tools::results::PollResult;

use crate::share_image::letter;

use super::answer::voter_of;
use super::votes::{colour, index_of};

/// The reasons of the voters of one option.
pub struct OptionReasons {
    pub(crate) option: String,
    /// For example "8 models".
    pub(crate) voters: String,
    pub(crate) colour: usize,
    pub(crate) key: char,
    pub(crate) quotes: Vec<Quote>,
}

impl OptionReasons {
    /// Returns the heading on one line of Markdown.
    pub(crate) fn line(&self) -> String {
        one_line(&format!("{} for {}", self.voters, self.option))
    }
}

/// A model's reason.
pub struct Quote {
    pub(crate) model: String,
    pub(crate) reason: String,
}

impl Quote {
    /// Returns the reason on one line of Markdown.
    pub(crate) fn line(&self) -> String {
        one_line(&format!("{} ({})", self.reason, self.model))
    }
}

/// Groups the reasons of a poll by option, in their order.
pub(super) fn by_option(poll: &PollResult) -> Vec<OptionReasons> {
    let mut groups: Vec<OptionReasons> = Vec::new();
    for given in &poll.reasons {
        let quote = Quote { model: given.model_id.clone(), reason: given.reason.clone() };
        if let Some(group) = groups.iter_mut().find(|group| group.option == given.chosen_option) {
            group.quotes.push(quote);
            continue;
        }
        let Some(position) = index_of(poll, &given.chosen_option) else { continue };
        groups.push(OptionReasons {
            voters: number(poll.tally.of(&given.chosen_option), voter_of(poll)),
            option: given.chosen_option.clone(),
            colour: colour(position),
            key: letter(position),
            quotes: vec![quote],
        });
    }
    groups
}
