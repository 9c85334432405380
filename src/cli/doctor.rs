//! `ep doctor`: asks each model of a roster a control question and reports results, latency and cost.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use ep_polling::counted::counted;
use ep_polling::{
    BallotMode, BallotViews, Member, MicroUsd, ModelChoice, ModelNames, ModelResponse, ModelSource, NoVote,
    OptionProbability, Reason, Seed, SpendBasis,
};
use ep_site::config::Config;
use futures::StreamExt;
use serde::Serialize;
use tokio::time::Instant;

use super::printable::printable;
use super::target::GRACE;
use super::{End, print, print_json};
use crate::app::assemble;
use crate::app::assemble::Environment;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Preset: fast_and_cheap, generalist, frontier_generalist, budget, code, free …
    #[arg(long, default_value = "fast_and_cheap", conflicts_with = "models")]
    preset: String,
    /// Model id, replacing the preset; * matches any text; at least two models in total
    #[arg(long = "model", value_name = "ID")]
    models: Vec<String>,
    /// Model id to exclude; * matches any text; may be repeated
    #[arg(long, value_name = "ID")]
    exclude: Vec<String>,
    /// Maximum models asked at once
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=512))]
    at_once: u16,
    /// Time limit per model, in seconds
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=600))]
    timeout: u64,
    /// Print only one JSON object per model
    #[arg(long)]
    json: bool,
    /// Ask no model, but forget what was learnt about this one, or about all without an ID; * matches any text
    #[arg(
        long,
        value_name = "ID",
        num_args = 0..=1,
        default_missing_value = "*",
        conflicts_with_all = ["preset", "models", "exclude", "json"]
    )]
    forget: Option<String>,
}

const QUESTION: &str = "Which of these is a colour?";
const OPTIONS: [&str; 3] = ["Blue", "Seven", "Tuesday"];
/// Index of the correct option.
const EXPECTED: usize = 0;

/// Result of one model.
#[derive(Serialize)]
struct Finding<'a> {
    model: &'a str,
    /// The chosen option; null without a vote.
    vote: Option<&'static str>,
    expected: bool,
    /// True for a decision model, which gives probabilities instead of chatting.
    decision_model: bool,
    /// The probabilities of the options, in their order; null for models that chat.
    probabilities: Option<Vec<OptionProbability>>,
    ballot_mode: Option<BallotMode>,
    reasoned: Option<bool>,
    latency_ms: u64,
    /// True if the model has no listed price: its cost is known only if the upstream reports it.
    unpriced: bool,
    /// Cost in USD; null if unknown.
    cost_usd: Option<f64>,
    cost_basis: SpendBasis,
    /// Learnt facts about requests to the model, as phrases that follow its name.
    learnt: Vec<&'static str>,
    /// Reason for the missing vote.
    error: Option<String>,
    #[serde(skip)]
    reason: Option<Reason>,
}

impl<'a> Finding<'a> {
    fn new(
        member: &'a Member,
        decision_model: bool,
        response: &ModelResponse,
        took: Duration,
        learnt: Vec<&'static str>,
    ) -> Self {
        let error = |no_vote: &NoVote| format!("{}: {}", no_vote.reason.as_str(), no_vote.detail);
        let chosen = response.vote.as_ref().ok().copied();
        let unpriced = member.price.is_none();
        // A failed call to an unpriced model may have been charged.
        let basis = match response.spend.basis {
            SpendBasis::Reported => SpendBasis::Reported,
            _ if unpriced => SpendBasis::Unknown,
            basis => basis,
        };
        Self {
            model: member.model.as_str(),
            vote: chosen.and_then(|option| OPTIONS.get(option).copied()),
            expected: chosen == Some(EXPECTED),
            decision_model,
            probabilities: response
                .probabilities
                .as_ref()
                .map(|given| given.named(&OPTIONS.map(str::to_owned))),
            ballot_mode: response.casting.map(|casting| casting.mode),
            reasoned: response.casting.and_then(|casting| casting.reasoned),
            latency_ms: took.as_millis() as u64,
            unpriced,
            cost_usd: (basis != SpendBasis::Unknown).then(|| response.spend.amount.as_usd()),
            cost_basis: basis,
            learnt,
            error: response.vote.as_ref().err().map(error),
            reason: response.vote.as_ref().err().map(|no_vote| no_vote.reason),
        }
    }

    /// Returns the header of the lines.
    fn header(width: usize) -> String {
        let (mode, reasoning) = ("Ballot", "Reasoning");
        format!("{:width$}  {mode:12}  {reasoning:12}  {:>8}  {:>12}  Result", "Model", "Time", "Cost")
    }

    fn line(&self, width: usize) -> String {
        let model = printable(self.model);
        let (mode, reasoned) = (
            match self.ballot_mode {
                _ if self.decision_model => "decision",
                mode => mode.map_or("-", BallotMode::as_str),
            },
            match self.reasoned {
                Some(true) => "reasons",
                Some(false) => "no reasoning",
                None => "-",
            },
        );
        let cost = match self.cost_usd {
            Some(cost) => format!("${cost:.6}"),
            None if self.unpriced => "unpriced".to_owned(),
            None => "cost unknown".to_owned(),
        };
        let result = match (self.vote, &self.error) {
            (Some(_), _) if self.expected => "right".to_owned(),
            (Some(vote), _) => format!("wrong ({vote})"),
            (None, error) => format!("no vote: {}", printable(error.as_deref().unwrap_or_default())),
        };
        let seconds = self.latency_ms as f64 / 1e3;
        format!("{model:width$}  {mode:12}  {reasoned:12}  {seconds:>6.1} s  {cost:>12}  {result}")
    }
}

