//! Feedback, ballot statistics and heartbeats.

use ep_polling::ballot::READER;
use ep_polling::{
    AgreementLevel, Ballot, BallotSlot, CalibrationGroup, ChoiceKind, ModelId, NoVote, PanelVersion, Plan,
    PollId, Reason, Settlement, Sums,
};
use ep_store::{
    AccountDeletion, Closing, Epoch, FeedbackEntry, FeedbackId, NewFeedback, NewPoll, PollFeedback,
    StoreError, UserId,
};
use futures::future::join_all;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;

use crate::key_money::funded_key;
use ep_store::testing::test_database::{
    TestDatabase, at, ballot, ballots, closing, delete_account, lease, new_poll, number, plan, random,
    tamper, usd,
};

on_both_engines!(
    feedback_is_one_entry_for_each_account_and_poll,
    feedback_of_a_funded_key_belongs_to_its_funder,
    public_polls_are_counted_once_by_concurrent_processes,
    simulated_and_private_polls_are_not_counted,
    sums_follow_feedback,
    sums_equal_the_ballots_after_random_changes,
    an_earlier_release_can_end_polls,
    calibration_follows_feedback,
    only_complete_polls_of_presets_are_calibrated,
    each_minute_is_stored_once,
);

/// Returns a public poll of real models.
pub fn real(owner: Option<UserId>) -> NewPoll {
    let mut poll = new_poll(owner, None);
    poll.plan.simulated = false;
    poll
}

/// Opens and ends a poll with these ballots.
async fn end(db: &TestDatabase, poll: &NewPoll, ballots: &[Ballot]) -> PollId {
    db.polls.open(poll, &lease("worker", 60_000)).await.unwrap();
    db.polls.record(&poll.id, Epoch::FIRST, ballots).await.unwrap();
    let capture = Settlement::Capture(usd(0));
    db.polls.close(&poll.id, Epoch::FIRST, &[], &closing(Some(0)), capture).await.unwrap();
    poll.id.clone()
}

fn entry(correct: Option<bool>, time: i64) -> FeedbackEntry {
    let notes = Some(format!("notes of {time}: \"…\"\n"));
    FeedbackEntry { outcome_correct: correct, confidence: Some(0.1 + 0.2), notes, created_at: at(time) }
}

async fn submit_feedback(db: &TestDatabase, user: UserId, poll: &PollId, entry: FeedbackEntry) -> FeedbackId {
    let feedback = NewFeedback { id: FeedbackId::from_random(random()), poll: poll.clone(), user, entry };
    db.store.submit_feedback(&feedback).await.unwrap()
}

/// Counts all pending polls.
async fn count(db: &TestDatabase) -> u32 {
    let mut counted = 0;
    loop {
        match db.runtime.count_polls(3).await.unwrap() {
            0 => return counted,
            some => counted += some,
        }
    }
}

async fn sums(db: &TestDatabase) -> Sums {
    db.runtime.sums().await.unwrap().without_zeros()
}

async fn feedback_is_one_entry_for_each_account_and_poll(db: TestDatabase) {
    let (first, second) = (db.user(0).await, db.user(0).await);
    let poll = end(&db, &real(None), &ballots(1..=3)).await;
    let feedback = &db.store;
    assert_eq!(feedback.feedback_on(&poll).await.unwrap(), PollFeedback::default());
    let id = submit_feedback(&db, first, &poll, entry(Some(true), 1)).await;
    let other = submit_feedback(&db, second, &poll, entry(None, 2)).await;
    assert_ne!(id, other);
    assert_eq!(submit_feedback(&db, first, &poll, entry(Some(false), 3)).await, id, "an entry keeps its id");
    let expected = PollFeedback {
        total: 2,
        correct: 0,
        incorrect: 1,
        entries: vec![entry(Some(false), 3), entry(None, 2)],
    };
    assert_eq!(feedback.feedback_on(&poll).await.unwrap(), expected);
    let own = feedback.feedback_after(first, "", 100).await.unwrap();
    assert_eq!((own.len(), &own[0].poll_id, &own[0].entry), (1, &poll, &entry(Some(false), 3)));

    // The entry is erased with its account.
    delete_account(&db, first, at(9)).await;
    let left = feedback.feedback_on(&poll).await.unwrap();
    assert_eq!((left.total, left.incorrect, left.entries), (1, 0, vec![entry(None, 2)]));

    let running = db.running(None, None).await;
    for (user, poll) in [(first, &running), (UserId::from_random([9; 16]), &poll)] {
        let id = FeedbackId::from_random(random());
        let new = NewFeedback { id, poll: poll.clone(), user, entry: entry(None, 4) };
        assert!(matches!(feedback.submit_feedback(&new).await, Err(StoreError::NotFound(_))));
    }
    // The newest hundred entries are listed, all are counted.
    let users = join_all((0..105).map(|_| db.user(0))).await;
    for (n, user) in users.into_iter().enumerate() {
        submit_feedback(&db, user, &poll, entry(Some(n % 3 == 0), 10 + n as i64)).await;
    }
    let all = feedback.feedback_on(&poll).await.unwrap();
    assert_eq!((all.total, all.correct, all.incorrect, all.entries.len()), (106, 35, 70, 100));
    assert_eq!((all.entries[0].created_at, all.entries[99].created_at), (at(114), at(15)));
}

