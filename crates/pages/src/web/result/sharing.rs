//! Texts and picture of a link to a result.

use ep_site::layout::capitalized;
use ep_tools::polls::sentences::SIMULATED;

use crate::share_image::{Card, Choice};

use super::view::{Bar, View};
use super::words::isolated;

impl View {
    /// Returns the title of the page.
    pub(crate) fn title(&self) -> String {
        if self.simulated {
            format!("{SIMULATED}{}", isolated(&self.question))
        } else {
            self.question.clone()
        }
    }

    /// Returns the title of a link to the page: the answer, or the question while the poll runs.
    pub(crate) fn shared_title(&self) -> String {
        if self.running { self.title() } else { self.answer.line() }
    }

    /// Returns the text below the title of a link to the page.
    pub(crate) fn shared_text(&self) -> String {
        if self.running {
            return format!("{}. {}", capitalized(&format!("{} are voting now", self.voters)), self.sentence);
        }
        let counts: Vec<String> =
            self.bars.iter().map(|bar| format!("{} {}", isolated(&bar.label), bar.votes)).collect();
        format!("{} {}", isolated(&self.question), counts.join(" · "))
    }

    /// Returns the data of the poll's picture.
    pub(crate) fn card(&self, service: &str, host: &str) -> Card {
        // The picture colours the options by their order in the question.
        let mut bars: Vec<&Bar> = self.bars.iter().collect();
        bars.sort_by_key(|bar| bar.key);
        let choice = |bar: &Bar| Choice { label: bar.label.clone(), votes: bar.votes };
        let seats = self.chamber.as_ref().map_or(&[][..], |chamber| &chamber.seats);
        Card {
            service: service.to_owned(),
            host: host.to_owned(),
            question: self.question.clone(),
            answer: self.answer.text.clone(),
            answer_option: self.answer.option,
            score: self.answer.marked_score(),
            options: bars.into_iter().map(choice).collect(),
            seats: seats.iter().map(|seat| seat.state).collect(),
            square: self.simulated,
        }
    }
}
