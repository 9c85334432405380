//! A single vote of a decision model: one request, repeated only if the upstream is busy or unreachable. An unreadable
//! response is not repaired, because the same question has the same probabilities.

use ep_kernel::CallLimits;
use ep_polling::{BallotView, Member, ModelResponse, NoVote, Probabilities, Reason};

use super::response::{Response, Unusable};
use super::{FORM, Routes, request};
use crate::calls::{Caller, Calls};
use crate::chat::error::{Failure, UpstreamError};
use crate::decision_rules::Dialect;
use crate::endpoint::Route;
use crate::transport::RawResponse;

impl Routes {
    /// Requests a vote from one decision model.
    pub(crate) async fn decide(
        &self,
        caller: &Caller,
        member: &Member,
        view: &BallotView,
        dialect: Dialect,
        limits: CallLimits,
    ) -> ModelResponse {
        tracing::Span::current().record("fallback_level", FORM);
        let mut decision = Decision { dialect, view, calls: Calls::new(caller, member, limits) };
        let route = self.of(dialect);
        let body = request::body(dialect, member.model.as_str(), view);
        match decision.run(route, &body).await {
            Ok(probabilities) => {
                let vote = probabilities.choice().ok_or_else(tie);
                ModelResponse { probabilities: Some(probabilities), ..decision.calls.finish(vote) }
            }
            Err(no_vote) => decision.calls.finish(Err(no_vote)),
        }
    }
}

/// A vote in progress.
struct Decision<'v> {
    dialect: Dialect,
    view: &'v BallotView,
    calls: Calls<'v>,
}

/// The result of one request: probabilities, or a failure after which the same request may be sent again.
type Outcome = Result<Probabilities, (Failure, NoVote)>;

impl Decision<'_> {
    async fn run(&mut self, route: &Route, body: &[u8]) -> Result<Probabilities, NoVote> {
        loop {
            let deadline = self.calls.next_request().await?;
            let outcome = match self.calls.send(route, body.to_vec(), deadline).await {
                Ok(response) => self.after_response(&response),
                Err(error) => {
                    self.calls.after_transport_error(error)?;
                    continue;
                }
            };
            match outcome {
                Ok(probabilities) => return Ok(probabilities),
                Err((Failure::Wait(wait), otherwise)) => self.calls.wait(wait, otherwise).await?,
                Err((Failure::GiveUp(_), no_vote)) => return Err(no_vote),
            }
        }
    }

    fn after_response(&mut self, raw: &RawResponse) -> Outcome {
        let response = Response::read(&raw.body);
        let usage = response.as_ref().and_then(Response::usage);
        if raw.status >= 400 {
            self.calls.note_error(raw, usage);
            return self.failed(&UpstreamError::from_body(raw.status, &raw.body, raw.retry_after));
        }
        let Some(response) = response.filter(|_| raw.status < 300) else {
            let no_vote = self.calls.unknown_response(raw, "decision");
            return Err((Failure::GiveUp(no_vote.reason), no_vote));
        };
        if let Some(error) = response.error() {
            self.calls.note_error(raw, usage);
            return self.failed(&UpstreamError::from_field(error, raw.retry_after));
        }
        self.calls.note_response(raw, usage, FORM, response.model().as_deref());
        response.probabilities(self.dialect, self.view).map_err(|unusable| {
            let reason = match unusable {
                Unusable::Refused => Reason::Refused,
                Unusable::Missing | Unusable::Options | Unusable::Numbers(_) => Reason::Unparsable,
            };
            (Failure::GiveUp(reason), NoVote::new(reason, unusable.to_string()))
        })
    }

    fn failed(&self, error: &UpstreamError<'_>) -> Outcome {
        let failure = error.failure();
        Err((failure, self.calls.failed(error, failure)))
    }
}

/// Builds the missing vote of a model that prefers no option.
fn tie() -> NoVote {
    NoVote::new(Reason::Conflicting, "the model gives its highest probability to several options")
}
