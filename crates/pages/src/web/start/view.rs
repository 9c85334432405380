//! The start page: a form for a question, a result, and instructions for programs.

use std::sync::Arc;

use askama::Template;
use ep_kernel::Fault;
use ep_polling::options::{FREE_MAX_OPTION_CHARS, FREE_MAX_OPTIONS, MAX_OPTION_CHARS, MAX_OPTIONS};
use ep_polling::question::FREE_MAX_CHARS;
use ep_site::layout::Layout;
use ep_site::layout::{linked_data, own};
use ep_site::names::HOME_MARKDOWN;
use ep_site::names::{ASK, HOME};
use ep_site::{Site, owner};
use serde_json::json;

use super::examples::{EXAMPLES, Example};
use super::form_rejection::FormRejection;
use super::form_values::{FREE, PollFormValues};
use super::panels::Panel;
use crate::documents;
use crate::documents::AskMethod;

/// The start page.
#[derive(Template)]
#[template(path = "web/start/start.html")]
pub struct StartPage<'a> {
    page: Layout<'a>,
    values: &'a PollFormValues,
    /// Idempotency key of the form: submitting it twice opens one poll.
    nonce: String,
    options: Vec<OptionField<'a>>,
    panels: Arc<[Panel]>,
    thresholds: [(&'static str, &'static str); 5],
    /// The balance of the visitor's account.
    balance: Option<String>,
    rejection: Option<FormRejection>,
    /// The section with a poll.
    featured: Option<Arc<str>>,
    examples: &'static [Example],
    ways: Vec<AskMethod>,
    /// The first sentence of the tagline, and the rest.
    tagline: (String, String),
    description: String,
    /// URL that the form is submitted to.
    action: String,
}

/// The field of an option.
struct OptionField<'a> {
    key: char,
    text: &'a str,
    hint: &'static str,
    /// The reason for a change.
    wrong: Option<String>,
}

/// The limits of a panel. The form shows them before they are exceeded.
struct PanelLimits {
    options: usize,
    option_chars: usize,
    /// The maximum length of the question; 0 means that only the size of the form limits it.
    question_chars: usize,
}

/// Data of a request for the start page.
pub struct StartPageData<'a> {
    /// Values of the form.
    pub values: &'a PollFormValues,
    /// Idempotency key of the new form.
    pub nonce: String,
    /// The choices of a panel.
    pub panels: Arc<[Panel]>,
    /// The balance of the visitor's account.
    pub balance: Option<String>,
    /// The fault that rejected the last form.
    pub rejection: Option<&'a Fault>,
    /// The section with a poll.
    pub featured: Option<Arc<str>>,
}

impl<'a> StartPage<'a> {
    /// Creates the page for this request.
    pub fn new(site: &'a Site, data: StartPageData<'a>) -> Self {
        let owner = owner();
        let text = |name: &str| owner[name].as_str().unwrap_or_default();
        let page = Layout {
            canonical: site.url_of(HOME),
            markdown: site.url_of(HOME_MARKDOWN),
            ..Layout::new(site, text("tagline").to_owned(), text("description").to_owned())
        };
        let rejection = data.rejection.map(|fault| FormRejection::new(fault, site, data.values));
        let page = match &rejection {
            Some(rejection) => Layout { title: format!("Not asked: {}", rejection.title), ..page },
            None => page,
        };
        let (first, rest) = text("tagline").split_once(". ").unwrap_or((text("tagline"), ""));
        let end = if rest.is_empty() { "" } else { "." };
        Self {
            values: data.values,
            nonce: data.nonce,
            options: option_fields(&data.values.options, rejection.as_ref()),
            panels: data.panels,
            thresholds: [
                ("", "as in the panel"),
                ("0.8", "80 %"),
                ("0.95", "95 %"),
                ("0.99", "99 %"),
                ("1", "100 %"),
            ],
            balance: data.balance.filter(|_| site.settings.offer.charges),
            rejection,
            featured: data.featured,
            examples: &EXAMPLES,
            ways: documents::ways(site),
            tagline: (format!("{first}{end}"), rest.to_owned()),
            description: text("description").to_owned(),
            action: own(&site.links.url(ASK, &[])),
            page,
        }
    }

    /// Returns structured data for search engines (schema.org).
    fn linked_data(&self) -> String {
        linked_data(&json!({
            "@context": "https://schema.org",
            "@type": "WebApplication",
            "url": self.page.canonical,
            "name": self.page.name,
            "description": self.description,
            "applicationCategory": "DeveloperApplication",
            "operatingSystem": "any",
            "offers": { "@type": "Offer", "price": 0, "priceCurrency": "USD", "description": "Free models" },
            "provider": { "@type": "Organization", "name": self.page.operator },
        }))
    }

    /// Returns the message for a field.
    fn wrong(&self, name: &str) -> Option<&str> {
        self.rejection.as_ref()?.at(name)
    }

    /// True if the browser focuses this field: it is the first to change.
    fn is_focused(&self, name: &str) -> bool {
        self.rejection.as_ref().and_then(FormRejection::first) == Some(name)
    }

    /// True if the choice of a panel is open: a field in it is wrong.
    fn opens_panels(&self) -> bool {
        ["who", "confidence", "max_cost"].into_iter().any(|name| self.wrong(name).is_some())
    }

    /// True if the form has the fields that need an account.
    fn has_terms(&self) -> bool {
        self.balance.is_some() || self.values.has_terms()
    }

    /// True if this panel is chosen at first: that of the form, or else the first one here.
    fn is_chosen(&self, panel: &str) -> bool {
        let chosen = self.panels.iter().find(|panel| self.values.asks(panel.value)).or(self.panels.first());
        chosen.is_some_and(|chosen| chosen.value == panel)
    }

    /// Returns the limits of a panel.
    fn limits(&self, panel: &str) -> PanelLimits {
        if panel == FREE && self.balance.is_none() {
            PanelLimits {
                options: FREE_MAX_OPTIONS,
                option_chars: FREE_MAX_OPTION_CHARS,
                question_chars: FREE_MAX_CHARS,
            }
        } else {
            PanelLimits { options: MAX_OPTIONS, option_chars: MAX_OPTION_CHARS, question_chars: 0 }
        }
    }

    /// True if the voters are simulated.
    fn simulated(&self) -> bool {
        self.page.site.settings.offer.simulated()
    }
}

/// Returns the fields of the options: one for each option of any poll.
fn option_fields<'a>(options: &'a [String], rejection: Option<&FormRejection>) -> Vec<OptionField<'a>> {
    let wrong = |position| {
        rejection.filter(|rejection| rejection.option == position)?.at("options").map(str::to_owned)
    };
    let hint = |position| match position {
        0 => "First option",
        1 => "Second option",
        _ => "Add an option",
    };
    let field = |(position, key)| OptionField {
        key,
        text: options.get(position).map_or("", String::as_str),
        hint: hint(position),
        wrong: wrong(position),
    };
    ('A'..).take(MAX_OPTIONS).enumerate().map(field).collect()
}
