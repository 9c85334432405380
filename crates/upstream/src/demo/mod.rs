//! The demo roster: in-process simulated models, which demonstrate the service without a key or a network.
//!
//! The models know nothing. A preference for an option is the sum of three pseudo-random numbers, derived
//! from the texts of question and option: one shared by all models, one per family, and one per model. Thus
//! models of one family vote alike, as real ones do, and results are as divided as in real polls. The same
//! question always gets the same votes. All outputs are labelled as simulated.

mod hashed_random;
mod models;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ep_kernel::{
    AbandonPolicy, CallLimits, Clock, ExplanationResponse, Fault, Models, ProposalResponse, Registry,
};
use ep_polling::{
    BallotView, ExplanationText, Member, ModelChoice, ModelId, ModelResponse, NoVote, Reason, Roster, Spend,
    SpendBasis, Timestamp, Tokens,
};

use crate::config::SetupError;
use crate::presets::{Presets, RosterContext};
use crate::registry::Snapshot;
use hashed_random::HashedRandom;
use models::Tier;

/// Settings of the demo roster.
#[derive(Debug, Clone)]
pub struct DemoConfig {
    /// The factor for every latency; 0 to respond at once.
    pub latency_scale: f64,
    /// A file of presets that replaces the built-in ones.
    pub presets_path: Option<PathBuf>,
}

impl Default for DemoConfig {
    fn default() -> Self {
        Self { latency_scale: 1.0, presets_path: None }
    }
}

/// The roster of sixty simulated models.
pub struct Demo {
    snapshot: Snapshot,
    tiers: HashMap<ModelId, &'static Tier>,
    presets: Presets,
    clock: Arc<dyn Clock>,
    latency_scale: f64,
}

/// The advertised lifetime of the model list.
const TTL: Duration = Duration::from_hours(1);
const CONTEXT: RosterContext = RosterContext { simulated: true, free_per_minute: None, charges: true };
/// The explanation of every simulated vote.
const EXPLANATION: &str = "I am simulated and have no reason: my vote follows from a hash of the question.";
/// The options of every simulated proposal.
const PROPOSED: [&str; 5] = [
    "Simulated answer 1",
    "Simulated answer 2",
    "Simulated answer 3",
    "Simulated answer 4",
    "Simulated answer 5",
];
/// The weights of a preference's three parts.
const SHARED_WEIGHT: f64 = 1.0;
const FAMILY_WEIGHT: f64 = 0.5;
const MODEL_WEIGHT: f64 = 0.6;

impl Demo {
    /// Creates the demo roster.
    pub fn new(config: &DemoConfig, clock: Arc<dyn Clock>) -> Result<Self, SetupError> {
        let models = models::demo_models();
        let tiers = models.iter().map(|model| (model.listed.member().model, model.tier)).collect();
        let listed = models.into_iter().map(|model| model.listed).collect();
        Ok(Self {
            snapshot: Snapshot::new(clock.now(), listed),
            tiers,
            presets: Presets::load(config.presets_path.as_deref())?,
            clock,
            latency_scale: config.latency_scale.clamp(0.0, 1000.0),
        })
    }

    fn latency(&self, tier: &Tier, random: &mut HashedRandom) -> Duration {
        let millis = (tier.median_ms * (0.4 * random.normal()).exp()).clamp(50.0, 900.0);
        Duration::from_secs_f64(millis * self.latency_scale / 1000.0)
    }
}

/// Returns the option that this model prefers.
fn preferred_option(member: &Member, view: &BallotView) -> Option<usize> {
    let preference = |text: &str| {
        let question = &*view.question;
        SHARED_WEIGHT * HashedRandom::from_texts(&[question, text]).normal()
            + FAMILY_WEIGHT * HashedRandom::from_texts(&[question, text, &member.family]).normal()
            + MODEL_WEIGHT
                * HashedRandom::from_texts(&[question, text, member.model.as_str(), "own"]).normal()
    };
    let preferences = view.choices.iter().map(|choice| (preference(&choice.text), choice.option));
    preferences.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, option)| option)
}

/// Returns the failure of this model on this question, if it fails.
fn failure(tier: &Tier, random: &mut HashedRandom) -> Option<NoVote> {
    const FAILURES: [(Reason, &str); 4] = [
        (Reason::Busy, "the upstream is busy (503): overloaded (simulated)"),
        (Reason::RateLimited, "the upstream asks for fewer requests (429) (simulated)"),
        (
            Reason::Unparsable,
            "the response declares no vote for one option, even after a second request (simulated)",
        ),
        (Reason::Refused, "the model declined to answer (simulated)"),
    ];
    if random.below(1000) >= tier.failures {
        return None;
    }
    let (reason, detail) = FAILURES[random.below(FAILURES.len() as u64) as usize];
    Some(NoVote::new(reason, detail))
}

