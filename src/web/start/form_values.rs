//! Values of the form of the start page.

use crate::http::Form;

/// Values of the form. They are shown again if the form is rejected.
#[derive(Debug, Default, Clone)]
pub struct PollFormValues {
    /// The question, optionally with its options in brackets.
    pub question: String,
    /// The options, one per line.
    pub options: String,
    /// `free`, or the name of a profile.
    pub voters: String,
    /// The confidence threshold; empty for the profile's.
    pub confidence: String,
    /// The maximum cost in USD; empty for the profile's.
    pub max_cost: String,
    /// True if only the account may read the result.
    pub private: bool,
    /// Idempotency key of the submitted form.
    pub nonce: String,
}

impl PollFormValues {
    /// Reads the form.
    pub fn read(form: &Form) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        Self {
            question: text("question"),
            options: text("options"),
            voters: text("who"),
            confidence: text("confidence"),
            max_cost: text("max_cost"),
            private: !form.text("private").is_empty(),
            nonce: text("nonce"),
        }
    }

    /// Returns the profile's name, or `None` if the form selects the free models.
    pub fn profile(&self) -> Option<&str> {
        Some(self.voters.as_str()).filter(|voters| !voters.is_empty() && *voters != FREE)
    }

    /// True if the form requires an account: it sets a profile, a budget, a threshold or privacy.
    pub fn needs_account(&self) -> bool {
        let own = |text: &str| !text.is_empty();
        self.profile().is_some() || self.private || own(&self.confidence) || own(&self.max_cost)
    }

    /// Returns the options.
    pub fn option_lines(&self) -> impl Iterator<Item = &str> {
        self.options.lines().map(str::trim).filter(|line| !line.is_empty())
    }

    /// True if this choice is selected.
    pub(super) fn asks(&self, voters: &str) -> bool {
        self.voters == voters || (voters == FREE && self.voters.is_empty())
    }
}

/// The selection of a form that names no profile.
const FREE: &str = "free";
