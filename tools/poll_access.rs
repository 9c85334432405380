//! Polls that a caller may read.

use ep_kernel::caller::Caller;
use ep_kernel::ctx::Ctx;
use ep_kernel::executor::PollState;
use ep_kernel::fault::{Fault, Kind};
use ep_polling::poll_id::PollId;

/// Returns the poll with this id if the caller may read it. A private poll is reported as not found to anyone
/// but its owner.
pub async fn readable(cx: &Ctx, id: &str) -> Result<PollState, Fault> {
    let missing = || Fault::no_such_poll(id);
    let parsed: PollId = id.parse().map_err(|_| missing())?;
    let state = cx.polls().state(&parsed).await?;
    state.filter(|state| may_read(&cx.caller, state)).ok_or_else(missing)
}

/// Returns the caller's own poll with this id. It is reported as not found to anyone else.
pub async fn owned(cx: &Ctx, id: &str) -> Result<PollState, Fault> {
    let state = readable(cx, id).await?;
    if owns(&cx.caller, &state) {
        return Ok(state);
    }
    let text =
        format!("this account did not open poll {}; get_poll_result reads public results", state.record.id);
    Err(Fault::new(Kind::NotFound, text))
}

fn may_read(caller: &Caller, state: &PollState) -> bool {
    !state.record.plan.private || owns(caller, state)
}

/// Returns true if the caller opened this poll. The operator's process may act for every owner.
pub fn owns(caller: &Caller, state: &PollState) -> bool {
    *caller == Caller::Local || caller.user().is_some_and(|user| state.record.owner == Some(user))
}
