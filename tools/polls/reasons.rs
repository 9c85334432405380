//! Reasons of voters, requested after the vote. They are no part of it.

use std::sync::Arc;

use ep_kernel::PollState;
use ep_polling::{Ballot, ExplanationText};
use ep_store::Closing;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::audience::Audience;

/// One model's reason for its vote, in a sentence, given after the vote had been decided.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct VoterReason {
    /// The model.
    pub model_id: String,
    /// The option it had voted for.
    pub chosen_option: String,
    /// Its reason: one line of at most 280 characters, as the model wrote it.
    pub reason: String,
}

/// Returns the reasons of a closed poll, for the first option first.
pub fn reasons(state: &PollState, closing: &Closing) -> Vec<VoterReason> {
    let plan = &state.record.plan;
    let given = closing.explanations.iter().filter_map(|explanation| {
        let text = explanation.text.as_ref()?;
        let ballot = state.ballots.iter().find(|ballot| ballot.position == explanation.position)?;
        let option = *ballot.vote.as_ref().ok()?;
        Some((option, plan.model(ballot), text))
    });
    let mut given: Vec<_> = given.collect();
    // Voters of the two options alternate.
    if let Some((first, ..)) = given.first().copied() {
        given.sort_by_key(|(option, ..)| *option != first);
    }
    let reason = |(option, model, text): (usize, &str, &ExplanationText)| VoterReason {
        model_id: model.to_owned(),
        chosen_option: plan.options.get(option).cloned().unwrap_or_default(),
        reason: text.as_str().to_owned(),
    };
    given.into_iter().map(reason).collect()
}

/// Returns the notice of a poll with fewer reasons than requested.
pub fn missing_reasons(state: &PollState, closing: &Closing, audience: Audience) -> Option<String> {
    let plan = &state.record.plan;
    let requested = plan.explainers(state.ballots.iter().map(AsRef::as_ref)).len();
    let decided = |ballot: &Arc<Ballot>| ballot.vote.is_ok() && ballot.probabilities.is_some();
    if requested == 0 && plan.explanations.is_some() && state.ballots.iter().any(decided) {
        return Some("decision models, which cast all votes, give no reasons".to_owned());
    }
    let asked = closing.explanations.len();
    let given = closing.explanations.iter().filter(|explanation| explanation.text.is_some()).count();
    if asked < requested && audience == Audience::Owner {
        return Some(format!("max_cost_usd left room to ask {asked} of {requested} models for a reason"));
    }
    (given < asked).then(|| format!("{given} of {asked} models gave a reason for their vote"))
}
