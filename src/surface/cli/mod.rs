//! The command line.

mod admin;
mod backup;
mod call;
mod doctor;
pub mod event_stream;
mod hints;
mod poll;
mod printable;
mod remote;
mod show;
mod target;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use ep_kernel::fault::Fault;
use tokio::time::Instant;

use self::printable::printable;
use crate::config::{self, Config, ConfigError, Telemetry};
use crate::wiring::{self, Environment};
use crate::{documents, server, surface, telemetry};

/// Asks many AI models one question; each votes, and the poll stops once the rest is unlikely to change the outcome.
#[derive(Parser)]
#[command(name = "ep", version, about, max_term_width = 100)]
struct Ep {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Ask the models one question
    Poll(poll::Arguments),
    /// Serve HTTP: REST, MCP and A2A
    Serve(Serve),
    /// Serve MCP on standard input and output
    Mcp {
        /// Which tools to list: core, all or read-only, separated by commas
        #[arg(long, default_value = "core")]
        toolsets: String,
    },
    /// Call any operation by its name
    Call(call::Arguments),
    /// Ask each model one control question: what works, how fast, at what cost
    Doctor(doctor::Arguments),
    /// Manage accounts, keys and money
    #[command(subcommand)]
    Admin(admin::Command),
    /// Copy the SQLite database to a new file, while the service runs or not
    Backup(backup::Arguments),
    /// Create or upgrade the database and exit
    Migrate,
    /// Print every setting with its default and its documentation
    Config,
    /// Write the rendered files kept in the repository
    Render {
        /// Compare instead of writing; fails where one is stale
        #[arg(long)]
        check: bool,
    },
}

#[derive(clap::Args)]
struct Serve {
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<std::net::SocketAddr>,
    /// Public base URL
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// sqlite://path or postgres://…
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
}

/// How a command ended, short of an unexpected failure.
pub(crate) enum End {
    /// As asked.
    Done,
    /// With this exit code.
    Code(u8),
}

/// Exit code of a command that Ctrl-C ended, as shells have it.
pub(crate) const INTERRUPTED: u8 = 130;

/// Runs the command that the arguments name.
pub fn main() -> ExitCode {
    let Ep { command } = Ep::parse();
    // TLS for every client of this process: rustls with ring. Fails only where it was done before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("ep: {error}");
            return ExitCode::FAILURE;
        }
    };
    let ended = runtime.block_on(run(command));
    runtime.shutdown_timeout(Duration::from_millis(200));
    match ended {
        Ok(End::Done) => ExitCode::SUCCESS,
        Ok(End::Code(code)) => ExitCode::from(code),
        Err(error) => {
            eprintln!("ep: {}", printable(&format!("{error:#}")));
            ExitCode::from(exit_code(&error))
        }
    }
}

async fn run(command: Command) -> anyhow::Result<End> {
    if let Command::Render { check } = command {
        return render(check);
    }
    if let Command::Config = command {
        print(config::DEFAULTS.trim_end())?;
        return Ok(End::Done);
    }
    let config = config::load(|name| std::env::var(name).ok());
    if let Command::Serve(flags) = command {
        return serve(config, flags).await;
    }
    let config = config?;
    match command {
        Command::Poll(arguments) => poll::run(&quietly(config), arguments).await,
        Command::Call(arguments) => call::run(&quietly(config), arguments).await,
        Command::Doctor(arguments) => doctor::run(&quietly(config), arguments).await,
        Command::Backup(arguments) => backup::run(&quietly(config), arguments).await,
        Command::Admin(command) => admin::run(&quietly(config), command).await,
        Command::Mcp { toolsets } => {
            let config = quietly(config);
            let environment = Environment { links: false, ..Environment::system() };
            let service = wiring::assemble(&config, environment).await?;
            service.start_background_work();
            Box::pin(surface::mcp::serve_stdio(service.app.clone(), service.site.tools, &toolsets)).await?;
            // The host has gone: the next process resumes what is not finished.
            service.stop(Instant::now() + STDIO_GRACE).await;
            Ok(End::Done)
        }
        Command::Migrate => {
            let config = quietly(config);
            let service = wiring::assemble(&config, Environment::system()).await?;
            service.stop(Instant::now() + target::GRACE).await;
            eprintln!("the database is current");
            Ok(End::Done)
        }
        Command::Serve(_) | Command::Render { .. } | Command::Config => Ok(End::Done),
    }
}