async fn feedback_of_a_funded_key_belongs_to_its_funder(db: TestDatabase) {
    let user = db.user(1_000).await;
    let (key, account) = funded_key(user, 300);
    db.vault.add_funded_key(&key, &account).await.unwrap();
    let poll = end(&db, &real(Some(user)), &ballots(1..=3)).await;
    let id = submit_feedback(&db, key.user, &poll, entry(Some(true), 1)).await;
    assert_eq!(submit_feedback(&db, user, &poll, entry(Some(true), 2)).await, id);
    assert_eq!(db.store.feedback_on(&poll).await.unwrap().total, 1);
}

async fn public_polls_are_counted_once_by_concurrent_processes(db: TestDatabase) {
    let recorded: Vec<Ballot> = ballots(1..=7);
    let reputation = &db.runtime;
    for _ in 0..10 {
        end(&db, &real(None), &recorded).await;
    }
    // With calls in flight, the final cost is unknown.
    let late = real(None);
    db.polls.open(&late, &lease("worker", 60_000)).await.unwrap();
    let late = late.id;
    let unsettled = Closing { unused_calls: 1, ..closing(None) };
    db.polls.close(&late, Epoch::FIRST, &[], &unsettled, Settlement::Later).await.unwrap();
    let counting = (0..4).map(|_| async {
        for _ in 0..20 {
            reputation.count_polls(2).await.unwrap();
        }
    });
    join_all(counting).await;
    assert_eq!(count(&db).await, 0, "no poll is pending");
    db.polls.settle(&late, Epoch::FIRST, usd(0), usd(9), at(9)).await.unwrap();
    assert_eq!(count(&db).await, 1);

    // Of seven calls, two failed; four votes are for the first of three options, which the first model saw in
    // the third position.
    let stored = sums(&db).await;
    let first = &stored.models[&ModelId::new("maker/some-model-0")];
    assert_eq!((first.calls, first.votes, first.latency_ms, first.cost), (10, 10, 8_500, 1_200));
    assert_eq!((first.decided, first.with_outcome, first.judged), (10, 10, 0));
    assert_eq!(
        stored.slots[&ModelId::new("maker/some-model-0")],
        [(BallotSlot { options: 3, slot: 2 }, 10)].into()
    );
    let failing = &stored.models[&ModelId::new("maker/some-model-2")];
    assert_eq!((failing.calls, failing.votes, failing.priced, failing.unreadable), (10, 0, 0, 0));
    let service = stored.service;
    assert_eq!((service.polls, service.answered, service.total_ms), (11, 10, 11 * 4_400));
    assert_eq!(service.cost, 10 * 5 * 120 + 9);
    db.assert_consistent().await;

    // A wrong sum is found.
    tamper(&db.url, "UPDATE reputation_models SET votes = votes + 1 WHERE model = 'maker/some-model-1'")
        .await
        .unwrap();
    let audit = db.treasury.audit(ep_store::testing::test_database::SETTLED_WITHIN).await.unwrap();
    assert_eq!(audit.wrong_reputation, ["maker/some-model-1"]);
}

async fn simulated_and_private_polls_are_not_counted(db: TestDatabase) {
    let (simulated, mut private) = (new_poll(None, None), real(None));
    private.plan.private = true;
    for poll in [simulated, private] {
        end(&db, &poll, &ballots(1..=3)).await;
    }
    assert_eq!(count(&db).await, 2, "they are no longer pending");
    assert_eq!(sums(&db).await, Sums::default());
    db.assert_consistent().await;
}

