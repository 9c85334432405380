//! Secrets from the environment: a variable, the file in `<variable>_FILE`, or a systemd credential.

use std::fs;
use std::io;
use std::path::Path;

use ep_site::config::ConfigError;

/// Secret variables. Each can be read from a file.
pub(super) const SECRETS: &[&str] = &[
    "EP_SECRET_KEY",
    "EP_DATABASE_URL",
    "EP_UPSTREAM_API_KEY",
    "EP_STRIPE_SECRET_KEY",
    "EP_STRIPE_WEBHOOK_SECRET",
    "EP_AUTH_CLIENT_SECRET",
    "EP_X402_RPC_URL",
    "OPENROUTER_API_KEY",
    "EP_API_KEY",
];

/// Reads a variable; a secret one also from `<name>_FILE`, and from the file `<name>` in `$CREDENTIALS_DIRECTORY`.
///
/// An empty variable counts as absent if a file has the value. Fails if two sources have the value, or if a file
/// is empty or cannot be read.
pub fn read_variable(
    variable: &impl Fn(&str) -> Option<String>,
    name: &str,
) -> Result<Option<String>, ConfigError> {
    let value = variable(name);
    if !SECRETS.contains(&name) {
        return Ok(value);
    }
    let filled = |name: &str| variable(name).filter(|value| !value.is_empty());
    let file_variable = format!("{name}_FILE");
    let named = filled(&file_variable);
    let credential = filled("CREDENTIALS_DIRECTORY").map(|folder| Path::new(&folder).join(name));
    let credential = credential.filter(|file| file.exists());
    let sources: Vec<String> = [
        value.as_ref().filter(|value| !value.is_empty()).map(|_| format!("the variable {name}")),
        named.as_ref().map(|_| format!("the variable {file_variable}")),
        credential.as_ref().map(|_| format!("the credential {name}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if sources.len() > 1 {
        let sources = sources.join(" and ");
        return Err(ConfigError::Secret(format!(
            "{name} is set more than once, by {sources}: keep one of them"
        )));
    }
    match named.map(Into::into).or(credential) {
        Some(file) => read_secret(&file).map(Some).map_err(|error| {
            let advice = "correct the path or the permissions of the file";
            ConfigError::Secret(format!("cannot read {name} from {}: {error}; {advice}", file.display()))
        }),
        None => Ok(value),
    }
}

/// Reads a file without its last line break.
fn read_secret(file: &Path) -> io::Result<String> {
    let text = fs::read_to_string(file)?;
    let value = text.strip_suffix('\n').unwrap_or(&text);
    let value = value.strip_suffix('\r').unwrap_or(value);
    if value.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is empty"));
    }
    Ok(value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::layers::load;
    use super::*;

    fn with(variables: &[(&str, &str)]) -> Result<ep_site::config::Config, ConfigError> {
        load(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn every_secret_can_be_read_from_a_file_or_a_credential() {
        use secrecy::ExposeSecret;
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let values = [
            ("EP_SECRET_KEY", "5a5a"),
            ("EP_DATABASE_URL", "postgres://u:p@db/polls"),
            ("EP_UPSTREAM_API_KEY", "sk-up"),
            ("EP_STRIPE_SECRET_KEY", "sk_test_1"),
            ("EP_STRIPE_WEBHOOK_SECRET", "whsec_1,whsec_2"),
            ("EP_AUTH_CLIENT_SECRET", "client secret "),
            ("EP_X402_RPC_URL", "https://node.example/key"),
        ];
        for (name, value) in values {
            fs::write(path(name), format!("{value}\n")).unwrap();
        }
        let files: Vec<(String, String)> =
            values.iter().map(|(name, _)| (format!("{name}_FILE"), path(name))).collect();
        let mut by_file: Vec<(&str, &str)> =
            files.iter().map(|(name, path)| (name.as_str(), path.as_str())).collect();
        let credentials = folder.path().display().to_string();
        let mut by_credential = vec![("CREDENTIALS_DIRECTORY", credentials.as_str()), ("EP_SECRET_KEY", "")];
        for variables in [&mut by_file, &mut by_credential] {
            variables
                .extend([("EP_AUTH_ISSUER_URL", "https://login.example"), ("EP_AUTH_CLIENT_ID", "polls")]);
            let config = with(variables).unwrap();
            let webhooks: Vec<&str> =
                config.stripe.webhook_secrets.iter().map(ExposeSecret::expose_secret).collect();
            let read = [
                config.server.secret_key.expose_secret(),
                config.database.url.expose_secret(),
                config.upstream.api_key.expose_secret(),
                config.stripe.secret_key.expose_secret(),
                &webhooks.join(","),
                config.auth.client_secret.expose_secret(),
                config.chain.rpc_url.expose_secret(),
            ];
            assert_eq!(read, values.map(|(_, value)| value));
        }
        fs::write(path("OPENROUTER_API_KEY"), "sk-or\r\n").unwrap();
        let config = with(&[("OPENROUTER_API_KEY_FILE", &path("OPENROUTER_API_KEY"))]).unwrap();
        assert_eq!(config.upstream.api_key.expose_secret(), "sk-or");
    }

    #[test]
    fn two_sources_and_unusable_files_are_rejected_without_the_value() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let (file, empty, missing) = (path("EP_SECRET_KEY"), path("empty"), path("missing"));
        fs::write(&file, "5a5a").unwrap();
        fs::write(&empty, "\n").unwrap();
        let refused = |variables: &[(&str, &str)], words: &str| {
            let message = with(variables).unwrap_err().to_string();
            assert!(
                message.contains("EP_SECRET_KEY") && message.contains(words) && !message.contains("5a5a"),
                "{message}"
            );
        };
        let folder = folder.path().display().to_string();
        let [value, by_file, credential] =
            [("EP_SECRET_KEY", "5a5a"), ("EP_SECRET_KEY_FILE", &*file), ("CREDENTIALS_DIRECTORY", &*folder)];
        for two in [[value, by_file], [value, credential], [by_file, credential]] {
            refused(&two, "more than once");
        }
        refused(&[("EP_SECRET_KEY_FILE", &empty)], "the file is empty");
        refused(&[("EP_SECRET_KEY_FILE", &missing)], "cannot read");
        assert!(with(&[("EP_SECRET_KEY_FILE", "")]).is_ok());
    }
}
