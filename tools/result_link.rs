//! Links to results.

use ep_kernel::{Ctx, Links};
use ep_polling::PollId;

/// The name of the operation that reads a result.
pub const GET_POLL_RESULT: &str = "get_poll_result";

/// Returns the URL of a result, or `None` if nothing is served.
pub fn result_url(cx: &Ctx, id: &PollId) -> Option<String> {
    url_of(cx.links(), id)
}

/// Returns the URL of a result from these links.
pub fn url_of(links: &Links, id: &PollId) -> Option<String> {
    links.has(GET_POLL_RESULT).then(|| links.url(GET_POLL_RESULT, &[("poll_id", id.as_str())]))
}
