//! Results: what polls came to, for anyone.

mod get_poll_result;

pub use get_poll_result::{GetPollResult, PollResult};

use ep_kernel::ctx::Ctx;
use ep_polling::poll_id::PollId;

/// Where a result can be read.
pub fn result_url(cx: &Ctx, id: &PollId) -> String {
    cx.links().url(<GetPollResult as ep_kernel::tool::Tool>::SPEC.name, &[("poll_id", id.as_str())])
}
