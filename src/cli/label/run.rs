//! Asks about the rows of a file, several at a time, within the cost limit.

use std::collections::HashSet;
use std::pin::pin;

use ep_kernel::fault::Fault;
use ep_kernel::ports::Clock;
use ep_kernel::tool::Entry as Operation;
use ep_polling::counted::counted;
use ep_polling::money::MicroUsd;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};

use super::cost_bound::CostBound;
use super::failed_rows::FailedRows;
use super::journal::{Entry, Journal, Key, are_without_vote};
use super::labels::{Labelled, RowOutcome, label, label_of_empty};
use super::progress::LabelProgress;
use super::question::RowQuestion;
use super::rows::Rows;
use super::settings::LabelSettings;
use crate::app::clock::SystemClock;
use crate::cli::stop_signal;
use crate::cli::target::Target;

/// The most rows that are asked again in the same run; further ones are left to another run.
const MAX_AGAIN: usize = 10_000;
/// The most rows without a text that are written at once.
const MAX_EMPTY: usize = 1000;

/// The end of a run.
pub(super) enum RunEnd {
    /// Every row was asked.
    Complete,
    /// The next row could exceed the cost limit.
    CostLimit,
    /// The account at the service has too little money for the next row.
    OutOfMoney,
    /// Ctrl-C.
    Interrupted,
}

/// A run over the rows of a file.
pub(super) struct Run<'r> {
    pub(super) target: &'r Target,
    pub(super) operation: &'static Operation,
    pub(super) settings: &'r LabelSettings,
    pub(super) bound: CostBound,
    /// The limit for the file.
    pub(super) cap: Option<MicroUsd>,
    /// The cost of the file so far, with that of earlier runs.
    pub(super) spent: MicroUsd,
    pub(super) journal: &'r mut Journal,
    pub(super) progress: &'r mut LabelProgress,
    pub(super) failed: FailedRows,
    /// The keys of the file's rows.
    pub(super) seen: HashSet<Key>,
    /// Rows that failed, to be asked again after all others.
    pub(super) again: Vec<RowQuestion>,
    /// Rows without a text that are not written yet.
    pub(super) empty: Vec<Entry>,
}

