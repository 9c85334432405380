//! The command line.

mod admin;
mod backup;
mod call;
mod doctor;
pub mod event_stream;
mod hints;
mod label;
mod live;
mod operation_help;
mod poll;
mod printable;
mod prompt;
mod remote;
mod shell_files;
mod show;
mod stored;
mod target;
mod typed_flags;
mod wrong_arguments;

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use ep_kernel::Fault;
use ep_pages::documents;
use ep_site::config::{Config, ConfigError, DEFAULTS, LogFormat, Telemetry};
use ep_site::{Models, SiteSettings};
use tokio::time::Instant;

use crate::app::assemble;
use crate::app::assemble::Environment;
use crate::app::jobs;
use crate::app::server;
use crate::config;
use crate::payments::RAILS;
use crate::telemetry;
use printable::{printable, printable_json};
use typed_flags::with_model_flags;

/// Ask many AI models one question. A poll stops as soon as more votes are unlikely to change its outcome
#[derive(Parser)]
#[command(name = "ep", version, max_term_width = 100)]
struct Ep {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Ask the models a question
    Poll(poll::Arguments),
    /// Print the result of a stored poll
    Show(stored::Arguments),
    /// Label the rows of a file by the votes of several models
    Label(label::Arguments),
    /// Judge models and panels of models on labelled rows
    #[command(subcommand)]
    Panel(label::evaluation::PanelCommand),
    /// Start the server: web pages, REST, MCP and A2A
    Serve(Serve),
    /// Serve MCP on standard input and output, for an agent on this machine
    Mcp {
        /// Toolsets to list, separated by commas: core, polls, labels, account, all, read-only
        #[arg(long, default_value = "core")]
        toolsets: String,
    },
    /// List all operations, call one by name, or print its manual (`ep call NAME --help`)
    #[command(disable_help_flag = true)]
    Call(call::Arguments),
    /// Test each model with a control question: result, latency and cost
    Doctor(doctor::Arguments),
    /// Manage accounts, keys and money
    #[command(subcommand)]
    Admin(admin::Command),
    /// Copy the SQLite database to a new file, even while the service runs
    Backup(backup::Arguments),
    /// Create or upgrade the database, and exit
    Migrate,
    /// Print all settings with their defaults and documentation
    Config,
    /// Print a script that completes `ep` commands in a shell
    Completions(shell_files::Completions),
    /// Write the manual pages of all commands to a folder
    Man(shell_files::Man),
    /// Write the rendered files of this repository (for contributors)
    Render {
        /// Compare instead of writing; fail if a file is stale
        #[arg(long)]
        check: bool,
    },
}

/// Reads the address of a listener.
fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| format!("must be {}", config::ADDRESS))
}

#[derive(clap::Args)]
struct Serve {
    /// Address to listen on, in place of EP_LISTEN [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    listen: Option<SocketAddr>,
    /// Public base URL, the start of all links to this service, in place of EP_BASE_URL
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Database URL, sqlite://path or postgres://…, in place of EP_DATABASE_URL
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
}

/// Expected end of a command.
pub(crate) enum End {
    /// Success.
    Done,
    /// A specific exit code.
    Code(u8),
}

/// Exit code after Ctrl-C, as in shells.
pub(crate) const INTERRUPTED: u8 = 130;

/// Parses the arguments and runs the command.
pub fn main() -> ExitCode {
    // `ep poll` prompts for missing arguments on a terminal.
    let is_required = !std::io::stdin().is_terminal();
    let arguments = negative_numbers(Ep::command())
        .mut_subcommand("poll", |poll| poll.mut_arg("question", |question| question.required(is_required)));
    let matches = arguments.try_get_matches().unwrap_or_else(|error| advised(error).exit());
    let Ep { command } = Ep::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    // Installs rustls with ring for all TLS clients of this process. Fails only if a provider is already installed.
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
            eprintln!("ep: {}", printable(&described(&error)));
            ExitCode::from(exit_code(&error))
        }
    }
}

