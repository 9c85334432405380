//! The start page: a place to ask a question, one that was answered, and how programs ask.

use std::fmt::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use askama::Template;
use ep_kernel::fault::Fault;
use ep_kernel::tool::Tool;
use ep_polling::options::{FREE_MAX_OPTIONS, MAX_OPTIONS};
use ep_polling::time::Timestamp;
use ep_tools::polls::{EstimatePoll, PollFree};
use serde::Deserialize;
use serde_json::json;

use super::fault::{Action, actions, capitalized, message};
use super::layout::{linked_data, own};
use super::result::View;
use super::{Layout, ResultPage};
use crate::documents::{self, HOME_MARKDOWN, Site, Way};
use crate::site::names::{ASK, HOME};
use crate::surface::http::Form;

/// The start page.
#[derive(Template)]
#[template(path = "start.html")]
pub struct StartPage<'a> {
    page: Layout<'a>,
    asked: &'a Asked,
    /// The key of this form: sent twice, it asks once.
    nonce: String,
    profiles: Vec<Bundle>,
    thresholds: [(&'static str, &'static str); 5],
    /// What is left on the visitor's account.
    balance: Option<String>,
    refused: Option<Refused>,
    example: Option<&'a View>,
    ways: Vec<Way>,
    tagline: String,
    description: String,
    estimates: String,
    /// Where the form is sent.
    action: String,
}

/// What a person typed and chose. It is kept when something is refused.
#[derive(Debug, Default, Clone)]
pub struct Asked {
    /// The question, perhaps with its options in brackets.
    pub question: String,
    /// The options, one in each line.
    pub options: String,
    /// `free`, or the name of a profile.
    pub who: String,
    /// The confidence at which the poll stops; empty for the profile's.
    pub confidence: String,
    /// The most that it may cost, in USD; empty for the profile's.
    pub max_cost: String,
    /// Whether only the account may read the result.
    pub private: bool,
    /// The key of the form that was sent.
    pub nonce: String,
}

impl Asked {
    /// Reads the form.
    pub fn read(form: &Form) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        Self {
            question: text("question"),
            options: text("options"),
            who: text("who"),
            confidence: text("confidence"),
            max_cost: text("max_cost"),
            private: !form.text("private").is_empty(),
            nonce: text("nonce"),
        }
    }

    /// A profile's name, where the account's models are asked.
    pub fn profile(&self) -> Option<&str> {
        Some(self.who.as_str()).filter(|who| !who.is_empty() && *who != FREE)
    }

    /// Whether it wants what only an account has: its panels, a budget, a threshold of its own, privacy.
    pub fn needs_account(&self) -> bool {
        let own = |text: &str| !text.is_empty();
        self.profile().is_some() || self.private || own(&self.confidence) || own(&self.max_cost)
    }

    /// Its options.
    pub fn option_lines(&self) -> impl Iterator<Item = &str> {
        self.options.lines().map(str::trim).filter(|line| !line.is_empty())
    }

    /// Whether this is chosen.
    fn asks(&self, who: &str) -> bool {
        self.who == who || (who == FREE && self.who.is_empty())
    }
}

/// Who is asked by a form that names no profile.
const FREE: &str = "free";

/// A profile, as the operation that lists them says.
#[derive(Debug, Deserialize)]
pub struct Bundle {
    name: String,
    description: String,
    confidence_threshold: f64,
    max_cost_usd: f64,
}

impl Bundle {
    /// The threshold in per cent.
    fn percent(&self) -> f64 {
        (self.confidence_threshold * 1000.0).round() / 10.0
    }
}

/// Why a poll was not asked.
struct Refused {
    title: String,
    /// What is wrong with the form as a whole, or all of it where it is about no field.
    message: String,
    fields: Vec<(&'static str, String)>,
    wait: Option<u64>,
    actions: Vec<Action>,
}

impl Refused {
    fn new(fault: &Fault, site: &Site, asked: &Asked) -> Self {
        let fields = fault.fields().iter().map(|wrong| (field(&wrong.field), sentence(&wrong.detail)));
        let mut fields: Vec<_> = fields.filter(|(name, _)| !name.is_empty()).collect();
        let has_too_many_for_free = asked.profile().is_none()
            && (FREE_MAX_OPTIONS + 1..=MAX_OPTIONS).contains(&asked.option_lines().count());
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

    /// What is wrong with a field.
    fn at(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| *known == name).map(|(_, detail)| detail.as_str())
    }
}

/// The field of the form that became this member of the operation's input.
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

/// What is wrong with a field, in the words of the form.
fn sentence(detail: &str) -> String {
    let mut text = detail.trim_end_matches('.').to_owned();
    for (place, letter) in ('A'..='J').enumerate() {
        text = text.replace(&format!("options[{place}]"), &format!("option {letter}"));
    }
    for (member, field) in [("max_cost_usd", "the most to spend"), ("confidence_threshold", "the confidence")]
    {
        text = text.replace(member, field);
    }
    capitalized(&format!("{text}."))
}

/// The example, once it has been answered.
#[derive(Default)]
pub struct Example {
    shown: OnceLock<View>,
    /// Until when nobody asks it, in milliseconds since 1970.
    resting: AtomicI64,
}

/// How long the example is left alone after it was asked.
const REST: Duration = Duration::from_mins(10);

impl Example {
    /// Whether the caller is to ask it now.
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
        // Another visit may have been quicker.
        drop(self.shown.set(result.poll));
    }
}

/// What a visit of the start page brings.
pub struct Visit<'a> {
    /// What is in the form.
    pub asked: &'a Asked,
    /// The key of the new form.
    pub nonce: String,
    /// The profiles.
    pub profiles: Vec<Bundle>,
    /// What is left on the visitor's account.
    pub balance: Option<String>,
    /// Why the last form was refused.
    pub refused: Option<&'a Fault>,
    /// The example.
    pub example: &'a Example,
}

impl<'a> StartPage<'a> {
    /// The page as this visit sees it.
    pub fn new(site: &'a Site, visit: Visit<'a>) -> Self {
        let owner = documents::owner();
        let text = |name: &str| owner[name].as_str().unwrap_or_default().to_owned();
        let page = Layout {
            canonical: site.url_of(HOME),
            markdown: site.url_of(HOME_MARKDOWN),
            ..Layout::new(site, text("tagline"), text("description"))
        };
        let refused = visit.refused.map(|fault| Refused::new(fault, site, visit.asked));
        let page = match &refused {
            Some(refused) => Layout { title: format!("Not asked: {}", refused.title), ..page },
            None => page,
        };
        Self {
            asked: visit.asked,
            nonce: visit.nonce,
            profiles: visit.profiles,
            thresholds: [
                ("", "as the panel says"),
                ("0.8", "80 %"),
                ("0.95", "95 %"),
                ("0.99", "99 %"),
                ("1", "100 %"),
            ],
            balance: visit.balance,
            refused,
            example: visit.example.shown.get(),
            ways: documents::ways(site),
            tagline: text("tagline"),
            description: text("description"),
            action: own(&site.links.url(ASK, &[])),
            estimates: own(&site.links.url(EstimatePoll::SPEC.name, &[])),
            page,
        }
    }

    /// What search engines read of it (schema.org).
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

    /// What is wrong with a field.
    fn wrong(&self, name: &str) -> Option<&str> {
        self.refused.as_ref()?.at(name)
    }

    /// Whether the voters are simulated.
    fn simulated(&self) -> bool {
        self.page.site.settings.offer.simulated()
    }
}

/// The question of the example, as the operation that asks it has it.
pub const fn example_request() -> &'static str {
    PollFree::SPEC.example
}