/// Returns the problem of a model that is not ready, with the remedy.
const fn advice(reason: Option<Reason>) -> &'static str {
    match reason {
        None => "voted for another option than expected: exclude them with --exclude if it repeats",
        Some(Reason::Timeout | Reason::Deadline) => {
            "timed out: raise --timeout, or exclude them with --exclude"
        }
        Some(Reason::Unreachable) => "unreachable: check EP_UPSTREAM_URL, and that the upstream is running",
        Some(Reason::RateLimited) => "rate-limited: try again later, or with a lower --at-once",
        Some(Reason::Busy) => "busy: try again later, or with a lower --at-once",
        Some(Reason::Rejected) => {
            "rejected by the upstream: check its key and credit, or exclude the models with --exclude"
        }
        Some(Reason::UpstreamError) => "failed at the upstream: try again later",
        Some(Reason::Refused | Reason::Unparsable | Reason::Conflicting | Reason::Truncated) => {
            "gave no readable vote: exclude them with --exclude if it repeats"
        }
    }
}

pub(super) async fn run(config: &Config, arguments: Arguments) -> anyhow::Result<End> {
    let names = |names: &[String]| (!names.is_empty()).then(|| ModelNames::new(names)).transpose();
    let source = names(&arguments.models)?.map_or(ModelSource::Preset(arguments.preset), ModelSource::Named);
    let choice = ModelChoice { source, exclude: names(&arguments.exclude)? };
    let service = assemble::service(config, Environment::system()).await?;
    let models = Arc::clone(&service.app.ports.models);
    if let Some(pattern) = &arguments.forget {
        let count = models.forget(pattern).await?;
        service.stop(Instant::now() + GRACE).await;
        print(&format!("Forgot what was learnt about {}.", counted(count as u64, "model")))?;
        return Ok(End::Done);
    }
    let roster = models.roster(&choice).await?;
    let listed = models.registry().await?.variants.into_iter();
    let decision_models: HashSet<String> =
        listed.filter(|variant| variant.decision_model).map(|variant| variant.id).collect();
    if !arguments.json && roster.simulated {
        eprintln!("These models are simulated: set EP_UPSTREAM_URL or OPENROUTER_API_KEY to test real ones.");
    }
    let members = roster.members();
    let seed = Seed::new(service.app.ports.entropy.bytes());
    let (question, options) = (QUESTION.into(), OPTIONS.map(str::to_owned));
    let views = BallotViews::new(seed, &question, &options);
    let within = Duration::from_secs(arguments.timeout);
    let ask = async |(position, member): (usize, &Member)| {
        let started = Instant::now();
        let response = models.vote(member, &views.at(position), within.into()).await;
        (position, response, started.elapsed())
    };
    let mut responses = futures::stream::iter(members.iter().enumerate())
        .map(ask)
        .buffer_unordered(usize::from(arguments.at_once));
    let width = members.iter().map(|member| member.model.as_str().len()).max().unwrap_or(0);
    let (mut votes, mut unknown, mut cost) = (0_usize, 0_usize, MicroUsd::ZERO);
    let mut problems = BTreeMap::<&str, usize>::new();
    let mut learnt = Vec::new();
    let unpriced = members.iter().filter(|member| member.price.is_none()).count();
    if !arguments.json {
        print(&Finding::header(width))?;
    }
    while let Some((position, response, took)) = responses.next().await {
        let member = &members[position];
        let decision_model = decision_models.contains(member.model.as_str());
        let finding = Finding::new(member, decision_model, &response, took, models.learnt(&member.model));
        if !finding.learnt.is_empty() {
            learnt.push(format!("{} {}", printable(finding.model), finding.learnt.join("; ")));
        }
        votes += usize::from(finding.vote.is_some());
        if !finding.expected {
            *problems.entry(advice(finding.reason)).or_default() += 1;
        }
        unknown += usize::from(finding.cost_usd.is_none());
        cost = cost.plus(response.spend.amount);
        if arguments.json {
            print_json(&serde_json::to_string(&finding)?)?;
        } else {
            print(&finding.line(width))?;
        }
    }
    drop(responses);
    if !arguments.json {
        let unknown =
            if unknown > 0 { format!(", not counting {unknown} of unknown cost") } else { String::new() };
        print(&format!(
            "\n{} of {} ready. Cost: {cost}{unknown}.",
            members.len() - problems.values().sum::<usize>(),
            members.len()
        ))?;
        for (advice, count) in problems {
            print(&format!("{count} {advice}"))?;
        }
        if unpriced > 0 {
            print(&format!(
                "{unpriced} of them without a listed price. Polls that are charged exclude such models. If they are free, set \
                 EP_UPSTREAM_UNPRICED_FREE=true."
            ))?;
        }
        if !learnt.is_empty() {
            print("\nLearnt about these models, for a day (ep doctor --forget removes it):")?;
        }
        for line in learnt {
            print(&line)?;
        }
    }
    let all = votes == members.len();
    service.stop(Instant::now() + GRACE).await;
    Ok(if all { End::Done } else { End::Code(1) })
}
