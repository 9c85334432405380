//! Scripted models, and a recorder in memory.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use ep_kernel::executor::run::{Finished, Recorder, Run};
use ep_kernel::{AbandonPolicy, CallLimits, ExplanationResponse, Fault, Kind, Models, Registry, Turn};
use ep_polling::{
    Ballot, BallotView, Budget, Draft, ExplanationCount, ExplanationText, Member, MicroUsd, ModelChoice,
    ModelId, ModelResponse, NoVote, Options, Pace, PicoUsd, Plan, Price, Reason, Roster, Seed, Spend,
    SpendBasis, Threshold,
};
use ep_store::StoreError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The behaviour of one model.
#[derive(Debug, Clone)]
pub struct Line {
    /// The chosen option; `None` for no vote.
    pub vote: Option<usize>,
    /// The response time.
    pub takes: Duration,
    /// The charge.
    pub costs: MicroUsd,
}

/// Scripted models that record their calls.
#[derive(Default)]
pub struct Script {
    pub lines: HashMap<String, Line>,
    pub abandon: Option<AbandonPolicy>,
    pub called: Mutex<Vec<String>>,
    pub in_flight: AtomicUsize,
    pub most_in_flight: AtomicUsize,
    /// The response times of explanations, by model; the others take none.
    pub explaining: HashMap<String, Duration>,
    /// The models that were asked for explanations.
    pub explained: Mutex<Vec<String>>,
}

struct InFlight<'a>(&'a AtomicUsize);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Models for Script {
    async fn registry(&self) -> Result<Registry, Fault> {
        Err(Fault::new(Kind::NotConfigured, "scripted"))
    }
    fn presets(&self) -> Vec<String> {
        Vec::new()
    }
    async fn roster(&self, _: &ModelChoice) -> Result<Roster, Fault> {
        Err(Fault::new(Kind::NotConfigured, "scripted"))
    }
    async fn vote(
        &self,
        member: &Member,
        _: &BallotView,
        CallLimits { within, .. }: CallLimits,
    ) -> ModelResponse {
        self.called.lock().unwrap().push(member.model.to_string());
        let now = self.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_in_flight.fetch_max(now, Ordering::SeqCst);
        let line = self.lines[member.model.as_str()].clone();
        // Decremented even if the call is cancelled.
        let _in_flight = InFlight(&self.in_flight);
        tokio::time::sleep(line.takes.min(within)).await;
        let spend = Spend { amount: line.costs, basis: SpendBasis::Reported };
        let vote = match line.vote {
            _ if line.takes > within => Err(NoVote::new(Reason::Timeout, "too slow")),
            Some(option) => Ok(option),
            None => Err(NoVote::new(Reason::Unparsable, "no option named")),
        };
        ModelResponse::new(vote, spend)
    }
    async fn explain(
        &self,
        member: &Member,
        _: &BallotView,
        option: usize,
        CallLimits { within, .. }: CallLimits,
    ) -> ExplanationResponse {
        let model = member.model.to_string();
        self.explained.lock().unwrap().push(model.clone());
        let takes = self.explaining.get(&model).copied().unwrap_or_default();
        tokio::time::sleep(takes.min(within)).await;
        let text = format!("Option {option} is better for {model}.");
        let spend = Spend { amount: EXPLANATION, basis: SpendBasis::Reported };
        if takes > within {
            return ExplanationResponse { text: None, spend: Spend::UNKNOWN };
        }
        ExplanationResponse { text: ExplanationText::new(&text), spend }
    }
    fn abandon(&self, _: &Member) -> AbandonPolicy {
        self.abandon.unwrap_or(AbandonPolicy::Drain)
    }
}

/// Records ballots in memory.
#[derive(Default)]
pub struct BallotLog(pub Mutex<Vec<Ballot>>);

#[async_trait]
impl Recorder for BallotLog {
    async fn record(&self, ballots: &[Ballot]) -> Result<(), StoreError> {
        tokio::time::sleep(Duration::from_millis(2)).await;
        self.0.lock().unwrap().extend_from_slice(ballots);
        Ok(())
    }
}

