//! Feedback of accounts on poll outcomes.

mod get_feedback;
mod submit_feedback;

pub use get_feedback::{GetFeedback, ListedFeedback};
pub use submit_feedback::SubmitFeedback;

use ep_kernel::{Ctx, Fault, Kind, PollState};

use crate::poll_id::poll_id;

/// Returns the poll with this id. Fails for private polls, even for their owners, because feedback is public.
async fn poll(cx: &Ctx, id: &str) -> Result<PollState, Fault> {
    let state = cx.polls().readable(&poll_id(cx, id)?, &cx.caller).await?;
    if state.record.plan.private {
        let id = &state.record.id;
        return Err(Fault::new(
            Kind::NotFound,
            format!("poll {id} is private; feedback is public, so it is only for public polls"),
        ));
    }
    Ok(state)
}
