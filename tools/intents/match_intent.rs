//! `match_intent`: finds the operation for a sentence.

use std::sync::LazyLock;
use std::time::Duration;

use ep_kernel::{Entry, Links};
use ep_polling::QuestionText;

use super::matching::{Index, IntentMatchScore, RequestEffect};
use super::named_routes::{NAMED_ROUTES, NamedRoute};
use crate::TOOLS;
use crate::prelude::*;
use crate::reader::{Reading, read};

/// Finds operations for a sentence.
pub struct MatchIntent;

/// Maximum number of characters of a sentence.
pub const MAX_CHARS: usize = 1000;
/// Maximum number of matches in a response.
const MAX_MATCHES: usize = 5;
/// The minimum score of a match, relative to the best one.
const NEAR: f64 = 0.6;
/// The supported languages (BCP 47).
pub const LANGUAGES: [&str; 1] = ["en"];

/// A description of an intent.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct IntentQuery {
    /// The intent in plain words.
    pub text: QuestionText<1, MAX_CHARS>,
}

/// The matching operations.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Matches {
    /// The answer in plain words.
    pub answer: String,
    /// The text of the request.
    pub text: String,
    /// The matching operations, best first, at most five. Operations that change, pay or end something are
    /// included only if the text clearly asks for them.
    pub matches: Vec<IntentMatch>,
    /// The best match; null if there is none.
    pub best_match: Option<IntentMatch>,
    /// The supported languages.
    pub languages: [&'static str; 1],
    /// All available operations if nothing matches; otherwise empty.
    pub available: Vec<Available>,
}

/// An available operation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Available {
    /// The operation's name.
    pub operation: &'static str,
    /// Its display name.
    pub title: &'static str,
}

/// A matching operation.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct IntentMatch {
    /// The operation's name in OpenAPI; usually the same in MCP and A2A.
    pub operation: &'static str,
    /// Its display name.
    pub title: &'static str,
    /// True if it is free and changes nothing.
    pub read_only: bool,
    /// The similarity of the words, from 0 to 1; not a probability.
    #[schemars(range(min = 0, max = 1))]
    pub score: f64,
    /// The phrase of this operation that matches best.
    pub phrase: &'static str,
    /// The HTTP method of its request; null if it has none.
    pub method: Option<&'static str>,
    /// Its URL, with `{placeholders}` for input fields.
    pub href: Option<String>,
    /// The required input fields.
    pub required: Vec<String>,
}

impl ToolOutput for Matches {
    fn presentation(&self) -> Presentation {
        Presentation::shared(Duration::from_hours(1)).summary(self.answer.clone())
    }
}

/// All targets, and the index of their phrases.
static INDEX: LazyLock<(Vec<Target>, Index)> = LazyLock::new(|| {
    let operations = TOOLS.iter().filter(|entry| !entry.spec.intents.is_empty()).map(Target::Operation);
    let targets: Vec<Target> = operations.chain(NAMED_ROUTES.iter().map(Target::NamedRoute)).collect();
    let index = Index::new(targets.iter().map(|target| (target.consequence(), target.phrases())));
    (targets, index)
});

/// A target of a match: an operation or a route.
enum Target {
    Operation(&'static Entry),
    NamedRoute(&'static NamedRoute),
}

impl Target {
    const fn name(&self) -> &'static str {
        match self {
            Self::Operation(entry) => entry.spec.name,
            Self::NamedRoute(route) => route.name,
        }
    }

    const fn title(&self) -> &'static str {
        match self {
            Self::Operation(entry) => entry.spec.title,
            Self::NamedRoute(route) => route.title,
        }
    }

    const fn consequence(&self) -> RequestEffect {
        match self {
            Self::Operation(entry) => match entry.spec.effect {
                Effect::Read | Effect::Disclose => RequestEffect::None,
                Effect::Consult => RequestEffect::Consults,
                Effect::Write { .. } | Effect::Stop | Effect::Destroy => RequestEffect::Changes,
            },
            Self::NamedRoute(route) => route.consequence,
        }
    }

