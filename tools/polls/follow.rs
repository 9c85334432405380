//! Waits for a poll, reporting its progress to watchers.

use std::time::Duration;

use ep_kernel::{Ctx, EventProjection, Fault, PollEvent, PollState, Progress, StartedEvent, VoteEvent};
use ep_polling::PollId;

use crate::result_link::result_url;
use tokio::time::{Instant, timeout_at};

/// Extra time to wait beyond the poll's deadline, because the poll may be queued first.
const QUEUE_WAIT: Duration = Duration::from_secs(20);

/// Follows a poll as its owner. Returns its state when it ends, or when `wait_limit` has passed. The wait
/// ends shortly before the call itself would time out.
pub async fn follow(cx: &Ctx, id: &PollId, wait_limit: Option<Duration>) -> Result<PollState, Fault> {
    follow_as(cx, id, wait_limit, Watcher { seen: None, costs: true }).await
}

/// Follows a poll for a watcher that has received the votes up to the number `after`. `costs` is true if the watcher may
/// see costs. Returns the poll's state at once if the caller does not wait.
pub async fn watch(cx: &Ctx, state: PollState, after: Option<u32>, costs: bool) -> Result<PollState, Fault> {
    let known = state.ballots.len() as u32;
    if after.is_some_and(|seen| seen > known) {
        let rule = format!("must be the number of a vote that was seen: there are {known} so far");
        return Err(Fault::invalid("after", rule));
    }
    if cx.wait_limit == Some(Duration::ZERO) {
        return Ok(state);
    }
    follow_as(cx, &state.record.id, cx.wait_limit, Watcher { seen: after, costs }).await
}

/// A watcher of a poll.
struct Watcher {
    /// The sequence number of the last vote it received.
    seen: Option<u32>,
    /// True if it may see costs.
    costs: bool,
}

async fn follow_as(
    cx: &Ctx,
    id: &PollId,
    wait_limit: Option<Duration>,
    Watcher { seen, costs }: Watcher,
) -> Result<PollState, Fault> {
    let longest = cx.settings().poll_deadline + QUEUE_WAIT;
    let until = Instant::now() + wait_limit.unwrap_or(longest).min(longest);
    let mut follower = cx.polls().follow(id).await?.ok_or_else(|| Fault::no_such_poll(id.as_str()))?;
    let record = follower.record();
    let mut projection = EventProjection::new(&record);
    if cx.is_watched() && seen.is_none() {
        let started = projection.started(result_url(cx, id));
        let message = format!("Asking up to {} models", started.roster_size);
        report(cx, StartedEvent::NAME, 0, (0, started.roster_size), message, &PollEvent::Started(started));
    }
    loop {
        // Timers fire a millisecond late, which is enough for a quick poll to end.
        if Instant::now() >= until {
            return Ok(follower.state());
        }
        let Ok(ballots) = timeout_at(until, follower.next()).await else { return Ok(follower.state()) };
        let ballots = ballots?;
        if ballots.is_empty() {
            break;
        }
        if cx.is_watched() {
            for ballot in &ballots {
                let mut vote = projection.vote(ballot);
                vote.cost_so_far = vote.cost_so_far.filter(|_| costs);
                if seen.is_some_and(|seen| vote.seq <= seen) {
                    continue;
                }
                let text = vote.chosen_option.as_deref().unwrap_or("no vote");
                let message = format!("{}: {text}", vote.model_id);
                let steps = (vote.answered, vote.roster_size);
                report(cx, VoteEvent::NAME, u64::from(vote.seq), steps, message, &PollEvent::Vote(vote));
            }
        }
    }
    let state = follower.state();
    if let Some(closing) = &state.record.closing {
        cx.waited_for_models(Duration::from_micros(closing.upstream_us));
    }
    Ok(state)
}

fn report(
    cx: &Ctx,
    event: &'static str,
    id: u64,
    (done, total): (u32, u32),
    message: String,
    data: &PollEvent,
) {
    if let Ok(data) = serde_json::to_value(data) {
        cx.report(Progress { event, id, data, done, total, message });
    }
}
