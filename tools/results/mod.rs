//! Public results of polls.

mod diagram;
mod draw_poll;
mod get_poll_result;
mod list_recent_results;
mod list_results;
mod watch_result;

pub use draw_poll::DrawPoll;
pub use get_poll_result::{GetPollResult, PollResult, Progress};
pub use list_recent_results::ListRecentResults;
pub use list_results::{HistoryResult, ListResults, Page as ResultsPage, past_polls};
pub use watch_result::WatchResult;
