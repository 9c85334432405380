//! Rows asked by polls: each row is a poll of a service, several at a time.

use ep_kernel::Entry as Operation;
use ep_kernel::Fault;
use ep_polling::MicroUsd;
use ep_tools::polls::reply::PollResponse;
use futures::future::LocalBoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};

use super::keeper::Keeper;
use super::outcome::{Labelled, ended_poll, left_to_ask};
use super::patience::patiently;
use super::source::{Capacity, News, RowToAsk, Source};
use crate::operations::Operations;
use crate::question::RowQuestion;
use crate::settings::{LabelSettings, Panel};

/// The polls of a service.
pub(crate) struct Polls<'p, O> {
    operations: &'p O,
    /// The operation that opens a poll.
    operation: &'static Operation,
    settings: &'p LabelSettings,
    /// The most rows in flight.
    at_once: usize,
    in_flight: FuturesUnordered<LocalBoxFuture<'p, (MicroUsd, Labelled)>>,
    reserved: MicroUsd,
}

impl<'p, O: Operations> Polls<'p, O> {
    pub(crate) fn new(
        operations: &'p O,
        operation: &'static Operation,
        settings: &'p LabelSettings,
        at_once: usize,
    ) -> Self {
        let (in_flight, reserved) = (FuturesUnordered::new(), MicroUsd::ZERO);
        Self { operations, operation, settings, at_once, in_flight, reserved }
    }
}

impl<O: Operations> Source for Polls<'_, O> {
    fn cancels(&self) -> bool {
        false
    }

    fn capacity(&self) -> Capacity {
        Capacity { rows: usize::from(self.in_flight.len() < self.at_once), bytes: usize::MAX }
    }

    fn size(&self, _: &RowToAsk) -> usize {
        0
    }

    fn reserved(&self) -> MicroUsd {
        self.reserved
    }

    fn rows_in_flight(&self) -> usize {
        self.in_flight.len()
    }

    fn send(&mut self, rows: Vec<RowToAsk>, _: Option<MicroUsd>) -> anyhow::Result<()> {
        for row in rows {
            self.reserved = self.reserved.plus(row.at_most);
            let (operations, operation, settings) = (self.operations, self.operation, self.settings);
            let asked = async move { (row.at_most, asked(operations, operation, settings, row).await) };
            self.in_flight.push(asked.boxed_local());
        }
        Ok(())
    }

    async fn next(&mut self, keeper: &mut Keeper<'_>, _: bool) -> anyhow::Result<News> {
        let mut done: Vec<_> = self.in_flight.next().await.into_iter().collect();
        while let Some(Some(next)) = self.in_flight.next().now_or_never() {
            done.push(next);
        }
        for (at_most, _) in &done {
            self.reserved = self.reserved.minus(*at_most);
        }
        let fault = keeper.keep(done.into_iter().map(|(_, labelled)| labelled).collect())?;
        Ok(News { returned: Vec::new(), stop: fault.map(Into::into) })
    }
}

/// Asks the panel about a row. After an earlier attempt, asks only the models that did not respond.
async fn asked(
    operations: &impl Operations,
    operation: &'static Operation,
    settings: &LabelSettings,
    row: RowToAsk,
) -> Labelled {
    let RowToAsk { question, at_most, earlier } = row;
    let reference = format!("label-{}-{}", String::from(question.key), earlier.attempts);
    let panel = left_to_ask(&settings.panel, &earlier.votes);
    let reply = poll(operations, operation, &question, &panel, at_most, &reference).await;
    settings.rule().labelled(question, earlier, reply)
}

/// Asks once, and waits while the service is busy.
async fn poll(
    operations: &impl Operations,
    operation: &'static Operation,
    question: &RowQuestion,
    panel: &Panel,
    at_most: MicroUsd,
    reference: &str,
) -> Result<PollResponse, Fault> {
    patiently(async || {
        let reply = operations.call_once(operation, question.request(panel, at_most), reference).await?;
        ended_poll(reply.value)
    })
    .await
}
