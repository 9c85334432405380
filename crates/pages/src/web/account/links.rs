//! URLs on the account page: its forms, the ways to pay, and the operator's contact.

use ep_kernel::Tool;
use ep_site::Rail;
use ep_site::names::{ACCOUNT_FORMS, DASHBOARD, LOGOUT};
use ep_tools::account::GetBalance;

/// URLs of the forms, and URLs that scripts fetch.
pub(super) struct Addresses {
    pub(super) page: String,
    pub(super) keys: String,
    pub(super) revocation: String,
    pub(super) cancellation: String,
    pub(super) poll_deletion: String,
    pub(super) export: String,
    pub(super) deletion: String,
    pub(super) balance: String,
    pub(super) logout: String,
}

impl Addresses {
    /// Reads the URLs with `address`, by the names of their routes.
    pub(super) fn new(address: impl Fn(&str) -> String) -> Self {
        Self {
            page: address(DASHBOARD),
            keys: address(ACCOUNT_FORMS.keys),
            revocation: address(ACCOUNT_FORMS.revocation),
            cancellation: address(ACCOUNT_FORMS.cancellation),
            poll_deletion: address(ACCOUNT_FORMS.poll_deletion),
            export: address(ACCOUNT_FORMS.export),
            deletion: address(ACCOUNT_FORMS.deletion),
            balance: address(GetBalance::SPEC.name),
            logout: address(LOGOUT),
        }
    }
}

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
