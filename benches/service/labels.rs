//! Measures `ep label`: its CPU per row beside a bare client that makes the same calls, and its memory for a million rows.

use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::polls::{BareClient, Load, model, upstream};
use crate::process::median;

const ROUNDS: usize = 5;
/// Rows that are labelled by three models each, 32 at a time.
const ROWS: Load = Load { models: 3, clients: 32, each: 60 };
/// Rows that are read and planned.
const MANY: usize = 1_000_000;

/// Measures labels.
pub(crate) async fn run() {
    let upstream = upstream();
    let base_url = upstream.base_url();
    let data = tempfile::tempdir().expect("a folder");
    let rows = ROWS.clients * ROWS.each;
    let file = data.path().join("rows.csv");
    write_rows(&file, rows);
    let mut bare = BareClient::start(&base_url);
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    // The first round is a warm-up.
    for round in 0..=ROUNDS {
        let client = bare.run(ROWS).cpu;
        let out = data.path().join(format!("labels-{round}.jsonl"));
        let label = label(&data, &file, &base_url, &["--yes", "--out", &out.display().to_string()]);
        let used = Used::of(label).await;
        assert!(used.is_success, "ep label failed");
        let labels = std::fs::read_to_string(&out).expect("labels").lines().count();
        assert_eq!(labels, rows);
        if round > 0 {
            theirs.push(client);
            ours.push(used.cpu / rows as u32);
        }
    }
    let [client, labels] = [theirs, ours].map(|times| median(times).as_secs_f64() * 1e3);
    println!("\n{rows} rows of three calls, 32 at a time; CPU per row, median of {ROUNDS} rounds in turns");
    println!("  bare client                   {client:>8.3} ms");
    println!("  ep label                      {labels:>8.3} ms   ×{:.2}", labels / client);

    let file = data.path().join("many.csv");
    write_rows(&file, MANY);
    // Without an answer to the question about the price, nothing is asked.
    let out = data.path().join("many.jsonl");
    let used = Used::of(label(&data, &file, &base_url, &["--out", &out.display().to_string()])).await;
    println!(
        "  a million rows, read and planned: {:.1} s, at most {:.0} MiB",
        used.took.as_secs_f64(),
        used.most_mib
    );
}

/// Writes a file of rows with about a hundred characters each.
fn write_rows(path: &Path, rows: usize) {
    let mut file = BufWriter::new(std::fs::File::create(path).expect("a file"));
    writeln!(file, "id,text").expect("written");
    for row in 0..rows {
        let mut text = String::new();
        let _ =
            write!(text, "The parcel number {row} came late and the box was open but the shop sent another");
        writeln!(file, "r{row},{text}").expect("written");
    }
    file.flush().expect("written");
}

fn label(data: &TempDir, file: &Path, upstream: &str, more: &[&str]) -> Child {
    let models = (0..ROWS.models).flat_map(|number| ["--model".to_owned(), model(number)]);
    Command::new(env!("CARGO_BIN_EXE_ep"))
        .args(["label", &file.display().to_string()])
        .args([
            "--question",
            "Which of the two is the better one? {text}",
            "--options",
            "Alpha,Beta",
            "--id",
            "id",
        ])
        .args(["--at-once", "32"])
        .args(models)
        .args(more)
        .env_clear()
        .env("EP_DATA_DIR", data.path())
        .env("EP_UPSTREAM_URL", upstream)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("ep label runs")
}

/// The resources of a program that has ended.
struct Used {
    is_success: bool,
    took: Duration,
    /// Its CPU time, user and system.
    cpu: Duration,
    /// Its highest resident memory, in MiB, as read every few milliseconds.
    most_mib: f64,
}

impl Used {
    /// Waits for the end of a program. The kernel counts the CPU of children that have ended.
    async fn of(mut child: Child) -> Self {
        let (began, before) = (Instant::now(), cpu_of_children());
        let mut most_mib = 0.0;
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child") {
                break status;
            }
            most_mib = f64::max(most_mib, highest_mib(child.id()).unwrap_or(0.0));
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        let cpu = cpu_of_children().saturating_sub(before);
        Self { is_success: status.success(), took: began.elapsed(), cpu, most_mib }
    }
}

/// Returns the highest resident memory of a running program so far.
fn highest_mib(pid: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    Some(kib?.trim().parse::<f64>().ok()? / 1024.0)
}

/// The unit of CPU times in `/proc/PID/stat`, the same on every architecture of Linux.
const TICKS_PER_SECOND: u64 = 100;

/// Returns the CPU time of the children of this process that have ended (proc(5): `cutime` and `cstime`).
fn cpu_of_children() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks: u64 =
        fields.split_whitespace().skip(13).take(2).map(|ticks| ticks.parse::<u64>().expect("a number")).sum();
    Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND)
}
