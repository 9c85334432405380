//! Leases: renewal, adoption of polls from dead processes, and rejection of late writes.

use std::collections::HashSet;
use std::time::Duration;

use ep_polling::{PollId, Settlement};
use ep_store::{AdoptedPoll, Epoch, NewPoll, StoreError};
use futures::future::join_all;

use ep_store::testing::test_database::{
    SETTLED_WITHIN, TestDatabase, at, ballot, ballots, closing, hold, lease, new_poll, tamper, usd,
};

on_both_engines!(
    a_poll_with_an_ended_lease_is_adopted,
    settled_polls_are_not_adopted,
    closed_unsettled_polls_are_adopted,
    an_unreadable_poll_does_not_prevent_the_adoption_of_others,
    a_renewed_lease_lasts,
    only_named_leases_are_renewed,
    an_adopted_poll_rejects_writes_of_its_former_holder,
    a_deadline_outlives_the_process,
    a_queued_poll_has_no_deadline_until_it_starts,
    unsettled_polls_past_their_deadline_are_stranded,
    a_lease_that_ends_too_far_ahead_counts_as_ended,
    polls_of_an_unknown_form_are_ignored,
    concurrent_workers_adopt_each_poll_once,
);

async fn open(db: &TestDatabase, lasts: u64) -> NewPoll {
    let poll = new_poll(None, None);
    db.polls.open(&poll, &lease("crashed", lasts)).await.unwrap();
    poll
}

async fn adopt(db: &TestDatabase) -> Vec<AdoptedPoll> {
    db.polls.adopt(&lease("successor", 60_000), Duration::ZERO, 10).await.unwrap()
}

fn ids(adopted: &[AdoptedPoll]) -> HashSet<PollId> {
    adopted.iter().map(|adopted| adopted.id.clone()).collect()
}

async fn a_poll_with_an_ended_lease_is_adopted(db: TestDatabase) {
    let (old, young) = (open(&db, 60_000).await, open(&db, 180_000).await);
    assert_eq!(adopt(&db).await, []);
    db.pass(60_000).await;
    let patient = db.polls.adopt(&lease("busy", 60_000), Duration::from_secs(30), 10).await.unwrap();
    assert_eq!(patient, [], "its lease ended just now");
    let adopted = adopt(&db).await;
    assert_eq!((ids(&adopted), adopted[0].epoch), (HashSet::from([old.id.clone()]), Epoch::new(2)));
    assert_eq!(adopt(&db).await, []);
    db.pass(120_000).await;
    let adopted = adopt(&db).await;
    assert_eq!(ids(&adopted), HashSet::from([old.id.clone(), young.id]));
    let again = adopted.iter().find(|adopted| adopted.id == old.id).unwrap();
    assert_eq!(again.epoch, Epoch::new(3));
}

async fn settled_polls_are_not_adopted(db: TestDatabase) {
    let poll = open(&db, 1_000).await;
    db.polls
        .close(&poll.id, Epoch::FIRST, &[], &closing(Some(0)), Settlement::Capture(usd(0)))
        .await
        .unwrap();
    db.pass(2_000).await;
    assert_eq!(adopt(&db).await, []);
}

async fn closed_unsettled_polls_are_adopted(db: TestDatabase) {
    let poll = open(&db, 60_000).await;
    db.polls.close(&poll.id, Epoch::FIRST, &[], &closing(None), Settlement::Later).await.unwrap();
    assert_eq!(adopt(&db).await, []);
    db.pass(60_000).await;
    let adopted = adopt(&db).await;
    assert_eq!(db.polls.poll(&adopted[0].id).await.unwrap().unwrap().closing, Some(closing(None)));
    let former = db.polls.settle(&poll.id, Epoch::FIRST, usd(0), usd(0), at(2_000)).await;
    assert!(matches!(former, Err(StoreError::NotFound(_))), "{former:?}");
    assert!(db.polls.settle(&poll.id, adopted[0].epoch, usd(0), usd(0), at(2_000)).await.unwrap());
    db.pass(60_000).await;
    assert_eq!(adopt(&db).await, []);
}

async fn an_unreadable_poll_does_not_prevent_the_adoption_of_others(db: TestDatabase) {
    let polls = [open(&db, 1_000).await, open(&db, 1_000).await, open(&db, 1_000).await];
    let unreadable = format!(
        "UPDATE plans SET rules = '{{' WHERE number = (SELECT number FROM polls WHERE id = '{}')",
        polls[1].id
    );
    tamper(&db.url, unreadable).await.unwrap();
    db.pass(2_000).await;
    assert_eq!(adopt(&db).await.len(), 3);
    for (index, poll) in polls.iter().enumerate() {
        assert_eq!(db.polls.poll(&poll.id).await.is_ok(), index != 1);
    }
}

