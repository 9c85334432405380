//! The arguments of `ep label` and `ep panel`.

use std::path::PathBuf;

use ep_kernel::PanelOrder;
use ep_labels::files::sample;
use ep_labels::files::template::Template;
use ep_labels::gold::{GoldSettings, USUAL_SEED};
use ep_labels::options_message::options_as_typed;
use ep_labels::proof::ProofPlan;
use ep_labels::registry::registry;
use ep_labels::settings::{LabelSettings, OptionsOf, Panel, Questions, RequestForm};
use ep_polling::evaluation::Fraction;
use ep_polling::evaluation::proof::Scope;
use ep_polling::evaluation::split::USUAL_CHOOSE;
use ep_polling::{MicroUsd, Options, OrderBasis, TieRule, UsdFigure};

use super::batch_line;
use super::own_panel::{OwnPanel, own_panel, say_price_order};
use crate::cli::target::Target;
use crate::cli::wrong_arguments::{both, wrong};

/// Highest limit of a file.
const MOST: MicroUsd = MicroUsd::new(1_000_000_000_000);

/// The arguments of a run that labels a file.
#[derive(clap::Args)]
pub(in crate::cli) struct LabelArguments {
    /// File of rows: CSV with a header, JSON Lines, or requests in the form of OpenAI's batches; - for standard input
    #[arg(value_name = "FILE")]
    pub(super) input: PathBuf,
    #[command(flatten)]
    pub(super) run: RunArguments,
    /// Label of a tied row: none (report, review), or the tied option of the first --model that voted for one (strongest).
    /// By default the rule of your account's panel, else report
    #[arg(long, value_name = "report|strongest|review")]
    on_tie: Option<TieRule>,
    /// File of the labels; a second run adds those that are missing. With -, they go to standard output, and no run adds to
    /// them
    #[arg(long, value_name = "FILE", default_value = "labels.jsonl")]
    pub(super) out: PathBuf,
    /// Write the rows as CSV for a person, the most doubtful first
    #[arg(long, value_name = "FILE")]
    pub(super) review: Option<PathBuf>,
}

/// The arguments about gold rows.
#[derive(clap::Args)]
pub(super) struct GoldArguments {
    /// Column of the gold file with the labels
    #[arg(long, value_name = "COLUMN", default_value = sample::GOLD)]
    gold_column: String,
    /// Gold rows that are set apart to choose the panel, and prove nothing
    #[arg(long, value_name = "NUMBER", default_value_t = USUAL_CHOOSE)]
    choose: usize,
    /// Seed with which `ep label sample` drew the rows
    #[arg(long, value_name = "NUMBER", default_value_t = USUAL_SEED)]
    seed: u64,
}

impl GoldArguments {
    /// Returns the way in which gold rows are read.
    pub(super) fn settings(&self) -> GoldSettings {
        GoldSettings { column: self.gold_column.clone(), choose: self.choose, seed: self.seed }
    }

    /// Returns the arguments that are not the usual ones.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut add = |name: &str, value: String| words.extend([format!("--{name}"), value]);
        if self.gold_column != sample::GOLD {
            add("gold-column", self.gold_column.clone());
        }
        if self.choose != USUAL_CHOOSE {
            add("choose", self.choose.to_string());
        }
        if self.seed != USUAL_SEED {
            add("seed", self.seed.to_string());
        }
        words
    }
}

/// The arguments of a proof.
#[derive(clap::Args)]
pub(in crate::cli) struct ProofArguments {
    /// File of rows that a person labelled, in the column gold
    #[arg(long, value_name = "FILE")]
    pub(super) gold: PathBuf,
    #[command(flatten)]
    rows: GoldArguments,
    /// Share of the accepted labels that may be wrong, such as 0.05; several are tried in this order
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "SHARE,…",
        required_unless_present = "max_set_error",
        conflicts_with = "max_set_error"
    )]
    max_error: Vec<Fraction>,
    /// Share of all labels of the file that may be accepted and wrong; the other rows are labelled by hand
    #[arg(long, value_delimiter = ',', value_name = "SHARE,…")]
    max_set_error: Vec<Fraction>,
    /// Numbers of models to prove, the strongest first, such as 1,3,5; by default all of them
    #[arg(long, value_delimiter = ',', value_name = "NUMBER,…")]
    sizes: Vec<usize>,
    /// The gold rows were drawn in another way than by `ep label sample`: the proof is about rows drawn like them
    #[arg(long)]
    own_draw: bool,
    /// Prove even if the gold rows differ from the file more than a random draw does; the proof begins with this difference
    #[arg(long)]
    despite_difference: bool,
}

