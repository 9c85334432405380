//! Measures the CPU time of a vote in this process, against the scripted upstream. The argument is the
//! latency of the models in milliseconds:
//!
//! ```sh
//! cargo run --release -p ep-upstream --example cost_of_a_call -- 0
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant};

use ep_kernel::ports::Models as _;
use ep_polling::{BallotView, BallotViews, ModelChoice, Seed, Timestamp};
use ep_upstream::testing::{Behaviour, InMemoryCache, ManualClock, Script, ScriptedUpstream};
use ep_upstream::{Upstream, UpstreamConfig};
use futures::future::join_all;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

const POLLS: usize = 200;

/// Returns the CPU time of this thread, which runs everything except the scripted upstream.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(stat.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let millis = std::env::args().nth(1).map_or(Ok(0), |millis| millis.parse())?;
    let latency = Duration::from_millis(millis);
    let default = Behaviour { latency, jitter: latency, ..Behaviour::default() };
    let server = ScriptedUpstream::start(Script { keep_requests: false, default, ..Script::panel(50) })?;
    let upstream = Upstream::new(
        UpstreamConfig { base_url: server.base_url(), ..UpstreamConfig::default() },
        Arc::<InMemoryCache>::default(),
        Arc::new(ManualClock::at(Timestamp::from_millis(0))),
        TaskTracker::new(),
        CancellationToken::new(),
    )?;
    let options = ["Mars".to_owned(), "Earth".to_owned(), "Venus".to_owned(), "Jupiter".to_owned()];
    let question: Arc<str> = "Which planet of the solar system is best known for being blue?".into();
    for round in 0..3 {
        let (start, before) = (Instant::now(), cpu());
        let mut votes = 0;
        for poll in 0..POLLS {
            let members = upstream.roster(&ModelChoice::preset("fast_and_cheap")).await?.members().to_vec();
            let seed = Seed::new([poll as u8; 32]);
            let shown = BallotViews::new(seed, &question, &options);
            let views: Vec<BallotView> = (0..members.len()).map(|n| shown.at(n)).collect();
            let within = Duration::from_secs(10);
            let asked =
                members.iter().zip(&views).map(|(member, view)| upstream.vote(member, view, within.into()));
            votes += join_all(asked).await.iter().filter(|answer| answer.vote.is_ok()).count();
        }
        let (took, used) = (start.elapsed(), cpu().saturating_sub(before));
        println!(
            "round {round}: {votes} votes; {:.1} us of CPU a vote, {:.2} ms a poll of 50; {:.0} votes a second",
            used.as_secs_f64() * 1e6 / votes as f64,
            used.as_secs_f64() * 1e3 / POLLS as f64,
            votes as f64 / took.as_secs_f64(),
        );
    }
    Ok(())
}
