//! An upstream without models, for a service without a configured upstream or demo roster.

use async_trait::async_trait;
use ep_kernel::{AbandonPolicy, CallLimits, ExplanationResponse, Fault, Kind, Models, Registry};
use ep_polling::{BallotView, Member, ModelChoice, ModelResponse, NoVote, Reason, Roster, Spend};

use crate::presets::Presets;

/// Fails every call with [`Kind::NotConfigured`].
#[derive(Debug, Clone, Copy, Default)]
pub struct NotConfigured;

impl NotConfigured {
    fn fault() -> Fault {
        Fault::new(
            Kind::NotConfigured,
            "no model upstream is configured: set EP_UPSTREAM_URL and EP_UPSTREAM_API_KEY, or OPENROUTER_API_KEY, \
             or EP_DEMO=auto for simulated models",
        )
    }
}

#[async_trait]
impl Models for NotConfigured {
    async fn registry(&self) -> Result<Registry, Fault> {
        Err(Self::fault())
    }

    fn presets(&self) -> Vec<String> {
        Presets::load(None).map(|presets| presets.names()).unwrap_or_default()
    }

    async fn roster(&self, choice: &ModelChoice) -> Result<Roster, Fault> {
        if let Ok(presets) = Presets::load(None) {
            presets.check(choice)?;
        }
        Err(Self::fault())
    }

    async fn vote(&self, _: &Member, _: &BallotView, _: CallLimits) -> ModelResponse {
        let vote = Err(NoVote::new(Reason::Rejected, "no model upstream is configured"));
        ModelResponse::new(vote, Spend::NOTHING)
    }

    async fn explain(&self, _: &Member, _: &BallotView, _: usize, _: CallLimits) -> ExplanationResponse {
        ExplanationResponse { text: None, spend: Spend::NOTHING }
    }

    fn abandon(&self, _: &Member) -> AbandonPolicy {
        AbandonPolicy::Cancel
    }
}
