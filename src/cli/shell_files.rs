//! Shell completions and manual pages, generated from the definition of the commands.

use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_complete::Shell;

use super::{End, Ep};

/// Arguments of `ep completions`.
#[derive(clap::Args)]
pub(super) struct Completions {
    /// Shell that will read the script
    shell: Shell,
}

/// Arguments of `ep man`.
#[derive(clap::Args)]
pub(super) struct Man {
    /// Folder for the pages, for example ~/.local/share/man/man1; created if missing
    folder: PathBuf,
}

/// Prints the completion script of a shell.
pub(super) fn completions(arguments: &Completions) -> anyhow::Result<End> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Ep::command(), "ep", &mut script);
    match std::io::stdout().write_all(&script) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(End::Done),
        written => Ok(written.map(|()| End::Done)?),
    }
}

/// Writes a manual page for each command.
pub(super) fn man(arguments: &Man) -> anyhow::Result<End> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Ep::command(), folder))
        .with_context(|| format!("cannot write manual pages to {}", folder.display()))?;
    Ok(End::Done)
}
