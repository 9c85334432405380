//! The cost of one share image, compared with an empty card.
//!
//! ```sh
//! cargo bench -p ep-pages --bench draw
//! ```

use std::hint::black_box;
use std::time::{Duration, Instant};

use ep_pages::share_image::Card;

#[path = "../tests/samples.rs"]
mod samples;

const REPEATS: usize = 50;

/// Returns the CPU time of this thread. Linux may count it in ticks of 4 ms, so only many calls are measured.
fn cpu() -> Duration {
    let account = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(account.split_whitespace().next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0))
}

/// Returns milliseconds per call: the median wall-clock time, and the mean CPU time.
fn timed<T>(mut action: impl FnMut() -> T) -> (f64, f64) {
    let before = cpu();
    let mut times: Vec<Duration> = (0..REPEATS)
        .map(|_| {
            let start = Instant::now();
            black_box(action());
            start.elapsed()
        })
        .collect();
    let used = cpu().saturating_sub(before) / REPEATS as u32;
    times.sort_unstable();
    (times[REPEATS / 2].as_secs_f64() * 1e3, used.as_secs_f64() * 1e3)
}

fn main() {
    let start = Instant::now();
    let _ = Card::default().png(); // Loads the fonts.
    println!("loading the fonts, once: {:.1?}\n", start.elapsed());
    println!("{:<24} {:>10} {:>10} {:>10} {:>8}", "milliseconds", "SVG", "PNG", "PNG (CPU)", "KiB");
    for (name, card) in [("empty", Card::default())].into_iter().chain(samples::all()) {
        let (svg, _) = timed(|| card.svg());
        let (png, used) = timed(|| card.png());
        let size = card.png().map_or(0, |file| file.len()) as f64 / 1024.0;
        println!("{name:<24} {svg:>10.2} {png:>10.2} {used:>10.2} {size:>8.1}");
    }
}
