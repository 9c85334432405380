//! The database's own walls, seen from outside the store.

use ep_polling::money::Settlement;
use sqlx::{Connection, PgConnection, SqliteConnection};

use crate::site::{Site, closing, hold, usd};

on_both_engines!(transfers_are_append_only, accounts_cannot_be_overdrawn, an_audit_sees_what_is_wrong);

/// Runs a statement past the store.
pub async fn tamper(url: &str, sql: &'static str) -> Result<u64, sqlx::Error> {
    if let Some(file) = url.strip_prefix("sqlite://") {
        let mut db = SqliteConnection::connect(file).await?;
        return Ok(sqlx::query(sql).execute(&mut db).await?.rows_affected());
    }
    let mut db = PgConnection::connect(url).await?;
    Ok(sqlx::query(sql).execute(&mut db).await?.rows_affected())
}

/// Reads a number past the store.
pub async fn number(url: &str, sql: &'static str) -> i64 {
    if let Some(file) = url.strip_prefix("sqlite://") {
        let mut db = SqliteConnection::connect(file).await.unwrap();
        return sqlx::query_scalar(sql).fetch_one(&mut db).await.unwrap();
    }
    let mut db = PgConnection::connect(url).await.unwrap();
    sqlx::query_scalar(sql).fetch_one(&mut db).await.unwrap()
}

async fn transfers_are_append_only(site: Site) {
    let user = site.user(1_000).await;
    let poll = site.running(Some(user), Some(hold(1, 600))).await;
    site.polls.close(&poll, &closing(Some(0)), Settlement::Capture(usd(100))).await.unwrap();
    for change in [
        "UPDATE transfers SET amount = amount + 1",
        "UPDATE transfers SET ref = 'other' WHERE amount = 100",
        "DELETE FROM transfers",
    ] {
        let refused = tamper(&site.url, change).await.unwrap_err();
        assert!(refused.to_string().contains("append-only"), "{change}: {refused}");
    }
    for wrong in [
        "INSERT INTO transfers (ref, debit_account, credit_account, amount, created_at) VALUES ('x', 'a', 'b', 0, 0)",
        "INSERT INTO transfers (ref, debit_account, credit_account, amount, created_at) VALUES ('x', 'a', 'a', 1, 0)",
    ] {
        assert!(tamper(&site.url, wrong).await.is_err(), "{wrong}");
    }
    let audit = site.accounts.audit().await.unwrap();
    assert_eq!((audit.transfers, audit.is_clean()), (2, true));
    let captured = "SELECT CAST(SUM(amount) AS BIGINT) FROM transfers WHERE ref LIKE 'hold:EP-%' AND credit_account = 'sys:revenue'";
    assert_eq!(number(&site.url, captured).await, 100);
}

async fn accounts_cannot_be_overdrawn(site: Site) {
    let user = site.user(1_000).await;
    site.running(Some(user), Some(hold(1, 600))).await;
    for wrong in [
        "UPDATE accounts SET held = held + 401",
        "UPDATE accounts SET posted = posted - 401",
        "UPDATE accounts SET held = -1",
        "UPDATE holds SET captured = amount + 1, status = 'captured'",
        "UPDATE holds SET status = 'captured'",
    ] {
        assert!(tamper(&site.url, wrong).await.is_err(), "{wrong}");
    }
    site.assert_books().await;
}

async fn an_audit_sees_what_is_wrong(site: Site) {
    let user = site.user(1_000).await;
    let poll = site.running(Some(user), Some(hold(1, 600))).await;
    tamper(&site.url, "UPDATE accounts SET posted = posted + 1, held = held - 1").await.unwrap();
    let audit = site.accounts.audit().await.unwrap();
    assert_eq!((audit.wrong_posted, audit.wrong_held), (vec![user.to_string()], vec![user.to_string()]));
    tamper(&site.url, "UPDATE accounts SET posted = posted - 1, held = held + 1").await.unwrap();
    tamper(&site.url, "UPDATE polls SET closing = '{}', settled = 1").await.unwrap();
    let audit = site.accounts.audit().await.unwrap();
    assert_eq!(audit.orphaned_holds, vec![poll.to_string()]);
    let stray = "INSERT INTO transfers (ref, debit_account, credit_account, amount, created_at) VALUES ('x', 'sys:credits', 'nobody', 5, 0)";
    tamper(&site.url, stray).await.unwrap();
    assert_eq!(site.accounts.audit().await.unwrap().wrong_posted, ["nobody"]);
}
