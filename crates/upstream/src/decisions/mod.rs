//! Decision models: they do not chat, but give a probability to each option of a question. The option with the greatest
//! probability is the vote. Three decision APIs are spoken: OpenAI's, System One's, and Gemini's.

mod request;
pub(crate) mod response;
mod voting;

use crate::config::SetupError;
use crate::decision_rules::Dialect;
use crate::endpoint::{Endpoint, Route};

/// The form of a vote by a decision model, for metrics and traces.
pub(crate) const FORM: &str = "decision";

/// The routes of the dialects.
pub(crate) struct Routes {
    open_ai: Route,
    system_one: Route,
    gemini: Route,
}

impl Routes {
    pub(crate) fn new(endpoint: &Endpoint) -> Result<Self, SetupError> {
        Ok(Self {
            open_ai: endpoint.decisions(Dialect::OpenAi)?,
            system_one: endpoint.decisions(Dialect::SystemOne)?,
            gemini: endpoint.decisions(Dialect::Gemini)?,
        })
    }

    fn of(&self, dialect: Dialect) -> &Route {
        match dialect {
            Dialect::OpenAi => &self.open_ai,
            Dialect::SystemOne => &self.system_one,
            Dialect::Gemini => &self.gemini,
        }
    }
}
