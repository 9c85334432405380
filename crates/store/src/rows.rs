//! Rows as both engines give them, and what they mean.

use std::collections::BTreeMap;

use ep_kernel::caller::{KeyId, UserId};
use ep_kernel::ports::{Balance, CachedModelList, ClaimState, Closing, KeyOwner, PollRecord, StoreError};
use ep_polling::ballot::{Ballot, NoVote, Reason};
use ep_polling::money::{Hold, MicroUsd, Spend, SpendBasis};
use ep_polling::poll_id::PollId;
use ep_polling::roster::ModelId;
use ep_polling::time::Timestamp;
use serde::Serialize;
use serde::de::value::Error as NotAWord;
use serde::de::{DeserializeOwned, IntoDeserializer};

use crate::fault::{Unreadable, failed};

/// [`crate::statements::poll_columns`].
pub(crate) type PollRow = (
    String,         // id
    Option<String>, // owner
    i64,            // created_at
    i64,            // billed
    i64,            // settled
    Option<i64>,    // amount of its hold
    Option<i64>,    // unused_cost
    String,         // plan
    Option<String>, // closing
);

/// [`crate::statements::ballot_columns`].
pub(crate) type BallotRow = (
    i64,            // seq
    i64,            // position
    String,         // model
    Option<i64>,    // choice
    Option<String>, // reason
    Option<String>, // detail
    String,         // option_order
    i64,            // latency_ms
    i64,            // at_ms
    i64,            // cost
    String,         // basis
    Option<String>, // answered_by
);

/// A ballot as it is written: the columns of [`BallotRow`] after its poll.
#[derive(Serialize)]
pub(crate) struct WrittenBallot<'a>(
    pub(crate) &'a str,
    pub(crate) i64,
    pub(crate) i64,
    pub(crate) &'a str,
    pub(crate) Option<i64>,
    pub(crate) Option<&'static str>,
    pub(crate) Option<&'a str>,
    pub(crate) String,
    pub(crate) i64,
    pub(crate) i64,
    pub(crate) i64,
    pub(crate) &'static str,
    pub(crate) Option<&'a str>,
);

impl<'a> WrittenBallot<'a> {
    pub(crate) fn new(poll: &'a PollId, ballot: &'a Ballot) -> Self {
        let no_vote = ballot.vote.as_ref().err();
        Self(
            poll.as_str(),
            ballot.seq.into(),
            ballot.position.into(),
            ballot.model.as_str(),
            ballot.vote.as_ref().ok().map(|option| *option as i64),
            no_vote.map(|no_vote| no_vote.reason.as_str()),
            no_vote.map(|no_vote| no_vote.detail.as_str()),
            format!("{:?}", ballot.option_order),
            ballot.latency_ms.into(),
            ballot.at_ms.into(),
            ballot.spend.amount.micro(),
            basis_word(ballot.spend.basis),
            ballot.answered_by.as_deref(),
        )
    }
}

const fn basis_word(basis: SpendBasis) -> &'static str {
    match basis {
        SpendBasis::Reported => "reported",
        SpendBasis::Priced => "priced",
        SpendBasis::Unknown => "unknown",
    }
}

pub(crate) fn ballot(row: BallotRow) -> Result<Ballot, StoreError> {
    let (seq, position, model, choice, reason, detail, order, latency_ms, at_ms, cost, basis, answered_by) =
        row;
    let vote = match (choice, reason) {
        (Some(option), None) => Ok(usize::try_from(option).map_err(|_| unreadable("a vote"))?),
        (None, Some(reason)) => Err(NoVote {
            reason: word::<Reason>(&reason).ok_or_else(|| unreadable("a reason"))?,
            detail: detail.unwrap_or_default(),
        }),
        _ => return Err(unreadable("a vote")),
    };
    let number = |value: i64| u32::try_from(value).map_err(|_| unreadable("a ballot"));
    Ok(Ballot {
        seq: number(seq)?,
        position: number(position)?,
        model: ModelId::new(model),
        vote,
        option_order: serde_json::from_str(&order).map_err(failed)?,
        latency_ms: number(latency_ms)?,
        at_ms: number(at_ms)?,
        spend: Spend {
            amount: MicroUsd::new(cost),
            basis: word(&basis).ok_or_else(|| unreadable("a basis"))?,
        },
        answered_by,
    })
}

