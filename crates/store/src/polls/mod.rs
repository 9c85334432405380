//! Polls and their ballots.

pub(crate) mod ballots;
mod changes;
pub(crate) mod history;
pub(crate) mod plans;
mod records;
pub(crate) mod rosters;
pub(crate) mod sql;
pub(crate) mod transactions;

pub use self::changes::{Change, MAX_ANNOUNCED, PollChange, PollChanges};
pub use self::history::{DaySpending, PastEnd, PastPoll, PollScope, PollSearch};
pub use self::records::{
    AdoptedPoll, Closing, Epoch, NewPoll, Opened, PollDeletion, PollOpening, PollProgress, PollRecord,
    PollStore,
};
