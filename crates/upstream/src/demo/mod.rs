//! The demo roster: simulated models in process, so that everything can be seen working without a key
//! or a network.
//!
//! They know nothing. Each choice is drawn from the texts of the question and the option: one part
//! that all models share, one that a family shares, one of the model's own. So families lean together
//! as real ones do, options are contested as in real polls, and the same question always gets the same
//! votes. Everything says that it is simulated.

mod cast;
mod chance;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ep_kernel::fault::Fault;
use ep_kernel::ports::{Abandon, Clock, Models, Registry};
use ep_polling::ballot::{BallotView, ModelAnswer, NoVote, Reason};
use ep_polling::money::{Spend, SpendBasis};
use ep_polling::roster::{Member, ModelId, Roster};

use crate::config::SetupError;
use crate::presets::{Presets, RosterContext};
use crate::registry::Snapshot;
use cast::Tier;
use chance::Chance;

/// Settings of the demo roster.
#[derive(Debug, Clone)]
pub struct DemoConfig {
    /// Multiplies every answering time; 0 answers at once.
    pub latency_scale: f64,
    /// A file of presets that replaces the built-in ones.
    pub presets_path: Option<PathBuf>,
}

impl Default for DemoConfig {
    fn default() -> Self {
        Self { latency_scale: 1.0, presets_path: None }
    }
}

/// Sixty simulated models.
pub struct Demo {
    snapshot: Snapshot,
    tiers: HashMap<ModelId, &'static Tier>,
    presets: Presets,
    clock: Arc<dyn Clock>,
    latency_scale: f64,
}

/// What a simulated list would be refreshed after.
const TTL: Duration = Duration::from_hours(1);
/// How strongly all models, a family and a model alone lean.
const SHARED: f64 = 1.0;
const FAMILY: f64 = 0.5;
const OWN: f64 = 0.6;

impl Demo {
    /// The demo roster.
    pub fn new(config: &DemoConfig, clock: Arc<dyn Clock>) -> Result<Self, SetupError> {
        let players = cast::players();
        let tiers = players.iter().map(|player| (player.listed.member().model, player.tier)).collect();
        let models = players.into_iter().map(|player| player.listed).collect();
        Ok(Self {
            snapshot: Snapshot::new(clock.now(), models),
            tiers,
            presets: Presets::load(config.presets_path.as_deref())?,
            clock,
            latency_scale: config.latency_scale.clamp(0.0, 1000.0),
        })
    }

    fn latency(&self, tier: &Tier, chance: &mut Chance) -> Duration {
        let millis = (tier.median_ms * (0.4 * chance.normal()).exp()).clamp(50.0, 900.0);
        Duration::from_secs_f64(millis * self.latency_scale / 1000.0)
    }
}

/// The option this model likes best.
fn choose(member: &Member, view: &BallotView) -> Option<usize> {
    let lean = |text: &str| {
        let question = &*view.question;
        SHARED * Chance::of(&[question, text]).normal()
            + FAMILY * Chance::of(&[question, text, &member.family]).normal()
            + OWN * Chance::of(&[question, text, member.model.as_str(), "own"]).normal()
    };
    let leans = view.choices.iter().map(|choice| (lean(&choice.text), choice.option));
    leans.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, option)| option)
}

/// The failure this model has with this question, if it has one.
fn failure(tier: &Tier, chance: &mut Chance) -> Option<NoVote> {
    const WAYS: [(Reason, &str); 4] = [
        (Reason::UpstreamError, "the upstream failed (503): overloaded (simulated)"),
        (Reason::RateLimited, "the upstream asks for fewer requests (429) (simulated)"),
        (Reason::Unparsable, "the answer names no option, even when asked again (simulated)"),
        (Reason::Refused, "the model declined to answer (simulated)"),
    ];
    if chance.below(1000) >= tier.failures {
        return None;
    }
    let (reason, detail) = WAYS[chance.below(WAYS.len() as u64) as usize];
    Some(NoVote::new(reason, detail))
}

/// What the answer costs by the model's price list: about a token for every four bytes read.
fn spend(member: &Member, view: &BallotView, failed: Option<&NoVote>, chance: &mut Chance) -> Spend {
    let unpaid =
        failed.is_some_and(|no_vote| matches!(no_vote.reason, Reason::UpstreamError | Reason::RateLimited));
    let Some(price) = member.price.filter(|_| !unpaid) else { return Spend::NOTHING };
    let read: usize =
        view.choices.iter().map(|choice| choice.text.len() + 6).sum::<usize>() + view.question.len();
    let amount = price.of(1, 180 + read as u64 / 4, 12 + chance.below(20));
    Spend { amount, basis: SpendBasis::Priced }
}

#[async_trait]
impl Models for Demo {
    async fn registry(&self) -> Result<Registry, Fault> {
        Ok(Registry {
            fetched_at: self.clock.now(),
            cache_expires_at: self.clock.now().after(TTL),
            ..self.snapshot.envelope(TTL, true)
        })
    }

    fn presets(&self) -> Vec<String> {
        self.presets.names()
    }

    async fn roster(&self, preset: &str) -> Result<Roster, Fault> {
        self.presets.roster(preset, &self.snapshot, RosterContext { simulated: true, free_per_minute: None })
    }

    async fn vote(&self, member: &Member, view: &BallotView, within: Duration) -> ModelAnswer {
        let no_vote = |reason, detail| ModelAnswer {
            vote: Err(NoVote::new(reason, detail)),
            spend: Spend::NOTHING,
            answered_by: None,
        };
        let Some(tier) = self.tiers.get(&member.model) else {
            return no_vote(Reason::Rejected, "there is no such simulated model");
        };
        let mut chance = Chance::of(&[&view.question, member.model.as_str()]);
        let latency = self.latency(tier, &mut chance);
        if !latency.is_zero() {
            tokio::time::sleep(latency.min(within)).await;
        }
        if latency > within {
            return no_vote(Reason::Deadline, "no answer before the poll's deadline (simulated)");
        }
        let failed = failure(tier, &mut chance);
        let spend = spend(member, view, failed.as_ref(), &mut chance);
        let vote = match failed {
            Some(no_vote) => Err(no_vote),
            None => choose(member, view)
                .ok_or_else(|| NoVote::new(Reason::Unparsable, "the view has no options (simulated)")),
        };
        ModelAnswer { vote, spend, answered_by: None }
    }

    fn abandon(&self, _: &Member) -> Abandon {
        Abandon::HangUp
    }
}
