//! The settings that documents and pages depend on.

use std::sync::Arc;
use std::time::Duration;

use ep_kernel::method::Method;
use ep_kernel::{ActionRequest, Links, SigningKeys};
use ep_polling::{PollId, Timestamp};
use serde_json::Value;
use url::Url;

use super::names::{DASHBOARD, FUNDS, OPENID_PATH};
use super::offer::Offer;
use super::rail::Rail;
use crate::config::{Config, Content, Limits, ModelAlias, Operator, Sessions};

/// The settings that documents depend on.
#[derive(Debug, Clone)]
pub struct SiteSettings {
    /// The public base URL, without a trailing slash.
    pub base_url: String,
    /// The operator of the service.
    pub operator: Operator,
    /// True if programs with a key may read their account.
    pub keys_read_account: bool,
    /// The features of this configuration.
    pub offer: Offer,
    /// The time of the last change, if known. Documents depend on the settings and the program.
    pub since: Option<Timestamp>,
    /// The allowed uses of content for crawlers.
    pub content: Content,
    /// The polls of which the start page shows one.
    pub featured_polls: Vec<PollId>,
    /// Names of models that stand for panels, for clients of OpenAI's API.
    pub model_aliases: Vec<ModelAlias>,
    /// The maximum duration of a poll.
    pub poll_deadline: Duration,
    /// The rate limits of callers.
    pub limits: Limits,
    /// The upstream host that receives questions, if it has a public name.
    pub upstream_host: Option<String>,
    /// The lifetime of browser sessions.
    pub sessions: Sessions,
    /// The retention of polls without an owner, in days; 0 means forever.
    pub keep_anonymous_days: u32,
    /// True if starter credits are counted by client address.
    pub counts_addresses: bool,
    /// The keys that sign the agent card; `None` for the committed copies.
    pub signing: Option<Arc<SigningKeys>>,
}

impl SiteSettings {
    /// Reads the settings from the configuration, for a program with these payment rails.
    pub fn new(config: &Config, rails: &'static [&'static Rail]) -> Self {
        Self {
            base_url: config.base_url(),
            operator: config.operator.clone(),
            keys_read_account: config.accounts.keys_read_account,
            offer: Offer::new(config, rails),
            since: None,
            content: config.content.clone(),
            featured_polls: config.polls.featured.clone(),
            model_aliases: config.openai.aliases.clone(),
            poll_deadline: config.poll_deadline(),
            limits: config.limits.clone(),
            upstream_host: Url::parse(&config.upstream.url)
                .ok()
                .filter(|url| url.scheme() == "https")
                .and_then(|url| url.host_str().map(str::to_owned)),
            sessions: config.sessions.clone(),
            keep_anonymous_days: config.polls.keep_anonymous_days,
            counts_addresses: config.accounts.starter_credits_per_address > 0,
            signing: None,
        }
    }

    /// Returns the URL of the page for funding an account, if there is one.
    pub(super) fn add_funds_page(&self, links: &Links) -> Option<String> {
        let Operator { add_funds_url, .. } = &self.operator;
        if !add_funds_url.is_empty() {
            return Some(add_funds_url.clone());
        }
        let pays_here = self.offer.takes_payments() && links.has(DASHBOARD);
        pays_here.then(|| format!("{}{FUNDS}", links.url(DASHBOARD, &[])))
    }

    /// Returns the value of the `Content-Usage` header (draft-ietf-aipref-attach-05, section 5;
    /// draft-ietf-aipref-vocab-07).
    pub fn content_usage(&self) -> String {
        let letter = |allowed| if allowed { 'y' } else { 'n' };
        format!("search={}, train-ai={}", letter(self.content.search), letter(self.content.ai_train))
    }

    /// Returns the issuer's discovery URL, if an issuer is configured (OpenID Connect Discovery 1.0 §4).
    pub fn openid_url(&self) -> Option<String> {
        let issuer = self.offer.issuer.as_ref()?;
        Some(format!("{}{OPENID_PATH}", issuer.trim_end_matches('/')))
    }

    /// Returns the operator's contact as a URL.
    fn contact_url(&self) -> Option<String> {
        let contact = &self.operator.contact;
        match Url::parse(contact) {
            Ok(_) => Some(contact.clone()),
            Err(_) => contact.contains('@').then(|| format!("mailto:{contact}")),
        }
    }

    /// Returns the available ways to fund an account. Empty if polls are free; the operator if no payment rail is
    /// configured.
    pub(super) fn funding(&self, links: &Links) -> Vec<ActionRequest> {
        let way = |description: &str, request: (Method, String), example: Option<Value>| ActionRequest {
            action: "add_funds",
            description: description.to_owned(),
            request: Some(request),
            example,
        };
        let mut ways = Vec::new();
        if !self.offer.charges {
            return ways;
        }
        // Programs read these ways, so those that need no person come first.
        let (for_programs, for_people): (Vec<&Rail>, Vec<&Rail>) =
            self.offer.rails().partition(|rail| rail.is_for_programs());
        for rail in for_programs.into_iter().chain(for_people).filter(|rail| links.has(rail.begins)) {
            let example = serde_json::from_str(rail.example).ok();
            ways.push(way(rail.words.way, links.request(rail.begins), example));
        }
        if let Some(page) = self.add_funds_page(links) {
            let text = if self.operator.add_funds_url.is_empty() {
                let pay: Vec<&str> = self.offer.rails().map(|rail| rail.words.pay).collect();
                format!("Sign in on this page and pay {}.", pay.join(" or "))
            } else {
                "Fund the account on the operator's page.".to_owned()
            };
            ways.push(way(&text, (Method::Get, page), None));
        }
        if ways.is_empty() {
            ways.push(ActionRequest {
                action: "ask_operator",
                description: "Ask the operator to credit the account: no payment is configured here."
                    .to_owned(),
                request: self.contact_url().map(|url| (Method::Get, url)),
                example: None,
            });
        }
        ways
    }
}
