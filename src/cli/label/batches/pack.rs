//! Packs rows into batches, within the cost limit and the limits of a request.

use std::iter::Fuse;

use ep_polling::money::{MicroUsd, Usd};
use ep_tools::batches::MAX_INLINE_ROWS;

use super::Batches;
use super::flight::Flight;
use super::open_batch::{OpenBatch, SentRow};
use crate::cli::label::failed_rows::Failed;
use crate::cli::label::labels::{Labelled, RowOutcome, left_to_ask};
use crate::cli::label::question::RowQuestion;
use crate::cli::label::rows::Rows;

/// The most bytes of the rows of a batch. A request has room for its other arguments.
const MAX_BYTES: usize = ep_tools::batches::MAX_BODY / 8 * 7;

/// Rows that belong into a batch.
#[derive(Default)]
struct Packed {
    rows: Vec<SentRow>,
    at_most: MicroUsd,
    bytes: usize,
}

impl<'r> Batches<'_, 'r> {
    /// Packs batches while some may be in flight. They are on disk when this returns.
    pub(super) fn send(&mut self, rows: &mut Fuse<Rows<'r>>) -> anyhow::Result<()> {
        while self.end.is_none() && !self.waits_for_money && self.in_flight.len() < super::MAX_IN_FLIGHT {
            let packed = match self.pack(rows) {
                Ok(packed) => packed,
                Err(error) => {
                    self.end = Some(Err(error));
                    return Ok(());
                }
            };
            if packed.rows.is_empty() {
                return Ok(());
            }
            let most = self.room().map(|room| Usd(packed.at_most.min(room).max(MicroUsd::new(1))));
            let settings = self.run.settings;
            let repetitions = &mut self.repetitions;
            let repetition = |request| {
                let next = repetitions.entry(request).or_default();
                *next += 1;
                *next - 1
            };
            let url = self.service.url();
            let rule = (&settings.panel, settings.on_tie);
            let batch = OpenBatch::new(url, self.service.name.clone(), rule, most, packed.rows, repetition);
            self.in_flight.push(Flight::new(batch));
            self.store()?;
        }
        Ok(())
    }

    /// Returns the money that the cost limit leaves; `None` without a limit.
    fn room(&self) -> Option<MicroUsd> {
        let reserved: MicroUsd = self.in_flight.iter().map(|flight| flight.batch.at_most().0).sum();
        self.run.cap.map(|cap| cap.minus(self.run.spent).minus(reserved).max(MicroUsd::ZERO))
    }

    /// Takes the rows of the next batch. Money that one of them does not need pays the others, so only the dearest one must
    /// fit into the cost limit.
    fn pack(&mut self, rows: &mut Fuse<Rows<'r>>) -> anyhow::Result<Packed> {
        let room = self.room();
        let mut packed = Packed::default();
        while packed.rows.len() < MAX_INLINE_ROWS {
            let Some(question) = self.next_row(rows)? else { break };
            let at_most = self.run.bound.of(&question);
            if room.is_some_and(|room| at_most > room) {
                if packed.rows.is_empty() && self.in_flight.is_empty() {
                    self.end = Some(Ok(self.run.limited(at_most)));
                }
                self.returned.push_front(question);
                break;
            }
            let row = self.sent(question, at_most)?;
            let bytes = row.request().to_string().len();
            if bytes > MAX_BYTES {
                self.refuse(row.question, bytes)?;
            } else if packed.bytes + bytes > MAX_BYTES {
                self.returned.push_front(row.question);
                break;
            } else {
                packed.rows.push(row);
                packed.bytes += bytes + 1;
                packed.at_most = packed.at_most.plus(at_most);
            }
        }
        Ok(packed)
    }

    /// Returns the next row to send. Rows that failed come after all others.
    fn next_row(&mut self, rows: &mut Fuse<Rows<'r>>) -> anyhow::Result<Option<RowQuestion>> {
        if let Some(question) = self.returned.pop_front() {
            return Ok(Some(question));
        }
        if let Some(question) = self.run.next_new(rows)? {
            return Ok(Some(question));
        }
        Ok(if self.in_flight.is_empty() { self.run.next_again() } else { None })
    }

    fn sent(&self, question: RowQuestion, at_most: MicroUsd) -> anyhow::Result<SentRow> {
        let earlier = self.run.failed.earlier(question.key)?;
        let whole = &self.run.settings.panel;
        let panel = Some(left_to_ask(whole, &earlier.votes)).filter(|panel| panel != whole);
        let max_cost_usd = Usd(at_most.max(MicroUsd::new(1)));
        Ok(SentRow { attempts: earlier.attempts, panel, max_cost_usd, question })
    }

    /// Notes that a row does not fit into a request.
    fn refuse(&mut self, question: RowQuestion, bytes: usize) -> anyhow::Result<()> {
        let reason = format!("the row has {bytes} bytes, and a batch takes {MAX_BYTES}");
        let failed = Failed { reason, asked_at: None, votes: Vec::new(), simulated: false, reader: None };
        let outcome = RowOutcome::Failed(failed);
        self.run.keep(vec![Labelled { question, cost: MicroUsd::ZERO, outcome }])?;
        Ok(())
    }
}