async fn a_renewed_lease_lasts(db: TestDatabase) {
    let polls = [open(&db, 60_000).await, open(&db, 60_000).await, open(&db, 60_000).await];
    let held: Vec<_> = polls.iter().map(|poll| (poll.id.clone(), Epoch::FIRST)).collect();
    db.pass(50_000).await;
    assert_eq!(db.polls.renew(&held, Duration::from_mins(1)).await.unwrap().len(), 3);
    db.pass(50_000).await;
    assert_eq!(adopt(&db).await, []);
    db.pass(10_000).await;
    assert_eq!(db.polls.adopt(&lease("successor", 60_000), Duration::ZERO, 2).await.unwrap().len(), 2);
    // The former holder has only one lease left. It is renewed although it had ended.
    assert_eq!(db.polls.renew(&held, Duration::from_mins(1)).await.unwrap().len(), 1);
    assert_eq!(adopt(&db).await, []);
    // A lease renewed for zero time ends.
    assert_eq!(db.polls.renew(&held, Duration::ZERO).await.unwrap().len(), 1);
    assert_eq!(adopt(&db).await.len(), 1);
    assert_eq!(db.polls.renew(&held, Duration::from_mins(1)).await.unwrap(), []);
    assert_eq!(db.polls.renew(&[], Duration::from_mins(1)).await.unwrap(), []);
}

/// A poll with a committed but unacknowledged opening has no runner, so its lease must end.
async fn only_named_leases_are_renewed(db: TestDatabase) {
    let (running, forgotten) = (open(&db, 60_000).await, open(&db, 60_000).await);
    db.pass(50_000).await;
    let renewed =
        db.polls.renew(&[(running.id.clone(), Epoch::FIRST)], Duration::from_mins(1)).await.unwrap();
    assert_eq!(renewed, [running.id]);
    db.pass(10_000).await;
    assert_eq!(ids(&adopt(&db).await), HashSet::from([forgotten.id]));
}

async fn an_adopted_poll_rejects_writes_of_its_former_holder(db: TestDatabase) {
    let user = db.user(1_000).await;
    let poll = db.running(Some(user), Some(hold(1, 600))).await;
    db.polls.record(&poll, Epoch::FIRST, &ballots(1..=2)).await.unwrap();
    db.pass(60_000).await;
    let epoch = adopt(&db).await[0].epoch;
    let rejected = [
        db.polls.record(&poll, Epoch::FIRST, &[ballot(3, 2)]).await,
        db.polls.start(&poll, Epoch::FIRST, Duration::from_mins(1)).await,
        db.polls.close(&poll, Epoch::FIRST, &[], &closing(Some(0)), Settlement::Capture(usd(600))).await,
    ];
    for rejected in rejected {
        assert!(matches!(rejected, Err(StoreError::NotFound(_))), "{rejected:?}");
    }
    db.polls.record(&poll, epoch, &[ballot(3, 2)]).await.unwrap();
    db.polls.close(&poll, epoch, &[], &closing(Some(0)), Settlement::Capture(usd(70))).await.unwrap();
    assert_eq!(db.polls.ballots(&poll, 0).await.unwrap(), ballots(1..=3));
    assert_eq!(db.money(user).await, [930, 0, 70]);
    db.assert_consistent().await;
}

async fn a_deadline_outlives_the_process(db: TestDatabase) {
    open(&db, 60_000).await;
    db.pass(60_000).await;
    // It was opened with a deadline of two minutes.
    let left = adopt(&db).await[0].left.unwrap();
    assert!(left > Duration::from_secs(30) && left <= Duration::from_secs(60), "{left:?}");
    db.pass(3 * 86_400_000).await;
    assert_eq!(adopt(&db).await[0].left, Some(Duration::ZERO));
}

async fn a_queued_poll_has_no_deadline_until_it_starts(db: TestDatabase) {
    let poll = NewPoll { time: None, ..new_poll(None, None) };
    db.polls.open(&poll, &lease("crashed", 60_000)).await.unwrap();
    db.pass(60_000).await;
    let adopted = adopt(&db).await;
    assert_eq!(adopted[0].left, None);
    db.polls.start(&poll.id, adopted[0].epoch, Duration::from_mins(5)).await.unwrap();
    db.pass(60_000).await;
    let left = adopt(&db).await[0].left.unwrap();
    assert!(left > Duration::from_mins(3) && left <= Duration::from_mins(4), "{left:?}");
}

