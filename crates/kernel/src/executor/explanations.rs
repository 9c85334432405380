//! Explanations: after its decision, a poll asks some of its voters for a sentence each.
//!
//! The decision is stored first, together with the last ballots, so that no explanation can influence it. Each
//! explanation is stored when it arrives, and no voter is asked twice: after an interruption, the poll closes with
//! the explanations so far. A missing explanation is charged at its estimated cost.

use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::time::{Instant, sleep_until};

use super::live::publish;
use super::run::charged;
use super::work::{PollEnd, Work};
use crate::ports::CallLimits;
use ep_polling::explanation::TIME_LIMIT;
use ep_polling::{Ballot, Explainer, Explanation, MicroUsd, Spend};
use ep_store::{Change, StoreError};

impl Work<'_> {
    /// Asks the voters of a decided poll for explanations, as far as the `available` money allows. `explanations` has those of
    /// an earlier attempt, which end with an interruption: no voter is asked again.
    pub(super) async fn explain(
        &self,
        end: &mut PollEnd,
        available: MicroUsd,
        explanations: &mut Option<Vec<Explanation>>,
    ) -> Result<(), StoreError> {
        if let Some(earlier) = explanations {
            end.closing.explanations.clone_from(earlier);
            return Ok(());
        }
        let explainers = self.affordable(available, &end.ballots);
        if explainers.is_empty() {
            return Ok(());
        }
        let deadline = Instant::now() + TIME_LIMIT;
        end.closing.explanations = explainers.iter().map(|explainer| self.missing(*explainer)).collect();
        let explanations = explanations.insert(end.closing.explanations.clone());
        self.store(end).await?;
        let mut calls: FuturesUnordered<_> =
            (0..).zip(&explainers).map(|(index, explainer)| self.call(index, *explainer, deadline)).collect();
        while !calls.is_empty() {
            let (index, explanation) = tokio::select! {
                biased;
                Some(done) = calls.next() => done,
                () = self.running.cancel.cancelled() => break,
                () = sleep_until(deadline) => break,
            };
            explanations[index] = explanation;
            end.closing.explanations.clone_from(explanations);
            if !calls.is_empty() {
                self.store(end).await?;
            }
        }
        Ok(())
    }

    /// Returns the drawn voters whose maximum cost fits into the available money.
    fn affordable(&self, mut available: MicroUsd, ballots: &[Ballot]) -> Vec<Explainer> {
        let plan = &self.record.plan;
        let mut explainers = plan.explainers(ballots);
        explainers.retain(|explainer| {
            let worst = plan.worst_case(explainer.position);
            let fits = worst <= available;
            if fits {
                available = available.minus(worst);
            }
            fits
        });
        explainers
    }

    /// Returns the outcome for a voter without a response.
    fn missing(&self, Explainer { position, .. }: Explainer) -> Explanation {
        let spend = self.record.plan.charged(position, Spend::UNKNOWN);
        Explanation { position: position as u32, text: None, spend }
    }

    fn call(
        &self,
        index: usize,
        Explainer { position, option }: Explainer,
        deadline: Instant,
    ) -> BoxFuture<'_, (usize, Explanation)> {
        let plan = &self.record.plan;
        let view = plan.ballot_views().at(position);
        let limits = CallLimits {
            within: deadline.saturating_duration_since(Instant::now()),
            dropped: self.running.cancel.clone(),
            turn: self.turn,
        };
        async move {
            let response = self.inner.models.explain(&plan.roster[position], &view, option, limits).await;
            let spend = charged(plan, position, response.spend);
            (index, Explanation { position: position as u32, text: response.text, spend })
        }
        .boxed()
    }

    /// Stores the decision with its ballots and explanations so far.
    async fn store(&self, end: &mut PollEnd) -> Result<(), StoreError> {
        let Self { inner, record, publisher, .. } = self;
        let last = end.ballots.get(end.recorded..).unwrap_or_default();
        inner.polls.decide(&record.id, self.lease().epoch(), last, &end.closing).await?;
        if !last.is_empty() {
            publish(publisher, last);
            inner.changed(&record.id, Change::Ballots);
        }
        end.recorded = end.ballots.len();
        Ok(())
    }
}