/// Lets every flag take a negative number as its value, so that its own message says what is wrong with it.
fn negative_numbers(command: clap::Command) -> clap::Command {
    let with_value = |arg: clap::Arg| {
        let takes_number = arg.get_action().takes_values() && !arg.is_positional();
        if takes_number { arg.allow_negative_numbers(true) } else { arg }
    };
    command.mut_args(with_value).mut_subcommands(negative_numbers)
}

/// Corrects the advice for a flag of an earlier release, and for a value that begins with a hyphen: after `--`, it would be an
/// argument without a flag.
fn advised(mut error: clap::Error) -> clap::Error {
    let given = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(given)) if given.starts_with('-') => given.clone(),
        _ => return error,
    };
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    if let Some(advice) = label::advice_for_old_flag(&words, &given) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    } else if error.get(ContextKind::Suggested).is_some() {
        let advice = format!("to pass '{given}' as the value of a flag, join them: --option='{given}'");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    }
    error
}

async fn run(command: Command) -> anyhow::Result<End> {
    if let Command::Render { check } = command {
        return render(check);
    }
    match &command {
        Command::Config => {
            print(DEFAULTS.trim_end())?;
            return Ok(End::Done);
        }
        Command::Completions(arguments) => return shell_files::completions(arguments),
        Command::Man(arguments) => return shell_files::man(arguments),
        Command::Call(arguments) if arguments.only_prints() => return call::print_only(arguments),
        _ => {}
    }
    let config = config::load(|name| std::env::var(name).ok());
    if let Command::Serve(flags) = command {
        return serve(config, flags).await;
    }
    let mut config = config?;
    if !matches!(command, Command::Mcp { .. }) {
        // A command of a person waits for the database.
        config.database.stalled_after_ms = u64::MAX;
    }
    match command {
        Command::Poll(arguments) => poll::run(&with_log(config, WARNINGS), arguments).await,
        Command::Show(arguments) => stored::run(&with_log(config, WARNINGS), arguments).await,
        Command::Label(arguments) => label::run(&quietly(config), arguments).await.map_err(with_model_flags),
        Command::Panel(command) => {
            label::evaluation::run(&quietly(config), command).await.map_err(with_model_flags)
        }
        Command::Call(arguments) => call::run(&with_log(config, WARNINGS), arguments).await,
        Command::Doctor(arguments) => {
            doctor::run(&with_log(config, WARNINGS), arguments).await.map_err(with_model_flags)
        }
        Command::Backup(arguments) => backup::run(&quietly(config), arguments).await,
        Command::Admin(command) => admin::run(&quietly(config), command).await,
        Command::Mcp { toolsets } => {
            let config = quietly(config);
            let service = assemble::service(&config, Environment::without_server()).await?;
            jobs::start_all(&service, None);
            Box::pin(ep_protocols::mcp::serve_stdio(service.app.clone(), service.site.tools, &toolsets))
                .await?;
            // The host has gone: the next process resumes unfinished work.
            service.stop(Instant::now() + STDIO_GRACE).await;
            Ok(End::Done)
        }
        Command::Migrate => {
            let config = quietly(config);
            let service = assemble::service(&config, Environment::system()).await?;
            service.stop(Instant::now() + target::GRACE).await;
            eprintln!("the database is up to date");
            Ok(End::Done)
        }
        // These have returned above.
        Command::Serve(_)
        | Command::Render { .. }
        | Command::Config
        | Command::Completions(_)
        | Command::Man(_) => Ok(End::Done),
    }
}

/// Time for background tasks of `ep mcp` to end after its host has closed the input.
const STDIO_GRACE: Duration = Duration::from_millis(200);

