//! `match_intent`: which operation fits a sentence.

use std::sync::LazyLock;
use std::time::Duration;

use ep_kernel::ctx::Ctx;
use ep_kernel::fault::Fault;
use ep_kernel::links::Links;
use ep_kernel::tool::{
    Access, Agents, Cost, Effect, Entry, Latency, Presentation, Rate, Rest, Spec, Task, Tool, ToolOutput,
};
use ep_polling::question::QuestionText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::matching::{Fit, Index};
use crate::TOOLS;

/// Finds operations for a sentence.
pub struct MatchIntent;

/// Most characters of a sentence.
const MAX_CHARS: usize = 1000;
/// Most operations that an answer names.
const MAX_MATCHES: usize = 5;
/// How far behind the best one a match may be: this part of its score.
const NEAR: f64 = 0.6;

/// What somebody wants.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Wish {
    /// What is wanted, in plain words.
    pub text: QuestionText<1, MAX_CHARS>,
}

/// The operations that fit.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Matches {
    /// The text.
    pub text: String,
    /// The operations that fit, best first, at most five.
    pub matches: Vec<IntentMatch>,
    /// The first of them; null if nothing fits.
    pub best_match: Option<IntentMatch>,
}

/// An operation that fits.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct IntentMatch {
    /// The operation's name, as in MCP, A2A and OpenAPI.
    pub operation: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// How well it fits, from 0 to 1: what the words have in common, no probability.
    #[schemars(range(min = 0, max = 1))]
    pub score: f64,
    /// The phrase of this operation that fits best.
    pub phrase: &'static str,
    /// The HTTP method of the request to send; null where there is none.
    pub method: Option<&'static str>,
    /// Its URL, with `{placeholders}` for members of the input.
    pub href: Option<String>,
    /// The members that the input must have.
    pub required: Vec<String>,
}

impl ToolOutput for Matches {
    fn presentation(&self) -> Presentation {
        Presentation::shared(Duration::from_hours(1))
    }
}

/// The phrases of every operation that has some, and its title.
static INDEX: LazyLock<(Vec<&'static Entry>, Index)> = LazyLock::new(|| {
    let entries: Vec<&Entry> = TOOLS.iter().filter(|entry| !entry.spec.intents.is_empty()).collect();
    let index = Index::new(entries.iter().map(|entry| phrases(&entry.spec).collect()));
    (entries, index)
});

/// What an operation is recognised by.
fn phrases(spec: &Spec) -> impl Iterator<Item = &'static str> + use<> {
    spec.intents.iter().copied().chain([spec.title, spec.name])
}

impl IntentMatch {
    fn new(entry: &Entry, fit: Fit, links: &Links) -> Self {
        let spec = &entry.spec;
        let request = entry.bindings().next().map(|_| links.request(spec.name));
        let required = entry.input().get("required").and_then(Value::as_array);
        let names = required.into_iter().flatten().filter_map(Value::as_str);
        Self {
            operation: spec.name,
            title: spec.title,
            score: (fit.score * 100.0).round() / 100.0,
            phrase: phrases(spec).nth(fit.phrase).unwrap_or_default(),
            method: request.as_ref().map(|(method, _)| method.as_str()),
            href: request.map(|(_, url)| url),
            required: names.map(str::to_owned).collect(),
        }
    }
}

impl Tool for MatchIntent {
    const SPEC: Spec = Spec {
        name: "match_intent",
        title: "Match an intent",
        summary: "Says which operations fit what somebody wants, from a sentence in plain words. Asks no model. Free.",
        manual: include_str!("match_intent.md"),
        example: r#"{ "text": "Which database is better for a small service, PostgreSQL or SQLite?" }"#,
        access: Access::PUBLIC,
        effect: Effect::Read,
        cost: Cost::Free,
        latency: Latency::Instant,
        rate: Rate::Default,
        rest: Some(Rest::post("/api/intents/match")),
        stream: None,
        agents: Agents::None,
        task: Task::None,
        intents: &[
            "which operation do I need",
            "which endpoint should I call",
            "route this request to the right tool",
            "find the endpoint for what I want to do",
            "match my sentence to an operation",
            "what can this service do",
            "which capabilities and intents are there",
        ],
        faults: &[],
    };
    type Input = Wish;
    type Output = Matches;

    async fn call(cx: &Ctx, wish: Wish) -> Result<Matches, Fault> {
        let (entries, index) = &*INDEX;
        let text = String::from(wish.text);
        let fits = index.fits(&text);
        let least = fits.first().map_or(0.0, |best| best.score * NEAR);
        let near = fits.into_iter().take(MAX_MATCHES).take_while(|fit| fit.score >= least);
        let matches: Vec<IntentMatch> =
            near.map(|fit| IntentMatch::new(entries[fit.signature], fit, cx.links())).collect();
        Ok(Matches { text, best_match: matches.first().cloned(), matches })
    }
}
