//! The models of an OpenAI-compatible server.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ep_kernel::fault::Fault;
use ep_kernel::ports::{Abandon, Clock, Models, Registry, UpstreamCache};
use ep_polling::ballot::{BallotView, ModelAnswer};
use ep_polling::roster::{Member, Roster};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use crate::chat::Chat;
use crate::client::{Address, build};
use crate::config::{FreeLimit, SetupError, UpstreamConfig};
use crate::ladder::Ladder;
use crate::pacer::Pacer;
use crate::presets::{Presets, RosterContext};
use crate::registry::Keeper;
use crate::voting::{Traits, Voting};

/// OpenRouter's limit for free models, whatever the account.
const OPENROUTER_FREE_PER_MINUTE: NonZeroU32 = NonZeroU32::new(20).unwrap();

/// The models of one upstream.
pub struct Upstream {
    keeper: Arc<Keeper>,
    voting: Voting,
    presets: Presets,
    ttl: Duration,
}

impl Upstream {
    /// The models behind an address. Nothing is sent yet. Work in the background (refreshing the model
    /// list, remembering rungs) is tracked by `tasks` and ends with `stop`.
    pub fn new(
        config: UpstreamConfig,
        memory: Arc<dyn UpstreamCache>,
        clock: Arc<dyn Clock>,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Result<Self, SetupError> {
        let address = Address::new(&config)?;
        let http = build(&address, &config)?;
        let presets = Presets::load(config.presets_path.as_deref())?;
        let free = match config.free_requests_per_minute {
            FreeLimit::PerMinute(limit) => Some(limit),
            FreeLimit::Known => address.is_openrouter.then_some(OPENROUTER_FREE_PER_MINUTE),
            FreeLimit::Unlimited => None,
        };
        let voting = Voting {
            chat: Chat::new(
                http.clone(),
                address.of("/chat/completions")?,
                &address,
                config.max_concurrent,
                Arc::clone(&clock),
            ),
            ladder: Ladder::new(Arc::clone(&address.name), Arc::clone(&memory), tasks.clone()),
            pacer: Pacer::new(config.requests_per_minute, free),
            secret: config.api_key,
            routed: address.is_openrouter,
            model_timeout: config.model_timeout,
        };
        let keeper = Arc::new(Keeper {
            http,
            url: address.of("/models")?,
            headers: address.headers,
            upstream: address.name,
            memory,
            clock,
            ttl: config.registry_ttl,
            timeout: config.registry_timeout,
            unpriced_is_free: config.treat_unpriced_as_free,
            tasks,
            stop,
            state: crate::registry::State::default(),
        });
        Ok(Self { keeper, voting, presets, ttl: config.registry_ttl })
    }
}

#[async_trait]
impl Models for Upstream {
    async fn registry(&self) -> Result<Registry, Fault> {
        Ok(self.keeper.snapshot().await?.envelope(self.ttl, false))
    }

    fn presets(&self) -> Vec<String> {
        self.presets.names()
    }

    async fn roster(&self, preset: &str) -> Result<Roster, Fault> {
        self.presets.check(preset)?;
        let snapshot = self.keeper.snapshot().await?;
        let free_per_minute = self.voting.pacer.free_per_minute().map(NonZeroU32::get);
        self.presets.roster(preset, &snapshot, RosterContext { simulated: false, free_per_minute })
    }

    async fn vote(&self, member: &Member, view: &BallotView, within: Duration) -> ModelAnswer {
        let span = tracing::info_span!(
            "vote",
            model = %member.model,
            rung = tracing::field::Empty,
            attempts = tracing::field::Empty,
            failure = tracing::field::Empty,
        );
        let vote = async {
            let known = self.keeper.known().await;
            let traits = known.as_deref().and_then(|snapshot| snapshot.get(&member.model));
            let traits = traits.map_or(Traits::UNKNOWN, |listed| listed.traits);
            self.voting.vote(member, view, traits, within).await
        };
        vote.instrument(span).await
    }

    fn abandon(&self, member: &Member) -> Abandon {
        if member.price.is_some_and(|price| !price.is_free()) { Abandon::Drain } else { Abandon::HangUp }
    }
}
