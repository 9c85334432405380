//! Polls that a caller may read.

use ep_kernel::{Caller, Ctx, Fault, Kind, PollState};
use ep_polling::PollId;

/// Returns the poll with this id, or at this URL of the service, if the caller may read it. A private poll is reported as
/// not found to anyone but its owner.
pub async fn readable(cx: &Ctx, id: &str) -> Result<PollState, Fault> {
    let missing = || Fault::no_such_poll(id);
    let named = named_poll(cx.links().base_url(), id).ok_or_else(missing)?;
    let state = cx.polls().state(&named).await?;
    state.filter(|state| may_read(&cx.caller, state)).ok_or_else(missing)
}

/// Returns the id in a text that is an id, or a URL below this base URL with an id in its path. Agents and people copy the
/// link of a result.
fn named_poll(base_url: &str, text: &str) -> Option<PollId> {
    let path = || text.strip_prefix(base_url)?.strip_prefix('/');
    let in_path = || path()?.split(['?', '#']).next()?.split('/').find_map(|part| part.parse().ok());
    text.parse().ok().or_else(in_path)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polls_are_named_by_their_id_or_url() {
        let id: PollId = "EP-20260131-7KQ2M4X9TB".parse().unwrap();
        for (text, expected) in [
            ("EP-20260131-7KQ2M4X9TB", true),
            ("https://ep.example/results/EP-20260131-7KQ2M4X9TB", true),
            ("https://ep.example/results/EP-20260131-7KQ2M4X9TB?lang=de#votes", true),
            ("https://ep.example/api/results/EP-20260131-7KQ2M4X9TB/events", true),
            ("https://ep.example.org/results/EP-20260131-7KQ2M4X9TB", false),
            ("https://ep.example/results?id=EP-20260131-7KQ2M4X9TB", false),
            ("https://ep.example", false),
            ("", false),
        ] {
            assert_eq!(named_poll("https://ep.example", text), expected.then(|| id.clone()), "{text}");
        }
    }
}
