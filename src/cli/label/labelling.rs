//! Opens the service of a run, tells a person its price, and shows what happens.

use std::io::IsTerminal;

use anyhow::bail;
use ep_labels::asking::{Event, Labelling, Priced, RunEnd, RunOutcome, Way};
use ep_labels::journal::Journal;
use ep_labels::rows::{InputCounts, Rows};
use ep_polling::counted::{counted, counted_with};
use ep_site::config::Config;
use futures::FutureExt;

use super::arguments::RunArguments;
use super::progress::LabelProgress;
use crate::app::jobs;
use crate::cli::remote::Remote;
use crate::cli::target::Target;
use crate::cli::{hints, prompt, say, stop_signal};

/// Lease of a row's poll, in milliseconds: after a kill, the next run waits so long.
const LEASE_MS: u64 = 5_000;

/// The note after the first Ctrl-C, if rows are asked by batches.
const CANCELLING: &str = "cancelling the batches: rows that were begun are finished and paid. Ctrl-C again ends at once; \
                          the next run reads their results";

/// Opens the service of a run, here or at a server.
pub(super) async fn open_target(config: &Config, arguments: &RunArguments) -> anyhow::Result<Target> {
    if arguments.server.is_none() && !arguments.json {
        hints::before_a_poll(config).await;
    }
    let mut config = config.clone();
    config.polls.lease_ms = config.polls.lease_ms.min(LEASE_MS);
    let target = Target::new(&config, arguments.server.as_deref()).await?;
    match &target {
        // Adopts the polls of a run that was killed.
        Target::InProcess(service) => jobs::start_all(service, None),
        Target::Server(server) if !server.has_key() => {
            bail!("set EP_API_KEY: a server labels rows by batches of an account");
        }
        Target::Server(_) => {}
    }
    Ok(target)
}

/// Closes the service of a run. The next run estimates its time by the polls of this one, which can have been too short for the
/// job that counts them.
pub(super) async fn close_target(target: Target) {
    if let Some(app) = target.app()
        && let Err(error) = app.ports.reputation.count_polls().await
    {
        tracing::debug!(%error, "failed to count the polls of this run");
    }
    target.close().await;
}

/// Returns the way in which a service asks rows.
pub(super) fn way<'t>(target: &'t Target, arguments: &RunArguments) -> Way<'t> {
    let at_once = arguments.at_once;
    target.server().map(Remote::url).map_or(Way::Polls { at_once }, |url| Way::Batches { url })
}

/// Stops a run on Ctrl-C or SIGTERM.
pub(super) fn stopped() -> futures::future::BoxFuture<'static, ()> {
    stop_signal().boxed()
}

/// Asks about the rows without a label, after the price, the notice and a confirmation.
pub(super) async fn ask(
    labelling: &Labelling<'_, Target>,
    arguments: &RunArguments,
    rows: Rows<'_>,
    input: Option<InputCounts>,
    priced: &Priced,
    notice: Option<String>,
    journal: &mut Journal,
) -> anyhow::Result<RunOutcome> {
    let open = labelling.open_batches()?;
    let is_asking = input.as_ref().is_none_or(|input| input.rows > 0);
    // A service decides how many rows of a batch it asks at once.
    let at_once = labelling.way.server().is_none().then_some(arguments.at_once);
    let quote = is_asking.then(|| priced.quote.text(input.as_ref(), at_once, arguments.max_cost_usd));
    let others = input
        .as_ref()
        .map_or(0, |input| journal.keys().iter().filter(|key| !input.keys.contains(key)).count());
    if others > 0 {
        say(&format!(
            "{} has {} not of this run (other rows, question, panel or round): no run changes them",
            labelling.out.display(),
            counted(others, "label")
        ));
    }
    if is_asking && !labelling.settings.questions.have_ids() {
        say("without --id COLUMN, the id of each label is a digest");
    }
    let empty = input.as_ref().map_or(0, |input| input.empty);
    if empty > 0 {
        say(&format!(
            "{} no text in the columns of the question, and no label: --ask-empty asks the models about such rows",
            counted_with(empty, "row", ["has", "have"])
        ));
    }
    if open.rows() > 0 {
        say(&format!(
            "{} in batches of an earlier run; the results are read first",
            counted_with(open.rows(), "row", ["is", "are"])
        ));
    }
    [&quote, &notice].into_iter().flatten().for_each(|line| say(line));
    // Gold labels are read once, so they are worth a confirmation, too.
    if quote.is_some() || notice.is_some() {
        confirm(arguments.yes)?;
    }
    let mut progress = LabelProgress::new(input.as_ref().map(|input| input.rows));
    let mut listener = |event: Event<'_>| match event {
        Event::Counts(counts) => progress.show(*counts),
        Event::Note(line) => progress.note(line),
        Event::BatchPage(page) => {
            progress.note(&format!("the rows in doubt are on {page}; your account lists the other batches"));
        }
        Event::Stopping { is_cancelled: true, .. } => progress.note(CANCELLING),
        Event::Stopping { rows, is_cancelled: false } => progress
            .note(&format!("waiting for {} in flight; Ctrl-C again ends at once", counted(rows, "row"))),
    };
    let outcome = labelling.ask(rows, input, priced.bound, open, journal, &mut listener).await;
    progress.finish();
    let outcome = outcome?;
    match outcome.end {
        RunEnd::CostLimit { spent, next } => {
            say(&format!("the cost limit ended the run: {spent} is spent, and the next row can cost {next}"));
        }
        RunEnd::OutOfMoney => say("the account has too little money for the next row; the run has ended"),
        RunEnd::Complete | RunEnd::Interrupted => {}
    }
    Ok(outcome)
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
