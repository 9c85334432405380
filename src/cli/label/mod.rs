//! `ep label`: labels the rows of a file by the votes of a panel. The output is a journal, so that a run can be repeated.

mod arguments;
mod batch_line;
mod batches;
mod cost_bound;
mod decision;
pub(super) mod evaluation;
mod failed_rows;
mod file;
mod gold;
mod input;
mod journal;
mod labelling;
mod labels;
mod openings;
mod own_panel;
mod patience;
mod price;
mod progress;
mod proof;
mod question;
mod registry;
mod regular_file;
mod replacement;
mod report;
mod review;
mod rows;
mod run;
mod sample;
mod settings;
mod table;
mod template;

use std::fs::File;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;

use anyhow::{Context, bail};
use ep_kernel::fault::Kind;
use ep_polling::counted::{counted, counted_with};
use ep_site::config::Config;

use super::printable::printable;
use super::{End, INTERRUPTED, print, print_json};
pub(super) use arguments::Arguments;
use file::LabelFile;
use gold::USUAL_SEED;
use journal::Journal;
use labelling::{close_target, open_target};
use proof::accepted;
use proof::finished::{Finished, finish};
use proof::verify::verify;
use report::Summary;
use run::RunEnd;
use table::Table;

/// Exit code if rows are tied, or have no votes.
const TIED: u8 = 3;
/// Exit code if rows were not fully asked.
const FAILED: u8 = 4;
/// Exit code if a proof was wanted, and nothing is proved.
const NOT_PROVED: u8 = 11;
/// Exit code if the cost limit ended the run.
const LIMITED: u8 = 10;

pub(super) async fn run(config: &Config, mut arguments: Arguments) -> anyhow::Result<End> {
    if arguments.verify {
        return print_verification(config, &arguments);
    }
    if let Some(path) = &arguments.finish {
        return finish_file(&arguments.input, path);
    }
    if let Some(size) = arguments.sample {
        return print_sample(&arguments, size);
    }
    // Removed at the end: standard output cannot be read again.
    let streamed = is_stdout(&arguments.out).then(tempfile::tempdir).transpose()?;
    if let Some(folder) = &streamed {
        if arguments.proof.gold.is_some() {
            bail!("a proof needs a file of labels: name it with --out");
        }
        arguments.out = folder.path().join("labels.jsonl");
    }
    let mut journal = Journal::open(&arguments.out)?;
    if streamed.is_some() {
        journal.stream();
    }
    let labelled = label(config, &arguments, &mut journal).await;
    if labelled.is_err() {
        journal.remove_if_empty(&arguments.out);
    }
    let (end, summary) = labelled?;
    let text = if arguments.run.json {
        serde_json::to_string_pretty(&summary)?
    } else {
        summary.text(&arguments.out)
    };
    if journal.is_streamed() {
        eprintln!("{}", text.trim_end());
    } else {
        if arguments.run.json {
            print_json(&text)?;
        } else {
            print(text.trim_end())?;
        }
        let out = printable(&arguments.out.display().to_string()).into_owned();
        eprintln!("{} in {out}", counted_with(summary.labelled, "label", ["is", "are"]));
    }
    match (summary.unasked, &end) {
        (0, _) => {}
        (rows, _) if journal.is_streamed() => {
            eprintln!("{} not asked; --out FILE keeps the labels for another run", not_asked(rows));
        }
        (rows, RunEnd::CostLimit) => {
            eprintln!("{} not asked; raise --max-cost-usd for the rest", not_asked(rows));
        }
        (rows, RunEnd::OutOfMoney) => {
            eprintln!("{} not asked; add funds, then run the same command again", not_asked(rows));
        }
        (rows, _) => eprintln!("{} not asked; run the same command again for the rest", not_asked(rows)),
    }
    Ok(match (end, &summary.proof) {
        (RunEnd::Interrupted, _) => End::Code(INTERRUPTED),
        (RunEnd::CostLimit, _) => End::Code(LIMITED),
        (RunEnd::OutOfMoney, _) => End::Code(Kind::InsufficientBalance.row().exit),
        (RunEnd::Complete, Some(proof)) if proof.is_proved() => End::Done,
        (RunEnd::Complete, Some(_)) => End::Code(NOT_PROVED),
        (RunEnd::Complete, None) if summary.failed > 0 => End::Code(FAILED),
        (RunEnd::Complete, None) if summary.ties + summary.without_votes > 0 => End::Code(TIED),
        (RunEnd::Complete, None) => End::Done,
    })
}

/// Names a number of rows, up to the verb.
fn not_asked(rows: u64) -> String {
    counted_with(rows, "row", ["was", "were"])
}

/// True if a path stands for standard output.
fn is_stdout(path: &Path) -> bool {
    [Path::new("-"), Path::new("/dev/stdout")].contains(&path)
}

/// Labels the rows that the journal lacks.
async fn label(
    config: &Config,
    arguments: &Arguments,
    journal: &mut Journal,
) -> anyhow::Result<(RunEnd, Summary)> {
    let target = open_target(config, &arguments.run).await?;
    let labelled = async {
        let settings = arguments.settings(&target).await?;
        LabelFile { config, target: &target, arguments, settings: &settings }.label(journal).await
    };
    let labelled = labelled.await;
    close_target(target).await;
    labelled
}

/// Checks the proof of a file of labels.
fn print_verification(config: &Config, arguments: &Arguments) -> anyhow::Result<End> {
    let verification = verify(&arguments.input, config)?;
    if arguments.run.json {
        print_json(&serde_json::to_string_pretty(&verification)?)?;
    } else {
        print(&verification.text())?;
    }
    Ok(if verification.is_proved { End::Done } else { End::Code(NOT_PROVED) })
}

/// Writes the file of rows with their labels.
fn finish_file(labels: &Path, path: &Path) -> anyhow::Result<End> {
    let Finished { labelled, unlabelled, column } = finish(labels, path)?;
    eprintln!(
        "{} a label in the column {column} of {}",
        counted_with(labelled, "row", ["has", "have"]),
        printable(&path.display().to_string())
    );
    if unlabelled == 0 {
        return Ok(End::Done);
    }
    let review = accepted::review_path(labels);
    eprintln!(
        "{} none yet: fill the column reviewed of {}, and run again with a new file",
        counted_with(unlabelled, "row", ["has", "have"]),
        printable(&review.display().to_string())
    );
    Ok(End::Code(FAILED))
}

/// Writes random rows.
fn print_sample(arguments: &Arguments, size: NonZeroUsize) -> anyhow::Result<End> {
    let size = size.get();
    let rows = sample::draw(Table::open(&arguments.input)?, size, arguments.proof.rows.seed)?;
    if rows.len() < size {
        eprintln!("the file has only {}", counted(rows.len(), "row"));
    }
    if arguments.proof.rows.seed != USUAL_SEED {
        eprintln!("a proof with these rows needs --seed {}, too", arguments.proof.rows.seed);
    }
    // As it is: the labels belong to these very texts.
    let text = sample::to_csv(&rows)?;
    let Some(path) = &arguments.proof.gold else {
        std::io::stdout().write_all(text.as_bytes())?;
        return Ok(End::Done);
    };
    if path.exists() {
        bail!("{} exists already; name a new file", path.display());
    }
    let mut file = File::create_new(path).with_context(|| format!("cannot write {}", path.display()))?;
    file.write_all(text.as_bytes())?;
    eprintln!(
        "{} in {}; fill its column {}",
        counted_with(rows.len(), "row", ["is", "are"]),
        printable(&path.display().to_string()),
        sample::GOLD
    );
    Ok(End::Done)
}
