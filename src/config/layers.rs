//! Merges defaults, file and environment.

use std::path::{Path, PathBuf};

use ep_site::config::{Config, ConfigError, DEFAULTS, Origins, VARIABLES, line_of};
use toml::{Table, Value};

use super::checks;
use super::expected::refused;
use super::secret_variables::read_variable;
use super::usdc;

const OPENROUTER: &str = "https://openrouter.ai/api/v1";

/// Loads all layers except the flags. `variable` reads the environment.
pub fn load(variable: impl Fn(&str) -> Option<String>) -> Result<Config, ConfigError> {
    let defaults = parse(Path::new("default.toml"), DEFAULTS)?;
    let mut settings = defaults.clone();
    let (file, required) = match variable("EP_CONFIG") {
        Some(file) => (PathBuf::from(file), true),
        None => (PathBuf::from("ep.toml"), false),
    };
    let given = read(&file, required)?;
    overlay(&mut settings, parse(&file, &given)?);
    let mut origins = Origins::of_file(&file, &given);
    if let Some(key) = read_variable(&variable, "OPENROUTER_API_KEY")?.filter(|key| !key.is_empty()) {
        let upstream = variable("EP_UPSTREAM_URL").is_none() && text(&settings, "upstream", "url").is_empty();
        if upstream {
            set(&mut settings, "upstream", "url", Value::String(OPENROUTER.into()));
            set(&mut settings, "upstream", "api_key", Value::String(key));
            origins.set("upstream", "url", "OPENROUTER_API_KEY");
            origins.set("upstream", "api_key", "OPENROUTER_API_KEY");
        }
    }
    for &(name, section, setting) in VARIABLES {
        if let Some(given) = read_variable(&variable, name)? {
            let like = settings.get(section).and_then(|section| section.get(setting));
            let value = typed(&given, like)
                .map_err(|expected| ConfigError::Setting { name: name.to_owned(), expected })?;
            set(&mut settings, section, setting, value);
            origins.set(section, setting, name);
        }
    }
    let config = Config::decode(settings)
        .map_err(|path| refused(&path, &defaults, &origins))
        .map(|config| Config { origins, ..config })?;
    checks::check_telemetry(&config)?;
    checks::check_base_url(&config)?;
    checks::check_database_url(&config)?;
    checks::check_demo_pace(&config)?;
    checks::check_allowed_origins(&config)?;
    checks::check_operator(&config)?;
    config.starter_credit()?;
    checks::check_stripe(&config)?;
    checks::check_auth(&config)?;
    checks::check_featured_polls(&config)?;
    config.chain_id()?;
    config.rpc_url()?;
    usdc::deposits(&config, String::new())?;
    Ok(config)
}

/// Reads the settings file. A missing one is empty, unless it is required.
fn read(file: &Path, required: bool) -> Result<String, ConfigError> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !required => Ok(String::new()),
        Err(source) => Err(ConfigError::Unreadable { path: file.to_owned(), source }),
    }
}

fn parse(file: &Path, text: &str) -> Result<Table, ConfigError> {
    text.parse().map_err(|error: toml::de::Error| ConfigError::Malformed {
        path: file.to_owned(),
        line: line_of(text, error.span().map_or(0, |span| span.start)),
        message: error.message().to_owned(),
    })
}

fn overlay(under: &mut Table, over: Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Value::Table(under)), Value::Table(over)) => overlay(under, over),
            (_, value) => drop(under.insert(key, value)),
        }
    }
}

/// Parses a variable as the type of its setting.
fn typed(given: &str, like: Option<&Value>) -> Result<Value, &'static str> {
    match like {
        Some(Value::Integer(_)) => given.parse().map(Value::Integer).map_err(|_| "a whole number"),
        Some(Value::Float(_)) => given.parse().map(Value::Float).map_err(|_| "a number"),
        Some(Value::Boolean(_)) => given.parse().map(Value::Boolean).map_err(|_| "true or false"),
        Some(Value::Array(_)) => {
            let items = given.split(',').map(str::trim).filter(|item| !item.is_empty());
            Ok(Value::Array(items.map(|item| Value::String(item.to_owned())).collect()))
        }
        _ => Ok(Value::String(given.to_owned())),
    }
}

