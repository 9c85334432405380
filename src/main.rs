//! The `ep` command.

use std::process::ExitCode;

/// Responses consist of many small JSON values; mimalloc allocates these with less CPU time
/// (`cargo bench --bench service -- mcp` with and without).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Connection buffers are mostly untouched; with huge pages they would be fully resident
    // (`cargo bench --bench service -- streams` with and without).
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    ensemble_poll::cli::main()
}
