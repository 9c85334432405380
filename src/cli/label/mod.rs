//! `ep label`: labels the rows of a file by the votes of a panel. The output is a journal, so that a run can be repeated.

mod arguments;
mod batch_line;
pub(super) mod evaluation;
mod file;
mod labelling;
mod own_panel;
mod progress;

use std::fs::File;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Subcommand;
use ep_kernel::Kind;
use ep_labels::asking::RunEnd;
use ep_labels::files::sample;
use ep_labels::files::table::Table;
use ep_labels::gold::USUAL_SEED;
use ep_labels::journal::Journal;
use ep_labels::openings::Openings;
use ep_labels::proof::{Finished, finish, review_path, verify};
use ep_labels::report::Summary;
use ep_polling::counted::{counted, counted_with};
use ep_site::config::Config;

use super::{End, INTERRUPTED, print, print_json, say};
use arguments::{LabelArguments, ProofArguments};
use file::LabelFile;
use labelling::{close_target, open_target};

/// Exit code if rows are tied, or have no votes.
const TIED: u8 = 3;
/// Exit code if rows were not fully asked.
const FAILED: u8 = 4;
/// Exit code if a proof was wanted, and nothing is proved.
const NOT_PROVED: u8 = 11;
/// Exit code if the cost limit ended the run.
const LIMITED: u8 = 10;

/// The arguments of `ep label`: those of a command, or without one those of a run. A command wins over a file with its name.
pub(super) enum Arguments {
    Command(LabelCommand),
    Label(Box<LabelArguments>),
}

