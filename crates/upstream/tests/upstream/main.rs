//! One binary for all tests that need an upstream: the real client against the scripted server of
//! `ep_upstream::testing`, over real sockets.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod corpus;
mod costs;
mod decisions;
mod demo;
mod explanations;
mod failures;
mod forms;
mod limits;
mod long_input;
mod presets;
mod registry;
mod shapes;

use std::sync::Arc;
use std::time::Duration;

use ep_kernel::ports::Models as _;
use ep_polling::{
    BallotView, Choice, ChoiceForm, Member, ModelId, ModelResponse, PicoUsd, Price, Reason, Timestamp,
};
use ep_upstream::testing::{Action, Behaviour, InMemoryCache, ManualClock, Script, ScriptedUpstream};
use ep_upstream::{SetupError, Upstream, UpstreamConfig};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// 2026-01-31T00:00:00Z.
const NOW: Timestamp = Timestamp::from_millis(1_769_817_600_000);
const KEY: &str = "sk-test-0123456789";

/// A scripted server and the dependencies of an [`Upstream`]. Several upstreams of one fixture act as one
/// before and after a restart.
struct Fixture {
    server: ScriptedUpstream,
    cache: Arc<InMemoryCache>,
    clock: Arc<ManualClock>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Fixture {
    fn new(script: Script) -> Self {
        Self {
            server: ScriptedUpstream::start(script).unwrap(),
            cache: Arc::default(),
            clock: Arc::new(ManualClock::at(NOW)),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        }
    }

    /// Creates a fixture whose model `m` performs these actions.
    fn with_actions(actions: impl Into<Vec<Action>>) -> Self {
        Self::new(Script::default().with("m", Behaviour::of(actions)))
    }

    fn upstream(&self) -> Upstream {
        self.upstream_with(|_| ())
    }

    fn upstream_with(&self, change: impl FnOnce(&mut UpstreamConfig)) -> Upstream {
        self.try_upstream_with(change).unwrap()
    }

    fn try_upstream_with(&self, change: impl FnOnce(&mut UpstreamConfig)) -> Result<Upstream, SetupError> {
        let mut config = UpstreamConfig {
            base_url: self.server.base_url(),
            api_key: Some(KEY.into()),
            ..UpstreamConfig::default()
        };
        change(&mut config);
        let (cache, clock) = (self.cache.clone(), self.clock.clone());
        Upstream::new(config, cache, clock, self.tasks.clone(), self.stop.clone())
    }

    /// Waits until the background work is done.
    async fn settle(&self) {
        self.tasks.close();
        self.tasks.wait().await;
        self.tasks.reopen();
    }
}

fn view() -> BallotView {
    let choice = |text: &str, option| Choice { text: text.to_owned(), option };
    BallotView {
        question: "Which planet is blue?".into(),
        choices: vec![choice("Mars", 1), choice("Earth", 0), choice("Venus", 2)],
        answer: ChoiceForm::Text,
        delimiter_mark: 0x1234_abcd,
    }
}

/// The option that [`VoteFor::First`](ep_upstream::testing::VoteFor::First) selects in this view.
const FIRST: usize = 1;

fn member(model: &str) -> Member {
    Member { model: ModelId::new(model), family: "f".to_owned(), price: None, output_tokens: 256 }
}

/// Returns a member that costs 1 USD per million prompt tokens and 2 USD per million completion tokens.
fn priced(model: &str) -> Member {
    let price = Price {
        prompt: PicoUsd::new(1_000_000),
        completion: PicoUsd::new(2_000_000),
        request: PicoUsd::ZERO,
    };
    Member { price: Some(price), ..member(model) }
}

const LONG: Duration = Duration::from_secs(20);

async fn vote(upstream: &Upstream) -> ModelResponse {
    upstream.vote(&member("m"), &view(), LONG.into()).await
}

/// Returns the reason for the missing vote of a model that performs these actions, its number of requests,
/// and the detail.
async fn reason(actions: impl Into<Vec<Action>>) -> (Reason, usize, String) {
    let fixture = Fixture::with_actions(actions);
    let no_vote = vote(&fixture.upstream()).await.vote.unwrap_err();
    assert!(!no_vote.detail.contains(KEY), "{}", no_vote.detail);
    assert!(!no_vote.detail.contains("127.0.0.1"), "{}", no_vote.detail);
    (no_vote.reason, fixture.server.calls("m"), no_vote.detail)
}