async fn sums_follow_feedback(db: TestDatabase) {
    let (first, second) = (db.user(0).await, db.user(0).await);
    let poll = end(&db, &real(None), &ballots(1..=7)).await;
    let agreed = async |model: u32| {
        count(&db).await;
        db.assert_consistent().await;
        let sums = sums(&db).await.models[&ModelId::new(format!("maker/some-model-{model}"))];
        (sums.judged, sums.agreed)
    };
    // The first model voted for the winner, the second one did not.
    assert_eq!((agreed(0).await, agreed(1).await), ((0, 0), (0, 0)));
    submit_feedback(&db, first, &poll, entry(Some(true), 1)).await;
    assert_eq!((agreed(0).await, agreed(1).await), ((1, 1_000_000), (1, 0)));
    submit_feedback(&db, second, &poll, entry(Some(false), 1)).await;
    assert_eq!((agreed(0).await, agreed(1).await), ((1, 500_000), (1, 500_000)));
    submit_feedback(&db, first, &poll, entry(Some(false), 2)).await;
    assert_eq!((agreed(0).await, agreed(1).await), ((1, 0), (1, 1_000_000)));
    submit_feedback(&db, first, &poll, entry(None, 3)).await;
    delete_account(&db, second, at(9)).await;
    assert_eq!((agreed(0).await, agreed(1).await), ((0, 0), (0, 0)));
}

/// Returns a random ballot of one of nine models.
fn random_ballot(seq: u32, rng: &mut ChaCha12Rng) -> Ballot {
    let reasons = [Reason::Refused, Reason::Unparsable, Reason::Timeout, Reason::Rejected];
    let vote = match rng.random_range(0..6) {
        0 => Err(NoVote::new(reasons[rng.random_range(0..4)], "it did not")),
        _ => Ok(rng.random_range(0..3)),
    };
    Ballot { vote, ..ballot(seq, seq - 1) }
}

/// Polls are opened, ended, judged repeatedly and deleted, and accounts are deleted, while several counters
/// run. Some callers are interrupted.
async fn sums_equal_the_ballots_after_random_changes(db: TestDatabase) {
    let users = join_all((0..6).map(|_| db.user(0))).await;
    let changes = (0..4_u64).map(|seed| {
        let (db, users) = (&db, &users);
        async move {
            let mut rng = ChaCha12Rng::seed_from_u64(seed);
            let mut ended: Vec<PollId> = Vec::new();
            for step in 0..60 {
                match rng.random_range(0..10) {
                    0..=3 => {
                        let mut poll = real(rng.random_bool(0.5).then_some(users[0]));
                        poll.plan.private = rng.random_bool(0.1);
                        let cast: Vec<Ballot> =
                            (1..=rng.random_range(1..9)).map(|seq| random_ballot(seq, &mut rng)).collect();
                        if rng.random_bool(0.5) {
                            poll.plan = Plan { complete: true, roster: plan(cast.len()).roster, ..poll.plan };
                        }
                        ended.push(end(db, &poll, &cast).await);
                    }
                    4..=5 if !ended.is_empty() => {
                        let user = users[rng.random_range(0..users.len())];
                        let poll = &ended[rng.random_range(0..ended.len())];
                        let judged = [None, Some(true), Some(false)][rng.random_range(0..3)];
                        let entry = entry(judged, step);
                        let id = FeedbackId::from_random(random());
                        let new = NewFeedback { id, poll: poll.clone(), user, entry };
                        // The poll may have been deleted.
                        drop(db.store.submit_feedback(&new).await);
                    }
                    6 => drop(db.runtime.delete_anonymous_polls(at(8), 2).await.unwrap()),
                    7 if step % 20 == 0 => {
                        // Deletion is rejected while the account has a running poll.
                        let user = users[seed as usize];
                        let deletion =
                            AccountDeletion { user, forfeit_balance: true, by_operator: false, at: at(9) };
                        db.store.delete_account(deletion).await.unwrap();
                    }
                    7 if !ended.is_empty() => {
                        let poll = &ended[rng.random_range(0..ended.len())];
                        // The poll may have been deleted, or repeatedly counted by another process.
                        drop(db.polls.delete(poll, at(9), "deleted").await);
                    }
                    8 => {
                        // The counter is interrupted.
                        let time = std::time::Duration::from_micros(rng.random_range(0..3_000));
                        drop(tokio::time::timeout(time, db.runtime.count_polls(5)).await);
                    }
                    _ => drop(db.runtime.count_polls(5).await.unwrap()),
                }
            }
        }
    });
    join_all(changes).await;
    db.assert_consistent().await;
    count(&db).await;
    db.assert_consistent().await;
    let stored = sums(&db).await;
    assert!(stored.models.values().any(|model| model.judged > 0));
    assert!(stored.calibration.values().any(|sums| sums.judged > 0));
    // Only polls with judgements keep their counted state.
    let states = "SELECT count(*) FROM reputation_polls";
    let judged = "SELECT count(DISTINCT poll_id) FROM feedback WHERE outcome_correct IS NOT NULL";
    assert_eq!(number(&db.url, states).await, number(&db.url, judged).await);

    // Deleted polls stay in the sums of all polls.
    let before = sums(&db).await;
    while db.runtime.delete_anonymous_polls(at(8), 7).await.unwrap() > 0 {}
    assert_eq!(number(&db.url, "SELECT count(*) FROM polls WHERE owner IS NULL").await, 0);
    assert_eq!(sums(&db).await, before);
    db.assert_consistent().await;
}

