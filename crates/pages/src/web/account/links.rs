//! URLs on the account page: the ways to pay, and the operator's contact.

use ep_site::Rail;

/// A payment rail with the URL to which its form or its script pays.
pub(super) struct WayToPay {
    pub(super) rail: &'static Rail,
    pub(super) url: String,
}

impl WayToPay {
    pub(super) fn new(rail: &'static Rail, address: impl Fn(&str) -> String) -> Self {
        let to = rail.page.checkout().map_or(rail.begins, |form| form.form);
        Self { rail, url: address(to) }
    }
}

/// The operator's contact address as a link.
pub(super) struct Contact {
    pub(super) text: String,
    pub(super) url: String,
}

impl Contact {
    /// Links to a mailbox or a page; returns `None` if no contact is configured.
    pub(super) fn of(contact: &str) -> Option<Self> {
        let text = contact.strip_prefix("mailto:").unwrap_or(contact);
        let url = if text.contains("://") { text.to_owned() } else { format!("mailto:{text}") };
        (!text.is_empty()).then(|| Self { text: text.to_owned(), url })
    }
}
