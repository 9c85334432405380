//! What the database holds, read past the service.

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
    /// Rows of two texts.
    pub async fn pairs(&self, sql: &'static str) -> Vec<(String, String)> {
        connected!(self.0, db, sqlx::query_as(sql).fetch_all(&mut db).await.unwrap())
    }

    /// A number.
    pub async fn number(&self, sql: &'static str) -> i64 {
        connected!(self.0, db, sqlx::query_scalar(sql).fetch_one(&mut db).await.unwrap())
    }

    /// Changes what is stored.
    pub async fn execute(&self, sql: &'static str) {
        connected!(self.0, db, assert!(sqlx::query(sql).execute(&mut db).await.is_ok()));
    }

    /// Lets the pauses before what is to be sent again be over, and the claims of attempts.
    pub async fn let_deliveries_be_due(&self) {
        for table in ["notifications", "a2a_pushes"] {
            let sql = format!("UPDATE {table} SET next_at = 0 WHERE state = 'waiting'");
            let sql = AssertSqlSafe(sql);
            connected!(self.0, db, assert!(sqlx::query(sql).execute(&mut db).await.is_ok()));
        }
    }
}