/// Serves until a signal. If the log is JSON, a failure is logged, so that every line can be parsed.
async fn serve(config: Result<Config, ConfigError>, flags: Serve) -> anyhow::Result<End> {
    let telemetry = match &config {
        Ok(config) => config.telemetry.clone(),
        // The settings are invalid: use only the log settings of the environment.
        Err(_) => Telemetry::from_environment(|name| std::env::var(name).ok()),
    };
    if telemetry::start_logging(&telemetry).is_err() {
        telemetry::start_logging(&Telemetry { log: "info".into(), ..telemetry.clone() })?;
    }
    warn_of_unknown_variables();
    let served = async {
        let mut config = config?;
        if let Some(listen) = flags.listen {
            config.server.listen = listen;
        }
        if let Some(base_url) = flags.base_url {
            config.server.base_url = base_url;
            config.origins.set("server", "base_url", "--base-url");
        }
        config::check_base_url(&config)?;
        if let Some(url) = flags.database_url {
            config.database.url = url.into();
            config.origins.set("database", "url", "--database-url");
        }
        config::check_database_url(&config)?;
        hints::banner(&config).await;
        server::serve(&config, stop_signal()).await
    };
    match served.await {
        Ok(()) => Ok(End::Done),
        Err(error) if telemetry::is_json(telemetry.log_format) => {
            tracing::error!(error = described(&error), "the server failed");
            Ok(End::Code(exit_code(&error)))
        }
        Err(error) => Err(error),
    }
}

/// Returns the exit code of a failure. A fault has its own code; any other error is unexpected.
fn exit_code(error: &anyhow::Error) -> u8 {
    error.downcast_ref::<Fault>().map_or(1, |fault| fault.kind().row().exit)
}

/// Describes an error with its causes, each once: messages of some libraries repeat their causes.
fn described(error: &anyhow::Error) -> String {
    let mut text = String::new();
    let causes = error.downcast_ref::<Fault>().map(Fault::causes);
    for part in error.chain().map(ToString::to_string).chain(causes) {
        if !text.contains(&part) {
            let colon = if text.is_empty() { "" } else { ": " };
            text = format!("{text}{colon}{part}");
        }
    }
    text
}

fn warn_of_unknown_variables() {
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned())));
    for warning in config::unknown_variables(variables) {
        tracing::warn!("{warning}");
    }
}

/// The log of a command that prints its own failure: without the calls that failed, and the model list that could not be
/// fetched.
const WARNINGS: &str = "warn,ep_kernel::guard=off,ep_upstream::registry::cache=off";

/// Logs only warnings, for commands used by people, unless `EP_LOG` is set.
fn quietly(config: Config) -> Config {
    with_log(config, "warn")
}

fn with_log(mut config: Config, log: &str) -> Config {
    if std::env::var_os("EP_LOG").is_none() {
        config.telemetry.log = log.into();
    }
    config.telemetry.log_format = match config.telemetry.log_format {
        LogFormat::Auto => LogFormat::Text,
        chosen => chosen,
    };
    if let Err(error) = telemetry::start_logging(&config.telemetry) {
        eprintln!("ep: logging: {error}");
    }
    warn_of_unknown_variables();
    config
}

fn render(check: bool) -> anyhow::Result<End> {
    let root = std::env::current_dir()?;
    anyhow::ensure!(root.join("well-known/owner.json").exists(), "run this in the repository's root folder");
    let config = Config::defaults().map_err(anyhow::Error::msg)?;
    let base_url = documents::EXAMPLE_URL.into();
    let mut settings = SiteSettings { base_url, ..SiteSettings::new(&config, &RAILS) };
    settings.offer.models = Models::Upstream;
    let site = crate::app::routes::site(settings, &ep_tools::TOOLS);
    let mut files = documents::committed_files(&site);
    files.push((jobs::FILE, jobs::markdown().into()));
    if !check {
        documents::write(&files, &root)?;
        return Ok(End::Done);
    }
    let stale = documents::stale(&files, &root);
    for file in &stale {
        eprintln!("{file} is stale; run `ep render`");
    }
    Ok(if stale.is_empty() { End::Done } else { End::Code(1) })
}

/// Writes a line to standard output with control characters escaped. A closed pipe is not an error.
fn print(line: &str) -> std::io::Result<()> {
    print_escaped(&printable(line))
}

/// Writes a line to standard error with control characters escaped.
fn say(line: &str) {
    eprintln!("{}", printable(line));
}

/// Writes JSON to standard output, with control characters as its escapes.
fn print_json(json: &str) -> std::io::Result<()> {
    print_escaped(&printable_json(json))
}

fn print_escaped(line: &str) -> std::io::Result<()> {
    match writeln!(std::io::stdout(), "{line}") {
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
