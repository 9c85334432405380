//! The models of a server.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use ep_kernel::{
    AbandonPolicy, CallLimits, Clock, ExplanationResponse, Fault, Models, ProposalResponse, Registry,
};
use ep_polling::{BallotView, Member, ModelChoice, ModelId, ModelResponse, Reason, Roster, Spend};
use ep_store::UpstreamCache;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use crate::availability::Availability;
use crate::calls::{Caller, PAUSE_CAUSES, PAUSES, SECOND_REQUEST_REASONS, SECOND_REQUESTS};
use crate::config::{FreeLimit, SetupError, UpstreamConfig};
use crate::decision_rules::DecisionModels;
use crate::decisions::{FORM, Routes};
use crate::endpoint::{Endpoint, build_client};
use crate::fallback::FallbackLevels;
use crate::fallback_level::FallbackLevel;
use crate::presets::{Presets, RosterContext};
use crate::rate_limit::RateLimits;
use crate::registry::listing::{Interface, Rules};
use crate::registry::{CacheState, FETCH_RESULTS, ModelListCache};
use crate::request_profile::REASONING_OUTPUT_TOKENS;
use crate::transport::Transport;
use crate::voting::{Capabilities, Voting};
use crate::windows::Windows;

/// OpenRouter's limit for free models, which applies to every account.
const OPENROUTER_FREE_PER_MINUTE: NonZeroU32 = NonZeroU32::new(20).unwrap();

/// The models of one upstream.
pub struct Upstream {
    model_list: Arc<ModelListCache>,
    caller: Caller,
    voting: Voting,
    decisions: Routes,
    presets: Presets,
    charges: bool,
    ttl: Duration,
}

impl Upstream {
    /// Creates the models of the upstream at `config.base_url`, without sending a request. `tasks` tracks
    /// background work (refreshing the model list, storing fallback levels), which ends with `stop`.
    pub fn new(
        config: UpstreamConfig,
        store: Arc<dyn UpstreamCache>,
        clock: Arc<dyn Clock>,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Result<Self, SetupError> {
        let endpoint = Endpoint::new(&config)?;
        let http = build_client(&endpoint, &config)?;
        register_metrics(&endpoint.label);
        let presets = Presets::load(config.presets_path.as_deref())?;
        let free = match config.free_requests_per_minute {
            FreeLimit::PerMinute(limit) => Some(limit),
            FreeLimit::Known => endpoint.is_openrouter.then_some(OPENROUTER_FREE_PER_MINUTE),
            FreeLimit::Unlimited => None,
        };
        let caller = Caller {
            transport: Transport::new(http.clone(), &endpoint, Arc::clone(&clock)),
            windows: Windows::new(config.max_concurrent, Arc::clone(&endpoint.label)),
            limits: RateLimits::new(config.requests_per_minute, free),
            availability: Availability::new(),
            list_is_outdated: AtomicBool::new(false),
            secret: config.api_key,
            model_timeout: config.model_timeout,
        };
        let voting = Voting {
            route: endpoint.chat()?,
            fallback: FallbackLevels::new(
                Arc::clone(&endpoint.name),
                Arc::clone(&store),
                Arc::clone(&clock),
                tasks.clone(),
            ),
            is_openrouter: endpoint.is_openrouter,
        };
        let decisions = Routes::new(&endpoint)?;
        let model_list = Arc::new(ModelListCache {
            http,
            url: endpoint.models()?,
            headers: endpoint.headers,
            upstream: endpoint.name,
            store,
            clock,
            ttl: config.registry_ttl,
            timeout: config.registry_timeout,
            rules: Rules {
                unpriced_is_free: config.treat_unpriced_as_free,
                decisions: DecisionModels::new(config.decision_models, endpoint.is_openrouter),
            },
            tasks,
            stop,
            state: CacheState::default(),
        });
        Ok(Self {
            model_list,
            caller,
            voting,
            decisions,
            presets,
            charges: config.charges,
            ttl: config.registry_ttl,
        })
    }

    /// Returns the way in which a model is asked, as far as it is known.
    async fn interface(&self, member: &Member) -> Interface {
        let snapshot = self.model_list.snapshot_if_known().await;
        if let Some(listed) = snapshot.as_deref().and_then(|snapshot| snapshot.get(&member.model)) {
            return listed.interface;
        }
        let dialect = self.model_list.rules.decisions.by_rule(member.model.as_str());
        dialect.map_or(Interface::Chat(Capabilities::UNKNOWN), Interface::Decisions)
    }

    fn context(&self) -> RosterContext {
        let free_per_minute = self.caller.limits.free_per_minute().map(NonZeroU32::get);
        RosterContext { simulated: false, free_per_minute, charges: self.charges }
    }
}

/// Registers counters with all their labels, so that they exist before the first event.
fn register_metrics(label: &Arc<str>) {
    for form in FallbackLevel::ALL.map(FallbackLevel::as_str).into_iter().chain([FORM]) {
        let upstream = Arc::clone(label);
        metrics::counter!("ep_upstream_rungs_total", "upstream" => upstream, "rung" => form).increment(0);
    }
    for reason in SECOND_REQUEST_REASONS.map(Reason::as_str) {
        metrics::counter!(SECOND_REQUESTS, "upstream" => Arc::clone(label), "reason" => reason).increment(0);
    }
    for cause in PAUSE_CAUSES {
        metrics::counter!(PAUSES, "upstream" => Arc::clone(label), "cause" => cause).increment(0);
    }
    for result in FETCH_RESULTS {
        metrics::counter!("ep_model_list_fetches_total", "result" => result).increment(0);
    }
}

#[async_trait]
impl Models for Upstream {
    async fn registry(&self) -> Result<Registry, Fault> {
        self.presets.registry(&*self.model_list.snapshot().await?, self.ttl, self.context())
    }

