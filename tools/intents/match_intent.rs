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

use super::beside::{BESIDE, Beside};
use super::matching::{Consequence, Fit, Index};
use crate::TOOLS;

/// Finds operations for a sentence.
pub struct MatchIntent;

/// Most characters of a sentence.
const MAX_CHARS: usize = 1000;
/// Most operations that an answer names.
const MAX_MATCHES: usize = 5;
/// The lowest score of a match, relative to the best one.
const NEAR: f64 = 0.6;
/// The languages that are understood (BCP 47).
pub const LANGUAGES: [&str; 1] = ["en"];

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
    /// The operations that fit, best first, at most five. What changes, pays or ends something is among them only if the
    /// text clearly asks for it.
    pub matches: Vec<IntentMatch>,
    /// The first of them; null if nothing fits.
    pub best_match: Option<IntentMatch>,
    /// The languages that are understood.
    pub languages: [&'static str; 1],
    /// Everything that can be asked for, if nothing fits; otherwise empty.
    pub available: Vec<Available>,
}

/// Something that can be asked for.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Available {
    /// The operation's name.
    pub operation: &'static str,
    /// Its name for people.
    pub title: &'static str,
}

/// An operation that fits.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct IntentMatch {
    /// The operation's name, as in OpenAPI; for most of them also in MCP and A2A.
    pub operation: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// True if it only reads: it changes nothing and costs nothing.
    pub read_only: bool,
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

/// Everything that can be asked for, and the index of its phrases.
static INDEX: LazyLock<(Vec<Target>, Index)> = LazyLock::new(|| {
    let operations = TOOLS.iter().filter(|entry| !entry.spec.intents.is_empty()).map(Target::Operation);
    let targets: Vec<Target> = operations.chain(BESIDE.iter().map(Target::Beside)).collect();
    let index = Index::new(targets.iter().map(|target| (target.consequence(), target.phrases())));
    (targets, index)
});

/// Something that can be asked for.
enum Target {
    Operation(&'static Entry),
    Beside(&'static Beside),
}

impl Target {
    const fn name(&self) -> &'static str {
        match self {
            Self::Operation(entry) => entry.spec.name,
            Self::Beside(beside) => beside.name,
        }
    }

    const fn title(&self) -> &'static str {
        match self {
            Self::Operation(entry) => entry.spec.title,
            Self::Beside(beside) => beside.title,
        }
    }

    const fn consequence(&self) -> Consequence {
        match self {
            Self::Operation(entry) => match entry.spec.effect {
                Effect::Read | Effect::Disclose => Consequence::None,
                Effect::Consult => Consequence::Consults,
                Effect::Write { .. } | Effect::Stop | Effect::Destroy => Consequence::Changes,
            },
            Self::Beside(beside) => beside.consequence,
        }
    }

    /// The phrases by which it is recognised.
    fn phrases(&self) -> Vec<&'static str> {
        let intents = match self {
            Self::Operation(entry) => entry.spec.intents,
            Self::Beside(beside) => beside.intents,
        };
        intents.iter().copied().chain([self.title(), self.name()]).collect()
    }

    /// The request to send, unless it has no REST binding here.
    fn request(&self, links: &Links) -> Option<(&'static str, String)> {
        let is_bound = match self {
            Self::Operation(entry) => entry.bindings().next().is_some(),
            Self::Beside(beside) => links.has(beside.name),
        };
        let request = is_bound.then(|| links.request(self.name()));
        request.map(|(method, url)| (method.as_str(), url))
    }

    /// The fields that its input must have.
    fn required(&self) -> Vec<String> {
        let Self::Operation(entry) = self else { return Vec::new() };
        let required = entry.input().get("required").and_then(Value::as_array);
        required.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }
}

impl IntentMatch {
    fn new(target: &Target, fit: Fit, links: &Links) -> Self {
        let request = target.request(links);
        Self {
            operation: target.name(),
            title: target.title(),
            read_only: target.consequence() == Consequence::None,
            score: (fit.score * 100.0).round() / 100.0,
            phrase: target.phrases().get(fit.phrase).copied().unwrap_or_default(),
            method: request.as_ref().map(|(method, _)| *method),
            href: request.map(|(_, url)| url),
            required: target.required(),
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
        let (targets, index) = &*INDEX;
        let text = String::from(wish.text);
        let fits = index.fits(&text);
        let least = fits.first().map_or(0.0, |best| best.score * NEAR);
        let near = fits.into_iter().take(MAX_MATCHES).take_while(|fit| fit.score >= least);
        let matches: Vec<IntentMatch> =
            near.map(|fit| IntentMatch::new(&targets[fit.signature], fit, cx.links())).collect();
        let all = targets.iter().filter(|_| matches.is_empty());
        let available =
            all.map(|target| Available { operation: target.name(), title: target.title() }).collect();
        Ok(Matches { text, best_match: matches.first().cloned(), matches, languages: LANGUAGES, available })
    }
}
