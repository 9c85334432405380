//! `ep panel evaluate`: models and panels judged on rows that a person labelled.

mod page;
mod text;

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, bail};
use ep_kernel::Kind;
use ep_labels::asking::{Labelling, RunEnd};
use ep_labels::entry::{Entry, Key};
use ep_labels::evaluation::{Judged, evaluation_of};
use ep_labels::files::replacement::Replacement;
use ep_labels::gold::{GoldRow, read_gold};
use ep_labels::journal::Journal;
use ep_labels::openings::OpeningId;
use ep_labels::operations::Operations;
use ep_labels::registry::panel_version;
use ep_labels::rows::{InputCounts, Rows};
use ep_polling::TieRule;
use ep_polling::counted::{counted, counted_with};
use ep_polling::evaluation::report::Evaluation;
use ep_polling::evaluation::split::Part;
use ep_site::config::Config;
use ep_tools::entry_of;
use ep_tools::evaluations::{CreateEvaluation, StoredEvaluation};
use serde_json::json;

use super::arguments::{GoldArguments, RunArguments};
use super::labelling::{ask, close_target, open_target, stopped, way};
use super::{FAILED, LIMITED};
use crate::app::clock::SystemClock;
use crate::cli::target::Target;
use crate::cli::{End, INTERRUPTED, print, print_json, say};
use page::page_of;
use text::{arguments_to_prove, text_of};

/// Judge models and panels of models on labelled rows
#[derive(clap::Subcommand)]
pub(in crate::cli) enum PanelCommand {
    /// Judge models on rows that a person labelled, and choose the panel to prove
    Evaluate(Arguments),
}

/// The arguments of `ep panel evaluate`.
#[derive(clap::Args)]
pub(in crate::cli) struct Arguments {
    /// File of rows that a person labelled, in the column gold: CSV with a header, or JSON Lines
    #[arg(value_name = "FILE")]
    gold: PathBuf,
    #[command(flatten)]
    run: RunArguments,
    #[command(flatten)]
    rows: GoldArguments,
    /// File of the votes; a second run adds those that are missing
    #[arg(long, value_name = "FILE", default_value = "evaluation.jsonl")]
    out: PathBuf,
    /// Write the evaluation as a page, with accuracy against cost
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Store the evaluation on the server, under the name of FILE; only your account can read its page until you share it
    #[arg(long, requires = "server")]
    store: bool,
}

/// Runs a subcommand of `ep panel`.
pub(in crate::cli) async fn run(config: &Config, command: PanelCommand) -> anyhow::Result<End> {
    let PanelCommand::Evaluate(arguments) = command;
    // Before anything is paid.
    let page = arguments.page.as_ref().map(|path| {
        let page = Replacement::new(path).with_context(|| format!("cannot write {}", path.display()))?;
        anyhow::Ok((path, page))
    });
    let page = page.transpose()?;
    let mut journal = Journal::open(&arguments.out)?;
    let evaluated = async {
        let target = open_target(config, &arguments.run).await?;
        let evaluated = evaluate(config, &target, &arguments, &mut journal).await;
        let stored = match &evaluated {
            Ok(Evaluated::Complete(evaluation, _)) if arguments.store => {
                Some(store(&target, &arguments, evaluation).await)
            }
            _ => None,
        };
        close_target(target).await;
        Ok::<_, anyhow::Error>((evaluated?, stored))
    };
    let evaluated = evaluated.await;
    if evaluated.is_err() {
        journal.remove_if_empty(&arguments.out);
    }
    let (evaluated, stored) = evaluated?;
    let (evaluation, is_all_used) = match evaluated {
        Evaluated::Complete(evaluation, is_all_used) => (evaluation, is_all_used),
        Evaluated::Incomplete(code) => return Ok(End::Code(code)),
    };
    let command = proof_command(&arguments, &evaluation);
    if let Some((path, mut page)) = page {
        page.write_all(page_of(&evaluation, &arguments.gold.display().to_string(), &command)?.as_bytes())?;
        page.finish().with_context(|| format!("cannot write {}", path.display()))?;
    }
    if arguments.run.json {
        print_json(&serde_json::to_string_pretty(&evaluation)?)?;
    } else {
        print(&text_of(&evaluation))?;
    }
    if let Some(stored) = stored {
        let page = stored?.page_url.unwrap_or_default();
        eprintln!("Stored: {page} (only your account can read it, until you share it)");
    }
    if arguments.run.json {
        return Ok(End::Done);
    }
    if evaluation.is_recommended() && !is_all_used {
        say(&format!("Next: {command}"));
    }
    Ok(End::Done)
}

/// Stores the report on the server, under the name of the gold file.
async fn store(
    target: &Target,
    arguments: &Arguments,
    report: &Evaluation,
) -> anyhow::Result<StoredEvaluation> {
    let title = arguments.gold.file_name().map_or_else(|| "gold rows".into(), |name| name.to_string_lossy());
    let input = json!({ "title": title, "report": report });
    let stored = target.call(entry_of::<CreateEvaluation>()?, input).await?;
    Ok(serde_json::from_value(stored)?)
}

