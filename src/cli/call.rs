//! `ep call`: runs any operation by name, with JSON input and output.

use ep_kernel::fault::{Fault, Kind};
use ep_kernel::tool::Tool;
use ep_tools::TOOLS;
use ep_tools::service::{GetHealth, Working};
use serde_json::{Value, json};

use super::target::Target;
use super::{End, print};
use crate::config::Config;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Name of the operation; lists all operations if omitted
    name: Option<String>,
    /// Input as a JSON object
    #[arg(default_value = "{}")]
    input: String,
    /// URL of a server to call, with the key in EP_API_KEY; by default runs in this process
    #[arg(long, value_name = "URL")]
    server: Option<String>,
}

pub(super) async fn run(config: &Config, arguments: Arguments) -> anyhow::Result<End> {
    let Some(name) = arguments.name else {
        for entry in TOOLS.iter() {
            print(&format!("{:<18} {}", entry.spec.name, entry.spec.title))?;
        }
        return Ok(End::Done);
    };
    let entry = ep_tools::find(&name).ok_or_else(|| {
        Fault::new(Kind::InvalidInput, format!("there is no operation {name}; `ep call` lists them"))
    })?;
    let input: Value = serde_json::from_str(&arguments.input)
        .map_err(|error| Fault::new(Kind::MalformedJson, format!("the input is not JSON: {error}")))?;
    let target = Target::new(config, arguments.server.as_deref()).await?;
    let answer = target.call(entry, input, None).await;
    target.close().await;
    let answer = answer?;
    match &answer {
        Value::String(text) => print(text)?,
        answer => print(&serde_json::to_string_pretty(answer)?)?,
    }
    let is_down = entry.spec.name == GetHealth::SPEC.name && answer["db"] != json!(Working::Ok);
    Ok(if is_down { End::Code(Kind::Unavailable.row().exit) } else { End::Done })
}