pub(crate) fn poll(row: PollRow) -> Result<PollRecord, StoreError> {
    let (id, owner, created_at, billed, settled, held, unused, plan, closing) = row;
    let closing = match closing {
        Some(text) => Some(Closing {
            unused_calls_cost: unused.map(MicroUsd::new),
            ..serde_json::from_str(&text).map_err(failed)?
        }),
        None => None,
    };
    Ok(PollRecord {
        id: poll_id(&id)?,
        owner: owner.as_deref().map(user_id).transpose()?,
        plan: serde_json::from_str(&plan).map_err(failed)?,
        created_at: Timestamp::from_millis(created_at),
        held: (billed != 0).then(|| MicroUsd::new(held.unwrap_or_default())),
        closing,
        settled: settled != 0,
    })
}

/// A closing as it is written: without what the unused calls cost, which has a column of its own because
/// it becomes known later.
pub(crate) fn closing_text(closing: &Closing) -> Result<String, StoreError> {
    serde_json::to_string(&Closing { unused_calls_cost: None, ..closing.clone() }).map_err(failed)
}

pub(crate) fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(failed)
}

pub(crate) fn poll_id(text: &str) -> Result<PollId, StoreError> {
    text.parse().map_err(failed)
}

pub(crate) fn user_id(text: &str) -> Result<UserId, StoreError> {
    text.parse().map_err(failed)
}

pub(crate) fn key_owner((key, user): &(String, String)) -> Result<KeyOwner, StoreError> {
    Ok(KeyOwner { key: key.parse::<KeyId>().map_err(failed)?, user: user_id(user)? })
}

pub(crate) fn balance((posted, held, used): (i64, i64, i64)) -> Balance {
    Balance { posted: MicroUsd::new(posted), held: MicroUsd::new(held), used: MicroUsd::new(used) }
}

/// What an entry that could not be claimed says about the request: its fingerprint and its reply.
pub(crate) fn begun(fingerprint: &str, (kept, reply): (String, Option<String>)) -> ClaimState {
    match reply {
        _ if kept != fingerprint => ClaimState::Mismatch,
        Some(reply) => ClaimState::Done(reply),
        None => ClaimState::Running,
    }
}

pub(crate) fn registry((fetched_at, body): (i64, String)) -> CachedModelList {
    CachedModelList { fetched_at: Timestamp::from_millis(fetched_at), body }
}

pub(crate) fn rung((model, rung): (String, i64)) -> (ModelId, u8) {
    (ModelId::new(model), u8::try_from(rung).unwrap_or_default())
}

/// What a hold takes of what is available.
pub(crate) fn to_hold(hold: Hold, available: MicroUsd) -> Result<MicroUsd, StoreError> {
    if available < hold.at_least {
        return Err(StoreError::InsufficientBalance { available, needed: hold.at_least });
    }
    Ok(hold.at_most.min(available))
}

/// A change that must have found its one row, or else the books are wrong.
pub(crate) fn exactly_one(rows: u64) -> Result<(), StoreError> {
    if rows == 1 { Ok(()) } else { Err(unreadable("books")) }
}

/// When each key was used last.
pub(crate) fn last_uses(used: &[(KeyId, Timestamp)]) -> BTreeMap<String, i64> {
    let mut last = BTreeMap::new();
    for (key, at) in used {
        let kept = last.entry(key.to_string()).or_insert(at.millis());
        *kept = at.millis().max(*kept);
    }
    last
}

/// Addresses are the same whatever their case.
pub(crate) fn address(email: &str) -> String {
    email.trim().to_lowercase()
}

fn word<T: DeserializeOwned>(text: &str) -> Option<T> {
    T::deserialize(IntoDeserializer::<NotAWord>::into_deserializer(text)).ok()
}

fn unreadable(what: &'static str) -> StoreError {
    failed(Unreadable(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back_as_what_they_were() {
        for reason in [Reason::Timeout, Reason::RateLimited, Reason::UpstreamError, Reason::Truncated] {
            assert_eq!(word(reason.as_str()), Some(reason));
        }
        for basis in [SpendBasis::Reported, SpendBasis::Priced, SpendBasis::Unknown] {
            assert_eq!(word(basis_word(basis)), Some(basis));
        }
        assert_eq!(word::<Reason>("laziness"), None);
    }
}