async fn an_earlier_release_can_end_polls(db: TestDatabase) {
    let poll = real(None);
    db.polls.open(&poll, &lease("worker", 60_000)).await.unwrap();
    let earlier = Closing { reader: 1, ..closing(None) };
    let ended = serde_json::to_string(&earlier).unwrap();
    tamper(&db.url, format!("UPDATE polls SET closing = '{ended}', settled = 1 WHERE id = '{}'", poll.id))
        .await
        .unwrap();
    // A poll that waits for counting cannot be deleted.
    assert!(tamper(&db.url, format!("DELETE FROM polls WHERE id = '{}'", poll.id)).await.is_err());
    count(&db).await;
    assert_eq!(sums(&db).await.service.polls, 1);

    // A poll of the present reader. Both versions have their own sum, which every release counts alike.
    let poll = real(None);
    db.polls.open(&poll, &lease("worker", 60_000)).await.unwrap();
    let ended = serde_json::to_string(&closing(None)).unwrap();
    tamper(&db.url, format!("UPDATE polls SET closing = '{ended}', settled = 1 WHERE id = '{}'", poll.id))
        .await
        .unwrap();
    count(&db).await;
    let sums = sums(&db).await;
    assert_eq!((sums.readers.clone(), sums.read_earlier()), ([(1, 1), (READER, 1)].into(), 1));
    db.assert_consistent().await;
}

/// Returns a poll that asks every model of the preset `trio`, and its ballots with these votes.
fn complete(owner: Option<UserId>, votes: &[usize]) -> (NewPoll, Vec<Ballot>) {
    let mut poll = real(owner);
    let roster = plan(votes.len()).roster;
    poll.plan = Plan { preset: Some("trio".into()), complete: true, roster, ..poll.plan };
    let ballots = (1..).zip(votes).map(|(seq, vote)| Ballot { vote: Ok(*vote), ..ballot(seq, seq - 1) });
    (poll, ballots.collect())
}

/// Returns the judged and the right outcomes of each level.
async fn calibrated(db: &TestDatabase) -> [(i64, i64); 3] {
    count(db).await;
    db.assert_consistent().await;
    let sums = sums(db).await.calibration;
    AgreementLevel::ALL.map(|level| {
        let sums = sums.get(&CalibrationGroup { panel: "trio".into(), level });
        sums.map_or((0, 0), |sums| (sums.judged, sums.right))
    })
}

