//! The source of the votes on rows.

use ep_polling::MicroUsd;

use super::keeper::Keeper;
use crate::failed_rows::Earlier;
use crate::question::RowQuestion;

/// A row to ask.
pub(crate) struct RowToAsk {
    pub(crate) question: RowQuestion,
    /// The most that it may cost.
    pub(crate) at_most: MicroUsd,
    /// Votes and cost of earlier attempts.
    pub(crate) earlier: Earlier,
}

/// The room of a source for the next parcel of rows.
pub(crate) struct Capacity {
    /// The most rows; 0 while it is full.
    pub(crate) rows: usize,
    /// The most bytes of all rows.
    pub(crate) bytes: usize,
}

/// The result of [`Source::next`], besides the outcomes that it has written.
#[derive(Default)]
pub(crate) struct News {
    /// Rows that were not asked.
    pub(crate) returned: Vec<RowQuestion>,
    /// The reason why every further row would fail.
    pub(crate) stop: Option<anyhow::Error>,
}

/// Asks about rows: by polls, or by batches of a server.
pub(crate) trait Source {
    /// True if rows in flight are cancelled when the run is asked to stop.
    fn cancels(&self) -> bool;

    /// Returns the room for the next parcel.
    fn capacity(&self) -> Capacity;

    /// Returns the bytes of a row in a parcel.
    fn size(&self, row: &RowToAsk) -> usize;

    /// Returns the most that the rows in flight can cost.
    fn reserved(&self) -> MicroUsd;

    /// Returns the number of rows in flight.
    fn rows_in_flight(&self) -> usize;

    /// Sends rows, on which no more than the limit may be spent together. They are on disk when this returns, if a later run
    /// could lose their votes. Fails if they cannot be written.
    fn send(&mut self, rows: Vec<RowToAsk>, limit: Option<MicroUsd>) -> anyhow::Result<()>;

    /// Waits for outcomes, and writes them. If its future is dropped, the next call goes on. Fails if they cannot be written.
    async fn next(&mut self, keeper: &mut Keeper<'_>, is_stopping: bool) -> anyhow::Result<News>;
}
