//! Database URLs.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use sqlx::postgres::PgConnectOptions;

use crate::connect_error::{ConnectError, without_password};

/// A database URL: `sqlite://<file>`, `sqlite::memory:` (a temporary file) or
/// `postgres://<user>@<host>/<database>`. Displayed without its password.
#[derive(Clone)]
pub struct DatabaseUrl(pub(crate) Location);

#[derive(Clone)]
pub(crate) enum Location {
    /// A file, or `None` for a temporary one.
    Sqlite(Option<PathBuf>),
    Postgres(Box<PgConnectOptions>),
}

impl FromStr for DatabaseUrl {
    type Err = ConnectError;

    fn from_str(url: &str) -> Result<Self, Self::Err> {
        if let Some(rest) = url.strip_prefix("sqlite:") {
            let file = rest.strip_prefix("//").unwrap_or(rest);
            return match file {
                ":memory:" => Ok(Self(Location::Sqlite(None))),
                "" => Err(ConnectError::Url("it names no file; write for example sqlite://data/ep.db")),
                file if file.contains('?') => {
                    Err(ConnectError::Url("sqlite URLs take no parameters; remove the ? and what follows it"))
                }
                file => Ok(Self(Location::Sqlite(Some(file.into())))),
            };
        }
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(ConnectError::Url("it must begin with sqlite:// or postgres://"));
        }
        // The parser's message may quote the URL, and with it the password.
        let server = PgConnectOptions::from_str(url).map_err(|_| {
            ConnectError::Url(
                "it must look like postgres://user:password@host:5432/database, with special characters \
                 in the password written as %XX",
            )
        })?;
        Ok(Self(Location::Postgres(Box::new(server))))
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Location::Sqlite(None) => f.write_str("sqlite::memory:"),
            Location::Sqlite(Some(file)) => write!(f, "sqlite://{}", file.display()),
            Location::Postgres(server) => f.write_str(&without_password(server)),
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_omits_the_password() {
        let url: DatabaseUrl = "postgres://ep:hunter2@db.example:6432/polls".parse().unwrap();
        assert_eq!(url.to_string(), "postgres://ep@db.example:6432/polls");
        assert!(!format!("{url:?}").contains("hunter2"));
        let url: DatabaseUrl = "sqlite://data/ep.db".parse().unwrap();
        assert_eq!(url.to_string(), "sqlite://data/ep.db");
    }

    #[test]
    fn errors_advise_without_the_url() {
        for url in [
            "mysql://ep:hunter2@db/polls",
            "",
            "sqlite://",
            "sqlite://hunter2.db?mode=ro",
            "postgres://ep:hunter2@db:port/polls",
        ] {
            let error = url.parse::<DatabaseUrl>().unwrap_err();
            let message = format!("{error} {error:?}");
            assert!(message.contains("database URL") && !message.contains("hunter2"), "{message}");
        }
    }
}