impl clap::FromArgMatches for Arguments {
    fn from_arg_matches(matches: &clap::ArgMatches) -> Result<Self, clap::Error> {
        match matches.subcommand() {
            Some(_) => LabelCommand::from_arg_matches(matches).map(Self::Command),
            None => Box::from_arg_matches(matches).map(Self::Label),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for Arguments {
    fn augment_args(command: clap::Command) -> clap::Command {
        LabelCommand::augment_subcommands(LabelArguments::augment_args(command))
            .subcommand_required(false)
            .arg_required_else_help(false)
            .args_conflicts_with_subcommands(true)
            .subcommand_negates_reqs(true)
            .subcommand_precedence_over_arg(true)
            .disable_help_subcommand(true)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

/// Flags that `ep label` had before it had commands, with the commands that replaced them.
const OLD_FLAGS: [(&str, &str); 12] = [
    ("--sample", "write `ep label sample FILE NUMBER --out GOLD`"),
    ("--seed", "write it after `ep label sample` or `ep label prove`"),
    ("--finish", "write `ep label finish LABELS --out FILE`"),
    ("--verify", "write `ep label verify LABELS`"),
    ("--prove", "write `ep label prove FILE --gold GOLD --sizes 1,3,5 …`"),
    ("--gold", PROVE),
    ("--gold-column", PROVE),
    ("--choose", PROVE),
    ("--max-error", PROVE),
    ("--max-set-error", PROVE),
    ("--own-draw", PROVE),
    ("--despite-difference", PROVE),
];
const PROVE: &str = "write `ep label prove FILE --gold GOLD …`, with this flag and the others";

/// Returns the advice for an unknown flag in these words of a command, if `ep label` had it before it had commands.
pub(super) fn advice_for_old_flag(words: &[String], flag: &str) -> Option<&'static str> {
    let [_, label, second, ..] = words else { return None };
    let name = flag.split('=').next().unwrap_or(flag);
    let advice = || OLD_FLAGS.iter().find(|(old, _)| *old == name).map(|(_, advice)| *advice);
    if label == "label" && !LabelCommand::has_subcommand(second) { advice() } else { None }
}

/// The commands around the labels of a file.
#[derive(clap::Subcommand)]
pub(super) enum LabelCommand {
    /// Draw random rows of a file, to be labelled by hand
    Sample(Sample),
    /// Label a file, and prove with rows that a person labelled how many labels are wrong at most
    Prove(Box<Prove>),
    /// Write all rows with their labels: those of a proof, and those of a person
    Finish(Finish),
    /// Check the proof of a file of labels again
    Verify(Verify),
}

#[derive(clap::Args)]
pub(super) struct Sample {
    /// File of rows: CSV with a header, or JSON Lines; - for standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Number of rows
    #[arg(value_name = "NUMBER")]
    size: NonZeroUsize,
    /// New file for the rows, as CSV; by default standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Seed of the draw; a proof needs the same
    #[arg(long, value_name = "NUMBER", default_value_t = USUAL_SEED)]
    seed: u64,
}

#[derive(clap::Args)]
pub(super) struct Prove {
    #[command(flatten)]
    label: LabelArguments,
    #[command(flatten)]
    proof: ProofArguments,
}

#[derive(clap::Args)]
pub(super) struct Finish {
    /// File of labels with a proof
    #[arg(value_name = "LABELS")]
    labels: PathBuf,
    /// New file for the rows, as CSV
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(clap::Args)]
pub(super) struct Verify {
    /// File of labels with a proof
    #[arg(value_name = "LABELS")]
    labels: PathBuf,
    /// Print the check as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(config: &Config, arguments: Arguments) -> anyhow::Result<End> {
    let command = match arguments {
        Arguments::Label(label) => return labelled(config, *label, None).await,
        Arguments::Command(command) => command,
    };
    match command {
        LabelCommand::Sample(sample) => print_sample(&sample),
        LabelCommand::Prove(prove) => {
            let Prove { label, proof } = *prove;
            labelled(config, label, Some(proof)).await
        }
        LabelCommand::Finish(Finish { labels, out }) => finish_file(&labels, &out),
        LabelCommand::Verify(arguments) => print_verification(config, &arguments),
    }
}

/// Labels a file, with a proof if one is wanted.
async fn labelled(
    config: &Config,
    mut arguments: LabelArguments,
    proof: Option<ProofArguments>,
) -> anyhow::Result<End> {
    // Removed at the end: standard output cannot be read again.
    let streamed = is_stdout(&arguments.out).then(tempfile::tempdir).transpose()?;
    if let Some(folder) = &streamed {
        if proof.is_some() {
            bail!("a proof needs a file of labels: name it with --out");
        }
        arguments.out = folder.path().join("labels.jsonl");
    }
    let mut journal = Journal::open(&arguments.out)?;
    if streamed.is_some() {
        journal.copy_to(Box::new(std::io::stdout()));
    }
    let labelled = label(config, &arguments, proof.as_ref(), &mut journal).await;
    if labelled.is_err() {
        journal.remove_if_empty(&arguments.out);
    }
    let (end, summary) = labelled?;
    let text = if arguments.run.json {
        serde_json::to_string_pretty(&summary)?
    } else {
        summary.text(&arguments.out)
    };
    if journal.is_copied() {
        eprintln!("{}", text.trim_end());
    } else {
        if arguments.run.json {
            print_json(&text)?;
        } else {
            print(text.trim_end())?;
        }
        let labels = counted_with(summary.labelled, "label", ["is", "are"]);
        say(&format!("{labels} in {}", arguments.out.display()));
    }
    if summary.unasked > 0 {
        let advice = match end {
            _ if journal.is_copied() => "--out FILE keeps the labels for another run",
            RunEnd::CostLimit { .. } => "raise --max-cost-usd for the rest",
            RunEnd::OutOfMoney => "add funds, then run the same command again",
            RunEnd::Complete | RunEnd::Interrupted => "run the same command again for the rest",
        };
        say(&format!("{} not asked; {advice}", counted_with(summary.unasked, "row", ["was", "were"])));
    }
    Ok(match (end, &summary.proof) {
        (RunEnd::Interrupted, _) => End::Code(INTERRUPTED),
        (RunEnd::CostLimit { .. }, _) => End::Code(LIMITED),
        (RunEnd::OutOfMoney, _) => End::Code(Kind::InsufficientBalance.row().exit),
        (RunEnd::Complete, Some(proof)) if proof.is_proved() => End::Done,
        (RunEnd::Complete, Some(_)) => End::Code(NOT_PROVED),
        (RunEnd::Complete, None) if summary.failed > 0 => End::Code(FAILED),
        (RunEnd::Complete, None) if summary.ties + summary.without_votes > 0 => End::Code(TIED),
        (RunEnd::Complete, None) => End::Done,
    })
}

/// True if a path stands for standard output.
fn is_stdout(path: &Path) -> bool {
    [Path::new("-"), Path::new("/dev/stdout")].contains(&path)
}

/// Labels the rows that the journal lacks.
async fn label(
    config: &Config,
    arguments: &LabelArguments,
    proof: Option<&ProofArguments>,
    journal: &mut Journal,
) -> anyhow::Result<(RunEnd, Summary)> {
    let target = open_target(config, &arguments.run).await?;
    let labelled = async {
        let settings = arguments.settings(&target, proof.map(|proof| &proof.gold)).await?;
        let (openings, plan) = (openings(config)?, proof.map(ProofArguments::plan));
        let file = LabelFile {
            target: &target,
            arguments,
            plan: plan.as_ref(),
            openings: &openings,
            settings: &settings,
        };
        file.label(journal).await
    };
    let labelled = labelled.await;
    close_target(target).await;
    labelled
}

/// Returns the record of gold rows that were read on this machine.
fn openings(config: &Config) -> anyhow::Result<Openings> {
    Ok(Openings::new(&config.data_dir()?))
}

/// Checks the proof of a file of labels.
fn print_verification(config: &Config, arguments: &Verify) -> anyhow::Result<End> {
    let verification = verify(&arguments.labels, &openings(config)?, batch_line::asked)?;
    if arguments.json {
        print_json(&serde_json::to_string_pretty(&verification)?)?;
    } else {
        print(&verification.text())?;
    }
    Ok(if verification.is_proved { End::Done } else { End::Code(NOT_PROVED) })
}

/// Writes the file of rows with their labels.
fn finish_file(labels: &Path, path: &Path) -> anyhow::Result<End> {
    let Finished { labelled, unlabelled, column } = finish(labels, path, batch_line::asked)?;
    let rows = counted_with(labelled, "row", ["has", "have"]);
    say(&format!("{rows} a label in the column {column} of {}", path.display()));
    if unlabelled == 0 {
        return Ok(End::Done);
    }
    say(&format!(
        "{} none yet: fill the column reviewed of {}, and run again with a new file",
        counted_with(unlabelled, "row", ["has", "have"]),
        review_path(labels).display()
    ));
    Ok(End::Code(FAILED))
}

/// Writes random rows.
fn print_sample(arguments: &Sample) -> anyhow::Result<End> {
    let (size, seed) = (arguments.size.get(), arguments.seed);
    let rows = sample::draw(Table::open(&arguments.input)?, size, seed)?;
    if rows.len() < size {
        eprintln!("the file has only {}", counted(rows.len(), "row"));
    }
    if seed != USUAL_SEED {
        eprintln!("a proof with these rows needs --seed {seed}, too");
    }
    // As it is: the labels belong to these very texts.
    let text = sample::to_csv(&rows)?;
    let Some(path) = &arguments.out else {
        std::io::stdout().write_all(text.as_bytes())?;
        return Ok(End::Done);
    };
    if path.exists() {
        bail!("{} exists already; name a new file", path.display());
    }
    let mut file = File::create_new(path).with_context(|| format!("cannot write {}", path.display()))?;
    file.write_all(text.as_bytes())?;
    say(&format!(
        "{} in {}; fill its column {}",
        counted_with(rows.len(), "row", ["is", "are"]),
        path.display(),
        sample::GOLD
    ));
    Ok(End::Done)
}
