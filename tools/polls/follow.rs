//! Waits for a poll, reporting its progress to watchers.

use std::time::Duration;

use crate::results::result_url;
use ep_kernel::ctx::Ctx;
use ep_kernel::event::{PollEvent, Progress};
use ep_kernel::executor::{EventProjection, PollState};
use ep_kernel::fault::{Fault, Kind};
use ep_polling::poll_id::PollId;
use tokio::time::{Instant, timeout_at};

/// The state of the poll when it ends, or when `wait_limit` is over.
pub async fn follow(cx: &Ctx, id: &PollId, wait_limit: Option<Duration>) -> Result<PollState, Fault> {
    let until = wait_limit.map(|wait_limit| Instant::now() + wait_limit);
    let mut follower = cx.polls().follow(id).await?.ok_or_else(|| not_found(id))?;
    let record = follower.record();
    let mut projection = EventProjection::new(&record);
    if cx.is_watched() {
        let started = projection.started(result_url(cx, id));
        let message = format!("Asking up to {} models", started.roster_size);
        report(cx, "started", 0, (0, started.roster_size), message, &PollEvent::Started(started));
    }
    loop {
        let next = follower.next();
        let ballots = match until {
            Some(until) => match timeout_at(until, next).await {
                Ok(ballots) => ballots?,
                Err(_) => return follower.state().await,
            },
            None => next.await?,
        };
        if ballots.is_empty() {
            break;
        }
        if cx.is_watched() {
            for ballot in &ballots {
                let vote = projection.vote(ballot);
                let said = vote.chosen_option.as_deref().unwrap_or("no vote");
                let message = format!("{}: {said}", vote.model_id);
                let steps = (vote.answered, vote.roster_size);
                report(cx, "vote", u64::from(vote.seq), steps, message, &PollEvent::Vote(vote));
            }
        }
    }
    let state = follower.state().await?;
    if let Some(closing) = &state.record.closing {
        cx.waited_for_models(Duration::from_micros(closing.upstream_us));
    }
    Ok(state)
}

/// The fault of an id that names no poll, or none that this caller may see.
fn not_found(id: &PollId) -> Fault {
    Fault::new(Kind::NotFound, format!("there is no poll {id}"))
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