    /// Returns its trigger phrases, title and name.
    fn phrases(&self) -> Vec<&'static str> {
        let intents = match self {
            Self::Operation(entry) => entry.spec.intents,
            Self::NamedRoute(route) => route.intents,
        };
        intents.iter().copied().chain([self.title(), self.name()]).collect()
    }

    /// Returns the method and URL of its request, or `None` without a REST binding.
    fn request(&self, links: &Links) -> Option<(&'static str, String)> {
        let is_bound = match self {
            Self::Operation(entry) => entry.bindings().next().is_some(),
            Self::NamedRoute(route) => links.has(route.name),
        };
        let request = is_bound.then(|| links.request(self.name()));
        request.map(|(method, url)| (method.as_str(), url))
    }

    /// Returns the required fields of its input.
    fn required(&self) -> Vec<String> {
        let Self::Operation(entry) = self else { return Vec::new() };
        entry.usual().into_iter().map(str::to_owned).collect()
    }
}

/// Answers a text in plain words.
fn answer(text: &str, best: Option<&IntentMatch>, has_balance: bool) -> String {
    let request = |best: &IntentMatch| match (best.method, &best.href) {
        (Some(method), Some(href)) => format!("{} ({method} {href})", best.operation),
        _ => best.operation.to_owned(),
    };
    match (read(text), best) {
        (Reading::Draft, _) => "Nobody was asked. Send the question again to start the poll.".to_owned(),
        (Reading::Effect, Some(best)) if !best.read_only => {
            format!("Nothing was changed: plain words change nothing here. Call {}.", request(best))
        }
        (Reading::Effect, _) => {
            "Nothing was changed: plain words change nothing here. Call the operation itself.".to_owned()
        }
        (Reading::Help, _) => {
            let balance = if has_balance { "your balance, or for " } else { "" };
            format!(
                "Send a question with its options, and many AI models vote on it. For example: Which is better, tea or coffee? \
                 [Tea, Coffee]. You can also ask for {balance}a poll by its id."
            )
        }
        (_, Some(best)) => format!("{}: call {}.", best.title, request(best)),
        (_, None) => "No operation matches; available lists all of them.".to_owned(),
    }
}

impl IntentMatch {
    fn new(target: &Target, fit: IntentMatchScore, links: &Links) -> Self {
        let request = target.request(links);
        Self {
            operation: target.name(),
            title: target.title(),
            read_only: target.consequence() == RequestEffect::None,
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
        summary: "Finds the operations that match a sentence in plain words. Asks no model. Free.",
        manual: include_str!("match_intent.md"),
        example: r#"{ "text": "Which database is better for a small service, PostgreSQL or SQLite?" }"#,
        access: Access::PUBLIC,
        effect: Effect::Read,
        rest: Some(Rest::post("/api/intents/match")),
        intents: &[
            "which operation do I need",
            "list all intents and trigger phrases",
            "which endpoint should I call",
            "route this request to the right tool",
            "find the endpoint for what I want to do",
            "match my sentence to an operation",
            "what can this service do",
            "which capabilities and intents are there",
        ],
        ..Spec::PLAIN
    };
    type Input = IntentQuery;
    type Output = Matches;

    async fn call(cx: &Ctx, query: IntentQuery) -> Result<Matches, Fault> {
        let (targets, index) = &*INDEX;
        let text = String::from(query.text);
        let fits = index.fits(&text);
        let least = fits.first().map_or(0.0, |best| best.score * NEAR);
        // Operations without a use here are left out. A much weaker match does not take their rank.
        let near = fits.into_iter().take_while(|fit| fit.score >= least);
        let near = near.filter(|fit| cx.links().offers(targets[fit.signature].name())).take(MAX_MATCHES);
        let matches: Vec<IntentMatch> =
            near.map(|fit| IntentMatch::new(&targets[fit.signature], fit, cx.links())).collect();
        let all = targets.iter().filter(|target| matches.is_empty() && cx.links().offers(target.name()));
        let available =
            all.map(|target| Available { operation: target.name(), title: target.title() }).collect();
        let answer = answer(&text, matches.first(), cx.settings().billing);
        Ok(Matches {
            answer,
            text,
            best_match: matches.first().cloned(),
            matches,
            languages: LANGUAGES,
            available,
        })
    }
}
