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
    #[error("{} is not valid TOML: {message}", path.display())]
    Malformed {
        /// Path of the file.
        path: PathBuf,
        /// The position and the error.
        message: String,
    },
    /// A variable has an invalid value.
    #[error("{variable} must be {expected}")]
    Variable {
        /// The variable.
        variable: &'static str,
        /// The expected value.
        expected: &'static str,
    },
    /// A setting is unknown or of the wrong kind.
    #[error("invalid settings: {0}")]
    Invalid(String),
    /// No home directory to store data in.
    #[error("no home directory found: set EP_DATA_DIR to a data directory")]
    NoHome,
    /// A secret is missing, malformed, unreadable or set twice.
    #[error("{0}")]
    Secret(String),
}
