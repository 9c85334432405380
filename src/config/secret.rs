//! The service's secret key.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use ep_kernel::ports::Entropy;
use secrecy::{ExposeSecret, SecretSlice, SecretString};

use super::{Config, ConfigError};

/// The secret key's bytes: as set, or, on a loopback address, made once and kept in the data directory.
pub fn secret_key(config: &Config, entropy: &dyn Entropy) -> Result<SecretSlice<u8>, ConfigError> {
    let given = config.server.secret_key.expose_secret();
    if !given.is_empty() {
        return decode(given).map_err(|fault| ConfigError::SecretKey(format!("EP_SECRET_KEY {fault}")));
    }
    let file = config.data_dir()?.join("secret.key");
    if let Ok(kept) = fs::read_to_string(&file) {
        return decode(kept.trim())
            .map_err(|fault| ConfigError::SecretKey(format!("{} {fault}", file.display())));
    }
    if !config.server.listen.ip().is_loopback() {
        return Err(ConfigError::SecretKey(
            "EP_SECRET_KEY must be set when listening beyond loopback: 32 or more random bytes in hexadecimal, \
             for example from `openssl rand -hex 32`"
                .into(),
        ));
    }
    let made: SecretString = hex::encode(entropy.bytes::<32>()).into();
    keep(&file, &made)
        .map_err(|error| ConfigError::SecretKey(format!("cannot write {}: {error}", file.display())))?;
    // Another process may have been faster: what lies in the file is the key.
    let kept =
        fs::read_to_string(&file).map_err(|source| ConfigError::Unreadable { path: file.clone(), source })?;
    decode(kept.trim()).map_err(|fault| ConfigError::SecretKey(format!("{} {fault}", file.display())))
}

fn keep(file: &Path, key: &SecretString) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        // What lies beside the key (the database) is nobody else's business either.
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    match fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file) {
        Ok(mut file) => writeln!(file, "{}", key.expose_secret()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

fn decode(text: &str) -> Result<SecretSlice<u8>, &'static str> {
    let bytes = hex::decode(text).map_err(|_| "must be hexadecimal")?;
    if bytes.len() < 32 {
        Err("must have at least 32 bytes (64 hexadecimal digits)")
    } else {
        Ok(bytes.into())
    }
}
