//! The `ep` command.

use std::process::ExitCode;

/// Answers are many small JSON values; an allocator made for those saves CPU on every read
/// (`cargo bench --bench service -- mcp` with and without).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The buffers of a connection are mostly untouched; in huge pages all of them would be resident
    // (`cargo bench --bench service -- streams` with and without).
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    ensemble_poll::surface::cli::main()
}