impl ProofArguments {
    /// Returns the proof that is wanted.
    pub(super) fn plan(&self) -> ProofPlan {
        let (scope, bounds) = match &self.max_set_error[..] {
            [] => (Scope::Accepted, &self.max_error),
            _ => (Scope::File, &self.max_set_error),
        };
        ProofPlan {
            path: self.gold.clone(),
            gold: self.rows.settings(),
            own_draw: self.own_draw,
            despite_difference: self.despite_difference,
            scope,
            bounds: bounds.clone(),
            sizes: self.sizes.clone(),
        }
    }
}

/// The arguments of a run over rows.
#[derive(clap::Args)]
pub(super) struct RunArguments {
    /// Question for each row; {column} stands for a field. Without it, the rows are requests of a batch
    #[arg(long, value_name = "TEMPLATE")]
    pub(super) question: Option<String>,
    /// Options, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "A,B,…", allow_hyphen_values = true)]
    options: Vec<String>,
    /// One option, which can contain commas; repeat it
    #[arg(short, long, value_name = "OPTION", allow_hyphen_values = true, conflicts_with = "options")]
    option: Vec<String>,
    /// Column with the options of each row: a JSON list, or texts separated by |
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["options", "option"])]
    options_from: Option<String>,
    /// Panel: an ordered preset, such as trio or quintet, or with --server a panel of your account
    #[arg(long, value_name = "NAME", conflicts_with_all = ["models", "preset"])]
    panel: Option<String>,
    /// Preset of models; all of them vote on every row
    #[arg(long, conflicts_with = "models")]
    preset: Option<String>,
    /// Model id, the strongest first; repeat for 2 to 150 models
    #[arg(long = "model", value_name = "ID")]
    models: Vec<String>,
    /// Column with the id of each row; without one, equal rows are labelled once. The id of a request is its custom_id
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
    /// Round of votes; another number asks the models anew, where votes are stored
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    round: u32,
    /// Ask the models about rows without a text, too: rows whose fields in the question are empty
    #[arg(long)]
    ask_empty: bool,
    /// Most to spend for the file in all its runs, in USD; never exceeded
    #[arg(long, value_name = "USD", value_parser = usd)]
    pub(super) max_cost_usd: Option<MicroUsd>,
    /// Begin without a question about the cost
    #[arg(long)]
    pub(super) yes: bool,
    /// Rows to ask about at once; with --server, the service decides
    #[arg(long, value_name = "NUMBER", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(super) at_once: u16,
    /// Print the summary as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// URL of a server that asks the rows in batches, with the key in EP_API_KEY; by default asks from this process
    #[arg(long, value_name = "URL")]
    pub(super) server: Option<String>,
}

/// Parses a positive amount.
fn usd(text: &str) -> Result<MicroUsd, &'static str> {
    let amount = text.parse().map(UsdFigure::floor_micro).ok();
    let amount = amount.filter(|amount| !amount.is_zero() && *amount <= MOST);
    amount.ok_or("must be above 0, and at most 1000000")
}

impl LabelArguments {
    /// Returns the settings that all rows share. `gold` is the file of gold rows.
    pub(super) async fn settings(
        &self,
        target: &Target,
        gold: Option<&PathBuf>,
    ) -> anyhow::Result<LabelSettings> {
        if let Some(review) = &self.review {
            let used = [Some(&self.input), Some(&self.out), gold];
            let is_same = |path: &&PathBuf| {
                *path == review
                    || path.canonicalize().ok().is_some_and(|path| review.canonicalize().ok() == Some(path))
            };
            if let Some(path) = used.into_iter().flatten().find(is_same) {
                return Err(wrong(format!("--review would overwrite {}; name another file", path.display())));
            }
        }
        let settings = self.run.settings(target, self.on_tie).await?;
        if settings.on_tie == TieRule::Strongest && matches!(settings.panel, Panel::Preset(_)) {
            return Err(wrong(
                "--on-tie strongest needs the models in their order: name them with --model, the strongest first, or with \
                 --panel",
            ));
        }
        Ok(settings)
    }
}

impl RunArguments {
    /// Returns the settings that all rows share. Without a rule for ties, that of the account's panel holds.
    pub(super) async fn settings(
        &self,
        target: &Target,
        on_tie: Option<TieRule>,
    ) -> anyhow::Result<LabelSettings> {
        let models = self.models(target).await;
        let (questions, (panel, rule)) = both(self.questions(), models)?;
        let on_tie = on_tie.or(rule).unwrap_or_default();
        Ok(LabelSettings {
            questions,
            panel,
            on_tie,
            round: self.round,
            asks_empty: self.ask_empty,
            read_request: batch_line::asked,
        })
    }

