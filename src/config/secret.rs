//! The service's secret key.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ep_kernel::Entropy;
use ep_site::config::{Config, ConfigError};
use secrecy::{ExposeSecret, SecretSlice, SecretString};

/// Returns the bytes of the secret key from the settings or the key file, or `None` if neither has one.
pub fn secret_key(config: &Config) -> Result<Option<SecretSlice<u8>>, ConfigError> {
    let given = config.server.secret_key.expose_secret();
    if !given.is_empty() {
        return decode(&config.origins.name("server.secret_key"), given).map(Some);
    }
    let file = key_file(config)?;
    match fs::read_to_string(&file) {
        Ok(text) => decode(&file.display().to_string(), text.trim()).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ConfigError::Secret(format!("cannot read {}: {error}", file.display()))),
    }
}

/// Creates the key file, readable only by its owner, and returns its key. If another process has just created the
/// file, returns that key.
pub fn create_secret_key(config: &Config, entropy: &dyn Entropy) -> Result<SecretSlice<u8>, ConfigError> {
    let file = key_file(config)?;
    let key: SecretString = hex::encode(entropy.bytes::<32>()).into();
    match write_new(&file, &key) {
        Ok(()) => tracing::info!(
            file = %file.display(),
            "created the secret key; back it up, and give the same key to every replica of this service"
        ),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => {
            let remedy = "make the data directory writable (EP_DATA_DIR), or set EP_SECRET_KEY";
            return Err(ConfigError::Secret(format!("cannot write {}: {error}; {remedy}", file.display())));
        }
    }
    secret_key(config)?.ok_or_else(|| ConfigError::Secret(format!("{} has been deleted", file.display())))
}

/// Returns the error of a database that is in use without its secret key.
pub fn secret_key_missing(config: &Config, database: &impl std::fmt::Display) -> ConfigError {
    let file = match key_file(config) {
        Ok(file) => file,
        Err(error) => return error,
    };
    ConfigError::Secret(format!(
        "{database} is already in use, but its secret key is missing: {} does not exist. Restore that file, or set \
         EP_SECRET_KEY or EP_SECRET_KEY_FILE to the same key. A new key would make every API key invalid; to \
         accept that, set EP_SECRET_KEY to the output of `openssl rand -hex 32`",
        file.display()
    ))
}

/// Returns the path of the key file in the data directory.
pub fn key_file(config: &Config) -> Result<PathBuf, ConfigError> {
    Ok(config.data_dir()?.join("secret.key"))
}

fn write_new(file: &Path, key: &SecretString) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        // By default the database is in this folder too, so only the owner may open it.
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
    file.write_all(format!("{}\n", key.expose_secret()).as_bytes())?;
    file.sync_all()
}

fn decode(source: &str, text: &str) -> Result<SecretSlice<u8>, ConfigError> {
    let refused = |fault| Err(ConfigError::Secret(format!("{source} {fault}")));
    match hex::decode(text) {
        Ok(bytes) if bytes.len() >= 32 => Ok(bytes.into()),
        Ok(_) => refused("must have at least 32 bytes (64 hexadecimal digits)"),
        Err(_) => refused("must be hexadecimal"),
    }
}
