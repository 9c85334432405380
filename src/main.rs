//! The `ep` command.

use std::process::ExitCode;

/// Answers are many small JSON values; an allocator made for those saves CPU on every read
/// (`cargo bench --bench service -- mcp` with and without).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ensemble_poll::surface::cli::main()
}
