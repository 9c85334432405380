//! `ep call`: lists operations, and runs one by name with JSON input and output.

use std::ffi::OsStr;

use clap::CommandFactory as _;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use ep_kernel::{Entry, Fault, Kind, Tool};
use ep_labels::operations::Operations;
use ep_site::config::Config;
use ep_tools::TOOLS;
use ep_tools::service::{ComponentHealth, GetHealth};
use serde_json::{Value, json};

use super::operation_help::operation_help;
use super::target::Target;
use super::{End, Ep, print, print_json};
use crate::config::nearest;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Name of the operation; lists all operations if omitted
    #[arg(value_parser = OperationParser, hide_possible_values = true)]
    name: Option<&'static Entry>,
    /// Input as a JSON object
    #[arg(default_value = "{}")]
    input: String,
    /// Server to call, with the key in EP_API_KEY [default: runs in this process]
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Print help; after a name, the manual, arguments and an example of the operation
    #[arg(short, long)]
    help: bool,
}

impl Arguments {
    /// True if no operation is called, so that settings are not needed.
    pub(super) const fn only_prints(&self) -> bool {
        self.help || self.name.is_none()
    }
}

/// Parses the name of an operation, and lists all names for completions.
#[derive(Clone)]
struct OperationParser;

impl TypedValueParser for OperationParser {
    type Value = &'static Entry;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, clap::Error> {
        let name = value.to_string_lossy();
        ep_tools::find(&name).ok_or_else(|| {
            let message =
                format!("there is no operation {name};{} `ep call` lists all operations\n", hint(&name));
            clap::Error::raw(ErrorKind::ValueValidation, message).with_cmd(command)
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(TOOLS.iter().map(|entry| PossibleValue::new(entry.spec.name).help(entry.spec.title))))
    }
}

/// Returns a hint with the most similar name, if one is similar.
fn hint(name: &str) -> String {
    let near = nearest(name, TOOLS.iter().map(|entry| entry.spec.name));
    near.map_or_else(String::new, |near| format!(" did you mean {near}?"))
}

/// Prints the help of an operation or of the command, or the list of operations.
pub(super) fn print_only(arguments: &Arguments) -> anyhow::Result<End> {
    match (arguments.name, arguments.help) {
        (Some(entry), _) => print(operation_help(entry).trim_end())?,
        (None, true) => {
            let mut ep = Ep::command();
            ep.build();
            if let Some(call) = ep.find_subcommand_mut("call") {
                call.print_help()?;
            }
        }
        (None, false) => {
            let width = TOOLS.iter().map(|entry| entry.spec.name.len()).max().unwrap_or_default();
            for entry in TOOLS.iter() {
                print(&format!("{:width$}  {}", entry.spec.name, entry.spec.title))?;
            }
        }
    }
    Ok(End::Done)
}

pub(super) async fn run(config: &Config, arguments: Arguments) -> anyhow::Result<End> {
    let Some(entry) = arguments.name else {
        return print_only(&arguments);
    };
    let input: Value = serde_json::from_str(&arguments.input)
        .map_err(|error| Fault::new(Kind::MalformedJson, format!("the input is not JSON: {error}")))?;
    let target = Target::new(config, arguments.server.as_deref()).await?;
    let answer = target.call(entry, input).await;
    target.close().await;
    let answer = answer.map_err(|fault| match fault.kind() {
        Kind::InvalidInput => {
            Fault::new(Kind::InvalidInput, format!("{fault}; see `ep call {} --help`", entry.spec.name))
        }
        _ => fault,
    })?;
    match &answer {
        Value::String(text) => print(text)?,
        answer => print_json(&serde_json::to_string_pretty(answer)?)?,
    }
    let is_down = entry.spec.name == GetHealth::SPEC.name && answer["db"] != json!(ComponentHealth::Ok);
    Ok(if is_down { End::Code(Kind::Unavailable.row().exit) } else { End::Done })
}
