//! `ep label`: labels the rows of a file by the votes of a panel. The output is a journal, so that a run can be repeated.

mod cost_bound;
mod failed_rows;
mod journal;
mod labels;
mod price;
mod progress;
mod question;
mod report;
mod rows;
mod run;
mod sample;
mod settings;
mod table;
mod template;

use std::collections::HashSet;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use anyhow::bail;
use ep_evaluation::agreement::Classes;
use ep_polling::money::{MicroUsd, UsdFigure};
use ep_tools::entry_of;
use ep_tools::models::ListModels;
use ep_tools::polls::PollQuestion;
use serde_json::{Value, json};

use super::printable::printable;
use super::target::Target;
use super::{End, INTERRUPTED, hints, print, prompt};
use crate::app::jobs;
use crate::config::Config;
use failed_rows::FailedRows;
use journal::{Entry, Journal};
use price::price;
use progress::LabelProgress;
use report::{Report, Summary};
use rows::Rows;
use run::{Run, RunEnd};
use settings::{LabelSettings, OnTie, OptionsOf, Panel};
use table::Table;
use template::Template;

/// Exit code if rows are tied.
const TIED: u8 = 3;
/// Exit code if rows were not fully asked.
const FAILED: u8 = 4;
/// Exit code if the cost limit ended the run.
const LIMITED: u8 = 10;
/// Highest limit of a file.
const MOST: MicroUsd = MicroUsd::new(1_000_000_000_000);
/// Lease of a row's poll, in milliseconds: after a kill, the next run waits so long.
const LEASE_MS: u64 = 5_000;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// File of rows: CSV with a header, or JSON Lines; - for standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// RowQuestion for each row; {column} stands for a field
    #[arg(long, value_name = "TEMPLATE", required_unless_present = "sample")]
    question: Option<String>,
    /// Options, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "A,B,…", required_unless_present_any = ["options_from", "sample"])]
    options: Vec<String>,
    /// Column with the options of each row: a JSON list, or texts separated by |
    #[arg(long, value_name = "COLUMN", conflicts_with = "options")]
    options_from: Option<String>,
    /// Preset of models; all of them vote on every row
    #[arg(long, conflicts_with = "models", required_unless_present_any = ["models", "sample"])]
    preset: Option<String>,
    /// Model id, the strongest first; repeat for 2 to 150 models
    #[arg(long = "model", value_name = "ID")]
    models: Vec<String>,
    /// Label of a tied row: none, or that of the first --model
    #[arg(long, value_enum, default_value = "report")]
    on_tie: OnTie,
    /// Column with the id of each row; without one, equal rows are labelled once
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
    /// File of the labels; a second run adds those that are missing
    #[arg(long, value_name = "FILE", default_value = "labels.jsonl")]
    out: PathBuf,
    /// Most to spend for the file in all its runs, in USD; never exceeded
    #[arg(long, value_name = "USD", value_parser = usd)]
    max_cost_usd: Option<MicroUsd>,
    /// Begin without a question about the cost
    #[arg(long)]
    yes: bool,
    /// Rows to ask about at once
    #[arg(long, value_name = "NUMBER", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1000))]
    at_once: u16,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
    /// Write this many random rows as CSV, to be labelled by hand, and exit
    #[arg(long, value_name = "NUMBER")]
    sample: Option<usize>,
    /// Seed of the random rows
    #[arg(long, value_name = "NUMBER", default_value_t = 1, requires = "sample")]
    seed: u64,
    /// URL of a server to use, with the key in EP_API_KEY; by default runs in this process
    #[arg(long, value_name = "URL")]
    server: Option<String>,
}

/// Parses a positive amount.
fn usd(text: &str) -> Result<MicroUsd, &'static str> {
    let amount = text.parse().map(UsdFigure::floor_micro).ok();
    let amount = amount.filter(|amount| !amount.is_zero() && *amount <= MOST);
    amount.ok_or("must be above 0, and at most 1000000")
}

pub(super) async fn run(config: &Config, arguments: Arguments) -> anyhow::Result<End> {
    if let Some(rows) = arguments.sample {
        let sample = sample::draw(Table::open(&arguments.input)?, rows, arguments.seed)?;
        // As it is: the labels belong to these very texts.
        std::io::stdout().write_all(sample.as_bytes())?;
        return Ok(End::Done);
    }
    let settings = settings(&arguments)?;
    let mut journal = Journal::open(&arguments.out)?;
    if arguments.server.is_none() && !arguments.json {
        hints::before_a_poll(config).await;
    }
    let mut config = config.clone();
    config.polls.lease_ms = config.polls.lease_ms.min(LEASE_MS);
    let target = Target::new(&config, arguments.server.as_deref()).await?;
    if let Target::InProcess(service) = &target {
        // Adopts the polls of a run that was killed.
        jobs::start_all(service, None);
    }
    let labelled = label_file(&target, &arguments, &settings, &mut journal).await;
    target.close().await;
    if labelled.is_err() {
        journal.remove_if_empty(&arguments.out);
    }
    let (end, summary) = labelled?;
    if arguments.json {
        print(&serde_json::to_string_pretty(&summary)?)?;
    } else {
        print(summary.text().trim_end())?;
    }
    if summary.unasked > 0 {
        eprintln!("{} rows were not asked; run the same command again for them", summary.unasked);
    }
    Ok(match end {
        RunEnd::Interrupted => End::Code(INTERRUPTED),
        RunEnd::CostLimit => End::Code(LIMITED),
        RunEnd::Complete if summary.failed > 0 => End::Code(FAILED),
        RunEnd::Complete if summary.ties > 0 => End::Code(TIED),
        RunEnd::Complete => End::Done,
    })
}

