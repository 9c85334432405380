//! `ep serve` in a separate process, and the resources it uses according to the kernel.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use futures::future::join_all;
use serde_json::Value;
use tempfile::TempDir;

/// A running server.
pub struct Server {
    child: Child,
    /// Its base URL.
    pub url: String,
    /// Time from its start to the log line that it is listening.
    pub started_in: Duration,
}

/// Runs `ep` to completion and parses its output as JSON.
pub fn ep_json(data: &TempDir, arguments: &[&str]) -> Value {
    ep_json_with(data, arguments, &[])
}

/// Runs `ep` with these environment variables and parses its output as JSON.
pub fn ep_json_with(data: &TempDir, arguments: &[&str], variables: &[(&str, &str)]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_ep"))
        .args(arguments)
        .env_clear()
        .env("EP_DATA_DIR", data.path())
        .envs(variables.iter().copied())
        .current_dir(data.path())
        .output()
        .expect("ep runs");
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

impl Server {
    /// Starts a server without rate limits.
    pub fn start(data: &TempDir, variables: &[(&str, &str)]) -> Self {
        let began = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_ep"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .env_clear()
            .env("EP_DATA_DIR", data.path())
            .env("EP_LOG_FORMAT", "json")
            .env("EP_RATE_LIMIT_PER_MINUTE", "0")
            .env("EP_RATE_LIMIT_ANONYMOUS_PER_MINUTE", "0")
            .envs(variables.iter().copied())
            .current_dir(data.path())
            .stderr(Stdio::piped())
            .spawn()
            .expect("ep serve runs");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let url = loop {
            let line = lines.next().expect("the server exited").expect("readable");
            if let Ok(log) = serde_json::from_str::<Value>(&line)
                && log["fields"]["message"] == "listening"
            {
                break format!("http://{}", log["fields"]["address"].as_str().expect("an address"));
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, url, started_in: began.elapsed() }
    }

    /// Stops the server as an operator does, and waits for it.
    pub fn stop(mut self) {
        let process = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(process, rustix::process::Signal::TERM).expect("signalled");
        self.child.wait().expect("ends");
    }

    /// Returns its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the CPU time used so far, user and system.
    pub fn cpu(&self) -> Duration {
        cpu_of(self.child.id())
    }

    /// Returns the resident memory, in MiB.
    pub fn resident_mib(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("Linux");
        let kib = status.lines().find_map(|line| {
            line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok()
        });
        kib.expect("VmRSS") / 1024.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Concurrent callers in [`cpu_of_calls`].
pub const CONCURRENT: usize = 16;
/// Sequential calls of each caller.
pub const CALLS: usize = 250;

/// The content of a bare server, which uses only the library under comparison.
#[derive(Clone, Copy)]
pub enum Bare {
    /// One MCP tool; the argument is its result.
    Mcp,
    /// `/{bytes}`: this number of bytes, with a media type and an entity tag; no argument.
    Document,
    /// A client that makes the calls of polls; the argument is the URL of the chat completions.
    Client,
}

const BARE: &str = "EP_BENCH_BARE";
const ARGUMENT: &str = "EP_BENCH_BARE_ARGUMENT";

/// A bare server: this program again, in a separate process.
pub struct BareServer {
    child: Child,
    /// Its base URL.
    pub url: String,
}

impl BareServer {
    /// Starts a bare server.
    pub fn start(what: Bare, argument: &str) -> Self {
        let mut child = bare_command(what, argument).spawn().expect("runs");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("its address");
        Self { child, url: line.trim().to_owned() }
    }

    /// Returns its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for BareServer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Returns the command that starts this program as a bare server or client.
pub fn bare_command(what: Bare, argument: &str) -> Command {
    let name = match what {
        Bare::Mcp => "mcp",
        Bare::Document => "document",
        Bare::Client => "client",
    };
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.env(BARE, name).env(ARGUMENT, argument).stdout(Stdio::piped());
    command
}

/// Returns the content and argument of the bare server, if this process was started as one.
pub fn bare_server_argument() -> Option<(Bare, String)> {
    let what = match std::env::var(BARE).ok()?.as_str() {
        "mcp" => Bare::Mcp,
        "document" => Bare::Document,
        "client" => Bare::Client,
        other => panic!("unknown bare server: {other}"),
    };
    Some((what, std::env::var(ARGUMENT).unwrap_or_default()))
}

/// Prints the server's URL and serves until the process is killed.
pub async fn serve_bare(router: axum::Router) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    println!("http://{}", listener.local_addr().expect("an address"));
    let listener = axum::serve::ListenerExt::tap_io(listener, |stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, router).await.expect("serves");
}

/// Measures a process's CPU per call, over many calls.
pub async fn cpu_of_calls<F: Future<Output = ()>>(pid: u32, call: impl Fn() -> F) -> Duration {
    let (cpu, began) = (cpu_of(pid), Instant::now());
    join_all((0..CONCURRENT).map(|_| async {
        for _ in 0..CALLS {
            call().await;
        }
    }))
    .await;
    assert!(began.elapsed() < Duration::from_mins(2));
    cpu_of(pid).saturating_sub(cpu) / (CALLS * CONCURRENT) as u32
}

/// Converts a time to microseconds, for printing.
pub fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Returns the CPU time of a process, user and system, from the scheduler's nanosecond counters.
pub fn cpu_of(pid: u32) -> Duration {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("Linux");
    Duration::from_nanos(threads.flatten().filter_map(|thread| nanos_of(&thread.path())).sum())
}

/// Returns the CPU time of the calling thread, from the same counters.
pub fn cpu_of_this_thread() -> Duration {
    Duration::from_nanos(nanos_of(Path::new("/proc/thread-self")).expect("Linux"))
}

fn nanos_of(thread: &Path) -> Option<u64> {
    let account = std::fs::read_to_string(thread.join("schedstat")).ok()?;
    account.split_whitespace().next()?.parse().ok()
}

/// Returns the median.
pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
