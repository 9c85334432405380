//! `submit_feedback`: records feedback on a poll's outcome.

use ep_polling::text::normalize;
use ep_polling::{Lines, PollId, TextError, checked, inline_schema};
use ep_store::{FeedbackEntry, FeedbackId, NewFeedback};

use super::poll;
use crate::prelude::*;

/// Submits feedback.
pub struct SubmitFeedback;

/// The caller's feedback on a poll.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct FeedbackInput {
    /// The poll's id: EP-<date>-<suffix>. The poll has ended, and is not private.
    #[serde(alias = "pollId")]
    #[schemars(extend("x-aliases" = ["pollId"]))]
    pub poll_id: String,
    /// True if its outcome was correct; omit it if you do not know.
    pub outcome_correct: Option<bool>,
    /// Your certainty about `outcome_correct`, from 0 to 1.
    pub confidence: Option<Confidence>,
    /// Public notes, without personal data.
    pub notes: Option<Notes>,
}

/// An account's certainty, from 0 to 1.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "f64")]
pub struct Confidence(f64);

checked!(Confidence: f64, &'static str, |value| {
    if (0.0..=1.0).contains(&value) { Ok(Self(value)) } else { Err("must be a number from 0 to 1") }
});
inline_schema!(Confidence, { "type": "number", "minimum": 0, "maximum": 1 });

/// A text of at most [`Notes::MAX_CHARS`] characters; `None` if it is blank.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub struct Notes(Option<String>);

impl Notes {
    /// Maximum number of characters.
    pub const MAX_CHARS: usize = 2_000;
}

checked!(Notes: String, TextError, |text| {
    if text.trim().is_empty() {
        return Ok(Self(None));
    }
    normalize(&text, 1, Self::MAX_CHARS, Lines::Many).map(|notes| Self(Some(notes)))
});
inline_schema!(Notes, { "type": "string", "maxLength": Notes::MAX_CHARS });

/// The recorded feedback.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Recorded {
    /// The id of your feedback on this poll; the same if you replace it.
    pub feedback_id: FeedbackId,
    /// The poll.
    pub poll_id: PollId,
    /// Always true.
    pub recorded: bool,
}

impl ToolOutput for Recorded {}

impl Tool for SubmitFeedback {
    const SPEC: Spec = Spec {
        name: "submit_feedback",
        title: "Give feedback on a poll",
        summary: "Records whether an ended poll's outcome was correct, one entry per account. Public, without your name. Free.",
        manual: include_str!("submit_feedback.md"),
        example: include_str!("submit_feedback.example.json"),
        access: Access::KEY,
        effect: Effect::Write { idempotent: true },
        rest: Some(Rest::post("/api/feedback").status(201)),
        agents: Agents::Set(ToolSet::Polls),
        intents: &[
            "the poll was right",
            "report that this poll's answer was wrong",
            "the outcome of a poll turned out to be correct",
            "give feedback on the outcome of a poll",
            "leave a comment about my poll",
            "mark the answer as incorrect",
            "send feedback",
            "leave feedback about my last poll",
            "rate the answer of a poll",
            "thumbs up or down for a result",
            "the models got it wrong",
            "record whether the winner was right",
        ],
        faults: &[Kind::NotFound, Kind::Conflict],
        ..Spec::PLAIN
    };
    type Input = FeedbackInput;
    type Output = Recorded;
    const NEEDS_ACCOUNT: bool = true;

    async fn call(cx: &Ctx, input: FeedbackInput) -> Result<Recorded, Fault> {
        let state = poll(cx, &input.poll_id).await?;
        let poll_id = state.record.id.clone();
        if state.record.closing.is_none() {
            let text = format!("poll {poll_id} has not ended yet; send feedback once it has an outcome");
            return Err(Fault::new(Kind::Conflict, text));
        }
        let entry = FeedbackEntry {
            outcome_correct: input.outcome_correct,
            confidence: input.confidence.map(|Confidence(confidence)| confidence),
            notes: input.notes.and_then(|Notes(notes)| notes),
            created_at: cx.clock().now(),
        };
        let id = FeedbackId::from_random(cx.random());
        let feedback = NewFeedback { id, poll: poll_id.clone(), user: cx.account()?, entry };
        let feedback_id = cx.store().submit_feedback(&feedback).await?;
        Ok(Recorded { feedback_id, poll_id, recorded: true })
    }
}
