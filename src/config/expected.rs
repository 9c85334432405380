//! The values that settings accept, for messages. A message never shows the value given, because it may be secret.

use ep_site::config::{ALIAS, ConfigError, Origins};
use toml::{Table, Value};

use super::spelling::nearest;

/// Returns the error of the setting at which the decoder stopped, such as `server.trusted_proxies[1]`.
pub(super) fn refused(path: &str, defaults: &Table, origins: &Origins) -> ConfigError {
    let path = path.split('[').next().unwrap_or(path);
    let mut names = path.split('.');
    let section = names.next().unwrap_or_default();
    let Some(setting) = names.next() else {
        return match defaults.get(section) {
            Some(_) => {
                let expected = "a section: its name in brackets, and its settings below";
                ConfigError::Setting { name: origins.name(section), expected }
            }
            None => unknown(section, origins.name(section), "section", defaults.keys().map(String::as_str)),
        };
    };
    let full = format!("{section}.{setting}");
    let name = origins.name(&full);
    let settings = defaults.get(section).and_then(Value::as_table);
    match settings.and_then(|settings| settings.get(setting)) {
        Some(default) => ConfigError::Setting { name, expected: expected(&full, default) },
        None => {
            unknown(&full, name, "setting", settings.into_iter().flat_map(Table::keys).map(String::as_str))
        }
    }
}

fn unknown<'k>(
    given: &str,
    name: String,
    kind: &'static str,
    known: impl Iterator<Item = &'k str>,
) -> ConfigError {
    let given = given.rsplit('.').next().unwrap_or(given);
    let advice = match nearest(given, known) {
        Some(known) => format!("did you mean {known}?"),
        None => "`ep config` lists all of them".to_owned(),
    };
    ConfigError::Unusable { name, problem: format!("is not a known {kind}; {advice}") }
}

/// Describes the values of a setting, by its name or by the type of its default.
fn expected(setting: &str, default: &Value) -> &'static str {
    match (setting, default) {
        ("server.listen", _) => ADDRESS,
        ("server.trusted_proxies" | "webhooks.allowed_networks", _) => {
            "a list of CIDR ranges, for example 10.0.0.0/8"
        }
        ("upstream.demo", _) => "auto or off",
        ("upstream.decision_models", _) => {
            "a list of model ids, each with its decision API: openai, systemone or gemini, for example \
             jev-*=systemone"
        }
        ("billing.mode", _) => "prepaid or off",
        ("polls.featured", _) => "a list of poll ids, for example EP-20260131-7KQ2M4X9TB",
        ("openai.aliases", _) => ALIAS,
        ("telemetry.log_format", _) => "auto, text or json",
        ("x402.confirmations" | "upstream.free_requests_per_minute", _) => "a whole number, -1 or more",
        (_, Value::Integer(_)) => "a whole number from 0 to 4294967295",
        (_, Value::Float(_)) => "a number, 0 or more",
        (_, Value::Boolean(_)) => "true or false",
        (_, Value::Array(_)) => "a list of texts, for example [\"one\", \"two\"]",
        _ => "a text in quotes",
    }
}

/// Describes the address of a listener.
pub const ADDRESS: &str = "an address and a port, for example 127.0.0.1:8080";
