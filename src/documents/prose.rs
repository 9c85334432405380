//! What the prose in `well-known/` takes from the tables: addresses, limits, errors and settings.
//!
//! The prose names operations and errors; what it names must exist, or there is no such document.

use std::fmt::Write;

use askama::{Error, Template};
use axum::body::Bytes;
use ep_kernel::fault::Kind;
use ep_kernel::tool::{Agents, Entry};
use ep_polling::budget::Budget;
use ep_polling::money::MicroUsd;
use ep_polling::threshold::Threshold;
use serde_json::Value;

use super::{DOCUMENTS, Site, SiteSettings};
use crate::site::deposit::DEPOSITS;
use crate::site::{Route, RouteKind};

/// What templates see as `p`.
pub(super) struct Prose<'a> {
    site: &'a Site,
    owner: Value,
}

#[expect(clippy::unused_self, reason = "templates call methods")]
impl<'a> Prose<'a> {
    /// What prose says of this site.
    pub(super) fn new(site: &'a Site) -> Self {
        Self { site, owner: super::owner() }
    }

    /// A text as a JSON string, which is one of YAML's, too.
    pub(super) fn quoted(&self, text: &str) -> String {
        Value::from(text).to_string()
    }

    /// The settings.
    pub(super) fn settings(&self) -> &SiteSettings {
        &self.site.settings
    }

    /// The public base URL, without a trailing slash.
    pub(super) fn base_url(&self) -> &str {
        &self.site.settings.base_url
    }

    /// What people say about the service: this member of `owner.json`.
    pub(super) fn owner(&self, member: &str) -> askama::Result<&str> {
        self.owner[member].as_str().ok_or_else(|| missing("member of owner.json", member))
    }

    /// The URL of an operation, a document or an endpoint, its placeholders left as they are.
    pub(super) fn url(&self, name: &str) -> askama::Result<String> {
        if self.site.links.has(name) {
            Ok(self.site.links.url(name, &[]))
        } else {
            Err(missing("route", name))
        }
    }

    /// The URL of an operation on this poll.
    pub(super) fn url_for(&self, name: &str, poll_id: &str) -> askama::Result<String> {
        self.url(name)?;
        Ok(self.site.links.url(name, &[("poll_id", poll_id)]))
    }

    /// The URL of an operation's event stream.
    pub(super) fn stream(&self, name: &str) -> askama::Result<String> {
        let streams = |route: &&Route| matches!(route.kind, RouteKind::Stream(..)) && route.name == name;
        let route = self.site.routes.iter().find(streams).ok_or_else(|| missing("event stream", name))?;
        Ok(format!("{}{}", self.base_url(), route.path))
    }

    /// Whether there is a route of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.site.links.has(name)
    }

    /// A line of a list that links a route, or nothing where there is none, or no such document in this configuration.
    pub(super) fn item(&self, name: &str, title: &str, notes: &str) -> String {
        let absent =
            DOCUMENTS.iter().any(|document| document.name == name) && self.site.document(name).is_none();
        match self.site.url_of(name).filter(|_| !absent) {
            Some(url) => format!("- [{title}]({url}): {notes}\n"),
            None => String::new(),
        }
    }

    /// What the schema of an operation's input says below a member: `options/maxItems`.
    pub(super) fn limit(&self, operation: &str, pointer: &str) -> askama::Result<String> {
        let entry = self.entry(operation)?;
        let limit = entry.input().as_value().pointer(&format!("/properties/{pointer}"));
        match limit {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(number @ Value::Number(_)) => Ok(number.to_string()),
            _ => Err(missing("limit", &format!("{operation}: {pointer}"))),
        }
    }

    /// What an operation's description says of a member of its input.
    pub(super) fn member(&self, operation: &str, name: &str) -> askama::Result<String> {
        self.limit(operation, &format!("{name}/description"))
    }

    fn entry(&self, operation: &str) -> askama::Result<&'static Entry> {
        let entry = self.site.tools.iter().find(|entry| entry.spec.name == operation);
        entry.ok_or_else(|| missing("operation", operation))
    }

    /// The names of the operations that every agent is shown.
    pub(super) fn core_operations(&self) -> String {
        let core = self.site.offered().filter(|entry| entry.spec.agents == Agents::Core);
        let names: Vec<String> = core.map(|entry| format!("`{}`", entry.spec.name)).collect();
        names.join(", ")
    }

    /// A row of a table behind a line break: status, code and remedy; nothing for an error that cannot occur here.
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

    /// The threshold of a poll that names none.
    pub(super) fn threshold(&self) -> f64 {
        Threshold::DEFAULT.get()
    }

    /// The budget of a poll that names none.
    pub(super) fn budget(&self) -> MicroUsd {
        Budget::DEFAULT.amount()
    }

    /// The least and the most that is deposited at once, in whole dollars.
    pub(super) fn deposits(&self) -> (u32, u32) {
        (DEPOSITS.start() / 100, DEPOSITS.end() / 100)
    }

    /// The chain of deposits (CAIP-2); nothing where none are taken.
    pub(super) fn network(&self) -> &str {
        self.site.settings.offer.usdc.as_deref().unwrap_or_default()
    }

    /// The caution about the models; nothing where an upstream answers.
    pub(super) fn caution(&self) -> &'static str {
        self.site.settings.offer.caution().unwrap_or_default()
    }

    /// How callers reach the operator; nothing where there is no contact.
    pub(super) fn contact(&self) -> &str {
        &self.site.settings.operator.contact
    }
}

/// The bytes of a rendered template, with one line end at the end.
pub(super) fn bytes(template: &impl Template) -> Option<Bytes> {
    let text = template.render().ok()?;
    Some(format!("{}\n", text.trim_end()).into())
}

fn missing(what: &str, name: &str) -> Error {
    Error::custom(format!("there is no {what} {name}"))
}
