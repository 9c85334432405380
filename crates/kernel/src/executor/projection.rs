//! Derives progress events from a poll's ballots.

use crate::event::{StartedEvent, VoteEvent};
use ep_polling::{Ballot, MicroUsd, Responses, ScaleResult, Tally, Usd};
use ep_store::PollRecord;

/// Derives events from consecutive ballots.
pub struct EventProjection<'a> {
    record: &'a PollRecord,
    responses: Responses,
    tally: Tally,
    cost: MicroUsd,
}

impl<'a> EventProjection<'a> {
    /// Creates the projection of this poll before its first ballot.
    pub fn new(record: &'a PollRecord) -> Self {
        let plan = &record.plan;
        Self {
            record,
            responses: plan.responses(),
            tally: Tally::new(plan.options.len()),
            cost: MicroUsd::ZERO,
        }
    }

    /// Returns the first event.
    pub fn started(&self, result_url: Option<String>) -> StartedEvent {
        let plan = &self.record.plan;
        StartedEvent {
            poll_id: self.record.id.clone(),
            result_url,
            question: plan.question.to_string(),
            options: plan.options.clone(),
            roster_size: plan.roster.len() as u32,
            simulated: plan.simulated,
        }
    }

    /// Returns the confidence so far that the whole roster would choose the leader of the tally, or pass or fail likewise.
    /// Zero while the evidence has another leader.
    pub fn confidence(&self) -> f64 {
        let highest = self.responses.highest_confidence();
        if highest.option == self.responses.overall().leader { highest.confidence() } else { 0.0 }
    }

    /// Returns the votes so far on a scale; `None` if the options are no levels.
    pub fn scale(&self) -> Option<ScaleResult> {
        let plan = &self.record.plan;
        ScaleResult::of(plan.kind, &plan.options, &self.tally, self.confidence())
    }

    /// Adds the next ballot.
    pub fn add(&mut self, ballot: &Ballot) {
        let position = ballot.position as usize;
        // A model with a ballot was called, and so was every model before it.
        while self.responses.launched() <= position && self.responses.launch().is_some() {}
        self.responses.record(position, self.record.plan.response(ballot));
        if let Ok(option) = ballot.vote {
            self.tally.count(option);
        }
        self.cost = self.cost.plus(ballot.spend.amount);
    }

    /// Adds the next ballot and returns its event.
    pub fn vote(&mut self, ballot: &Ballot) -> VoteEvent {
        self.add(ballot);
        let plan = &self.record.plan;
        let text = |option: usize| plan.options.get(option).cloned();
        VoteEvent {
            seq: ballot.seq,
            model_id: plan.model(ballot).to_owned(),
            chosen_option: ballot.vote.as_ref().ok().copied().and_then(text),
            error: ballot.vote.as_ref().err().map(|no_vote| no_vote.detail.clone()),
            probabilities: ballot.probabilities.as_ref().map(|given| given.named(&plan.options)),
            latency_ms: ballot.latency_ms,
            tally: self.tally.named(&plan.options),
            leader: self.tally.leader().and_then(text),
            confidence: self.confidence(),
            scale: self.scale(),
            cost_so_far: Some(Usd(self.cost)),
            answered: self.responses.completed() as u32,
            roster_size: plan.roster.len() as u32,
        }
    }
}