    /// Returns the source of the questions: the arguments, or without them the rows.
    fn questions(&self) -> anyhow::Result<Questions> {
        let question = self.question.as_deref().map(Template::parse).transpose();
        let (question, options) = both(question, self.options())?;
        match (question, options, &self.id) {
            (Some(question), Some(options), id) => {
                Ok(Questions::Columns { question, options, id: id.clone() })
            }
            (Some(_), None, _) => Err(wrong("name the options with --options, --option, or --options-from")),
            (None, None, None) => Ok(Questions::Requests { requests: RequestForm::BatchLines }),
            (None, ..) => Err(wrong(
                "name the question for each row with --question; for a file of requests, leave --options and --id out",
            )),
        }
    }

    /// Returns the source of the options, if there is one.
    fn options(&self) -> anyhow::Result<Option<OptionsOf>> {
        if let Some(column) = &self.options_from {
            return Ok(Some(OptionsOf::Column(column.clone())));
        }
        let (flag, typed) =
            if self.option.is_empty() { ("--options", &self.options) } else { ("--option", &self.option) };
        if typed.is_empty() {
            return Ok(None);
        }
        let options: Vec<String> = typed.iter().map(|option| option.trim().to_owned()).collect();
        match Options::new(&options) {
            Ok(_) => Ok(Some(OptionsOf::All(options))),
            Err(error) => Err(wrong(options_as_typed(&error.to_string(), flag))),
        }
    }

    /// Returns the arguments that decide what is asked and where, except the models.
    pub(super) fn question_words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut add = |name: &str, value: &str| words.extend([format!("--{name}"), value.to_owned()]);
        if let Some(question) = &self.question {
            add("question", question);
        }
        match &self.options_from {
            Some(column) => add("options-from", column),
            None if self.options.is_empty() => {}
            None => add("options", &self.options.join(",")),
        }
        self.option.iter().for_each(|option| add("option", option));
        if let Some(column) = &self.id {
            add("id", column);
        }
        if self.round > 1 {
            add("round", &self.round.to_string());
        }
        if let Some(server) = &self.server {
            add("server", server);
        }
        if self.ask_empty {
            words.push("--ask-empty".to_owned());
        }
        words
    }

    /// Returns the models to ask, and the rule for ties of a panel of the account.
    async fn models(&self, target: &Target) -> anyhow::Result<(Panel, Option<TieRule>)> {
        if let Some(pattern) = self.models.iter().find(|model| model.contains('*')) {
            return Err(wrong(format!(
                "--model takes ids, and {pattern} is a pattern; `ep call list_models` lists the ids"
            )));
        }
        for (place, model) in self.models.iter().enumerate() {
            if self.models.iter().take(place).any(|earlier| earlier.eq_ignore_ascii_case(model)) {
                return Err(wrong(format!("--model {model} is there twice; a model votes once")));
            }
        }
        let Some(name) = self.panel.as_ref().or(self.preset.as_ref()) else {
            if self.models.is_empty() {
                return Err(wrong(
                    "name the models with --model, the strongest first, or with --panel or --preset",
                ));
            }
            // Another name could stand for another model at the next run.
            let known = registry(target).await?.variants;
            let is_unknown =
                |model: &&String| !known.iter().any(|known| known.id.eq_ignore_ascii_case(model));
            let unknown: Vec<&str> = self.models.iter().filter(is_unknown).map(String::as_str).collect();
            if !unknown.is_empty() {
                return Err(wrong(format!(
                    "--model: the registry has no {}; name models by their ids, which `ep call list_models` lists",
                    unknown.join(", ")
                )));
            }
            return Ok((Panel::Models(self.models.clone()), None));
        };
        let panels = registry(target).await?.panels;
        let Some(panel) = panels.iter().find(|panel| panel.name == *name) else {
            if self.preset.is_some() {
                return Ok((Panel::Preset(name.clone()), None));
            }
            if let Some(OwnPanel { models, order, on_tie }) = own_panel(target, name).await? {
                if order == OrderBasis::Price {
                    say_price_order(name);
                }
                return Ok((Panel::Models(models), on_tie));
            }
            let names: Vec<&str> = panels.iter().map(|panel| panel.name.as_str()).collect();
            let own = if target.server().is_some() { ", and those of your account" } else { "" };
            return Err(wrong(format!(
                "there is no panel {name:?}; the panels are {}{own}",
                names.join(", ")
            )));
        };
        if panel.order == PanelOrder::Price {
            say_price_order(name);
        }
        Ok((Panel::Models(panel.models.clone()), None))
    }
}
