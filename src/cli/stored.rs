//! `ep show`: prints the result of a stored poll, and how to read a result again.

use std::time::Duration;

use ep_kernel::{Fault, Kind};
use ep_labels::operations::Operations;
use ep_polling::{NoAnswer, PollId};
use ep_site::config::Config;
use ep_tools::entry_of;
use ep_tools::polls::summary::Status;
use ep_tools::results::GetPollResult;
use serde_json::{Value, json};

use super::printable::printable_value;
use super::show::{Readable, Reply};
use super::target::Target;
use super::{End, print_json, show};

/// Exit code of a poll that ends below its pass mark.
const NOT_PASSED: u8 = 12;

/// The time in which a service on this machine responds with a result.
const SERVED_WITHIN: Duration = Duration::from_millis(500);

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Id of the poll, such as EP-20260131-7KQ2M4X9TB
    #[arg(value_name = "ID")]
    id: PollId,
    /// Print only the result as JSON
    #[arg(long)]
    json: bool,
    /// URL of a server to use, with the key in EP_API_KEY; by default reads the database of this machine
    #[arg(long, value_name = "URL")]
    server: Option<String>,
}

pub(super) async fn run(config: &Config, arguments: Arguments) -> anyhow::Result<End> {
    let target = Target::new(config, arguments.server.as_deref()).await?;
    let input = json!({ "poll_id": arguments.id });
    let answer = target.call(entry_of::<GetPollResult>()?, input).await;
    let here = target.app().is_some();
    target.close().await;
    print_result(&answer?, arguments.json, here).await
}

/// Prints the result of a poll and returns its exit code. `here` is true if it is in the database of this machine.
pub(super) async fn print_result(answer: &Value, as_json: bool, here: bool) -> anyhow::Result<End> {
    let read = reply(answer);
    let end = read.as_ref().map_or(End::Done, exit);
    if as_json {
        print_json(&serde_json::to_string_pretty(answer)?)?;
        return Ok(end);
    }
    let reply = read?;
    let readable = match reply.url() {
        _ if !here => Readable::AtUrl,
        Some(url) if is_served(url).await => Readable::Both,
        _ => Readable::ByCommand,
    };
    show::result(&reply, readable)?;
    Ok(end)
}

/// True if a service returns the result at its URL.
async fn is_served(url: &str) -> bool {
    let Ok(client) = reqwest::Client::builder().timeout(SERVED_WITHIN).build() else { return false };
    let response = client.get(url).header("accept", "application/json").send().await;
    response.is_ok_and(|response| response.status().is_success())
}

/// Reads the reply to a poll. Its texts are escaped for the terminal.
pub(super) fn reply(answer: &Value) -> Result<Reply, Fault> {
    serde_json::from_value(printable_value(answer)).map_err(|error| {
        let text =
            "the response is not the result of a poll; show it with --json, and compare the versions of ep and the server";
        Fault::new(Kind::Unavailable, text).caused_by(error)
    })
}

/// Returns the exit code: 0 for a winner, a median or a pass, 3 for a tie, 4 for no votes or too few, 12 for a level
/// below `--pass`, 2 for a dry run with errors.
fn exit(reply: &Reply) -> End {
    let poll = match reply {
        Reply::DryRun(checked) if !checked.valid => return End::Code(2),
        Reply::DryRun(_) | Reply::Running(_) | Reply::Free(_) => return End::Done,
        Reply::Result(poll) => poll,
    };
    match (poll.status, &poll.scale) {
        (Status::Running | Status::Queued, _) => End::Done,
        (Status::Failed, _) => End::Code(4),
        _ if poll.no_answer == Some(NoAnswer::Unsupported) => End::Code(4),
        (_, Some(scale)) => match scale.pass.as_ref().map(|pass| pass.passed) {
            Some(Some(false)) => End::Code(NOT_PASSED),
            Some(None) => End::Code(3),
            Some(Some(true)) | None => End::Done,
        },
        (_, None) if poll.is_tie => End::Code(3),
        (_, None) => End::Done,
    }
}
