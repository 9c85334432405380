//! Keeps the outcomes of a run: labels in the journal, rows that failed beside it, and the figures for a person.

use std::collections::HashSet;

use ep_kernel::{Clock, Fault};
use ep_polling::MicroUsd;

use super::outcome::{Labelled, RowOutcome, label_of_empty};
use super::{Event, Listener};
use crate::entry::{Entry, Key, are_without_vote};
use crate::failed_rows::FailedRows;
use crate::journal::Journal;
use crate::question::RowQuestion;

/// The most rows that are asked again in the same run; further ones are left to another run.
const MAX_AGAIN: usize = 10_000;
/// The most rows without a text that are written at once.
const MAX_EMPTY: usize = 1000;

/// Figures of the rows that a run has asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// Rows with an outcome.
    pub done: u64,
    /// Rows on which all models voted for the same option.
    pub unanimous: u64,
    /// Rows without a label, because options tie.
    pub ties: u64,
    /// Rows that a person should look at: contested, tied, or without votes.
    pub review: u64,
    /// Rows that were not fully asked.
    pub failed: u64,
    /// The cost of the file.
    pub cost: MicroUsd,
}

/// The outcomes of a run.
pub(crate) struct Keeper<'r> {
    pub(crate) journal: &'r mut Journal,
    pub(crate) failed: FailedRows,
    /// The keys of the file's rows that were reached.
    pub(crate) seen: HashSet<Key>,
    pub(crate) listener: Listener<'r>,
    clock: &'r dyn Clock,
    /// The cost of the file is that of earlier runs, too.
    counts: Counts,
    /// Rows that failed, to be asked again after all others.
    again: Vec<RowQuestion>,
    /// Rows without a text that are not written yet.
    empty: Vec<Entry>,
}

impl<'r> Keeper<'r> {
    pub(crate) fn new(
        journal: &'r mut Journal,
        failed: FailedRows,
        listener: Listener<'r>,
        clock: &'r dyn Clock,
    ) -> Self {
        let cost = journal.cost().plus(failed.cost(journal));
        let counts = Counts { cost, ..Counts::default() };
        let (seen, again, empty) = (HashSet::new(), Vec::new(), Vec::new());
        Self { journal, failed, seen, listener, clock, counts, again, empty }
    }

    /// Returns the cost of the file so far, with that of earlier runs.
    pub(crate) const fn spent(&self) -> MicroUsd {
        self.counts.cost
    }

    /// Reports an event.
    pub(crate) fn tell(&mut self, event: Event<'_>) {
        (self.listener)(event);
    }

    /// Returns the next row without a label that this run has not asked.
    pub(crate) fn next_new(
        &mut self,
        rows: &mut dyn Iterator<Item = anyhow::Result<RowQuestion>>,
    ) -> anyhow::Result<Option<RowQuestion>> {
        for question in rows {
            let question = question?;
            if !self.seen.insert(question.key) || self.journal.has(question.key) {
                continue;
            }
            if !question.is_empty {
                return Ok(Some(question));
            }
            self.empty.push(label_of_empty(&question, self.clock.now()));
            if self.empty.len() >= MAX_EMPTY {
                self.keep_empty()?;
            }
        }
        self.keep_empty()?;
        Ok(None)
    }

    /// Returns a row that failed once in this run.
    pub(crate) fn next_again(&mut self) -> Option<RowQuestion> {
        let again = self.again.pop()?;
        (self.counts.done, self.counts.failed) = (self.counts.done - 1, self.counts.failed - 1);
        Some(again)
    }

    /// Forgets the rows that failed, because they come again from the file.
    pub(crate) fn forget_failures(&mut self) {
        self.again.clear();
        (self.counts.done, self.counts.failed) = (self.counts.done - self.counts.failed, 0);
    }

    /// Writes outcomes. Returns a fault that every further row would have.
    pub(crate) fn keep(&mut self, done: Vec<Labelled>) -> anyhow::Result<Option<Fault>> {
        let (mut entries, mut stop) = (Vec::new(), None);
        for Labelled { question, cost, outcome } in done {
            let counts = &mut self.counts;
            counts.cost = counts.cost.plus(cost);
            counts.done += 1;
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
        (self.listener)(Event::Counts(&self.counts));
        Ok(stop)
    }

    /// Writes the rows without a text.
    fn keep_empty(&mut self) -> anyhow::Result<()> {
        let empty = std::mem::take(&mut self.empty);
        if empty.is_empty() { Ok(()) } else { self.journal.append(&empty) }
    }
}
