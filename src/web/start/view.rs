//! The start page: a form for a question, an example result, and instructions for programs.

use std::borrow::Cow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use askama::Template;
use ep_kernel::fault::Fault;
use ep_kernel::tool::Tool;
use ep_polling::time::Timestamp;
use ep_tools::polls::{Bundle, EstimatePoll, PollFree};
use serde_json::json;

use super::form_rejection::FormRejection;
use super::form_values::PollFormValues;
use crate::documents;
use crate::documents::AskMethod;
use crate::layout::Layout;
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

    /// Returns the result; `None` before the first one.
    pub fn result(&self) -> Option<&View> {
        self.shown.get()
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
            example: data.example.result(),
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
