//! Ballots as stored.

use ep_polling::{Ballot, BallotMode, Casting, NoVote, Reason, Spend, SpendBasis, Tokens};

use crate::error::{UnexpectedData, failed};
use crate::row::{Columns, FromRow, Json, Name};
use crate::store_error::{Result, StoreError};

/// The stored numbers of bases and modes are indices into these lists. New names are appended.
pub(crate) const BASES: [SpendBasis; 4] =
    [SpendBasis::Reported, SpendBasis::Priced, SpendBasis::Estimated, SpendBasis::Unknown];
pub(crate) const MODES: [BallotMode; 4] =
    [BallotMode::ForcedTool, BallotMode::OfferedTool, BallotMode::JsonSchema, BallotMode::Text];

/// A ballot to insert: the columns of [`ballot_columns`](crate::polls::sql::ballot_columns).
pub(crate) struct NewBallot<'a> {
    pub(crate) seq: i64,
    pub(crate) position: i64,
    pub(crate) choice: Option<i64>,
    pub(crate) latency_ms: i64,
    pub(crate) at_ms: i64,
    pub(crate) cost: i64,
    pub(crate) basis: i64,
    pub(crate) mode: Option<i64>,
    pub(crate) reasoned: Option<i64>,
    pub(crate) reason: Option<&'static str>,
    pub(crate) detail: Option<&'a str>,
    pub(crate) answered_by: Option<&'a str>,
    pub(crate) prompt_tokens: Option<i64>,
    pub(crate) completion_tokens: Option<i64>,
    /// A JSON array of parts per million, in the caller's order of the options.
    pub(crate) probabilities: Option<String>,
    /// 1 for a second response.
    pub(crate) asked_again: Option<i64>,
}

impl<'a> NewBallot<'a> {
    pub(crate) fn new(ballot: &'a Ballot) -> Self {
        let no_vote = ballot.vote.as_ref().err();
        Self {
            seq: ballot.seq.into(),
            position: ballot.position.into(),
            choice: ballot.vote.as_ref().ok().map(|option| *option as i64),
            latency_ms: ballot.latency_ms.into(),
            at_ms: ballot.at_ms.into(),
            cost: ballot.spend.amount.micro(),
            basis: number_of(&BASES, ballot.spend.basis),
            mode: ballot.casting.map(|casting| number_of(&MODES, casting.mode)),
            reasoned: ballot.casting.and_then(|casting| casting.reasoned).map(i64::from),
            reason: no_vote.map(|no_vote| no_vote.reason.as_str()),
            detail: no_vote.map(|no_vote| no_vote.detail.as_str()),
            answered_by: ballot.answered_by.as_deref(),
            prompt_tokens: ballot.tokens.map(|tokens| tokens.prompt.into()),
            completion_tokens: ballot.tokens.map(|tokens| tokens.completion.into()),
            // Numbers always serialise.
            probabilities: ballot.probabilities.as_ref().and_then(|given| serde_json::to_string(given).ok()),
            asked_again: ballot.casting.filter(|casting| casting.asked_again).map(|_| 1),
        }
    }
}

fn number_of<T: PartialEq, const N: usize>(names: &[T; N], name: T) -> i64 {
    // A name outside the list gets a number that cannot be read. A test compares the lists with the types.
    names.iter().position(|known| *known == name).unwrap_or(N) as i64
}

fn name_of<T: Copy>(names: &[T], number: i64) -> Option<T> {
    names.get(usize::try_from(number).ok()?).copied()
}

impl FromRow for Ballot {
    fn from_row(columns: &mut Columns<'_>) -> Result<Self> {
        let (seq, position, choice): (_, _, Option<usize>) = columns.get()?;
        let (latency_ms, at_ms, amount) = columns.get()?;
        let (basis, mode, reasoned) = columns.get()?;
        let (reason, detail, answered_by): (Option<Name<Reason>>, Option<String>, _) = columns.get()?;
        let (prompt, completion): (Option<u32>, Option<u32>) = columns.get()?;
        let (probabilities, asked_again): (Option<Json<_>>, Option<i64>) = columns.get()?;
        let vote = match (choice, reason) {
            (Some(option), None) => Ok(option),
            (None, Some(Name(reason))) => Err(NoVote { reason, detail: detail.unwrap_or_default() }),
            _ => return Err(unreadable("a vote")),
        };
        let casting = match mode {
            Some(mode) => Some(Casting {
                mode: name_of(&MODES, mode).ok_or_else(|| unreadable("a ballot mode"))?,
                reasoned,
                asked_again: asked_again.is_some(),
            }),
            None => None,
        };
        let basis = name_of(&BASES, basis).ok_or_else(|| unreadable("a basis"))?;
        Ok(Self {
            seq,
            position,
            vote,
            probabilities: probabilities.map(|Json(given)| given),
            latency_ms,
            at_ms,
            spend: Spend { amount, basis },
            answered_by,
            casting,
            tokens: prompt.zip(completion).map(|(prompt, completion)| Tokens { prompt, completion }),
        })
    }
}

fn unreadable(what: &'static str) -> StoreError {
    failed(UnexpectedData::Value(what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::named;

    #[test]
    fn numbers_of_names_never_change() {
        let names = ["reported", "priced", "estimated", "unknown"];
        assert_eq!(names.map(|name| named::<SpendBasis>(name).ok()), BASES.map(Some));
        let names = ["forced_tool", "offered_tool", "json_schema", "text"];
        assert_eq!(names, MODES.map(BallotMode::as_str));
        for reason in
            [Reason::Timeout, Reason::RateLimited, Reason::Busy, Reason::UpstreamError, Reason::Truncated]
        {
            assert_eq!(named(reason.as_str()).ok(), Some(reason));
        }
        assert_eq!(named::<Reason>("laziness").ok(), None);
        let numbers: Vec<i64> = BASES.iter().map(|basis| number_of(&BASES, *basis)).collect();
        assert_eq!(numbers, [0, 1, 2, 3]);
        assert_eq!((name_of(&MODES, 3), name_of(&MODES, 4)), (Some(BallotMode::Text), None));
    }
}
