//! The secret key, which a new database gets.

use anyhow::Context;
use ep_kernel::Entropy;
use ep_site::config::Config;
use ep_store::{DatabaseUrl, StoreOptions};
use secrecy::SecretSlice;

use crate::config;

/// Returns the secret key. Creates one only for a new database, because a new key invalidates every API key.
pub(super) async fn secret_key(
    config: &Config,
    url: &DatabaseUrl,
    entropy: &dyn Entropy,
) -> anyhow::Result<SecretSlice<u8>> {
    if let Some(key) = config::secret_key(config)? {
        return Ok(key);
    }
    let in_use = ep_store::is_in_use(url, &StoreOptions::default()).await;
    let in_use = in_use.context("failed to open the database")?;
    // A process that starts concurrently creates its key before its database.
    if let Some(key) = config::secret_key(config)? {
        return Ok(key);
    }
    if in_use {
        return Err(config::secret_key_missing(config, url).into());
    }
    Ok(config::create_secret_key(config, entropy)?)
}
