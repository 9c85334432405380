//! The start page: a form for a question, an example result, and instructions for programs.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use askama::Template;
use ep_kernel::fault::Fault;
use ep_kernel::tool::Tool;
use ep_polling::options::{FREE_MAX_OPTIONS, MAX_OPTIONS};
use ep_polling::time::Timestamp;
use ep_tools::polls::{Bundle, EstimatePoll, PollFree};
use serde_json::json;

use crate::documents;
use crate::documents::AskMethod;
use crate::http::Form;
use crate::layout::Layout;
use crate::layout::{Action, actions, capitalized, message};
use crate::layout::{linked_data, own};
use crate::site::names::HOME_MARKDOWN;
use crate::site::names::{ASK, HOME};
use crate::site::{Site, owner};
use crate::web::result::ResultPage;
use crate::web::result::View;

/// The start page.
#[derive(Template)]
#[template(path = "web/start/start.html")]
pub struct StartPage<'a> {
    page: Layout<'a>,
    values: &'a PollFormValues,
    /// Idempotency key of the form: submitting it twice opens one poll.
    nonce: String,
    profiles: Vec<Panel>,
    thresholds: [(&'static str, &'static str); 5],
    /// The balance of the visitor's account.
    balance: Option<String>,
    rejection: Option<FormRejection>,
    example: Option<&'a View>,
    ways: Vec<AskMethod>,
    tagline: String,
    description: String,
    estimates: String,
    /// URL that the form is submitted to.
    action: String,
}

/// Values of the form. They are shown again if the form is rejected.
#[derive(Debug, Default, Clone)]
pub struct PollFormValues {
    /// The question, optionally with its options in brackets.
    pub question: String,
    /// The options, one per line.
    pub options: String,
    /// `free`, or the name of a profile.
    pub voters: String,
    /// The confidence threshold; empty for the profile's.
    pub confidence: String,
    /// The maximum cost in USD; empty for the profile's.
    pub max_cost: String,
    /// True if only the account may read the result.
    pub private: bool,
    /// Idempotency key of the submitted form.
    pub nonce: String,
}

impl PollFormValues {
    /// Reads the form.
    pub fn read(form: &Form) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        Self {
            question: text("question"),
            options: text("options"),
            voters: text("who"),
            confidence: text("confidence"),
            max_cost: text("max_cost"),
            private: !form.text("private").is_empty(),
            nonce: text("nonce"),
        }
    }

    /// Returns the profile's name, or `None` if the form selects the free models.
    pub fn profile(&self) -> Option<&str> {
        Some(self.voters.as_str()).filter(|voters| !voters.is_empty() && *voters != FREE)
    }

    /// True if the form requires an account: it sets a profile, a budget, a threshold or privacy.
    pub fn needs_account(&self) -> bool {
        let own = |text: &str| !text.is_empty();
        self.profile().is_some() || self.private || own(&self.confidence) || own(&self.max_cost)
    }

    /// Returns the options.
    pub fn option_lines(&self) -> impl Iterator<Item = &str> {
        self.options.lines().map(str::trim).filter(|line| !line.is_empty())
    }

    /// True if this choice is selected.
    fn asks(&self, voters: &str) -> bool {
        self.voters == voters || (voters == FREE && self.voters.is_empty())
    }
}

/// The selection of a form that names no profile.
const FREE: &str = "free";

/// A profile on the form.
struct Panel {
    name: &'static str,
    description: Cow<'static, str>,
    /// The confidence threshold in per cent.
    percent: f64,
    /// The maximum cost in USD.
    max_cost: f64,
}

impl From<Bundle> for Panel {
    fn from(profile: Bundle) -> Self {
        Self {
            name: profile.name.as_str(),
            description: profile.description,
            percent: (profile.confidence_threshold * 1000.0).round() / 10.0,
            max_cost: profile.max_cost_usd.0.as_usd(),
        }
    }
}

/// The rejection of a form.
struct FormRejection {
    title: String,
    /// The message for the whole form, or the full message if no field is named.
    message: String,
    fields: Vec<(&'static str, String)>,
    wait: Option<u64>,
    actions: Vec<Action>,
}

impl FormRejection {
    fn new(fault: &Fault, site: &Site, values: &PollFormValues) -> Self {
        let fields = fault.fields().iter().map(|wrong| (field(&wrong.field), sentence(&wrong.detail)));
        let mut fields: Vec<_> = fields.filter(|(name, _)| !name.is_empty()).collect();
        let has_too_many_for_free = values.profile().is_none()
            && (FREE_MAX_OPTIONS + 1..=MAX_OPTIONS).contains(&values.option_lines().count());
        for (_, detail) in fields.iter_mut().filter(|(name, _)| has_too_many_for_free && *name == "options") {
            let _ = write!(detail, " The panels of an account take up to {MAX_OPTIONS}.");
        }
        let (title, actions) = if fields.is_empty() {
            (fault.kind().row().title.to_owned(), actions(fault, site, None))
        } else {
            ("Please change what is marked".to_owned(), Vec::new())
        };
        let message = if fields.is_empty() { message(fault) } else { String::new() };
        Self { title, message, fields, wait: fault.retry_after_seconds(), actions }
    }

