//! Polls: asking, pricing, choosing how.

mod completion;
mod draft;
mod dry_run_poll;
mod estimate;
mod estimate_poll;
pub mod facts;
mod follow;
mod free_form;
mod list_profiles;
pub mod notices;
mod poll_free;
mod poll_question;
mod profile;
mod raw_request;
pub mod reply;
pub mod summary;

pub use completion::PollCompleted;
pub use dry_run_poll::DryRunPoll;
pub use estimate_poll::EstimatePoll;
pub use list_profiles::ListProfiles;
pub use poll_free::PollFree;
pub use poll_question::PollQuestion;
