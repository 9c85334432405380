//! `ep poll`: asks a question, for people and scripts.

use std::io::IsTerminal;

use ep_kernel::event::MAX_EVENTS;
use ep_kernel::{PollEvent, Progress};
use ep_labels::operations::Operations;
use ep_polling::TieRule;
use ep_site::config::Config;
use ep_tools::entry_of;
use ep_tools::polls::{PollQuestion, ProposeOptions, ProposedOptions};
use ep_tools::reader::{Choices, Reading, read_question};
use ep_tools::results::GetPollResult;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::live::Live;
use super::show::Reply;
use super::target::Target;
use super::typed_flags::with_flags;
use super::{End, INTERRUPTED, hints, prompt, stored};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Question to ask; on a terminal, it and the options are prompted for if they are missing
    #[arg(required = true)]
    question: Option<String>,
    /// Option to vote for; repeat for 2 to 10 options. Without any, they are read from the question
    #[arg(short, long = "option", value_name = "OPTION", allow_negative_numbers = true)]
    options: Vec<String>,
    /// Levels of a scale, lowest first, instead of options: 2 to 11, separated by commas; their median decides
    #[arg(long, value_name = "LEVELS", value_delimiter = ',', conflicts_with = "options")]
    levels: Vec<String>,
    /// Lowest level that passes; the poll stops once it surely passes or fails
    #[arg(long, value_name = "LEVEL", requires = "levels", conflicts_with = "options")]
    pass: Option<String>,
    /// Preset: fast_and_cheap, generalist, frontier_generalist, budget, code, free …
    #[arg(long)]
    preset: Option<String>,
    /// Panel of your account, as NAME or NAME@VERSION, or a preset: its models and its rules
    #[arg(long, value_name = "NAME", conflicts_with_all = ["preset", "models"])]
    panel: Option<String>,
    /// Model id, replacing the preset; * matches any text; may be repeated
    #[arg(long = "model", value_name = "ID", conflicts_with = "preset")]
    models: Vec<String>,
    /// Model id to exclude; * matches any text; may be repeated
    #[arg(long, value_name = "ID")]
    exclude: Vec<String>,
    /// Settings profile: conservative, balanced, quick
    #[arg(long)]
    profile: Option<String>,
    /// Confidence in the whole roster's outcome for stopping early, from 0 to 1 (default 0.95)
    #[arg(long, value_name = "NUMBER", value_parser = finite)]
    threshold: Option<f64>,
    /// Maximum cost in USD (default 1)
    #[arg(long, value_name = "USD", value_parser = finite)]
    max_cost: Option<f64>,
    /// Pace: thrifty, balanced or fast
    #[arg(long)]
    pace: Option<String>,
    /// Ask this many voters of each of the two first options for a reason, after the vote: 1 to 3
    #[arg(long, value_name = "NUMBER")]
    reasons: Option<u8>,
    /// Ask every model, even if the outcome is clear before
    #[arg(long)]
    complete: bool,
    /// Rule for tied options: report (default), strongest (of the strongest model that voted for one of them) or review
    #[arg(long, value_name = "RULE")]
    on_tie: Option<TieRule>,
    /// Make the result readable only by its owner
    #[arg(long)]
    private: bool,
    /// Validate and price the poll without calling a model
    #[arg(long)]
    dry_run: bool,
    /// Print only the result as JSON
    #[arg(long)]
    json: bool,
    /// URL of a server to use, with the key in EP_API_KEY; by default runs in this process
    #[arg(long, value_name = "URL")]
    server: Option<String>,
}

/// Parses a finite number, which JSON can represent.
fn finite(text: &str) -> Result<f64, &'static str> {
    text.parse().ok().filter(|number: &f64| number.is_finite()).ok_or("must be a finite number")
}

impl Arguments {
    fn input(&self) -> Value {
        let list = |names: &[String]| (!names.is_empty()).then(|| json!(names));
        let given = [
            ("preset", self.preset.clone().map(Value::from)),
            ("panel", self.panel.clone().map(Value::from)),
            ("models", list(&self.models)),
            ("exclude", list(&self.exclude)),
            ("profile", self.profile.clone().map(Value::from)),
            ("confidence_threshold", self.threshold.map(Value::from)),
            ("max_cost_usd", self.max_cost.map(Value::from)),
            ("pace", self.pace.clone().map(Value::from)),
            ("reasons", self.reasons.map(Value::from)),
            ("complete", self.complete.then_some(Value::Bool(true))),
            ("on_tie", self.on_tie.map(|rule| json!(rule))),
            ("private", self.private.then_some(Value::Bool(true))),
            ("dry_run", self.dry_run.then_some(Value::Bool(true))),
        ];
        let mut input: Map<String, Value> =
            given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
        input.insert("question".into(), json!(self.question));
        if self.levels.is_empty() {
            input.insert("options".into(), json!(self.options));
        } else {
            let mut scale = json!({ "levels": self.levels });
            scale.as_object_mut().into_iter().for_each(|scale| {
                scale.extend(self.pass.clone().map(|pass| ("pass".to_owned(), pass.into())));
            });
            input.insert("scale".into(), scale);
        }
        Value::Object(input)
    }