async fn unsettled_polls_past_their_deadline_are_stranded(db: TestDatabase) {
    let (running, closed, settled) = (open(&db, 1).await, open(&db, 1).await, open(&db, 1).await);
    let waiting = NewPoll { time: None, ..new_poll(None, None) };
    db.polls.open(&waiting, &lease("a", 300_000)).await.unwrap();
    db.polls.close(&closed.id, Epoch::FIRST, &[], &closing(None), Settlement::Later).await.unwrap();
    db.polls
        .close(&settled.id, Epoch::FIRST, &[], &closing(Some(0)), Settlement::Capture(usd(0)))
        .await
        .unwrap();
    db.pass(150_000).await;
    db.assert_consistent().await;
    // The deadline of two minutes and one minute to settle have passed, regardless of leases.
    db.pass(40_000).await;
    tamper(&db.url, "UPDATE polls SET lease_until = lease_until + 600000").await.unwrap();
    let audit = db.treasury.audit(SETTLED_WITHIN).await.unwrap();
    let stranded: HashSet<String> = audit.stranded_polls.iter().cloned().collect();
    assert_eq!(stranded, HashSet::from([running.id.to_string(), closed.id.to_string()]));
    assert!(!audit.is_clean());
}

/// The clock was an hour ahead when the poll was opened, and was corrected after a crash.
async fn a_lease_that_ends_too_far_ahead_counts_as_ended(db: TestDatabase) {
    let (ahead, right) = (open(&db, 60_000).await, open(&db, 60_000).await);
    let hour = "lease_until = lease_until + 3600000, deadline_at = deadline_at + 3600000";
    tamper(&db.url, format!("UPDATE polls SET {hour} WHERE id = '{}'", ahead.id)).await.unwrap();
    let audit = db.treasury.audit(SETTLED_WITHIN).await.unwrap();
    assert_eq!((&audit.false_leases[..], audit.is_clean()), (&[ahead.id.to_string()][..], false));
    let busy = db.polls.adopt(&lease("busy", 60_000), Duration::from_secs(30), 10).await.unwrap();
    assert_eq!(ids(&busy), HashSet::from([ahead.id.clone()]));
    assert_eq!(adopt(&db).await, []);
    db.assert_consistent().await;
    // Clocks may differ by two minutes.
    let two_minutes =
        format!("UPDATE polls SET lease_until = lease_until + 115000 WHERE id = '{}'", right.id);
    tamper(&db.url, two_minutes).await.unwrap();
    assert_eq!(adopt(&db).await, []);
    db.assert_consistent().await;
}

/// A newer version of the program wrote the polls.
async fn polls_of_an_unknown_form_are_ignored(db: TestDatabase) {
    let user = db.user(1_000).await;
    let polls = [db.running(Some(user), None).await, db.running(Some(user), None).await];
    db.polls.record(&polls[0], Epoch::FIRST, &ballots(1..=3)).await.unwrap();
    db.polls
        .close(&polls[0], Epoch::FIRST, &[], &closing(Some(0)), Settlement::Capture(usd(0)))
        .await
        .unwrap();
    // Their JSON is that of the other release, too.
    for change in [
        "UPDATE polls SET form = 99",
        "UPDATE polls SET closing = '[' || closing || ']'",
        "UPDATE plans SET rules = '[' || rules || ']', options = '[' || options || ']'",
    ] {
        tamper(&db.url, change).await.unwrap();
    }
    db.pass(60_000).await;
    assert_eq!(adopt(&db).await, []);
    for poll in &polls {
        let read = db.polls.poll(poll).await;
        assert!(matches!(read, Err(StoreError::UnknownForm)), "{read:?}");
    }
    let listed = db.store.polls_of(user, 10, 0).await;
    assert!(matches!(listed, Err(StoreError::UnknownForm)), "{listed:?}");
    assert_eq!(db.runtime.count_polls(10).await.unwrap(), 0);
    for change in [
        "UPDATE polls SET form = 1, closing = substr(closing, 2, length(closing) - 2)",
        "UPDATE plans SET rules = substr(rules, 2, length(rules) - 2), \
             options = substr(options, 2, length(options) - 2)",
    ] {
        tamper(&db.url, change).await.unwrap();
    }
    assert_eq!(ids(&adopt(&db).await), HashSet::from([polls[1].clone()]));
    assert_eq!(db.runtime.count_polls(10).await.unwrap(), 1);
    assert_eq!(db.store.polls_of(user, 10, 0).await.unwrap().len(), 2);
}

async fn concurrent_workers_adopt_each_poll_once(db: TestDatabase) {
    for _ in 0..40 {
        open(&db, 1_000).await;
    }
    db.pass(2_000).await;
    let adopting = (0..16).map(|worker| {
        let polls = db.polls.clone();
        tokio::spawn(async move {
            let lease = lease(&format!("worker-{worker}"), 60_000);
            let mut mine = Vec::new();
            loop {
                let adopted = polls.adopt(&lease, Duration::ZERO, 3).await.unwrap();
                if adopted.is_empty() {
                    return mine;
                }
                mine.extend(adopted.into_iter().map(|poll| poll.id));
            }
        })
    });
    let taken: Vec<_> = join_all(adopting).await.into_iter().flat_map(|mine| mine.unwrap()).collect();
    assert_eq!(taken.len(), 40);
    assert_eq!(taken.iter().collect::<HashSet<_>>().len(), 40);
}
