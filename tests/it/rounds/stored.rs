//! Direct access to the database, bypassing the service.

use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};

/// A database by its URL.
pub struct Stored(pub String);

macro_rules! connected {
    ($url:expr, $db:ident, $run:expr) => {
        if let Some(file) = $url.strip_prefix("sqlite://") {
            let mut $db = SqliteConnection::connect(file).await.unwrap();
            $run
        } else {
            let mut $db = PgConnection::connect(&$url).await.unwrap();
            $run
        }
    };
}

impl Stored {
    /// Returns rows of two texts.
    pub async fn pairs(&self, sql: &'static str) -> Vec<(String, String)> {
        connected!(self.0, db, sqlx::query_as(sql).fetch_all(&mut db).await.unwrap())
    }

    /// Returns a number.
    pub async fn number(&self, sql: &'static str) -> i64 {
        connected!(self.0, db, sqlx::query_scalar(sql).fetch_one(&mut db).await.unwrap())
    }

    /// Runs a statement.
    pub async fn execute(&self, sql: &'static str) {
        connected!(self.0, db, assert!(sqlx::query(sql).execute(&mut db).await.is_ok()));
    }

    /// Makes all retries due and releases the claims of delivery attempts.
    pub async fn let_deliveries_be_due(&self) {
        for table in ["notifications", "a2a_pushes"] {
            let sql = format!("UPDATE {table} SET next_at = 0 WHERE state = 'waiting'");
            let sql = AssertSqlSafe(sql);
            connected!(self.0, db, assert!(sqlx::query(sql).execute(&mut db).await.is_ok()));
        }
    }
}
