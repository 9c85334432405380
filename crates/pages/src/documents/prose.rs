//! Values for the templates in `well-known/`: URLs, limits, errors and settings.
//!
//! A template that names an unknown operation or error is not rendered.

use std::fmt::Write;

use askama::{Error, Template};
use axum::body::Bytes;
use ep_kernel::{Agents, Entry, Kind};
use ep_polling::{Budget, MicroUsd, Threshold};
use ep_site::deposit::DEPOSITS;
use ep_site::rail::RailWords;
use ep_site::{Route, Site, owner};
use serde_json::Value;

/// The template variable `p`.
pub(super) struct Prose<'a> {
    pub(super) site: &'a Site,
    owner: Value,
}

#[expect(clippy::unused_self, reason = "templates call methods")]
impl<'a> Prose<'a> {
    /// Creates the template values of this site.
    pub(super) fn new(site: &'a Site) -> Self {
        Self { site, owner: owner() }
    }

    /// Returns a text as a JSON string, which is also valid YAML.
    pub(super) fn quoted(&self, text: &str) -> String {
        Value::from(text).to_string()
    }

    /// Returns a field of `owner.json`.
    pub(super) fn owner(&self, field: &str) -> askama::Result<&str> {
        self.owner[field].as_str().ok_or_else(|| missing("field of owner.json", field))
    }

    /// Returns the URL of an operation, a document or an endpoint, with its placeholders unchanged.
    pub(super) fn url(&self, name: &str) -> askama::Result<String> {
        if self.site.links.has(name) {
            Ok(self.site.links.url(name, &[]))
        } else {
            Err(missing("route", name))
        }
    }

    /// Returns the URL of an operation on a poll.
    pub(super) fn url_for(&self, name: &str, poll_id: &str) -> askama::Result<String> {
        self.url(name)?;
        Ok(self.site.links.url(name, &[("poll_id", poll_id)]))
    }

    /// Returns the URL of an operation's event stream.
    pub(super) fn stream(&self, name: &str) -> askama::Result<String> {
        let streams = |route: &&Route| route.is_stream() && route.name == name;
        let route = self.site.routes.iter().find(streams).ok_or_else(|| missing("event stream", name))?;
        Ok(format!("{}{}", self.site.settings.base_url, route.path))
    }

    /// True if a route has this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.site.links.has(name)
    }

    /// Returns a list item with a link to a route; empty if the route or document is not available.
    pub(super) fn item(&self, name: &str, title: &str, notes: &str) -> String {
        let absent = self.site.documents.iter().any(|document| document.name == name)
            && self.site.document(name).is_none();
        match self.site.url_of(name).filter(|_| !absent) {
            Some(url) => format!("- [{title}]({url}): {notes}\n"),
            None => String::new(),
        }
    }

    /// Returns a value from the schema of an operation's input: `options/maxItems`.
    pub(super) fn limit(&self, operation: &str, pointer: &str) -> askama::Result<String> {
        let entry = self.entry(operation)?;
        let limit = entry.input().as_value().pointer(&format!("/properties/{pointer}"));
        match limit {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(number @ Value::Number(_)) => Ok(number.to_string()),
            _ => Err(missing("limit", &format!("{operation}: {pointer}"))),
        }
    }

    /// Returns the description of an input field of an operation.
    pub(super) fn field(&self, operation: &str, name: &str) -> askama::Result<String> {
        self.limit(operation, &format!("{name}/description"))
    }

    fn entry(&self, operation: &str) -> askama::Result<&'static Entry> {
        let entry = self.site.tools.iter().find(|entry| entry.spec.name == operation);
        entry.ok_or_else(|| missing("operation", operation))
    }

    /// Returns the names of the operations that every agent sees.
    pub(super) fn core_operations(&self) -> String {
        let core = self.site.offered().filter(|entry| entry.spec.agents == Agents::Core);
        let names: Vec<String> = core.map(|entry| format!("`{}`", entry.spec.name)).collect();
        names.join(", ")
    }

    /// Returns a table row after a line break: status, code and remedy. Empty if the error cannot occur here.
    pub(super) fn error(&self, code: &str) -> askama::Result<String> {
        let kind = Kind::from_code(code).ok_or_else(|| missing("error", code))?;
        if !self.site.settings.offer.has_error(kind) {
            return Ok(String::new());
        }
        let row = kind.row();
        let mut text = format!("\n| {} | `{}` | {}.", row.http, row.code, row.title);
        for recovery in row.recovery {
            let _ = write!(text, " {}", recovery.description);
        }
        text.push_str(" |");
        Ok(text)
    }

    /// Returns the default threshold of a poll.
    pub(super) fn threshold(&self) -> f64 {
        Threshold::DEFAULT.get()
    }

    /// Returns the default budget of a poll.
    pub(super) fn budget(&self) -> MicroUsd {
        Budget::DEFAULT.amount()
    }

    /// Returns the minimum and maximum of a deposit, in whole dollars.
    pub(super) fn deposits(&self) -> (u32, u32) {
        (DEPOSITS.start() / 100, DEPOSITS.end() / 100)
    }

    /// Returns true if a condition holds: see [`Offer::meets`](ep_site::Offer::meets).
    pub(super) fn meets(&self, condition: &str) -> askama::Result<bool> {
        self.site.settings.offer.meets(condition).ok_or_else(|| missing("condition", condition))
    }

    /// Returns a list item for each payment rail: the data that is stored.
    pub(super) fn stored_payments(&self) -> String {
        self.rails(|words| words.stored)
    }

    /// Returns a list item for each payment rail: the recipient of data.
    pub(super) fn payment_recipients(&self) -> String {
        self.rails(|words| words.recipient)
    }

    /// Returns a list item for each payment rail: the terms of payments.
    pub(super) fn payment_terms(&self) -> String {
        self.rails(|words| words.terms)
    }

    /// Returns a sentence for each payment rail with data that outlives a deleted account, each with a space.
    pub(super) fn payments_after_deletion(&self) -> String {
        let sentences = self.site.settings.offer.rails().filter_map(|rail| rail.words.after_deletion);
        sentences.flat_map(|sentence| [sentence, " "]).collect()
    }

    fn rails(&self, words: fn(&RailWords) -> &'static str) -> String {
        self.site.settings.offer.rails().fold(String::new(), |list, rail| {
            list + "\n- " + &words(&rail.words).replace("{network}", &self.site.settings.offer.network)
        })
    }

    /// Returns the caution about the models; empty with an upstream.
    pub(super) fn caution(&self) -> &'static str {
        self.site.settings.offer.caution().unwrap_or_default()
    }
}

/// Renders a template with exactly one trailing newline.
pub(super) fn bytes(template: &impl Template) -> Option<Bytes> {
    let text = template.render().ok()?;
    Some(format!("{}\n", text.trim_end()).into())
}

fn missing(what: &str, name: &str) -> Error {
    Error::custom(format!("there is no {what} {name}"))
}
