//! A single explanation: one request to a model that has voted, without a tool.
//!
//! The model has just responded to a vote, so the request has the parameters that the server is known to support,
//! and is not repeated if it fails.

use ep_kernel::{CallLimits, ExplanationResponse};
use ep_polling::{BallotView, Choice, ExplanationText, Member};
use tokio::time::Instant;

use crate::calls::{Caller, MAX_DURATION};
use crate::chat::cost::VoteCost;
use crate::chat::error::is_busy;
use crate::chat::request::{Follows, VoteRequest};
use crate::chat::response::Completion;
use crate::fallback_level::FallbackLevel;
use crate::parsing::without_reasoning;
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
        let text = match view.choices.iter().find(|choice| choice.option == option) {
            Some(choice) => {
                let sent = self.send_request(caller, member, view, choice, capabilities, &limits).await;
                read(sent, &mut cost)
            }
            None => None,
        };
        ExplanationResponse { text, spend: cost.total() }
    }

    async fn send_request(
        &self,
        caller: &Caller,
        member: &Member,
        view: &BallotView,
        choice: &Choice,
        capabilities: Capabilities,
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
        let fallback = self.fallback.of_model(&member.model, capabilities.first_level).await;
        let request = VoteRequest {
            model: member.model.as_str(),
            view,
            level: FallbackLevel::Prose,
            profile: fallback.profile(),
            max_tokens: member.output_tokens,
            lowest_effort: capabilities.lowest_effort,
            is_openrouter: self.is_openrouter,
            follows: Some(Follows::Vote(&choice.text)),
        };
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

/// Reads the explanation of a response and adds its cost.
fn read(sent: Result<RawResponse, TransportError>, cost: &mut VoteCost) -> Option<ExplanationText> {
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
    if choice.declined() {
        return None;
    }
    ExplanationText::new(&without_reasoning(&choice.content().text?))
}
