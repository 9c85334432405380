//! Requests votes from the models of a real server and prints them, to try a new server:
//!
//! ```sh
//! cargo run -p ep-upstream --example try_a_server -- http://127.0.0.1:8080/v1
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use ep_kernel::ports::Models as _;
use ep_polling::{BallotViews, ModelChoice, Seed, Timestamp};
use ep_store::UpstreamCache as _;
use ep_upstream::testing::{InMemoryCache, ManualClock};
use ep_upstream::{Upstream, UpstreamConfig};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let base_url = std::env::args().nth(1).ok_or("pass the base URL of a server")?;
    let api_key = std::env::var("EP_UPSTREAM_API_KEY").ok().map(Into::into);
    let cache = Arc::<InMemoryCache>::default();
    #[expect(clippy::disallowed_methods, reason = "an example has no Clock port")]
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(now.as_millis() as i64)));
    let tasks = TaskTracker::new();
    let config = UpstreamConfig { base_url: base_url.clone(), api_key, ..UpstreamConfig::default() };
    let upstream =
        Upstream::new(config, Arc::clone(&cache) as _, clock, tasks.clone(), CancellationToken::new())?;
    let roster = upstream.roster(&ModelChoice::preset("fast_and_cheap")).await?;
    println!("{} models; {:?}", roster.members().len(), roster.notices);
    let options = ["Mars".to_owned(), "Earth".to_owned(), "Venus".to_owned()];
    for round in 0..8 {
        for member in roster.members().iter().take(5) {
            let question = "On which planet do people live?".into();
            let view = BallotViews::new(Seed::new([7; 32]), &question, &options).at(round);
            let start = Instant::now();
            let answer = upstream.vote(member, &view, Duration::from_mins(1).into()).await;
            let vote = answer.vote.as_ref().map(|&option| &options[option]);
            println!("{} {:?} {vote:?} {:?}", member.model, start.elapsed(), answer.spend);
        }
    }
    tasks.close();
    tasks.wait().await;
    println!("fallback levels: {:?}", cache.fallback_levels(base_url.trim_end_matches('/')).await?);
    Ok(())
}
