//! Requests for texts instead of votes: explanations of votes, and options for a question that has none.
//!
//! Each is a single request with the parameters that the server is known to support, and is not repeated if it fails. Only a
//! server that does not support the form of a request for options is asked once more, in the plainest form.

use ep_kernel::{CallLimits, ExplanationResponse, ProposalResponse};
use ep_polling::proposals::MAX_EACH;
use ep_polling::{BallotView, Choice, ExplanationText, Member};
use tokio::time::Instant;

use crate::calls::{Caller, MAX_DURATION};
use crate::chat::cost::VoteCost;
use crate::chat::error::is_busy;
use crate::chat::request::{Asks, VoteRequest};
use crate::chat::response::{Completion, CompletionChoice};
use crate::fallback_level::FallbackLevel;
use crate::parsing::{proposed_options, without_reasoning};
use crate::transport::{RawResponse, TransportError};
use crate::voting::{Capabilities, Voting};

impl Voting {
    /// Requests an explanation from a model that voted for this option.
    pub(crate) async fn explain(
        &self,
        caller: &Caller,
        member: &Member,
        view: &BallotView,
        option: usize,
        capabilities: Capabilities,
        limits: CallLimits,
    ) -> ExplanationResponse {
        let mut cost = VoteCost::new(member.price);
        let is_chosen = |choice: &&Choice| choice.option == option;
        let text = match view.choices.iter().find(is_chosen) {
            Some(choice) => {
                let fallback = self.fallback.of_model(&member.model, capabilities.first_level).await;
                let request = self.request(member, view, capabilities, fallback.profile());
                let level = FallbackLevel::Prose;
                let request = VoteRequest { level, asks: Asks::Reason(&choice.text), ..request };
                let sent = self.send_request(caller, member, &request, &limits).await;
                read(sent, &mut cost, |answer| {
                    ExplanationText::new(&without_reasoning(&answer.content().text?))
                })
            }
            None => None,
        };
        ExplanationResponse { text, spend: cost.total() }
    }

    /// Requests options for the question of `view`, which has no choices.
    pub(crate) async fn propose(
        &self,
        caller: &Caller,
        member: &Member,
        view: &BallotView,
        capabilities: Capabilities,
        limits: CallLimits,
    ) -> ProposalResponse {
        let mut cost = VoteCost::new(member.price);
        let mut options = Vec::new();
        let fallback = self.fallback.of_model(&member.model, capabilities.first_level).await;
        let mut level = fallback.profile().level;
        loop {
            let request = self.request(member, view, capabilities, fallback.profile());
            let request = VoteRequest { level, asks: Asks::Options, ..request };
            let sent = self.send_request(caller, member, &request, &limits).await;
            let is_unsupported = matches!(&sent, Ok(response) if matches!(response.status, 400 | 404 | 422));
            if let Some(read) =
                read(sent, &mut cost, |answer| Some(proposed_options(&answer.content(), MAX_EACH)))
            {
                options = read;
            }
            if !is_unsupported || level == FallbackLevel::Prose {
                break;
            }
            level = FallbackLevel::Prose;
        }
        ProposalResponse { options, spend: cost.total() }
    }

    async fn send_request(
        &self,
        caller: &Caller,
        member: &Member,
        request: &VoteRequest<'_>,
        limits: &CallLimits,
    ) -> Result<RawResponse, TransportError> {
        let deadline = Instant::now() + limits.within.min(caller.model_timeout).min(MAX_DURATION);
        let free = member.price.is_some_and(|price| price.is_free());
        let Ok(reservation) = caller.limits.reserve(free, deadline) else {
            return Err(TransportError::NotSent);
        };
        tokio::select! {
            biased;
            () = reservation.wait() => {}
            () = limits.dropped.cancelled() => return Err(TransportError::NotSent),
        }
        let place = caller.place(&member.model, limits.turn, deadline, &limits.dropped).await;
        let place = place.map_err(|_| TransportError::NotSent)?;
        let sent_at = Instant::now();
        let sent = caller.transport.send(&self.route, request.body(), deadline, &limits.dropped).await;
        drop(place);
        match &sent {
            Ok(response) if response.status < 300 => caller.windows.note_answer(&member.model),
            Ok(response) if is_busy(response.status) => {
                caller.windows.note_refusal(&member.model, sent_at);
            }
            _ => {}
        }
        sent
    }
}

/// Reads the answer of a response and adds its cost.
fn read<T>(
    sent: Result<RawResponse, TransportError>,
    cost: &mut VoteCost,
    answer: impl FnOnce(&CompletionChoice<'_>) -> Option<T>,
) -> Option<T> {
    let response = match sent {
        Ok(response) => response,
        Err(error) => {
            if error.may_be_charged() {
                cost.add_unreported();
            }
            return None;
        }
    };
    let completion = Completion::read(&response.body);
    let usage = completion.as_ref().and_then(Completion::usage);
    let choice = completion.as_ref().and_then(Completion::choice).unwrap_or_default();
    let failed = completion.as_ref().is_some_and(|completion| completion.error(Some(&choice)).is_some());
    if response.status >= 400 || failed {
        cost.add_failure(response.cost, usage);
        return None;
    }
    cost.add_response(response.cost, usage);
    if choice.declined() { None } else { answer(&choice) }
}
