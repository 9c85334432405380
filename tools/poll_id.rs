//! The ids of polls in inputs.

use ep_kernel::{Ctx, Fault};
use ep_polling::PollId;

/// Reads the id of a poll, or its URL at this service: agents and people copy the link of a result.
pub fn poll_id(cx: &Ctx, text: &str) -> Result<PollId, Fault> {
    named_poll(cx.links().base_url(), text).ok_or_else(|| Fault::no_such_poll(text))
}

/// Returns the id in a text that is an id, or a URL below this base URL with an id in its path.
fn named_poll(base_url: &str, text: &str) -> Option<PollId> {
    let path = || text.strip_prefix(base_url)?.strip_prefix('/');
    let in_path = || path()?.split(['?', '#']).next()?.split('/').find_map(|part| part.parse().ok());
    text.parse().ok().or_else(in_path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polls_are_named_by_their_id_or_url() {
        let id: PollId = "EP-20260131-7KQ2M4X9TB".parse().unwrap();
        for (text, expected) in [
            ("EP-20260131-7KQ2M4X9TB", true),
            ("https://ep.example/results/EP-20260131-7KQ2M4X9TB", true),
            ("https://ep.example/results/EP-20260131-7KQ2M4X9TB?lang=de#votes", true),
            ("https://ep.example/api/results/EP-20260131-7KQ2M4X9TB/events", true),
            ("https://ep.example.org/results/EP-20260131-7KQ2M4X9TB", false),
            ("https://ep.example/results?id=EP-20260131-7KQ2M4X9TB", false),
            ("https://ep.example", false),
            ("", false),
        ] {
            assert_eq!(named_poll("https://ep.example", text), expected.then(|| id.clone()), "{text}");
        }
    }
}
