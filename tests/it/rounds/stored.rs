//! Direct access to the database, bypassing the service.

use ep_polling::dispatch::DispatchOrder;
use ep_polling::order::Seed;
use ep_polling::roster::Member;
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

    /// Returns the poll and the model of every ballot; of votes alone, if these are asked for.
    pub async fn ballots(&self, only_votes: bool) -> Vec<(String, String)> {
        let all = "SELECT polls.id, seed, CAST(position AS BIGINT), members FROM votes \
             JOIN plans ON plans.number = poll JOIN polls ON polls.number = poll JOIN rosters ON rosters.id = roster";
        let sql =
            AssertSqlSafe(format!("{all}{}", if only_votes { " WHERE choice IS NOT NULL" } else { "" }));
        let rows: Vec<(String, Vec<u8>, i64, String)> =
            connected!(self.0, db, sqlx::query_as(sql).fetch_all(&mut db).await.unwrap());
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
    pub async fn number(&self, sql: &'static str) -> i64 {
        connected!(self.0, db, sqlx::query_scalar(sql).fetch_one(&mut db).await.unwrap())
    }

    /// Runs a statement.
    pub async fn execute(&self, sql: &'static str) {
        connected!(self.0, db, assert!(sqlx::query(sql).execute(&mut db).await.is_ok()));
    }

    /// Makes all retries due and releases the claims of delivery attempts.
    pub async fn let_deliveries_be_due(&self) {
        for table in ["notifications", "batch_notifications", "a2a_pushes"] {
            let sql = format!("UPDATE {table} SET next_at = 0 WHERE state = 'waiting'");
            let sql = AssertSqlSafe(sql);
            connected!(self.0, db, assert!(sqlx::query(sql).execute(&mut db).await.is_ok()));
        }
    }
}
