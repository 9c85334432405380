//! Values of the form of the start page.

use ep_site::http::Form;
use ep_tools::polls::ProposedOptions;
use serde::{Deserialize, Serialize};

/// Values of the form. They are shown again if the form is rejected.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
#[serde(default)]
pub struct PollFormValues {
    /// The question, optionally with its options in brackets.
    pub question: String,
    /// The options; none is empty.
    pub options: Vec<String>,
    /// `free`, or the name of a profile.
    pub voters: String,
    /// The confidence threshold; empty for the profile's.
    pub confidence: String,
    /// The maximum cost in USD; empty for the profile's.
    pub max_cost: String,
    /// True if only the account may read the result.
    pub private: bool,
    /// Idempotency key of the submitted form.
    #[serde(skip)]
    pub nonce: String,
    /// The models that proposed the options; empty if nobody did.
    #[serde(skip)]
    pub proposed_by: String,
}

impl PollFormValues {
    /// Reads the form.
    pub fn read(form: &Form) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        let options = form.fields().filter(|(name, _)| *name == "option").map(|(_, text)| text.trim());
        Self {
            question: text("question"),
            options: options.filter(|option| !option.is_empty()).map(str::to_owned).collect(),
            voters: text("who"),
            confidence: text("confidence"),
            max_cost: text("max_cost"),
            private: form.has("private"),
            nonce: text("nonce"),
            proposed_by: String::new(),
        }
    }

    /// Returns the form with proposed options.
    pub(super) fn with(&self, proposed: ProposedOptions) -> Self {
        Self { proposed_by: proposed.proposers(), options: proposed.options, ..self.clone() }
    }

    /// Returns the profile's name, or `None` if the form selects the free models.
    pub fn profile(&self) -> Option<&str> {
        Some(self.voters.as_str()).filter(|voters| !voters.is_empty() && *voters != FREE)
    }

    /// Returns the form for the free models, without settings that require an account.
    pub(super) fn free(self) -> Self {
        Self { question: self.question, options: self.options, ..Self::default() }
    }

    /// True if the form requires an account: it sets a profile, a budget, a threshold or privacy.
    pub fn needs_account(&self) -> bool {
        self.profile().is_some() || self.has_terms()
    }

    /// True if the form sets a budget, a threshold or privacy.
    pub(super) const fn has_terms(&self) -> bool {
        self.private || !self.confidence.is_empty() || !self.max_cost.is_empty()
    }

    /// True if this choice is selected.
    pub(super) fn asks(&self, voters: &str) -> bool {
        self.voters == voters || (voters == FREE && self.voters.is_empty())
    }
}

/// The selection of a form that names no profile.
pub(crate) const FREE: &str = "free";
