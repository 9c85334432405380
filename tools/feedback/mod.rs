//! Feedback: what accounts say of the outcomes of polls.

mod get_feedback;
mod submit_feedback;

pub use get_feedback::{GetFeedback, ListedFeedback};
pub use submit_feedback::SubmitFeedback;

use ep_kernel::ctx::Ctx;
use ep_kernel::executor::PollState;
use ep_kernel::fault::{Fault, Kind};

use crate::results;

/// The poll with this id, if there may be feedback on it: feedback is public, so private polls have none, not even for
/// their owners.
async fn poll(cx: &Ctx, id: &str) -> Result<PollState, Fault> {
    let state = results::readable(cx, id).await?;
    if state.record.plan.private {
        let id = &state.record.id;
        return Err(Fault::new(
            Kind::NotFound,
            format!("poll {id} is private: feedback is public, so there is none on it"),
        ));
    }
    Ok(state)
}
