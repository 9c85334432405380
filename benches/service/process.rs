//! `ep serve` in a process of its own, and what the kernel says it used.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// A running server.
pub struct Server {
    child: Child,
    /// Its address.
    pub url: String,
    /// From its start to the line that says it listens.
    pub started_in: Duration,
}

/// Runs `ep` to its end and reads what it prints as JSON.
pub fn ep_json(data: &TempDir, arguments: &[&str]) -> Value {
    ep_json_with(data, arguments, &[])
}

/// The same with these settings.
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
    /// Starts a server without limits on requests.
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
            let line = lines.next().expect("the server ended").expect("readable");
            if let Ok(log) = serde_json::from_str::<Value>(&line)
                && log["fields"]["message"] == "listening"
            {
                break format!("http://{}", log["fields"]["address"].as_str().expect("an address"));
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, url, started_in: began.elapsed() }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// CPU time used so far, user and system.
    pub fn cpu(&self) -> Duration {
        cpu_of(self.child.id())
    }

    /// Resident memory, in MiB.
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

/// CPU time that a process has used, user and system, by the scheduler's own nanosecond account.
pub fn cpu_of(pid: u32) -> Duration {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("Linux");
    Duration::from_nanos(threads.flatten().filter_map(|thread| nanos_of(&thread.path())).sum())
}

/// CPU time that the calling thread has used, by the same account.
pub fn cpu_of_this_thread() -> Duration {
    Duration::from_nanos(nanos_of(Path::new("/proc/thread-self")).expect("Linux"))
}

fn nanos_of(thread: &Path) -> Option<u64> {
    let account = std::fs::read_to_string(thread.join("schedstat")).ok()?;
    account.split_whitespace().next()?.parse().ok()
}

/// The value in the middle.
pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