async fn calibration_follows_feedback(db: TestDatabase) {
    let (first, second) = (db.user(0).await, db.user(0).await);
    let mut polls = Vec::new();
    for votes in [[1, 1, 1], [1, 0, 1], [0, 1, 2]] {
        let (poll, ballots) = complete(None, &votes);
        polls.push(end(&db, &poll, &ballots).await);
    }
    let (poll, ballots) = complete(Some(first), &[0, 0, 0, 1, 2]);
    polls.push(end(&db, &poll, &ballots).await);
    assert_eq!(calibrated(&db).await, [(0, 0); 3]);
    for poll in &polls {
        submit_feedback(&db, first, poll, entry(Some(true), 1)).await;
    }
    // The tie has no winner.
    assert_eq!(calibrated(&db).await, [(1, 1); 3]);
    // Equal numbers of judgements say nothing.
    submit_feedback(&db, second, &polls[0], entry(Some(false), 2)).await;
    assert_eq!(calibrated(&db).await, [(0, 0), (1, 1), (1, 1)]);
    submit_feedback(&db, first, &polls[0], entry(None, 3)).await;
    assert_eq!(calibrated(&db).await, [(1, 0), (1, 1), (1, 1)]);
    submit_feedback(&db, first, &polls[1], entry(Some(false), 4)).await;
    assert_eq!(calibrated(&db).await, [(1, 0), (1, 0), (1, 1)]);
    // A deleted poll keeps its part, in the sums of deleted polls.
    db.polls.delete(&polls[3], at(9), "deleted").await.unwrap();
    assert_eq!(calibrated(&db).await, [(1, 0), (1, 0), (1, 1)]);
    let of_deleted = "SELECT correct FROM calibration WHERE stored = 0";
    assert_eq!(number(&db.url, of_deleted).await, 1);
    // Judgements of a deleted account are taken back.
    delete_account(&db, second, at(9)).await;
    delete_account(&db, first, at(9)).await;
    assert_eq!(calibrated(&db).await, [(0, 0), (0, 0), (1, 1)]);

    // A wrong sum is found.
    tamper(&db.url, "UPDATE calibration SET judged = judged + 1 WHERE stored = 1 AND level = 'unanimous'")
        .await
        .unwrap();
    let audit = db.treasury.audit(ep_store::testing::test_database::SETTLED_WITHIN).await.unwrap();
    assert_eq!(audit.wrong_reputation, ["calibration of trio"]);
}

async fn only_complete_polls_of_presets_are_calibrated(db: TestDatabase) {
    let user = db.user(0).await;
    let judged = async |change: &dyn Fn(&mut NewPoll, &mut Vec<Ballot>)| {
        let (mut poll, mut ballots) = complete(Some(user), &[1, 1, 1]);
        change(&mut poll, &mut ballots);
        let id = end(&db, &poll, &ballots).await;
        submit_feedback(&db, user, &id, entry(Some(true), 1)).await;
        calibrated(&db).await[0]
    };
    let panel: PanelVersion =
        serde_json::from_value(serde_json::json!({ "name": "mine", "version": 1 })).unwrap();
    assert_eq!(judged(&|poll, _| poll.plan.complete = false).await, (0, 0));
    assert_eq!(judged(&|poll, _| poll.plan.simulated = true).await, (0, 0));
    assert_eq!(judged(&|poll, _| poll.plan.private = true).await, (0, 0));
    assert_eq!(judged(&|poll, _| poll.plan.preset = None).await, (0, 0));
    assert_eq!(judged(&|poll, _| poll.plan.panel = Some(panel.clone())).await, (0, 0));
    assert_eq!(judged(&|poll, _| poll.plan.kind = ChoiceKind::Levels).await, (0, 0));
    assert_eq!(judged(&|_, ballots| ballots.truncate(2)).await, (0, 0));
    assert_eq!(judged(&|_, _| ()).await, (1, 1));
    // A model without a vote counts against the winner.
    let failed = || Err(NoVote::new(Reason::UpstreamError, "it did not respond"));
    judged(&|_, ballots| ballots[2].vote = failed()).await;
    assert_eq!(calibrated(&db).await, [(1, 1), (1, 1), (0, 0)]);
}

async fn each_minute_is_stored_once(db: TestDatabase) {
    let reputation = &db.runtime;
    assert_eq!(reputation.heartbeats([0, 0], 100).await.unwrap().first, None);
    for minute in [5, 5, 50, 70, 71, 71, 99, 100] {
        reputation.beat(minute).await.unwrap();
    }
    let beats = reputation.heartbeats([71, 50], 100).await.unwrap();
    assert_eq!((beats.first, beats.counts), (Some(5), [2, 4]));
    reputation.delete_old_heartbeats(71).await.unwrap();
    let beats = reputation.heartbeats([71, 0], 101).await.unwrap();
    assert_eq!((beats.first, beats.counts), (Some(5), [3, 4]), "the first one stays");
}
