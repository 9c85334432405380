//! `delete_poll`: deletes a poll and its result.

use ep_polling::PollId;

use crate::poll_id::poll_id;
use crate::prelude::*;

/// Deletes a poll.
pub struct DeletePoll;

/// The poll to delete, named twice.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct PollToDelete {
    /// The poll's id: EP-<date>-<suffix>.
    pub poll_id: String,
    /// The same id again, as a confirmation: the deletion cannot be undone.
    pub confirm: String,
}

/// The response to a deletion.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeletedPoll {
    /// The poll.
    pub poll_id: PollId,
    /// Always true.
    pub deleted: bool,
}

impl ToolOutput for DeletedPoll {}

impl Tool for DeletePoll {
    const SPEC: Spec = Spec {
        name: "delete_poll",
        title: "Delete a poll",
        summary: "Deletes one of your ended polls permanently: question, options, votes and public result. Free.",
        manual: include_str!("delete_poll.md"),
        example: r#"{ "poll_id": "EP-20260131-7KQ2M4X9TB", "confirm": "EP-20260131-7KQ2M4X9TB" }"#,
        access: Access::ACCOUNT,
        effect: Effect::Destroy,
        rest: Some(Rest::delete("/api/polls/{poll_id}")),
        agents: Agents::Set(ToolSet::Polls),
        intents: &[
            "delete my poll",
            "delete EP-20260131-7KQ2M4X9TB",
            "delete a poll and its result",
            "remove a published poll result",
            "erase a poll for good",
            "take my poll offline",
        ],
        faults: &[Kind::NotFound, Kind::Conflict],
        ..Spec::PLAIN
    };
    type Input = PollToDelete;
    type Output = DeletedPoll;

    async fn call(cx: &Ctx, input: PollToDelete) -> Result<DeletedPoll, Fault> {
        let state = cx.polls().owned(&poll_id(cx, &input.poll_id)?, &cx.caller).await?;
        let id = state.record.id.clone();
        if let Some(user) = cx.caller.user() {
            cx.account_data().own_account(user).await?;
        }
        if input.confirm != id.as_str() {
            let rule = format!("must repeat the poll's id, {id}, because the deletion cannot be undone");
            return Err(Fault::invalid("confirm", rule));
        }
        cx.polls().delete(&id).await?;
        cx.account_data().purge().await;
        Ok(DeletedPoll { poll_id: id, deleted: true })
    }
}

#[cfg(test)]
mod tests {
    use ep_kernel::testing::until;
    use serde_json::json;

    use super::*;
    use crate::polls::PollQuestion;
    use crate::results::GetPollResult;
    use crate::testing::Service;

    #[tokio::test]
    async fn only_the_owner_can_delete_a_poll_and_must_confirm() {
        let service = Service::start().await;
        let (owner, other) = (service.user().await, service.user().await);
        let request = json!({ "question": "Which of the two is better?", "options": ["Alpha", "Beta"] });
        let poll = service.call::<PollQuestion>(&owner, request).await.unwrap().value;
        let id = &poll["poll_id"];
        let (nobody, yes) = (Service::anonymous(), json!("yes"));
        let delete = async |caller, confirm| {
            service.call::<DeletePoll>(caller, json!({ "poll_id": id, "confirm": confirm })).await
        };
        assert_eq!(delete(&other, id).await.unwrap_err().kind(), Kind::NotFound);
        assert_eq!(delete(&nobody, id).await.unwrap_err().kind(), Kind::Unauthenticated);
        assert_eq!(delete(&owner, &yes).await.unwrap_err().kind(), Kind::InvalidInput);
        // The deletion conflicts while the poll's cost is still being charged.
        let delete_own = async || delete(&owner, id).await.err().map(|fault| fault.kind());
        until("the cost is charged", delete_own, |refused| *refused != Some(Kind::Conflict)).await;
        for caller in [&owner, &other, &Service::anonymous()] {
            let read = service.call::<GetPollResult>(caller, json!({ "poll_id": id })).await;
            assert_eq!(read.unwrap_err().kind(), Kind::NotFound);
        }
        assert_eq!(delete(&owner, id).await.unwrap_err().kind(), Kind::NotFound);
    }
}
