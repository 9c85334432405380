//! `ep show`: prints the result of a stored poll, and how to read a result again.

use std::time::Duration;

use ep_polling::poll_id::PollId;
use ep_tools::entry_of;
use ep_tools::results::GetPollResult;
use serde_json::{Value, json};

use super::show::Readable;
use super::target::Target;
use super::{End, poll, print, show};
use crate::config::Config;

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
    let answer = target.call(entry_of::<GetPollResult>()?, input, None).await;
    let here = target.app().is_some();
    target.close().await;
    print_result(&answer?, arguments.json, here).await
}

/// Prints the result of a poll and returns its exit code. `here` is true if it is in the database of this machine.
pub(super) async fn print_result(answer: &Value, as_json: bool, here: bool) -> anyhow::Result<End> {
    let reply = poll::reply(answer);
    let end = reply.as_ref().map_or(End::Done, poll::exit);
    if as_json {
        print(&serde_json::to_string_pretty(answer)?)?;
        return Ok(end);
    }
    let reply = reply?;
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
