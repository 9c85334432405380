//! Polls: asking, pricing, choosing how.

mod cancel_poll;
mod completion;
mod draft;
mod dry_run_poll;
mod estimate;
mod estimate_poll;
pub mod facts;
pub mod follow;
mod free_form;
mod get_poll;
mod get_poll_status;
mod list_polls;
mod list_profiles;
pub mod notices;
mod poll_free;
mod poll_question;
mod profile;
mod raw_request;
pub mod reply;
mod start_poll;
pub mod summary;
mod watch_poll;

pub use cancel_poll::CancelPoll;
pub use completion::PollCompleted;
pub use dry_run_poll::DryRunPoll;
pub use estimate_poll::EstimatePoll;
pub(crate) use follow::follow_as;
pub use get_poll::GetPoll;
pub use get_poll_status::GetPollStatus;
pub use list_polls::ListPolls;
pub use list_profiles::ListProfiles;
pub use poll_free::PollFree;
pub use poll_question::PollQuestion;
pub use start_poll::StartPoll;
pub use watch_poll::WatchPoll;
pub(crate) use watch_poll::watcher;
