//! Measures the time of readers of outside text on texts that grow, up to 1 MiB, beside serde_json's own parse of the same
//! text to a `Value`. A reader may take 5 ms more, and 10 ms for the model list of the operator's own upstream.
//! `cargo bench --bench readers` fails if one takes longer. An argument selects the texts whose names contain it.
//!
//! A reader waits for nothing, so the shortest of several rounds is its CPU time.

#![expect(clippy::expect_used, reason = "a bench fails by panicking")]

mod bodies;
#[path = "../../crates/protocols/src/openai/schema/growing.rs"]
mod growing;
mod others;

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::Value;

/// The allocator of `ep`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Maximum length of a text, in bytes.
pub(crate) const LARGEST: usize = 1 << 20;
/// Time that a reader may take in addition to serde_json.
pub(crate) const MOST: Duration = Duration::from_millis(5);
/// Rounds of each measurement.
const ROUNDS: usize = 15;

/// A text with its reader, which parses it, too.
pub(crate) struct GrowingText {
    /// Its name.
    pub(crate) name: String,
    /// Time that its reader may take in addition to serde_json.
    pub(crate) most: Duration,
    /// The text.
    pub(crate) text: String,
    /// Reads the text.
    pub(crate) read: Box<dyn Fn(&str)>,
}

fn main() -> ExitCode {
    println!(
        "Time of a reader in ms, the shortest of {ROUNDS} rounds, beside serde_json's parse of the same text"
    );
    println!("  {:<58} {:>8} {:>8} {:>10} {:>7}", "", "KiB", "reader", "serde_json", "more");
    let mut late = Vec::new();
    let selected = std::env::args().skip(1).find(|argument| !argument.starts_with("--")).unwrap_or_default();
    let shapes = bodies::shapes().into_iter().chain(others::shapes());
    for shape in shapes.filter(|shape| shape.name.contains(&selected)) {
        let baseline = shortest(|| drop(black_box(serde_json::from_str::<Value>(&shape.text))));
        let time = shortest(|| (shape.read)(black_box(&shape.text)));
        let more = time.saturating_sub(baseline);
        let verdict = if more > shape.most { "  too long" } else { "" };
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        println!(
            "  {:<58} {:>8} {:>8.2} {:>10.2} {:>7.2}{verdict}",
            shape.name,
            shape.text.len() >> 10,
            millis(time),
            millis(baseline),
            millis(more),
        );
        if more > shape.most {
            late.push(shape.name);
        }
    }
    if late.is_empty() {
        println!("No reader takes more time than it may.");
        return ExitCode::SUCCESS;
    }
    println!("Too long: {}", late.join("; "));
    ExitCode::FAILURE
}

fn shortest(work: impl Fn()) -> Duration {
    let measured = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed()
    });
    measured.min().unwrap_or_default()
}