    fn presets(&self) -> Vec<String> {
        self.presets.names()
    }

    async fn roster(&self, choice: &ModelChoice) -> Result<Roster, Fault> {
        self.presets.check(choice)?;
        let snapshot = self.model_list.snapshot().await?;
        let roster = self.presets.roster(choice, &snapshot, self.context())?;
        let reasoning = self.voting.fallback.reasoning(roster.members()).await;
        if reasoning.is_empty() {
            return Ok(roster);
        }
        let with_room = |member: &Member| {
            let room = if reasoning.contains(&member.model) { REASONING_OUTPUT_TOKENS } else { 0 };
            Member { output_tokens: member.output_tokens.max(room), ..member.clone() }
        };
        Ok(roster.map(with_room))
    }

    fn learnt(&self, model: &ModelId) -> Vec<&'static str> {
        self.voting.fallback.learnt(model)
    }

    async fn forget(&self, pattern: &str) -> Result<usize, Fault> {
        Ok(self.voting.fallback.forget(&pattern.to_owned().into()).await?)
    }

    async fn vote(&self, member: &Member, view: &BallotView, limits: CallLimits) -> ModelResponse {
        let span = tracing::info_span!(
            "vote",
            model = %member.model,
            fallback_level = tracing::field::Empty,
            attempts = tracing::field::Empty,
            failure = tracing::field::Empty,
        );
        let vote = async {
            match self.interface(member).await {
                Interface::Chat(capabilities) => {
                    self.voting.vote(&self.caller, member, view, capabilities, limits).await
                }
                Interface::Decisions(dialect) => {
                    self.decisions.decide(&self.caller, member, view, dialect, limits).await
                }
            }
        };
        let response = vote.instrument(span).await;
        if self.caller.list_is_outdated.swap(false, Ordering::Relaxed) {
            self.model_list.refresh_outdated();
        }
        response
    }

    async fn explain(
        &self,
        member: &Member,
        view: &BallotView,
        option: usize,
        limits: CallLimits,
    ) -> ExplanationResponse {
        let explanation = async {
            match self.interface(member).await {
                Interface::Chat(capabilities) => {
                    self.voting.explain(&self.caller, member, view, option, capabilities, limits).await
                }
                // It writes no text.
                Interface::Decisions(_) => ExplanationResponse { text: None, spend: Spend::NOTHING },
            }
        };
        explanation.instrument(tracing::info_span!("explain", model = %member.model)).await
    }

    async fn propose(&self, member: &Member, view: &BallotView, limits: CallLimits) -> ProposalResponse {
        let proposal = async {
            match self.interface(member).await {
                Interface::Chat(capabilities) => {
                    self.voting.propose(&self.caller, member, view, capabilities, limits).await
                }
                // It writes no text.
                Interface::Decisions(_) => ProposalResponse { options: Vec::new(), spend: Spend::NOTHING },
            }
        };
        proposal.instrument(tracing::info_span!("propose", model = %member.model)).await
    }

    fn abandon(&self, member: &Member) -> AbandonPolicy {
        if member.price.is_some_and(|price| !price.is_free()) {
            AbandonPolicy::Drain
        } else {
            AbandonPolicy::Cancel
        }
    }
}
