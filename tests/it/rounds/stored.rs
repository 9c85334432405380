//! Direct access to the database, bypassing the service.

use std::time::Duration;

use ep_polling::{DispatchOrder, Member, Seed};
use rusqlite::Row;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Connection, FromRow, PgConnection};

/// A database by its URL.
pub struct Stored(pub String);

impl Stored {
    fn sqlite(&self) -> Option<rusqlite::Connection> {
        let file = self.0.strip_prefix("sqlite://")?;
        let db = rusqlite::Connection::open(file).unwrap();
        db.busy_timeout(Duration::from_secs(5)).unwrap();
        Some(db)
    }

    async fn rows<T>(&self, sql: &str) -> Vec<T>
    where
        T: for<'r> TryFrom<&'r Row<'r>, Error = rusqlite::Error> + for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        if let Some(db) = self.sqlite() {
            let mut rows = db.prepare(sql).unwrap();
            return rows.query_map([], |row| T::try_from(row)).unwrap().map(Result::unwrap).collect();
        }
        let mut db = PgConnection::connect(&self.0).await.unwrap();
        sqlx::query_as(AssertSqlSafe(sql.to_owned())).fetch_all(&mut db).await.unwrap()
    }

    /// Returns rows of two texts.
    pub async fn pairs(&self, sql: &str) -> Vec<(String, String)> {
        self.rows(sql).await
    }

    /// Returns the poll and the model of every ballot; of votes alone, if these are asked for.
    pub async fn ballots(&self, only_votes: bool) -> Vec<(String, String)> {
        let all = "SELECT polls.id, seed, CAST(position AS BIGINT), members FROM votes \
             JOIN plans ON plans.number = poll JOIN polls ON polls.number = poll JOIN rosters ON rosters.id = roster";
        let condition = if only_votes { " WHERE choice IS NOT NULL" } else { "" };
        let rows: Vec<(String, Vec<u8>, i64, String)> = self.rows(&format!("{all}{condition}")).await;
        let model = |seed: Vec<u8>, position: i64, members: &str| {
            let members: Vec<Member> = serde_json::from_str(members).unwrap();
            let order = DispatchOrder::draw(members.into(), Seed::new(seed.try_into().unwrap()));
            order[position as usize].model.to_string()
        };
        rows.into_iter()
            .map(|(poll, seed, position, members)| (poll, model(seed, position, &members)))
            .collect()
    }

    /// Returns a number.
    pub async fn number(&self, sql: &str) -> i64 {
        self.rows::<(i64,)>(sql).await[0].0
    }

    /// Runs a statement.
    pub async fn execute(&self, sql: &str) {
        if let Some(db) = self.sqlite() {
            db.execute_batch(sql).unwrap();
            return;
        }
        let mut db = PgConnection::connect(&self.0).await.unwrap();
        sqlx::query(AssertSqlSafe(sql.to_owned())).execute(&mut db).await.unwrap();
    }

    /// Makes all retries due and releases the claims of delivery attempts.
    pub async fn let_deliveries_be_due(&self) {
        for table in ["notifications", "batch_notifications", "a2a_pushes"] {
            self.execute(&format!("UPDATE {table} SET next_at = 0 WHERE state = 'waiting'")).await;
        }
    }
}
