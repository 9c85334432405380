//! The `ep` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ensemble_poll::surface::cli::main()
}
