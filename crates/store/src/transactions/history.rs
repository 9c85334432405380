//! Lists of an account's polls.

use ep_polling::model_counts::ModelCounts;
use ep_polling::money::MicroUsd;
use ep_polling::poll_id::PollId;
use ep_polling::tally::Tally;
use ep_polling::time::Timestamp;

use super::plans;
use crate::error::{UnexpectedData, failed};
use crate::handles::Store;
use crate::ids::UserId;
use crate::records::{Closing, DaySpending, PastEnd, PastPoll, PollScope, PollSearch, StoreError};
use crate::row::{Json, from_row};
use crate::statements as sql;
use crate::value::{json, values};

/// Lists polls.
impl Store {
    /// Returns up to `limit` polls of this user without rows of batches, newest first, after `offset` newer ones.
    pub async fn polls_of(&self, user: UserId, limit: u32, offset: u32) -> Result<Vec<PastPoll>, StoreError> {
        let page = values![user, limit, offset];
        past_polls(self.0.engine.fetch_all(sql::by_engine::POLLS_OF_USER, page).await?)
    }

    /// Returns up to `limit` polls of this user, newest first, after this one in the list, or from the
    /// newest.
    pub async fn polls_after(
        &self,
        user: UserId,
        scope: PollScope,
        limit: u32,
        after: Option<(Timestamp, &PollId)>,
    ) -> Result<Vec<PastPoll>, StoreError> {
        let (at, id) = after.map_or((i64::MAX, ""), |(at, id)| (at.millis(), id.as_str()));
        let page = values![user, limit, at, id];
        past_polls(match scope {
            PollScope::Asked => self.0.engine.fetch_all(sql::by_engine::POLLS_AFTER, page).await?,
            PollScope::All => self.0.engine.fetch_all(sql::by_engine::ALL_POLLS_AFTER, page).await?,
            PollScope::Batch(batch) => {
                let page = values![user, limit, at, id, batch];
                self.0.engine.fetch_all(sql::by_engine::POLLS_OF_BATCH_AFTER, page).await?
            }
        })
    }

    /// Returns up to `limit` polls of this user that match the search, newest first, after `offset` newer ones.
    pub async fn find_polls(
        &self,
        user: UserId,
        search: PollSearch<'_>,
        limit: u32,
        offset: u32,
    ) -> Result<Vec<PastPoll>, StoreError> {
        let PollSearch { words, running, batch } = search;
        let spellings: Vec<Vec<String>> = words.iter().map(|word| spellings(word)).collect();
        let spellings = json(&spellings)?;
        past_polls(if let Some(batch) = batch {
            let find =
                if running { sql::by_engine::FIND_RUNNING_IN_BATCH } else { sql::by_engine::FIND_IN_BATCH };
            self.0.engine.fetch_all(find, values![user, limit, offset, &*spellings, batch]).await?
        } else {
            let find = if running { sql::by_engine::FIND_RUNNING } else { sql::by_engine::FIND_POLLS };
            self.0.engine.fetch_all(find, values![user, limit, offset, &*spellings]).await?
        })
    }

    /// Returns this user's totals per day of ended polls accepted since then, oldest first. Days without
    /// polls are omitted.
    pub async fn spending(&self, user: UserId, since: Timestamp) -> Result<Vec<DaySpending>, StoreError> {
        self.0.engine.fetch_all(sql::by_engine::SPENDING_BY_DAY, values![user, since.millis()]).await
    }
}

/// Returns the spellings under which a word can match a question, in lower case. The engines agree only on
/// the case of ASCII letters.
fn spellings(word: &str) -> Vec<String> {
    let lower = word.to_lowercase();
    let mut rest = lower.chars();
    let capitalized = rest.next().map(|first| first.to_uppercase().chain(rest).collect::<String>());
    let spellings = [word.to_owned(), word.to_uppercase(), lower].into_iter().chain(capitalized);
    let mut spellings: Vec<String> = spellings.map(|spelling| spelling.to_ascii_lowercase()).collect();
    spellings.sort_unstable();
    spellings.dedup();
    spellings
}

/// The number of votes for one choice in a listed poll.
struct PollChoice {
    id: PollId,
    form: i64,
    created_at: Timestamp,
    closing: Option<Json<Closing>>,
    other_cost: MicroUsd,
    question: String,
    options: Json<Vec<String>>,
    private: bool,
    captured: Option<MicroUsd>,
    /// The number of the option; `None` without a vote.
    choice: Option<i64>,
    answers: u32,
    cost: MicroUsd,
}

from_row!(PollChoice {
    id,
    form,
    created_at,
    closing,
    other_cost,
    question,
    options,
    private,
    captured,
    choice,
    answers,
    cost,
});

/// Returns a listed poll from its choices.
fn past_poll(choices: &[PollChoice]) -> Result<PastPoll, StoreError> {
    let [first, ..] = choices else { return Err(failed(UnexpectedData::MissingRow)) };
    plans::is_known(first.form)?;
    let Json(options) = &first.options;
    let votes = choices.iter().flat_map(|choice| {
        let option = choice.choice.and_then(|option| usize::try_from(option).ok());
        std::iter::repeat_n(option, choice.answers as usize)
    });
    let tally = Tally::of(options.len(), votes);
    let cost = choices.iter().map(|choice| choice.cost).sum::<MicroUsd>().plus(first.other_cost);
    let closing = first.closing.as_ref().map(|Json(closing)| closing);
    let ballots = choices.iter().map(|choice| choice.answers).sum::<u32>();
    let unused = closing.map_or(0, |closing| closing.unused_calls);
    let models = ModelCounts::new(ballots.saturating_add(unused), ballots, tally.votes(), unused);
    Ok(PastPoll {
        id: first.id.clone(),
        created_at: first.created_at,
        tally,
        models,
        question: first.question.clone(),
        options: options.clone(),
        private: first.private,
        end: closing.map(|closing| PastEnd {
            by_rule: closing.reason.is_some(),
            total_ms: closing.total_ms,
            cost: first.captured.unwrap_or(cost),
        }),
    })
}

fn past_polls(rows: Vec<PollChoice>) -> Result<Vec<PastPoll>, StoreError> {
    rows.chunk_by(|a, b| a.id == b.id).map(past_poll).collect()
}