/// Time for background tasks of `ep mcp` to end, once its host has closed the input.
const STDIO_GRACE: Duration = Duration::from_millis(200);

/// Serves until a signal. A failure is logged if the log is JSON, so that every line of it can be parsed.
async fn serve(config: Result<Config, ConfigError>, flags: Serve) -> anyhow::Result<End> {
    let telemetry = match &config {
        Ok(config) => config.telemetry.clone(),
        // The settings cannot be read: the environment still says how to log.
        Err(_) => Telemetry::from_environment(|name| std::env::var(name).ok()),
    };
    let started = telemetry::start_logging(&telemetry);
    if started.is_err() {
        telemetry::start_logging(&Telemetry { log: "info".into(), ..telemetry.clone() })?;
    }
    let served = async {
        started?;
        let mut config = config?;
        if let Some(listen) = flags.listen {
            config.server.listen = listen;
        }
        config.server.base_url = flags.base_url.unwrap_or(config.server.base_url);
        config.check_base_url()?;
        config.database.url = flags.database_url.map_or(config.database.url, Into::into);
        hints::banner(&config).await;
        server::serve(&config, stop_signal()).await
    };
    match served.await {
        Ok(()) => Ok(End::Done),
        Err(error) if telemetry::is_json(telemetry.log_format) => {
            tracing::error!(error = %format!("{error:#}"), "the server cannot start or has failed");
            Ok(End::Code(exit_code(&error)))
        }
        Err(error) => Err(error),
    }
}

/// The exit code of a failure. A fault has its own; anything else is unexpected.
fn exit_code(error: &anyhow::Error) -> u8 {
    error.downcast_ref::<Fault>().map_or(1, |fault| fault.kind().row().exit)
}

/// Commands for people log warnings only, unless `EP_LOG` is set.
fn quietly(mut config: Config) -> Config {
    if std::env::var_os("EP_LOG").is_none() {
        config.telemetry.log = "warn".into();
    }
    config.telemetry.log_format = match config.telemetry.log_format {
        config::LogFormat::Auto => config::LogFormat::Text,
        chosen => chosen,
    };
    if let Err(error) = telemetry::start_logging(&config.telemetry) {
        eprintln!("ep: logging: {error}");
    }
    config
}

fn render(check: bool) -> anyhow::Result<End> {
    let root = std::env::current_dir()?;
    anyhow::ensure!(root.join("well-known/owner.json").exists(), "run this in the repository's root folder");
    let config = config::load(|name| (name == "EP_CONFIG").then(|| "/dev/null".to_owned()))?;
    let base_url = documents::EXAMPLE_URL.into();
    let mut settings = documents::SiteSettings { base_url, ..documents::SiteSettings::new(&config) };
    settings.offer.models = documents::Models::Upstream;
    let site = surface::routes::site(settings, &ep_tools::TOOLS);
    if !check {
        documents::write(&site, &root)?;
        return Ok(End::Done);
    }
    let stale = documents::stale(&site, &root);
    for file in &stale {
        eprintln!("{file} is stale; run `ep render`");
    }
    Ok(if stale.is_empty() { End::Done } else { End::Code(1) })
}

/// Writes a line to standard output, its control characters escaped. A reader that has closed the pipe has read enough.
fn print(line: &str) -> std::io::Result<()> {
    match writeln!(std::io::stdout(), "{}", printable(line)) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Resolves on Ctrl-C or SIGTERM.
async fn stop_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        drop(tokio::signal::ctrl_c().await);
        return;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}
