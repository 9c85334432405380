//! Table constraints, tested with direct statements.

use ep_polling::Settlement;
use ep_store::Epoch;

use ep_store::testing::test_database::{SETTLED_WITHIN, TestDatabase, closing, hold, number, tamper, usd};

on_both_engines!(transfers_are_append_only, accounts_cannot_be_overdrawn, an_audit_finds_inconsistencies);

async fn transfers_are_append_only(db: TestDatabase) {
    let user = db.user(1_000).await;
    let poll = db.running(Some(user), Some(hold(1, 600))).await;
    db.polls.close(&poll, Epoch::FIRST, &[], &closing(Some(0)), Settlement::Capture(usd(100))).await.unwrap();
    for change in [
        "UPDATE transfers SET amount = amount + 1",
        "UPDATE transfers SET ref = 'other' WHERE amount = 100",
        "DELETE FROM transfers",
    ] {
        let rejected = tamper(&db.url, change).await.unwrap_err();
        assert!(rejected.to_string().contains("append-only"), "{change}: {rejected}");
    }
    for wrong in [
        "INSERT INTO transfers (ref, debit_account, credit_account, amount, created_at) VALUES ('x', 'a', 'b', 0, 0)",
        "INSERT INTO transfers (ref, debit_account, credit_account, amount, created_at) VALUES ('x', 'a', 'a', 1, 0)",
    ] {
        assert!(tamper(&db.url, wrong).await.is_err(), "{wrong}");
    }
    db.assert_consistent().await;
    assert_eq!(db.treasury.audit(SETTLED_WITHIN).await.unwrap().transfers, 2);
    let captured = "SELECT CAST(SUM(amount) AS BIGINT) FROM transfers WHERE ref LIKE 'hold:EP-%' AND credit_account = 'sys:revenue'";
    assert_eq!(number(&db.url, captured).await, 100);
}

async fn accounts_cannot_be_overdrawn(db: TestDatabase) {
    let user = db.user(1_000).await;
    db.running(Some(user), Some(hold(1, 600))).await;
    for wrong in [
        "UPDATE accounts SET held = held + 401",
        "UPDATE accounts SET posted = posted - 401",
        "UPDATE accounts SET held = -1",
        "UPDATE holds SET captured = amount + 1, status = 'captured'",
        "UPDATE holds SET status = 'captured'",
    ] {
        assert!(tamper(&db.url, wrong).await.is_err(), "{wrong}");
    }
    db.assert_consistent().await;
}

async fn an_audit_finds_inconsistencies(db: TestDatabase) {
    let user = db.user(1_000).await;
    let poll = db.running(Some(user), Some(hold(1, 600))).await;
    tamper(&db.url, "UPDATE accounts SET posted = posted + 1, held = held - 1").await.unwrap();
    let audit = db.treasury.audit(SETTLED_WITHIN).await.unwrap();
    assert_eq!((audit.wrong_posted, audit.wrong_held), (vec![user.to_string()], vec![user.to_string()]));
    tamper(&db.url, "UPDATE accounts SET posted = posted - 1, held = held + 1").await.unwrap();
    tamper(&db.url, "UPDATE polls SET closing = '{}', settled = 1").await.unwrap();
    let audit = db.treasury.audit(SETTLED_WITHIN).await.unwrap();
    assert_eq!(audit.orphaned_holds, vec![poll.to_string()]);
    let stray = "INSERT INTO transfers (ref, debit_account, credit_account, amount, created_at) VALUES ('x', 'sys:credits', 'nobody', 5, 0)";
    tamper(&db.url, stray).await.unwrap();
    assert_eq!(db.treasury.audit(SETTLED_WITHIN).await.unwrap().wrong_posted, ["nobody"]);
}