fn text<'a>(settings: &'a Table, section: &str, setting: &str) -> &'a str {
    settings.get(section).and_then(|section| section.get(setting)).and_then(Value::as_str).unwrap_or("")
}

fn set(settings: &mut Table, section: &str, setting: &str, value: Value) {
    if let Some(Value::Table(section)) = settings.get_mut(section) {
        section.insert(setting.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::super::secret_variables::SECRETS;
    use super::*;

    fn with(variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
        load(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn the_defaults_are_complete() {
        let config = with(&[]).unwrap();
        assert_eq!(config.base_url(), "http://127.0.0.1:8080");
        assert_eq!(config.limits.per_minute, 120);
        assert_eq!(config.starter_credit().unwrap().micro(), 1_000_000);
        assert_eq!(config.chain_id().unwrap(), 8453);
    }

    #[test]
    fn variables_win_and_are_typed() {
        let config = with(&[
            ("EP_LISTEN", "0.0.0.0:9"),
            ("EP_TRUSTED_PROXIES", "10.0.0.0/8, ::1/128"),
            ("EP_BILLING", "off"),
        ]);
        let config = config.unwrap();
        assert_eq!((config.server.listen.port(), config.server.trusted_proxies.len()), (9, 2));
        assert_eq!(config.billing.mode, ep_site::config::BillingMode::Off);
        let error = with(&[("EP_RATE_LIMIT_PER_MINUTE", "many")]).unwrap_err().to_string();
        assert_eq!(error, "EP_RATE_LIMIT_PER_MINUTE must be a whole number");
        for origin in ["app.example", "localhost:3000", "https://a.example,null"] {
            assert!(with(&[("EP_ALLOWED_ORIGINS", origin)]).is_err(), "{origin}");
        }
        assert!(with(&[("EP_ADD_FUNDS_URL", "javascript:alert(1)")]).is_err());
        assert!(with(&[("EP_CONFIG", "/does/not/exist.toml")]).is_err());
        for refused in [
            ("EP_STARTER_CREDIT_USD", "-1"),
            ("EP_STARTER_CREDIT_USD", "a dollar"),
            ("EP_X402_NETWORK", "base"),
            ("EP_X402_NETWORK", "eip155:0x1"),
            ("EP_X402_RPC_URL", "localhost:8545"),
            ("EP_AUTH_ISSUER_URL", "http://login.example"),
            ("EP_AUTH_CLIENT_ID", "polls"),
            ("EP_AUTH_CLIENT_SECRET", "s"),
            ("EP_STRIPE_SECRET_KEY", "sk_test_1"),
            ("EP_STRIPE_WEBHOOK_SECRET", "whsec_1"),
            ("EP_X402_PAY_TO", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"),
            ("EP_X402_FACILITATOR_URL", "https://x402.example"),
            ("EP_X402_FACILITATOR_URL", "x402.example"),
            ("EP_X402_CONFIRMATIONS", "many"),
        ] {
            assert!(with(&[refused]).is_err(), "{refused:?}");
        }
        let provider = |issuer| {
            with(&[
                ("EP_AUTH_ISSUER_URL", issuer),
                ("EP_AUTH_CLIENT_ID", "polls"),
                ("EP_AUTH_CLIENT_SECRET", "s"),
            ])
        };
        for issuer in ["https://login.example", "http://localhost:4000", "http://127.0.0.1:4000"] {
            assert!(provider(issuer).is_ok(), "{issuer}");
        }
        for issuer in ["http://login.example", "login.example", "http://localhost.example"] {
            assert!(provider(issuer).is_err(), "{issuer}");
        }
        let issuer = ("EP_AUTH_ISSUER_URL", "https://login.example");
        assert_eq!(with(&[issuer]).unwrap().issuer(), Some("https://login.example"));
        assert!(with(&[issuer, ("EP_AUTH_CLIENT_ID", "polls")]).is_err());
        assert!(with(&[issuer, ("EP_AUTH_CLIENT_SECRET", "s")]).is_err());
    }

    /// Wrong values of variables, with the other variables that they need. The others accept any text.
    const WRONG: &[(&str, &str)] = &[
        ("EP_LISTEN", "abc"),
        ("EP_BASE_URL", "polls.example"),
        ("EP_SECRET_KEY", "xyz"),
        ("EP_TRUSTED_PROXIES", "10.0.0.0/99"),
        ("EP_ALLOWED_ORIGINS", "localhost"),
        ("EP_OPERATOR_URL", "x"),
        ("EP_CONTACT", "x y"),
        ("EP_DOCUMENTATION_URL", "x"),
        ("EP_ADD_FUNDS_URL", "x"),
        ("EP_OPERATOR_TERMS_URL", "x"),
        ("EP_OPERATOR_PRIVACY_URL", "x"),
        ("EP_DATABASE_URL", "mysql://u:hunter2@db/x"),
        ("EP_DEMO", "hunter2"),
        ("EP_DEMO_PACE", "NaN"),
        ("EP_DECISION_MODELS", "x"),
        ("EP_BILLING", "hunter2"),
        ("EP_STARTER_CREDIT_USD", "x"),
        ("EP_STRIPE_WEBHOOK_SECRET", ""),
        ("EP_STRIPE_API_URL", "x"),
        ("EP_AUTH_ISSUER_URL", "x"),
        ("EP_AUTH_CLIENT_ID", ""),
        ("EP_AUTH_CLIENT_SECRET", ""),
        ("EP_X402_NETWORK", "x"),
        ("EP_X402_RPC_URL", "hunter2"),
        ("EP_X402_FACILITATOR_URL", "x"),
        ("EP_X402_PAY_TO", "x"),
        ("EP_X402_ASSET", "x"),
        ("EP_X402_ASSET_NAME", ""),
        ("EP_X402_CONFIRMATIONS", "-2"),
        ("EP_WEBHOOK_ALLOWED_NETWORKS", "x"),
        ("EP_FEATURED_POLLS", "x"),
        ("EP_OPENAI_ALIASES", "x"),
        ("EP_METRICS_LISTEN", "x"),
        ("EP_LOG", "=,="),
        ("EP_LOG_FORMAT", "x"),
    ];
    const ANY_TEXT: &[&str] = &[
        "EP_DATA_DIR",
        "EP_OPERATOR_NAME",
        "EP_OPERATOR_REFUNDS",
        "EP_OPERATOR_LAW",
        // These are checked when the models are set up, and their errors name them, too.
        "EP_UPSTREAM_URL",
        "EP_UPSTREAM_API_KEY",
        "EP_PRESETS",
        "EP_STRIPE_SECRET_KEY",
        "EP_X402_ASSET_VERSION",
    ];

    /// Settings with which the others are used.
    fn valid(variable: &str) -> Vec<(&'static str, &'static str)> {
        let address = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
        if variable.starts_with("EP_STRIPE") {
            return vec![("EP_STRIPE_SECRET_KEY", "sk_test_1"), ("EP_STRIPE_WEBHOOK_SECRET", "whsec_1")];
        }
        if variable.starts_with("EP_AUTH") {
            let issuer = ("EP_AUTH_ISSUER_URL", "https://login.example");
            return vec![issuer, ("EP_AUTH_CLIENT_ID", "polls"), ("EP_AUTH_CLIENT_SECRET", "s")];
        }
        if variable.starts_with("EP_X402") {
            return vec![
                ("EP_X402_FACILITATOR_URL", "https://x402.example"),
                ("EP_X402_PAY_TO", address),
                ("EP_X402_ASSET", address),
                ("EP_X402_ASSET_NAME", "USDC"),
            ];
        }
        Vec::new()
    }

    /// Returns the error of these settings, in variables and in a file.
    #[track_caller]
    fn error_of(variables: &[(&str, &str)], file: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ep.toml");
        std::fs::write(&path, file).unwrap();
        let path = path.display().to_string();
        let read = |name: &str| {
            if name == "EP_CONFIG" {
                return Some(path.clone());
            }
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let read = load(read).and_then(|config| crate::config::secret_key(&config));
        let Err(refused) = read else { panic!("accepted: {variables:?} {file}") };
        refused.to_string().replace(&path, "ep.toml")
    }

    #[test]
    fn the_error_of_every_variable_names_it_and_not_its_value() {
        let defaults: Table = DEFAULTS.parse().unwrap();
        for &(variable, section, setting) in VARIABLES {
            let default = &defaults[section][setting];
            let wrong = WRONG.iter().find(|(known, _)| *known == variable).map(|(_, wrong)| *wrong);
            let wrong = match default {
                Value::Integer(_) => wrong.or(Some("many")),
                Value::Boolean(_) => Some("perhaps"),
                _ => wrong,
            };
            if let Some(wrong) = wrong {
                let mut variables = valid(variable);
                variables.retain(|(name, _)| *name != variable);
                variables.push((variable, wrong));
                let error = error_of(&variables, "");
                assert!(error.starts_with(&format!("{variable} ")), "{variable}: {error}");
                assert!(!error.contains("hunter2"), "{error}");
            } else {
                assert!(ANY_TEXT.contains(&variable), "{variable} has no wrong value in this test");
            }
            let other_type = match default {
                Value::Integer(_) | Value::Float(_) | Value::Boolean(_) => "\"hunter2\"",
                _ => "5150",
            };
            let error = error_of(&[], &format!("\n[{section}]\n{setting} = {other_type}\n"));
            let place = format!("ep.toml, line 3: {section}.{setting} must be ");
            assert!(error.starts_with(&place), "{variable}: {error}");
            assert!(!error.contains("hunter2") && !error.contains("5150"), "{error}");
        }
    }

    #[test]
    fn errors_of_a_file_name_the_line() {
        for (file, error) in [
            ("[server]\nlisten = 5", "ep.toml, line 2: server.listen must be an address and a port"),
            (
                "[server]\n\nlissten = \"x\"",
                "ep.toml, line 3: server.lissten is not a known setting; did you mean listen?",
            ),
            ("[servers]\nx = 1", "ep.toml, line 1: servers is not a known section; did you mean server?"),
            ("# x\nserver = 5", "ep.toml, line 2: server must be a section"),
            ("[server\n", "ep.toml, line 1: not valid TOML: "),
            ("[billing]\nmode = \"prepaid\"\nmode = \"off\"", "ep.toml, line 3: not valid TOML: "),
            ("[chain]\nnetwork = \"base\"", "ep.toml, line 2: chain.network must be eip155: and"),
            ("[x402]\npay_to = \"x\"", "ep.toml, line 2: x402.pay_to must be empty if"),
            ("[limits]\nper_minute = -1", "ep.toml, line 2: limits.per_minute must be a whole number from 0"),
            (
                "[server]\ntrusted_proxies = [\"::/0\", 5]",
                "ep.toml, line 2: server.trusted_proxies must be a list",
            ),
        ] {
            let refused = error_of(&[], file);
            assert!(refused.starts_with(error), "{file}: {refused}");
        }
        // A variable replaces the setting of the file, so the error names the variable.
        let both = error_of(&[("EP_LISTEN", "abc")], "[server]\nlisten = \"0.0.0.0:80\"");
        assert!(both.starts_with("EP_LISTEN must be an address"), "{both}");
    }

    #[test]
    fn real_usdc_requires_a_node() {
        let accepting = |network: &str, more: &[(&str, &str)]| {
            let mut variables = vec![
                ("EP_X402_FACILITATOR_URL", "https://x402.example"),
                ("EP_X402_PAY_TO", "0x036CbD53842c5426634e7929541eC2318f3dCF7e"),
                ("EP_X402_ASSET", "0x036CbD53842c5426634e7929541eC2318f3dCF7e"),
                ("EP_X402_ASSET_NAME", "USDC"),
                ("EP_X402_NETWORK", network),
            ];
            variables.extend(more);
            with(&variables).unwrap()
        };
        // Base, Ethereum, and an unknown network.
        for network in ["eip155:8453", "eip155:1", "eip155:987654321"] {
            let refused = usdc::check_chain_node(&accepting(network, &[])).unwrap_err().to_string();
            assert!(refused.starts_with("EP_X402_RPC_URL must be set"), "{refused}");
            usdc::check_chain_node(&accepting(network, &[("EP_X402_RPC_URL", "https://node.example")]))
                .unwrap();
        }
        for network in ["eip155:84532", "eip155:11155111", "eip155:31337"] {
            usdc::check_chain_node(&accepting(network, &[])).unwrap();
        }
        usdc::check_chain_node(&with(&[]).unwrap()).unwrap();

        let confirmations = |network, more: &[(&str, &str)]| {
            usdc::deposits(&accepting(network, more), String::new()).unwrap().unwrap().confirmations
        };
        assert_eq!((confirmations("eip155:8453", &[]), confirmations("eip155:84532", &[])), (12, 12));
        assert_eq!(confirmations("eip155:1", &[]), 64);
        assert_eq!(confirmations("eip155:8453", &[("EP_X402_CONFIRMATIONS", "3")]), 3);
    }

    #[test]
    fn an_openrouter_key_alone_selects_openrouter() {
        let config = with(&[("OPENROUTER_API_KEY", "sk-or-x")]).unwrap();
        assert_eq!(
            (config.upstream.url.as_str(), config.upstream.api_key.expose_secret()),
            (OPENROUTER, "sk-or-x")
        );
        let config =
            with(&[("OPENROUTER_API_KEY", "sk-or-x"), ("EP_UPSTREAM_URL", "http://127.0.0.1:1/v1")]).unwrap();
        assert_eq!(
            (config.upstream.url.as_str(), config.upstream.api_key.expose_secret()),
            ("http://127.0.0.1:1/v1", "")
        );
    }

    #[test]
    fn every_variable_is_documented_beside_its_setting() {
        for (variable, section, setting) in VARIABLES {
            assert!(
                DEFAULTS.contains(variable),
                "{variable} sets {section}.{setting} but default.toml does not name it"
            );
            let defaults: Table = DEFAULTS.parse().unwrap();
            assert!(defaults[*section].get(setting).is_some(), "{section}.{setting}");
        }
        for secret in SECRETS {
            let header = DEFAULTS.split("[server]").next().unwrap();
            assert!(header.contains(secret), "the list of secrets in default.toml lacks {secret}");
        }
    }

    /// A secret is a setting that the debug output hides.
    #[test]
    fn secret_settings_can_be_read_from_files() {
        for &(variable, section, setting) in VARIABLES {
            let mut settings: Table = DEFAULTS.parse().unwrap();
            let marker = "https://marker.example";
            let value = match settings[section][setting] {
                Value::String(_) => Value::String(marker.into()),
                Value::Array(_) => Value::Array(vec![Value::String(marker.into())]),
                _ => continue,
            };
            set(&mut settings, section, setting, value);
            // A setting of another type, such as an address, is not a secret.
            let Ok(config) = Config::decode(settings) else {
                assert!(!SECRETS.contains(&variable), "{variable}");
                continue;
            };
            let is_hidden = !format!("{config:?}").contains(marker);
            assert_eq!(SECRETS.contains(&variable), is_hidden, "{variable}");
        }
    }
}