/// A poll of scripted models.
pub struct Case {
    pub votes: Vec<Option<usize>>,
    pub options: usize,
    pub threshold: f64,
    pub budget: MicroUsd,
    pub pace: Pace,
    pub takes: Duration,
    pub costs: MicroUsd,
    pub price: Option<Price>,
    pub seed: [u8; 32],
    pub explanations: Option<ExplanationCount>,
    pub complete: bool,
}

/// The charge for an explanation.
pub const EXPLANATION: MicroUsd = MicroUsd::new(70);

/// A price with a worst case of about 2,000 micro-USD per vote.
pub const PRICE: Price =
    Price { prompt: PicoUsd::new(200_000), completion: PicoUsd::new(2_000_000), request: PicoUsd::new(0) };

impl Case {
    pub fn new(votes: &[Option<usize>]) -> Self {
        Self {
            votes: votes.to_vec(),
            options: 2,
            threshold: 0.95,
            budget: MicroUsd::new(1_000_000),
            pace: Pace::Thrifty,
            takes: Duration::from_millis(500),
            costs: MicroUsd::new(50),
            price: Some(PRICE),
            seed: [7; 32],
            explanations: None,
            complete: false,
        }
    }

    pub fn script(&self) -> Script {
        let line = |vote: &Option<usize>| Line { vote: *vote, takes: self.takes, costs: self.costs };
        Script {
            lines: self.votes.iter().enumerate().map(|(i, vote)| (format!("m{i}"), line(vote))).collect(),
            ..Script::default()
        }
    }

    pub fn plan(&self) -> Plan {
        let names: Vec<String> = (0..self.options).map(|n| format!("option {n}")).collect();
        let draft = Draft {
            question: "A question that is long enough?".into(),
            options: Options::new(&names).unwrap().into(),
            models: ModelChoice::preset("scripted"),
            panel: None,
            threshold: Threshold::new(self.threshold).unwrap(),
            budget: Budget::from_amount(self.budget).unwrap(),
            pace: self.pace,
            private: false,
            explanations: self.explanations,
            complete: self.complete,
            on_tie: ep_polling::tie_rule::TieRule::Report,
        };
        let member = |i: usize| Member {
            model: ModelId::new(format!("m{i}")),
            family: "f".into(),
            price: self.price,
            output_tokens: 256,
        };
        let members = (0..self.votes.len()).map(member).collect();
        let roster = Roster::new(members, false, Vec::new()).unwrap();
        Plan::new(draft, roster, Seed::new(self.seed), Duration::from_secs(180))
    }

    /// Runs the poll to its end.
    pub async fn run(&self) -> (Finished, Arc<Script>, Plan) {
        let (plan, script) = (self.plan(), Arc::new(self.script()));
        let finished = finish(&plan, &script, Vec::new(), plan.budget.amount()).await;
        (finished, script, plan)
    }
}

pub async fn finish(plan: &Plan, script: &Arc<Script>, prior: Vec<Ballot>, ceiling: MicroUsd) -> Finished {
    finish_and_drain(plan, script, prior, ceiling).await.0
}

/// Runs a poll to its end and waits for its unused calls. Returns the cost of these.
pub async fn finish_and_drain(
    plan: &Plan,
    script: &Arc<Script>,
    prior: Vec<Ballot>,
    ceiling: MicroUsd,
) -> (Finished, MicroUsd) {
    let models: Arc<dyn Models> = Arc::clone(script) as Arc<dyn Models>;
    let deadline = Instant::now() + Duration::from_millis(plan.deadline_ms);
    let mut run = Run::new(plan, ceiling, &models, Turn::default());
    let (book, cancel) = (BallotLog::default(), CancellationToken::new());
    let known = prior.len();
    let finished = run.to_end(prior, deadline, &book, &cancel).await.unwrap();
    assert_eq!(*book.0.lock().unwrap(), finished.ballots[known..finished.recorded]);
    assert_eq!(run.is_drained(), run.estimate().is_zero());
    (finished, run.drain().await)
}
