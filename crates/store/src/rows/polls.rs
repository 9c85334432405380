//! Rows of polls and ballots.

use std::time::Duration;

use ep_kernel::ports::{
    AdoptedPoll, Closing, Epoch, PastEnd, PastPoll, PollProgress, PollRecord, StoreError,
};
use ep_polling::ballot::{Ballot, Casting, NoVote, Reason};
use ep_polling::money::{MicroUsd, Spend, SpendBasis};
use ep_polling::plan::PollForm;
use ep_polling::poll_id::PollId;
use ep_polling::roster::ModelId;
use ep_polling::tally::Tally;
use ep_polling::time::Timestamp;
use serde::Deserialize;

use super::{from_name, json, poll_id, unreadable, user_id};
use crate::error::{UnexpectedData, failed};

row! {
    /// [`crate::statements::poll_columns`].
    PollRow {
        id: String,
        form: i64,
        owner: Option<String>,
        created_at: i64,
        billed: i64,
        settled: i64,
        held: Option<i64>,
        unused_cost: Option<i64>,
        plan: String,
        closing: Option<String>,
    }
}

row! {
    /// The number of votes for one choice in a listed poll.
    PastPollRow {
        id: String,
        form: i64,
        created_at: i64,
        closing: Option<String>,
        unused_cost: Option<i64>,
        question: String,
        options: String,
        captured: Option<i64>,
        choice: Option<i64>,
        answers: i64,
        cost: i64,
    }
}

row! {
    /// The polls of one day, counted from 1970.
    DaySpendingRow { day: i64, polls: i64, cost: i64 }
}

row! {
    /// A newly adopted poll and its remaining time.
    AdoptedRow { id: String, epoch: i64, left_ms: Option<i64> }
}

row! {
    /// The progress of a poll.
    ProgressRow { closing: Option<String>, unused_cost: Option<i64>, settled: i64, ballots: i64 }
}

row! {
    /// The `settled` flag of a poll.
    SettledRow { settled: i64 }
}

row! {
    /// [`crate::statements::ballot_columns`], in the same order, because SQLite returns ballots as JSON
    /// arrays.
    #[derive(Deserialize)]
    BallotRow {
        seq: i64,
        position: i64,
        model: String,
        choice: Option<i64>,
        reason: Option<String>,
        detail: Option<String>,
        option_order: String,
        latency_ms: i64,
        at_ms: i64,
        cost: i64,
        basis: String,
        answered_by: Option<String>,
        ballot_mode: Option<String>,
        reasoned: Option<i64>,
    }
}

/// A ballot to insert: `poll_id` and the columns of [`BallotRow`].
pub(crate) struct NewBallotRow<'a> {
    pub(crate) poll_id: &'a str,
    pub(crate) seq: i64,
    pub(crate) position: i64,
    pub(crate) model: &'a str,
    pub(crate) choice: Option<i64>,
    pub(crate) reason: Option<&'static str>,
    pub(crate) detail: Option<&'a str>,
    pub(crate) option_order: String,
    pub(crate) latency_ms: i64,
    pub(crate) at_ms: i64,
    pub(crate) cost: i64,
    pub(crate) basis: &'static str,
    pub(crate) answered_by: Option<&'a str>,
    pub(crate) ballot_mode: Option<&'static str>,
    pub(crate) reasoned: Option<i64>,
}

impl<'a> NewBallotRow<'a> {
    pub(crate) fn new(poll: &'a PollId, ballot: &'a Ballot) -> Self {
        let no_vote = ballot.vote.as_ref().err();
        Self {
            poll_id: poll.as_str(),
            seq: ballot.seq.into(),
            position: ballot.position.into(),
            model: ballot.model.as_str(),
            choice: ballot.vote.as_ref().ok().map(|option| *option as i64),
            reason: no_vote.map(|no_vote| no_vote.reason.as_str()),
            detail: no_vote.map(|no_vote| no_vote.detail.as_str()),
            option_order: format!("{:?}", ballot.option_order),
            latency_ms: ballot.latency_ms.into(),
            at_ms: ballot.at_ms.into(),
            cost: ballot.spend.amount.micro(),
            basis: basis_name(ballot.spend.basis),
            answered_by: ballot.answered_by.as_deref(),
            ballot_mode: ballot.casting.map(|casting| casting.mode.as_str()),
            reasoned: ballot.casting.and_then(|casting| casting.reasoned).map(i64::from),
        }
    }
}

const fn basis_name(basis: SpendBasis) -> &'static str {
    match basis {
        SpendBasis::Reported => "reported",
        SpendBasis::Priced => "priced",
        SpendBasis::Estimated => "estimated",
        SpendBasis::Unknown => "unknown",
    }
}

impl TryFrom<BallotRow> for Ballot {
    type Error = StoreError;