/// Computes the cost of a response at the model's price, assuming one token per four bytes of the prompt.
fn spend(
    member: &Member,
    view: &BallotView,
    failed: Option<&NoVote>,
    random: &mut HashedRandom,
) -> (Spend, Option<Tokens>) {
    let unpaid = failed.is_some_and(|no_vote| matches!(no_vote.reason, Reason::Busy | Reason::RateLimited));
    let Some(price) = member.price.filter(|_| !unpaid) else { return (Spend::NOTHING, None) };
    let bytes: usize =
        view.choices.iter().map(|choice| choice.text.len() + 6).sum::<usize>() + view.question.len();
    let (prompt, completion) = (180 + bytes as u64 / 4, 12 + random.below(20));
    let amount = price.of(1, prompt, completion);
    (Spend { amount, basis: SpendBasis::Priced }, Some(Tokens::new(prompt, completion)))
}

#[async_trait]
impl Models for Demo {
    async fn registry(&self) -> Result<Registry, Fault> {
        // Round the fetch time down to the hour. The list and its entity tag then change as rarely as a real
        // list's.
        let ttl = TTL.as_millis() as i64;
        let now = self.clock.now().millis();
        let fetched_at = Timestamp::from_millis(now - now.rem_euclid(ttl));
        let cache_expires_at = fetched_at.after(TTL);
        Ok(Registry { fetched_at, cache_expires_at, ..self.presets.registry(&self.snapshot, TTL, CONTEXT)? })
    }

    fn presets(&self) -> Vec<String> {
        self.presets.names()
    }

    async fn roster(&self, choice: &ModelChoice) -> Result<Roster, Fault> {
        self.presets.roster(choice, &self.snapshot, CONTEXT)
    }

    async fn vote(&self, member: &Member, view: &BallotView, limits: CallLimits) -> ModelResponse {
        let within = limits.within;
        let no_vote = |reason, detail| ModelResponse::new(Err(NoVote::new(reason, detail)), Spend::NOTHING);
        let Some(tier) = self.tiers.get(&member.model) else {
            return no_vote(Reason::Rejected, "unknown simulated model");
        };
        let mut random = HashedRandom::from_texts(&[&view.question, member.model.as_str()]);
        let latency = self.latency(tier, &mut random);
        if !latency.is_zero() {
            tokio::time::sleep(latency.min(within)).await;
        }
        if latency > within {
            return no_vote(Reason::Deadline, "no response before the poll's deadline (simulated)");
        }
        let failed = failure(tier, &mut random);
        let (spend, tokens) = spend(member, view, failed.as_ref(), &mut random);
        let vote = match failed {
            Some(no_vote) => Err(no_vote),
            None => preferred_option(member, view)
                .ok_or_else(|| NoVote::new(Reason::Unparsable, "the question has no options (simulated)")),
        };
        ModelResponse { tokens, ..ModelResponse::new(vote, spend) }
    }

    async fn explain(
        &self,
        member: &Member,
        view: &BallotView,
        _: usize,
        limits: CallLimits,
    ) -> ExplanationResponse {
        let mut random = HashedRandom::from_texts(&[&view.question, member.model.as_str(), "explanation"]);
        if let Some(tier) = self.tiers.get(&member.model) {
            tokio::time::sleep(self.latency(tier, &mut random).min(limits.within)).await;
        }
        let (spend, _) = spend(member, view, None, &mut random);
        ExplanationResponse { text: ExplanationText::new(EXPLANATION), spend }
    }

    async fn propose(&self, member: &Member, view: &BallotView, limits: CallLimits) -> ProposalResponse {
        let mut random = HashedRandom::from_texts(&[&view.question, member.model.as_str(), "proposal"]);
        if let Some(tier) = self.tiers.get(&member.model) {
            tokio::time::sleep(self.latency(tier, &mut random).min(limits.within)).await;
        }
        let first = random.below(PROPOSED.len() as u64) as usize;
        let options = PROPOSED.iter().cycle().skip(first).take(3).map(|&option| option.to_owned()).collect();
        let (spend, _) = spend(member, view, None, &mut random);
        ProposalResponse { options, spend }
    }

    fn abandon(&self, _: &Member) -> AbandonPolicy {
        AbandonPolicy::Cancel
    }
}
