//! Errors in the settings.

use std::path::PathBuf;

/// An error in the settings. Values are not shown, because they may be secret.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file named by `EP_CONFIG` cannot be read.
    #[error("cannot read the settings file {}: {source}", path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// A settings file is not TOML.
    #[error("{}, line {line}: not valid TOML: {message}", path.display())]
    Malformed {
        /// Path of the file.
        path: PathBuf,
        /// The line of the error.
        line: usize,
        /// The error.
        message: String,
    },
    /// A setting has an invalid value.
    #[error("{name} must be {expected}")]
    Setting {
        /// The variable, the flag, or the file with the line and the setting.
        name: String,
        /// The expected value.
        expected: &'static str,
    },
    /// A setting is unknown, or cannot be used.
    #[error("{name} {problem}")]
    Unusable {
        /// The variable, the flag, or the file with the line and the setting.
        name: String,
        /// The problem and its remedy.
        problem: String,
    },
    /// No home directory to store data in.
    #[error("no home directory found: set EP_DATA_DIR to a data directory")]
    NoHome,
    /// A secret is missing, malformed, unreadable or set twice.
    #[error("{0}")]
    Secret(String),
}