    /// Returns the message for a field.
    fn at(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| *known == name).map(|(_, detail)| detail.as_str())
    }
}

/// Maps a field of the operation's input to a field of the form.
fn field(member: &str) -> &'static str {
    match member.split(['[', '.']).next().unwrap_or_default() {
        "question" | "q" | "poll" => "question",
        "options" | "o" => "options",
        "profile" => "who",
        "confidence_threshold" => "confidence",
        "max_cost_usd" => "max_cost",
        _ => "",
    }
}

/// Rewrites a field's message in the terms of the form.
fn sentence(detail: &str) -> String {
    let mut text = detail.trim_start_matches("options: ").trim_end_matches('.').to_owned();
    for (index, letter) in ('A'..='J').enumerate() {
        text = text.replace(&format!("options[{index}]"), &format!("option {letter}"));
    }
    for (member, field) in [("max_cost_usd", "the maximum cost"), ("confidence_threshold", "the confidence")]
    {
        text = text.replace(member, field);
    }
    capitalized(&format!("{text}."))
}

/// The example poll, shown once it has a result.
#[derive(Default)]
pub struct Example {
    shown: OnceLock<View>,
    /// Time before which no new attempt starts, in milliseconds since 1970.
    resting: AtomicI64,
}

/// Delay between attempts to poll the example.
const REST: Duration = Duration::from_mins(10);

impl Example {
    /// True if the caller should start an attempt now. Also begins the delay until the next attempt.
    pub fn is_due(&self, now: Timestamp) -> bool {
        let resting = self.resting.load(Ordering::Relaxed);
        self.shown.get().is_none()
            && resting <= now.millis()
            && self
                .resting
                .compare_exchange(resting, now.after(REST).millis(), Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// Shows this result from now on.
    pub fn show(&self, result: ResultPage<'_>) {
        // A concurrent request may have stored its result first.
        drop(self.shown.set(result.poll));
    }
}

/// Data of a request for the start page.
pub struct StartPageData<'a> {
    /// Values of the form.
    pub values: &'a PollFormValues,
    /// Idempotency key of the new form.
    pub nonce: String,
    /// The profiles.
    pub profiles: Vec<Bundle>,
    /// The balance of the visitor's account.
    pub balance: Option<String>,
    /// The fault that rejected the last form.
    pub rejection: Option<&'a Fault>,
    /// The example poll.
    pub example: &'a Example,
}

impl<'a> StartPage<'a> {
    /// Creates the page for this request.
    pub fn new(site: &'a Site, data: StartPageData<'a>) -> Self {
        let owner = owner();
        let text = |name: &str| owner[name].as_str().unwrap_or_default().to_owned();
        let page = Layout {
            canonical: site.url_of(HOME),
            markdown: site.url_of(HOME_MARKDOWN),
            ..Layout::new(site, text("tagline"), text("description"))
        };
        let rejection = data.rejection.map(|fault| FormRejection::new(fault, site, data.values));
        let page = match &rejection {
            Some(rejection) => Layout { title: format!("Not asked: {}", rejection.title), ..page },
            None => page,
        };
        Self {
            values: data.values,
            nonce: data.nonce,
            profiles: data.profiles.into_iter().map(Panel::from).collect(),
            thresholds: [
                ("", "as in the panel"),
                ("0.8", "80 %"),
                ("0.95", "95 %"),
                ("0.99", "99 %"),
                ("1", "100 %"),
            ],
            balance: data.balance,
            rejection,
            example: data.example.shown.get(),
            ways: documents::ways(site),
            tagline: text("tagline"),
            description: text("description"),
            action: own(&site.links.url(ASK, &[])),
            estimates: own(&site.links.url(EstimatePoll::SPEC.name, &[])),
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

    /// True if the voters are simulated.
    fn simulated(&self) -> bool {
        self.page.site.settings.offer.simulated()
    }
}

/// Returns the input of the example poll.
pub const fn example_request() -> &'static str {
    PollFree::SPEC.example
}