    fn try_from(row: BallotRow) -> Result<Self, StoreError> {
        let vote = match (row.choice, row.reason) {
            (Some(option), None) => Ok(usize::try_from(option).map_err(|_| unreadable("a vote"))?),
            (None, Some(reason)) => Err(NoVote {
                reason: from_name::<Reason>(&reason).ok_or_else(|| unreadable("a reason"))?,
                detail: row.detail.unwrap_or_default(),
            }),
            _ => return Err(unreadable("a vote")),
        };
        let casting = match row.ballot_mode {
            Some(mode) => Some(Casting {
                mode: from_name(&mode).ok_or_else(|| unreadable("a ballot mode"))?,
                reasoned: row.reasoned.map(|reasoned| reasoned != 0),
            }),
            None => None,
        };
        let number = |value: i64| u32::try_from(value).map_err(|_| unreadable("a ballot"));
        Ok(Self {
            seq: number(row.seq)?,
            position: number(row.position)?,
            model: ModelId::new(row.model),
            vote,
            option_order: serde_json::from_str(&row.option_order).map_err(failed)?,
            latency_ms: number(row.latency_ms)?,
            at_ms: number(row.at_ms)?,
            spend: Spend {
                amount: MicroUsd::new(row.cost),
                basis: from_name(&row.basis).ok_or_else(|| unreadable("a basis"))?,
            },
            answered_by: row.answered_by,
            casting,
        })
    }
}

impl TryFrom<PollRow> for PollRecord {
    type Error = StoreError;

    fn try_from(row: PollRow) -> Result<Self, StoreError> {
        let PollForm::First = form(row.form)?;
        let closing = closing(row.closing, row.unused_cost)?;
        Ok(Self {
            id: poll_id(&row.id)?,
            owner: row.owner.as_deref().map(user_id).transpose()?,
            plan: serde_json::from_str(&row.plan).map_err(failed)?,
            created_at: Timestamp::from_millis(row.created_at),
            held: (row.billed != 0).then(|| MicroUsd::new(row.held.unwrap_or_default())),
            closing,
            settled: row.settled != 0,
        })
    }
}

impl TryFrom<ProgressRow> for PollProgress {
    type Error = StoreError;

    fn try_from(row: ProgressRow) -> Result<Self, StoreError> {
        Ok(Self {
            ballots: u32::try_from(row.ballots).map_err(|_| unreadable("a ballot"))?,
            closing: closing(row.closing, row.unused_cost)?,
            settled: row.settled != 0,
        })
    }
}

/// Returns the form with this number. The patterns that decode it fail to compile once a second form exists.
pub(crate) fn form(number: i64) -> Result<PollForm, StoreError> {
    PollForm::from_number(number).ok_or(StoreError::UnknownForm)
}

/// Decodes the closing of a poll from its columns.
fn closing(text: Option<String>, unused_cost: Option<i64>) -> Result<Option<Closing>, StoreError> {
    let Some(text) = text else { return Ok(None) };
    let closing = serde_json::from_str(&text).map_err(failed)?;
    Ok(Some(Closing { unused_calls_cost: unused_cost.map(MicroUsd::new), ..closing }))
}

/// Converts the rows of a listed poll, one for each choice.
pub(crate) fn past_poll(rows: &[PastPollRow]) -> Result<PastPoll, StoreError> {
    let [first, ..] = rows else { return Err(failed(UnexpectedData::MissingRow)) };
    let PollForm::First = form(first.form)?;
    let options: Vec<String> = serde_json::from_str(&first.options).map_err(failed)?;
    let votes = rows.iter().flat_map(|row| {
        let option = row.choice.and_then(|choice| usize::try_from(choice).ok());
        std::iter::repeat_n(option, usize::try_from(row.answers).unwrap_or(0))
    });
    let tally = Tally::of(options.len(), votes);
    let spent = rows.iter().map(|row| MicroUsd::new(row.cost)).sum::<MicroUsd>();
    let cost = spent.plus(MicroUsd::new(first.unused_cost.unwrap_or_default()));
    let closing: Option<Closing> =
        first.closing.as_deref().map(serde_json::from_str).transpose().map_err(failed)?;
    Ok(PastPoll {
        id: poll_id(&first.id)?,
        created_at: Timestamp::from_millis(first.created_at),
        tally,
        answered: rows.iter().map(|row| row.answers).sum::<i64>() as u32,
        question: first.question.clone(),
        options,
        end: closing.map(|closing| PastEnd {
            total_ms: closing.total_ms,
            cost: first.captured.map_or(cost, MicroUsd::new),
        }),
    })
}

impl TryFrom<AdoptedRow> for AdoptedPoll {
    type Error = StoreError;

    fn try_from(row: AdoptedRow) -> Result<Self, StoreError> {
        let left = row.left_ms.map(|left| Duration::from_millis(left.max(0).unsigned_abs()));
        Ok(Self { id: poll_id(&row.id)?, epoch: Epoch::new(row.epoch), left })
    }
}

/// Serialises a closing without the cost of the unused calls, which becomes known later and has a separate
/// column.
pub(crate) fn closing_json(closing: &Closing) -> Result<String, StoreError> {
    json(&Closing { unused_calls_cost: None, ..closing.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_to_the_values_that_they_name() {
        for reason in [Reason::Timeout, Reason::RateLimited, Reason::UpstreamError, Reason::Truncated] {
            assert_eq!(from_name(reason.as_str()), Some(reason));
        }
        for basis in [SpendBasis::Reported, SpendBasis::Priced, SpendBasis::Estimated, SpendBasis::Unknown] {
            assert_eq!(from_name(basis_name(basis)), Some(basis));
        }
        assert_eq!(from_name::<Reason>("laziness"), None);
    }
}