/// Returns the command that proves the panel of an evaluation, for a shell.
fn proof_command(arguments: &Arguments, evaluation: &Evaluation) -> String {
    let gold = arguments.gold.display().to_string();
    let words =
        ["ep", "label", "prove", "FILE"].map(str::to_owned).into_iter().chain(arguments.run.question_words());
    let words = words.chain(["--gold".to_owned(), gold]).chain(arguments.rows.words());
    let words =
        words.chain(["--max-error".to_owned(), "0.05,0.1".to_owned()]).chain(arguments_to_prove(evaluation));
    words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
}

/// Quotes a word for a shell, if it has to be.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The end of an evaluation.
enum Evaluated {
    /// The figures, and true if no gold row is left to prove.
    Complete(Box<Evaluation>, bool),
    /// Rows were not asked; this is the exit code.
    Incomplete(u8),
}

/// Asks every model about the gold rows that choose, and judges the votes.
async fn evaluate(
    config: &Config,
    target: &Target,
    arguments: &Arguments,
    journal: &mut Journal,
) -> anyhow::Result<Evaluated> {
    let settings = arguments.run.settings(target, Some(TieRule::Report)).await?;
    let labelling = Labelling {
        operations: target,
        way: way(target, &arguments.run),
        settings: &settings,
        input: &arguments.gold,
        out: &arguments.out,
        max_cost: arguments.run.max_cost_usd,
        clock: &SystemClock,
        stop_signal: stopped,
    };
    let panel = panel_version(target, &settings.panel).await?;
    let gold = arguments.rows.settings();
    let rows = read_gold(&arguments.gold, &gold, &settings, &panel)?;
    let total = rows.len();
    let chosen: Vec<GoldRow> = rows.into_iter().filter(|row| row.part == Part::Choose).collect();
    let Some(priced) = labelling.price(chosen.first().map(|row| &row.question), journal).await? else {
        bail!("{} has no row to choose with; set some apart with --choose", arguments.gold.display());
    };
    let mut input = InputCounts::default();
    let mut asked = Rows::none(&settings, &panel);
    for row in &chosen {
        input.add(&row.question, journal, &priced.bound);
    }
    asked.add_gold(chosen.iter().map(|row| row.question.clone()).collect(), 0, gold.seed);
    let mut notice = format!(
        "{} of {} are used to choose the panel; the labels of the others stay unread",
        chosen.len(),
        counted(total, "gold row")
    );
    let is_all_used = chosen.len() == total;
    if is_all_used {
        notice.push_str(". No gold row is left for a proof");
    }
    let notice = Some(notice).filter(|_| input.rows > 0);
    let outcome = ask(&labelling, &arguments.run, asked, Some(input), &priced, notice, journal).await?;
    match outcome.end {
        RunEnd::Interrupted => return Ok(Evaluated::Incomplete(INTERRUPTED)),
        RunEnd::CostLimit { .. } => return Ok(Evaluated::Incomplete(LIMITED)),
        RunEnd::OutOfMoney => {
            return Ok(Evaluated::Incomplete(Kind::InsufficientBalance.row().exit));
        }
        RunEnd::Complete if outcome.unfinished > 0 => {
            eprintln!(
                "{} not fully asked; run the same command again",
                counted_with(outcome.unfinished, "row", ["was", "were"])
            );
            return Ok(Evaluated::Incomplete(FAILED));
        }
        RunEnd::Complete => {}
    }
    // A label that chose a panel cannot prove it.
    let openings = super::openings(config)?.lock()?;
    let hashes = || chosen.iter().flat_map(|row| row.hashes.each());
    let opened = openings.first(hashes())?;
    openings.add(hashes().filter(|hash| !opened.contains_key(*hash)), &OpeningId::of_evaluation())?;
    drop(openings);
    let judged = judged(chosen, journal)?;
    let Some(evaluation) = evaluation_of(&judged) else {
        bail!("no row has votes; run the same command again")
    };
    Ok(Evaluated::Complete(Box::new(evaluation), is_all_used))
}

/// Joins the gold rows with their votes.
fn judged(rows: Vec<GoldRow>, journal: &Journal) -> anyhow::Result<Vec<Judged>> {
    let mut votes: HashMap<Key, Entry> = HashMap::new();
    let wanted: HashMap<Key, GoldRow> = rows.into_iter().map(|row| (row.question.key, row)).collect();
    for entry in journal.entries()? {
        let entry = entry?;
        if wanted.contains_key(&entry.key) {
            votes.insert(entry.key, entry);
        }
    }
    let mut rows: Vec<GoldRow> = wanted.into_values().collect();
    // The folds depend on the rows, not on their order in the file.
    rows.sort_by(|one, two| one.hashes.cmp(&two.hashes));
    let judged = rows.into_iter().filter_map(|row| {
        let entry = votes.remove(&row.question.key)?;
        Some(Judged { gold: row.label, question: row.question, entry })
    });
    Ok(judged.collect())
}