impl Run<'_> {
    /// Asks about every row that has no label, `at_once` at a time. Whatever ends it, rows in flight are written first,
    /// except after a second Ctrl-C. Fails if the input is wrong, or if every further row would fail.
    pub(super) async fn all(&mut self, rows: Rows<'_>, at_once: usize) -> anyhow::Result<RunEnd> {
        let mut stopped = pin!(stop_signal());
        let mut asked = FuturesUnordered::new();
        let mut reserved = MicroUsd::ZERO;
        let (mut waiting, mut rows, mut end) = (None, rows.fuse(), None);
        loop {
            while end.is_none() && asked.len() < at_once {
                let next = match waiting.take() {
                    Some(question) => Ok(Some(question)),
                    None => self.next_missing(&mut rows),
                };
                let question = match next {
                    Ok(Some(question)) => question,
                    Ok(None) => break,
                    Err(error) => {
                        end = Some(Err(error));
                        break;
                    }
                };
                let at_most = self.bound.of(&question);
                if self.cap.is_some_and(|cap| self.spent.plus(reserved).plus(at_most) > cap) {
                    // Rows in flight cost less than was reserved for them.
                    if asked.is_empty() {
                        end = Some(Ok(self.limited(at_most)));
                    }
                    waiting = Some(question);
                    break;
                }
                reserved = reserved.plus(at_most);
                let (target, operation, settings) = (self.target, self.operation, self.settings);
                let earlier = match self.failed.earlier(question.key) {
                    Ok(earlier) => earlier,
                    Err(error) => {
                        end = Some(Err(error));
                        break;
                    }
                };
                asked.push(async move {
                    (at_most, label(target, operation, settings, question, at_most, earlier).await)
                });
            }
            if asked.is_empty() {
                return end.unwrap_or(Ok(RunEnd::Complete));
            }
            let first = tokio::select! {
                Some(first) = asked.next() => first,
                () = &mut stopped => {
                    if matches!(end, Some(Ok(RunEnd::Interrupted))) {
                        return Ok(RunEnd::Interrupted);
                    }
                    stopped.set(stop_signal());
                    eprintln!("waiting for {} in flight; Ctrl-C again ends at once", counted(asked.len(), "row"));
                    end = Some(Ok(RunEnd::Interrupted));
                    continue;
                }
            };
            let mut done = vec![first];
            while let Some(Some(next)) = asked.next().now_or_never() {
                done.push(next);
            }
            for (at_most, _) in &done {
                reserved = reserved.minus(*at_most);
            }
            if let Some(fault) = self.keep(done.into_iter().map(|(_, labelled)| labelled).collect())? {
                end.get_or_insert(Err(fault.into()));
            }
        }
    }

    /// Returns the next row without a label; at the end, those that failed once.
    fn next_missing(
        &mut self,
        rows: &mut impl Iterator<Item = anyhow::Result<RowQuestion>>,
    ) -> anyhow::Result<Option<RowQuestion>> {
        Ok(self.next_new(rows)?.or_else(|| self.next_again()))
    }

    /// Returns the next row without a label that this run has not asked.
    pub(super) fn next_new(
        &mut self,
        rows: &mut impl Iterator<Item = anyhow::Result<RowQuestion>>,
    ) -> anyhow::Result<Option<RowQuestion>> {
        for question in rows {
            let question = question?;
            if !self.seen.insert(question.key) || self.journal.has(question.key) {
                continue;
            }
            if !question.is_empty {
                return Ok(Some(question));
            }
            self.empty.push(label_of_empty(&question, SystemClock.now()));
            if self.empty.len() >= MAX_EMPTY {
                self.keep_empty()?;
            }
        }
        self.keep_empty()?;
        Ok(None)
    }

    /// Writes the rows without a text.
    fn keep_empty(&mut self) -> anyhow::Result<()> {
        let empty = std::mem::take(&mut self.empty);
        if empty.is_empty() { Ok(()) } else { self.journal.append(&empty) }
    }

    /// Returns a row that failed once in this run.
    pub(super) fn next_again(&mut self) -> Option<RowQuestion> {
        let again = self.again.pop()?;
        let counts = self.progress.counts();
        (counts.done, counts.failed) = (counts.done - 1, counts.failed - 1);
        Some(again)
    }

    /// Forgets the rows that failed, because they come again from the file.
    pub(super) fn forget_failures(&mut self) {
        self.again.clear();
        let counts = self.progress.counts();
        (counts.done, counts.failed) = (counts.done - counts.failed, 0);
    }

    /// Tells that the next row can exceed the cost limit.
    pub(super) fn limited(&self, at_most: MicroUsd) -> RunEnd {
        let spent = self.spent;
        eprintln!("the cost limit ends the run: {spent} is spent, and the next row can cost {at_most}");
        RunEnd::CostLimit
    }

    /// Writes finished rows. Returns a fault that every further row would have.
    pub(super) fn keep(&mut self, done: Vec<Labelled>) -> anyhow::Result<Option<Fault>> {
        let (mut entries, mut stop) = (Vec::new(), None);
        for Labelled { question, cost, outcome } in done {
            let is_paid =
                matches!(&outcome, RowOutcome::Entry(entry) if self.journal.has_poll(&entry.poll_id));
            if !is_paid {
                self.spent = self.spent.plus(cost);
            }
            let counts = self.progress.counts();
            counts.done += 1;
            counts.cost = self.spent;
            match outcome {
                RowOutcome::Entry(entry) => {
                    counts.unanimous += u64::from(entry.score >= 1.0);
                    counts.ties += u64::from(entry.label.is_none() && !are_without_vote(&entry.votes));
                    counts.review += u64::from(entry.contested || entry.label.is_none());
                    entries.push(*entry);
                }
                RowOutcome::Failed(failed) => {
                    counts.failed += 1;
                    let reason = &failed.reason;
                    tracing::info!(row = question.row.number, reason, "a row was not fully asked");
                    let is_first = self.failed.add(&question.row, question.key, cost, failed)?;
                    if is_first && self.again.len() < MAX_AGAIN {
                        self.again.push(question);
                    }
                }
                RowOutcome::Stop(fault) => stop = Some(fault),
            }
        }
        self.keep_empty()?;
        self.journal.append(&entries)?;
        self.progress.show();
        Ok(stop)
    }
}
