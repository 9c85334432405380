//! `ep backup`: copies the database while a service uses it.

use std::path::PathBuf;

use ep_site::config::Config;
use ep_store::DatabaseUrl;
use secrecy::ExposeSecret;

use super::{End, print};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// File to create; it must not exist
    file: PathBuf,
}

pub(super) async fn run(config: &Config, Arguments { file }: Arguments) -> anyhow::Result<End> {
    let url: DatabaseUrl = config.database_url()?.expose_secret().parse()?;
    ep_store::back_up(&url, &file).await?;
    let key = if config.server.secret_key.expose_secret().is_empty() {
        format!("the file {}", crate::config::key_file(config)?.display())
    } else {
        "the value of EP_SECRET_KEY, or the file of EP_SECRET_KEY_FILE".to_owned()
    };
    print(&format!(
        "wrote {file}, a complete copy of {url}\n\
         Save the secret key as well: {key}. Without it, every API key, session and sealed value is void.\n\
         To restore: stop the service, replace the database file with this one, delete the files beside it that end in \
         -wal and -shm, put the secret key back, run `ep admin audit`, and start the service.",
        file = file.display(),
    ))?;
    Ok(End::Done)
}