/// Reads the settings that all rows share.
fn settings(arguments: &Arguments) -> anyhow::Result<LabelSettings> {
    let options = match &arguments.options_from {
        Some(column) => OptionsOf::Column(column.clone()),
        None => OptionsOf::All(arguments.options.iter().map(|option| option.trim().to_owned()).collect()),
    };
    if arguments.on_tie == OnTie::Strongest && arguments.models.is_empty() {
        bail!(
            "--on-tie strongest needs the models in their order: name them with --model, the strongest first"
        );
    }
    if let Some(pattern) = arguments.models.iter().find(|model| model.contains('*')) {
        bail!("--model takes ids, and {pattern} is a pattern; `ep call list_models` lists the ids");
    }
    Ok(LabelSettings {
        question: Template::parse(arguments.question.as_deref().unwrap_or_default())?,
        options,
        id: arguments.id.clone(),
        panel: match &arguments.preset {
            Some(preset) => Panel::Preset(preset.clone()),
            None => Panel::Models(arguments.models.clone()),
        },
        on_tie: arguments.on_tie,
    })
}

/// Labels the rows that the journal lacks, and returns the summary of the file.
async fn label_file(
    target: &Target,
    arguments: &Arguments,
    settings: &LabelSettings,
    journal: &mut Journal,
) -> anyhow::Result<(RunEnd, Summary)> {
    let operation = entry_of::<PollQuestion>()?;
    let panel = version(target, &settings.panel).await?;
    let rows = Rows::new(&arguments.input, settings, &panel)?;
    let Some((bound, quote)) = price(target, operation, settings, rows.first()).await? else {
        bail!("{} has no rows", arguments.input.display());
    };
    let missing = rows.count_input(journal, &bound)?;
    if missing.as_ref().is_none_or(|missing| missing.rows > 0) {
        let quote = quote.text(missing.as_ref(), arguments.at_once, arguments.max_cost_usd);
        eprintln!("{}", printable(&quote));
        confirm(arguments.yes)?;
    }
    if arguments.max_cost_usd.is_some() && quote.unpriced > 0 {
        bail!(
            "{} of the models have no listed price, so no cost limit can hold; choose others",
            quote.unpriced
        );
    }
    let mut progress = LabelProgress::new(missing.as_ref().map(|missing| missing.rows));
    let failed = FailedRows::open(&arguments.out)?;
    let mut run = Run {
        target,
        operation,
        settings,
        bound,
        cap: arguments.max_cost_usd,
        spent: journal.cost().plus(failed.cost(journal)),
        journal,
        progress: &mut progress,
        failed,
        seen: HashSet::new(),
    };
    let ended = run.all(rows, usize::from(arguments.at_once)).await;
    let Run { failed: failed_rows, seen, spent, .. } = run;
    progress.finish();
    let failed = failed_rows.rows;
    failed_rows.finish(journal)?;
    let end = ended?;
    // Of standard input, only the rows that were reached are known.
    let count = missing.as_ref().map(|missing| missing.keys.len() as u64);
    let keys = missing.map_or(seen, |missing| missing.keys);
    let classes = match settings.options {
        OptionsOf::All(_) => Classes::Shared,
        OptionsOf::Column(_) => Classes::PerRow,
    };
    let mut report = Report::new(classes);
    for entry in journal.entries()? {
        let entry: Entry = entry?;
        if keys.contains(&entry.key) {
            report.add(&entry);
        }
    }
    Ok((end, report.finish(count, failed, spent)))
}

/// Returns the models of a panel as text, which changes with its members.
async fn version(target: &Target, panel: &Panel) -> anyhow::Result<String> {
    let name = match panel {
        Panel::Models(models) => return Ok(json!(models).to_string()),
        Panel::Preset(preset) => preset,
    };
    let list = target.call(entry_of::<ListModels>()?, json!({}), None).await?;
    let has_preset = |model: &&Value| {
        model["presets"].as_array().is_some_and(|presets| presets.iter().any(|preset| *preset == **name))
    };
    let models = list["variants"].as_array().map_or(&[][..], Vec::as_slice);
    let mut ids: Vec<&str> =
        models.iter().filter(has_preset).filter_map(|model| model["id"].as_str()).collect();
    ids.sort_unstable();
    Ok(json!([name, ids]).to_string())
}

/// Asks whether to begin. A script says so with --yes.
fn confirm(yes: bool) -> anyhow::Result<()> {
    if yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        bail!("nothing was asked: add --yes to begin");
    }
    let answer = prompt::line(&mut std::io::stdin().lock(), &mut std::io::stderr(), "Begin? [y/N] ")?;
    if answer.eq_ignore_ascii_case("y") { Ok(()) } else { bail!("nothing was asked") }
}
