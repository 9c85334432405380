//! Rosters that polls share.

use ep_polling::{PollId, Settlement};
use ep_store::Epoch;

use ep_store::testing::test_database::{TestDatabase, at, ballots, closing, lease, new_poll, number, usd};

on_both_engines!(polls_share_a_roster_until_the_last_is_deleted,);

const PLANS: &str = "SELECT count(*) FROM plans";
const ROSTERS: &str = "SELECT count(*) FROM rosters";

async fn settled(db: &TestDatabase) -> PollId {
    let poll = new_poll(Some(db.user(1_000).await), None);
    db.polls.open(&poll, &lease("worker", 60_000)).await.unwrap();
    db.polls.record(&poll.id, Epoch::FIRST, &ballots(1..=2)).await.unwrap();
    db.polls
        .close(&poll.id, Epoch::FIRST, &[], &closing(Some(0)), Settlement::Capture(usd(0)))
        .await
        .unwrap();
    poll.id
}

async fn polls_share_a_roster_until_the_last_is_deleted(db: TestDatabase) {
    let polls = [settled(&db).await, settled(&db).await];
    let mut other = new_poll(None, None);
    other.plan.roster = other.plan.roster.iter().take(3).cloned().collect();
    db.polls.open(&other, &lease("worker", 60_000)).await.unwrap();
    assert_eq!(number(&db.url, ROSTERS).await, 2);
    assert_eq!(db.polls.poll(&other.id).await.unwrap().unwrap().plan, other.plan);
    db.polls.delete(&polls[0], at(9), "deleted").await.unwrap();
    assert_eq!(db.runtime.delete_unused_rosters().await.unwrap(), 0);
    db.polls.delete(&polls[1], at(9), "deleted").await.unwrap();
    assert_eq!(db.runtime.delete_unused_rosters().await.unwrap(), 1);
    assert_eq!((number(&db.url, PLANS).await, number(&db.url, ROSTERS).await), (1, 1));
    let reopened = db.reopened().await;
    assert_eq!(reopened.polls.poll(&other.id).await.unwrap().unwrap().plan, other.plan);
}
