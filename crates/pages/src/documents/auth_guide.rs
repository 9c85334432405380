//! `auth.md`: how an agent gets access in this configuration.

use askama::Template;
use ep_site::{Document, Form, MARKDOWN};

use super::prose;
use super::prose::Prose;

/// The name of the guide.
pub(super) const NAME: &str = "auth_guide";

pub(super) const DOCUMENT: Document = Document::new(
    NAME,
    "Access for agents: without a key, by a wallet, a payment, a login or the operator.",
    |_| vec!["/auth.md".into()],
    &[Form::new(MARKDOWN, |site| prose::bytes(&AuthGuide { p: Prose::new(site) }))],
)
.absent("this service has no accounts");

#[derive(Template)]
#[template(path = "auth.md")]
struct AuthGuide<'a> {
    p: Prose<'a>,
}
