//! Asks about rows: the price, a confirmation, and all rows without a label.

use std::collections::HashSet;
use std::io::IsTerminal;
use std::path::Path;

use anyhow::bail;
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::tool::Entry as Operation;
use ep_polling::counted::{counted, counted_with};
use ep_polling::money::MicroUsd;
use ep_site::config::Config;
use ep_tools::entry_of;
use ep_tools::polls::PollQuestion;
use serde_json::json;

use super::arguments::RunArguments;
use super::batches::{BatchService, OpenBatchFile, ask_all};
use super::cost_bound::CostBound;
use super::failed_rows::FailedRows;
use super::journal::{Journal, Key};
use super::price::{Quote, price};
use super::progress::LabelProgress;
use super::question::RowQuestion;
use super::registry::registry;
use super::rows::{InputCounts, Rows};
use super::run::{Run, RunEnd};
use super::settings::{LabelSettings, Panel};
use crate::app::jobs;
use crate::cli::printable::printable;
use crate::cli::remote::Remote;
use crate::cli::target::Target;
use crate::cli::{hints, prompt};

/// Lease of a row's poll, in milliseconds: after a kill, the next run waits so long.
const LEASE_MS: u64 = 5_000;
/// The advice for models that are too slow for the service of this process.
const SLOW_HERE: &str = "ask about fewer rows at once (--at-once), or give a poll and its calls more time \
                         (EP_POLL_DEADLINE_MS, EP_UPSTREAM_TIMEOUT_MS)";
/// The advice for models that are too slow for a server.
const SLOW_AT_SERVER: &str = "take faster models, or ask the operator of the service for more time";

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

/// A run over rows.
pub(super) struct Labelling<'l> {
    pub(super) target: &'l Target,
    pub(super) arguments: &'l RunArguments,
    pub(super) settings: &'l LabelSettings,
    /// The file of the rows.
    pub(super) input: &'l Path,
    /// The file of the labels.
    pub(super) out: &'l Path,
}

/// The price of a row, as it is known before the first call.
pub(super) struct Priced {
    operation: &'static Operation,
    pub(super) bound: CostBound,
    quote: Quote,
}

/// The rows after a run.
pub(super) struct RunOutcome {
    pub(super) end: RunEnd,
    /// Rows that are known: of standard input, those that were reached.
    pub(super) keys: HashSet<Key>,
    /// Rows of the input, if that is known.
    pub(super) rows: Option<u64>,
    /// Rows that another run may label.
    pub(super) unfinished: usize,
    /// Rows that failed in this run.
    pub(super) failed: u64,
    pub(super) cost: MicroUsd,
}

impl Labelling<'_> {
    /// Returns the models of the panel as text, which changes with its members.
    pub(super) async fn panel_version(&self) -> anyhow::Result<String> {
        version(self.target, &self.settings.panel).await
    }

    /// Prices the rows by the first one. Fails if a cost limit cannot hold. `None` without a row.
    pub(super) async fn price(
        &self,
        first: Option<&RowQuestion>,
        journal: &Journal,
    ) -> anyhow::Result<Option<Priced>> {
        let operation = entry_of::<PollQuestion>()?;
        let Some((bound, quote)) = price(self.target, operation, self.settings, first, journal).await? else {
            return Ok(None);
        };
        if self.arguments.max_cost_usd.is_some() && quote.unpriced > 0 {
            bail!(
                "{} of the models have no listed price, so no cost limit can hold; choose others",
                quote.unpriced
            );
        }
        Ok(Some(Priced { operation, bound, quote }))
    }

    /// Asks about the rows without a label, after the price, the notice and a confirmation.
    pub(super) async fn ask(
        &self,
        rows: Rows<'_>,
        input: Option<InputCounts>,
        priced: &Priced,
        notice: Option<String>,
        journal: &mut Journal,
    ) -> anyhow::Result<RunOutcome> {
        let arguments = self.arguments;
        let server = self.target.server();
        let open = OpenBatchFile::read(self.out, server.map(Remote::url))?;
        let is_asking = input.as_ref().is_none_or(|input| input.rows > 0);
        // A service decides how many rows of a batch it asks at once.
        let at_once = server.is_none().then_some(arguments.at_once);
        let quote = is_asking.then(|| priced.quote.text(input.as_ref(), at_once, arguments.max_cost_usd));
        let others = input
            .as_ref()
            .map_or(0, |input| journal.keys().iter().filter(|key| !input.keys.contains(key)).count());
        if others > 0 {
            let out = self.out.display();
            eprintln!(
                "{}",
                printable(&format!(
                    "{out} has {} not of this run (other rows, question, panel, round or tie \
                     rule): no run changes them",
                    counted(others, "label")
                ))
            );
        }
        if is_asking && !self.settings.questions.have_ids() {
            eprintln!("without --id COLUMN, the id of each label is a digest");
        }
        let empty = input.as_ref().map_or(0, |input| input.empty);
        if empty > 0 {
            eprintln!(
                "{} no text in the columns of the question, and no label: --ask-empty asks the models about such rows",
                counted_with(empty, "row", ["has", "have"])
            );
        }
        if open.rows() > 0 {
            eprintln!(
                "{} in batches of an earlier run; the results are read first",
                counted_with(open.rows(), "row", ["is", "are"])
            );
        }
        for line in [&quote, &notice].into_iter().flatten() {
            eprintln!("{}", printable(line));
        }
        // Gold labels are read once, so they are worth a confirmation, too.
        if quote.is_some() || notice.is_some() {
            confirm(arguments.yes)?;
        }
        let mut progress = LabelProgress::new(input.as_ref().map(|input| input.rows));
        let failed = FailedRows::open(self.out)?;
        let mut run = Run {
            target: self.target,
            operation: priced.operation,
            settings: self.settings,
            bound: priced.bound,
            cap: arguments.max_cost_usd,
            spent: journal.cost().plus(failed.cost(journal)),
            journal,
            progress: &mut progress,
            failed,
            seen: HashSet::new(),
            again: Vec::new(),
            empty: Vec::new(),
        };
        let ended = match server {
            Some(server) => ask_all(&mut run, rows, BatchService::new(server, self.input)?, open).await,
            None => run.all(rows, usize::from(arguments.at_once)).await,
        };
        let Run { failed, seen, spent: cost, .. } = run;
        progress.finish();
        let rows = input.as_ref().map(|input| input.keys.len() as u64);
        let keys = input.map_or(seen, |input| input.keys);
        let (unfinished, failed_rows) = (failed.unfinished(&keys, journal), failed.count(journal));
        failed.finish(journal, if server.is_some() { SLOW_AT_SERVER } else { SLOW_HERE })?;
        let end = match ended {
            Err(error) if is_out_of_money(&error) => {
                eprintln!("the account has too little money for the next row; the run ends");
                RunEnd::OutOfMoney
            }
            ended => ended?,
        };
        Ok(RunOutcome { end, keys, rows, unfinished, failed: failed_rows, cost })
    }
}

/// Returns the models of a panel as text, which changes with its members.
async fn version(target: &Target, panel: &Panel) -> anyhow::Result<String> {
    let name = match panel {
        Panel::Models(models) => return Ok(json!(models).to_string()),
        Panel::Preset(preset) => preset,
    };
    let variants = registry(target).await?.variants;
    let members = variants.iter().filter(|variant| variant.presets.contains(name));
    let mut ids: Vec<&str> = members.map(|variant| variant.id.as_str()).collect();
    ids.sort_unstable();
    Ok(json!([name, ids]).to_string())
}

fn is_out_of_money(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Fault>().is_some_and(|fault| fault.kind() == Kind::InsufficientBalance)
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