    /// Reads the choices from the question if they are missing. Returns true if the question is open.
    fn read_choices(&mut self) -> bool {
        if !(self.options.is_empty() && self.levels.is_empty()) {
            return false;
        }
        let Some(Reading::Question(read)) = self.question.as_deref().map(read_question) else { return false };
        self.private |= read.terms.private;
        self.max_cost = self.max_cost.or(read.terms.max_cost_usd);
        if self.models.is_empty() {
            self.models = read.terms.models;
        }
        match read.choices {
            Choices::Open => return true,
            Choices::Options(options) => self.options = options,
            Choices::Scale(levels) => self.levels = levels,
        }
        self.question = Some(read.question);
        false
    }

    /// Asks free models for options of an open question, and shows them. If they are not wanted, the options are typed.
    async fn propose(&mut self, target: &Target) {
        let proposed = async {
            let input = json!({ "question": self.question });
            let proposed = target.call(entry_of::<ProposeOptions>()?, input).await?;
            anyhow::Ok(serde_json::from_value::<ProposedOptions>(proposed)?)
        };
        match proposed.await {
            Ok(proposed) => {
                eprintln!("Options proposed by {}:", proposed.proposers());
                for option in &proposed.options {
                    eprintln!("  {option}");
                }
                let answer = prompt::line(
                    &mut std::io::stdin().lock(),
                    &mut std::io::stderr(),
                    "Ask with these? [Y/n] ",
                );
                if answer.is_ok_and(|answer| !answer.to_lowercase().starts_with('n')) {
                    self.options = proposed.options;
                }
            }
            Err(error) => eprintln!("No options were proposed: {error}"),
        }
    }
}

pub(super) async fn run(config: &Config, mut arguments: Arguments) -> anyhow::Result<End> {
    let is_open = arguments.read_choices();
    let mut opened = None;
    if is_open && std::io::stdin().is_terminal() && !arguments.private && !arguments.dry_run {
        let target = Target::new(config, arguments.server.as_deref()).await?;
        arguments.propose(&target).await;
        opened = Some(target);
    }
    let has_choices = !(arguments.options.is_empty() && arguments.levels.is_empty());
    if (arguments.question.is_none() || !has_choices) && std::io::stdin().is_terminal() {
        let is_scale = !arguments.levels.is_empty();
        let options = if is_scale { &mut arguments.levels } else { &mut arguments.options };
        let question = arguments.question.take();
        let asked = prompt::complete(question, options, std::io::stdin().lock(), std::io::stderr())?;
        arguments.question = Some(asked);
    }
    let entry = entry_of::<PollQuestion>()?;
    if arguments.server.is_none() && !arguments.json {
        hints::before_a_poll(config).await;
    }
    let target = match opened {
        Some(target) => target,
        None => Target::new(config, arguments.server.as_deref()).await?,
    };
    let (steps, mut received) = mpsc::channel(MAX_EVENTS);
    let mut live = Live::new(!arguments.json);
    let answer = {
        let mut asked = std::pin::pin!(target.call_with_progress(entry, arguments.input(), Some(steps)));
        let mut cancelled = false;
        loop {
            tokio::select! {
                biased;
                Some(step) = received.recv() => show_step(&mut live, step),
                answer = &mut asked => break answer,
                _ = tokio::signal::ctrl_c() => {
                    // The first Ctrl-C ends the poll with the votes so far; the second one exits immediately.
                    let ended = !cancelled && match live.poll_id().zip(target.app()) {
                        Some((id, app)) => app.ports.polls.cancel(id).await.unwrap_or(false),
                        None => false,
                    };
                    if !ended {
                        live.clear();
                        eprintln!("interrupted{}", if target.app().is_none() { "; the poll continues on the server" } else { "" });
                        return Ok(End::Code(INTERRUPTED));
                    }
                    cancelled = true;
                }
            }
        }
        .map(|answer| (answer, cancelled))
    };
    live.clear();
    let read = answer.as_ref().ok().and_then(|(answer, _)| stored::reply(answer).ok());
    let answer = match (answer, read) {
        // Without a key, a server asks its free models; the public result contains all votes.
        (Ok((_, cancelled)), Some(Reply::Free(free))) => {
            let result = json!({ "poll_id": free.poll_id });
            target.call(entry_of::<GetPollResult>()?, result).await.map(|result| (result, cancelled))
        }
        (other, _) => other,
    };
    let here = target.app().is_some();
    target.close().await;
    let (answer, cancelled) = answer.map_err(with_flags)?;
    let end = stored::print_result(&answer, arguments.json, here).await?;
    Ok(if cancelled { End::Code(INTERRUPTED) } else { end })
}

fn show_step(live: &mut Live, step: Progress) {
    match serde_json::from_value(step.data) {
        Ok(PollEvent::Started(started)) => live.started(&started),
        Ok(PollEvent::Vote(vote)) => live.vote(&vote),
        Err(error) => tracing::debug!(error = %error, "failed to parse a progress step"),
    }
}
