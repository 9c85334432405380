//! Errors of opening a database.

use std::io;
use std::path::{Path, PathBuf};

use sqlx::postgres::PgConnectOptions;

/// The error of opening a database. Messages include a remedy and no password.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The URL is not valid.
    #[error("invalid database URL: {0}")]
    Url(&'static str),
    /// Failed to create the folder of the database file.
    #[error(
        "failed to create the database folder {}: create it, make it writable, or choose another folder",
        folder.display()
    )]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Failed to open the database file.
    #[error("failed to open {} as an SQLite database: check that it is one and that it is writable, or choose another file", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Failed to use the server.
    #[error("failed to use {server}: {advice}")]
    Server {
        /// The server, without its password.
        server: String,
        /// The remedy.
        advice: String,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Failed to migrate the database. The cause has the remedy, if this release cannot use the database.
    #[error("failed to migrate the database: {0}")]
    Migration(Box<dyn std::error::Error + Send + Sync>),
}

impl ConnectError {
    pub(crate) fn file(file: &Path, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::File { file: file.to_owned(), source: source.into() }
    }

    pub(crate) fn server(server: &PgConnectOptions, source: sqlx::Error) -> Self {
        let code = source.as_database_error().and_then(sqlx::error::DatabaseError::code);
        let advice = match (code.as_deref(), &source) {
            (Some("28P01" | "28000"), _) => "it refuses the login: correct the user or the password in the \
                                             database URL, or allow the login in pg_hba.conf"
                .to_owned(),
            (Some("3D000"), _) => format!(
                "the database does not exist: create it (createdb {}) or correct its name",
                server.get_database().unwrap_or(server.get_username())
            ),
            (Some("42501"), _) => "the user may not create tables: grant it CREATE on the schema".to_owned(),
            (Some("53300"), _) => "no free connection: raise max_connections on the server".to_owned(),
            (_, sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut) => {
                "no response: start the server, or correct the host and the port in the database URL"
                    .to_owned()
            }
            (_, sqlx::Error::Tls(_)) => {
                "no encrypted connection could be made: correct sslmode and sslrootcert in \
                                         the database URL"
                    .to_owned()
            }
            _ => format!("{source}"),
        };
        Self::Server { server: without_password(server), advice, source: source.into() }
    }

    pub(crate) fn migration(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Migration(source.into())
    }
}

/// Returns a server's URL without its password.
pub(crate) fn without_password(server: &PgConnectOptions) -> String {
    let host = match server.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => server.get_host().to_owned(),
    };
    let (user, port) = (server.get_username(), server.get_port());
    format!("postgres://{user}@{host}:{port}/{}", server.get_database().unwrap_or(user))
}
