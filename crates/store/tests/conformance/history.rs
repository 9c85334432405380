//! Lists of an account's polls.

use ep_polling::{ModelCounts, PollId, Settlement, Tally, Timestamp};
use ep_store::{BatchId, Closing, DaySpending, Epoch, NewPoll, PastEnd, PastPoll, PollScope, PollSearch};

use ep_store::testing::test_database::{
    TestDatabase, at, ballots, closing, hold, lease, new_poll, random, usd,
};

on_both_engines!(
    lists_the_result_of_a_poll,
    pages_begin_with_the_newest,
    pages_after_a_poll_do_not_shift,
    polls_are_found_by_words,
    private_polls_are_marked,
    rows_of_batches_are_listed_apart,
    running_polls_are_found,
    spending_is_summed_by_day,
);

async fn lists_the_result_of_a_poll(db: TestDatabase) {
    let (user, other) = (db.user(1_000).await, db.user(1_000).await);
    let history = &db.store;
    assert_eq!(history.polls_of(user, 20, 0).await.unwrap(), []);
    db.running(Some(other), Some(hold(1, 100))).await;
    db.running(None, None).await;

    let id = db.running(Some(user), Some(hold(1, 400))).await;
    let listed = async || history.polls_of(user, 20, 0).await.unwrap().remove(0);
    let options = vec!["Tabs".to_owned(), "Spaces".to_owned(), "Neither".to_owned()];
    let mut expected = PastPoll {
        id: id.clone(),
        created_at: at(7),
        question: QUESTION.to_owned(),
        options,
        private: false,
        tally: Tally::new(3),
        models: ModelCounts::new(0, 0, 0, 0),
        end: None,
    };
    assert_eq!(listed().await, expected);

    // Of seven ballots, each third has no vote; the others alternate between the first two options.
    let recorded = ballots(1..=7);
    db.polls.record(&id, Epoch::FIRST, &recorded).await.unwrap();
    expected.tally = Tally::of(3, recorded.iter().map(|ballot| ballot.vote.as_ref().ok().copied()));
    expected.models = ModelCounts::new(7, 7, 5, 0);
    assert_eq!(listed().await, expected);

    // A closed poll with calls in flight lists the known cost, a settled one the captured amount.
    let spent: i64 = recorded.iter().map(|ballot| ballot.spend.amount.micro()).sum();
    let closing = Closing { unused_calls: 3, ..closing(None) };
    db.polls.close(&id, Epoch::FIRST, &[], &closing, Settlement::Later).await.unwrap();
    let end = PastEnd { by_rule: true, total_ms: 4_400, cost: usd(spent) };
    expected.end = Some(end);
    // Models that were asked without being counted are requested, too.
    expected.models = ModelCounts::new(10, 7, 5, 3);
    assert_eq!(listed().await, expected);
    db.polls.settle(&id, Epoch::FIRST, usd(399), usd(9), at(9)).await.unwrap();
    expected.end = Some(PastEnd { cost: usd(399), ..end });
    assert_eq!(listed().await, expected);

    // An anonymous poll lists the cost of its calls, including the unused ones.
    let unbilled = db.running(Some(user), None).await;
    db.polls.record(&unbilled, Epoch::FIRST, &recorded).await.unwrap();
    db.polls.close(&unbilled, Epoch::FIRST, &[], &closing, Settlement::Later).await.unwrap();
    db.polls.settle(&unbilled, Epoch::FIRST, usd(0), usd(9), at(9)).await.unwrap();
    let polls = history.polls_of(user, 20, 0).await.unwrap();
    let unbilled = polls.iter().find(|poll| poll.id == unbilled).unwrap();
    assert_eq!(unbilled.end, Some(PastEnd { cost: usd(spent + 9), ..end }));
    assert_eq!(polls.len(), 2);
}

async fn pages_begin_with_the_newest(db: TestDatabase) {
    let user = db.user(1_000).await;
    let mut opened = Vec::new();
    for number in 0..7 {
        // Two polls per millisecond.
        let poll = NewPoll { created_at: at(number / 2), ..new_poll(Some(user), None) };
        db.polls.open(&poll, &lease("a", 10)).await.unwrap();
        db.polls.record(&poll.id, Epoch::FIRST, &ballots(1..=3)).await.unwrap();
        opened.push((poll.created_at, poll.id));
    }
    opened.sort_by(|a, b| b.0.millis().cmp(&a.0.millis()).then_with(|| b.1.as_str().cmp(a.1.as_str())));
    let history = &db.store;
    for (limit, offset) in [(20, 0), (3, 0), (3, 3), (3, 6), (3, 7), (3, u32::MAX)] {
        let page = history.polls_of(user, limit, offset).await.unwrap();
        let page: Vec<_> = page.into_iter().map(|poll| (poll.created_at, poll.id)).collect();
        let expected: Vec<_> = opened.iter().skip(offset as usize).take(limit as usize).cloned().collect();
        assert_eq!(page, expected, "{limit} after {offset}");
    }
}

async fn pages_after_a_poll_do_not_shift(db: TestDatabase) {
    let (user, other) = (db.user(0).await, db.user(0).await);
    let mut ids = Vec::new();
    for number in 0..9 {
        // Three polls per millisecond.
        let poll = NewPoll { created_at: at(number / 3), ..new_poll(Some(user), None) };
        db.polls.open(&poll, &lease("a", 60_000)).await.unwrap();
        ids.push((poll.created_at, poll.id));
    }
    db.running(Some(other), None).await;
    ids.sort_by(|a, b| b.cmp(a));
    let history = &db.store;
    let mut seen = Vec::new();
    while let Ok(page) =
        history.polls_after(user, PollScope::Asked, 2, seen.last().map(|(time, id)| (*time, id))).await
        && !page.is_empty()
    {
        assert!(page.len() <= 2);
        seen.extend(page.into_iter().map(|poll| (poll.created_at, poll.id)));
        // Polls opened in between are newer.
        let newer = NewPoll { created_at: at(100), ..new_poll(Some(user), None) };
        db.polls.open(&newer, &lease("a", 60_000)).await.unwrap();
    }
    assert_eq!(seen, ids);
}

/// The question of [`new_poll`].
const QUESTION: &str = "Tabs or \"spaces\"? 🦀 \u{1}";

async fn polls_are_found_by_words(db: TestDatabase) {
    let (user, other) = (db.user(0).await, db.user(0).await);
    let questions =
        ["Is a TOMATO a fruit?", "Ist Österreich größer als Ungarn?", "100 % sure_or \\ not?", QUESTION];
    let mut ids = Vec::new();
    for (number, question) in questions.iter().enumerate() {
        for owner in [user, other] {
            let mut poll = NewPoll { created_at: at(number as i64), ..new_poll(Some(owner), None) };
            poll.plan.question = (*question).into();
            db.polls.open(&poll, &lease("a", 60_000)).await.unwrap();
            db.polls.record(&poll.id, Epoch::FIRST, &ballots(1..=3)).await.unwrap();
            if owner == user {
                ids.push(poll.id);
            }
        }
    }
    let history = &db.store;
    let found = async |words: &[&str], limit, offset| -> Vec<String> {
        let polls = history
            .find_polls(user, PollSearch { words, ..PollSearch::default() }, limit, offset)
            .await
            .unwrap();
        polls.into_iter().map(|poll| poll.question).collect()
    };
    for (words, positions) in [
        (&["tomato"][..], &[0][..]),
        (&["FRUIT", "Tomato"], &[0]),
        (&["tomato", "Ungarn"], &[]),
        (&["österreich"], &[1]),
        (&["ÖSTERREICH", "GRÖSSER"], &[]),
        (&["Österreich", "größer"], &[1]),
        (&["%"], &[2]),
        (&["sure_or", "\\"], &[2]),
        (&["_"], &[2]),
        (&["\"SPACES\"?"], &[3]),
        (&["'; --"], &[]),
        (&[], &[3, 2, 1, 0]),
    ] {
        let expected: Vec<&str> = positions.iter().map(|position| questions[*position]).collect();
        assert_eq!(found(words, 20, 0).await, expected, "{words:?}");
    }
    assert_eq!(found(&["s"], 2, 1).await, [questions[2], questions[1]]);
}

async fn rows_of_batches_are_listed_apart(db: TestDatabase) {
    let (user, other) = (db.user(0).await, db.user(0).await);
    let batches = [BatchId::from_random(random()), BatchId::from_random(random())];
    let mut ids: [Vec<PollId>; 3] = Default::default();
    for number in 0..9 {
        let place = number as usize % 3;
        let batch = batches.get(place);
        let request_ref = batch.map(|batch| batch.reference(number as u32));
        for owner in [user, other] {
            // A reference opens one poll.
            let request_ref = request_ref.clone().map(|name| if owner == user { name } else { name + "#1" });
            let poll = NewPoll { created_at: at(number), request_ref, ..new_poll(Some(owner), None) };
            db.polls.open(&poll, &lease("a", 60_000)).await.unwrap();
            if owner == user {
                ids[place].insert(0, poll.id);
            }
        }
    }
    let [first, second, asked] = ids;
    let all = db.store.polls_after(user, PollScope::All, 20, None).await.unwrap();
    assert_eq!(all.len(), 9);
    let history = &db.store;
    for (scope, expected) in [
        (PollScope::Asked, &asked),
        (PollScope::Batch(batches[0]), &first),
        (PollScope::Batch(batches[1]), &second),
    ] {
        let mut seen: Vec<(Timestamp, PollId)> = Vec::new();
        loop {
            let after = seen.last().map(|(time, id)| (*time, id));
            let page = history.polls_after(user, scope, 2, after).await.unwrap();
            if page.is_empty() {
                break;
            }
            seen.extend(page.into_iter().map(|poll| (poll.created_at, poll.id)));
        }
        assert_eq!(seen.into_iter().map(|(_, id)| id).collect::<Vec<_>>(), *expected, "{scope:?}");
    }
    let ids = |polls: Vec<PastPoll>| polls.into_iter().map(|poll| poll.id).collect::<Vec<_>>();
    assert_eq!(ids(history.polls_of(user, 20, 0).await.unwrap()), asked);
    for (batch, expected) in [(None, &asked), (Some(batches[1]), &second)] {
        for running in [false, true] {
            for words in [&[][..], &["tabs"]] {
                let search = PollSearch { words, running, batch };
                assert_eq!(
                    ids(history.find_polls(user, search, 20, 0).await.unwrap()),
                    *expected,
                    "{search:?}"
                );
            }
            let nothing = PollSearch { words: &["nowhere"], running, batch };
            assert!(history.find_polls(user, nothing, 20, 0).await.unwrap().is_empty());
        }
    }
}

async fn private_polls_are_marked(db: TestDatabase) {
    let user = db.user(0).await;
    for private in [false, true] {
        let mut poll = new_poll(Some(user), None);
        poll.plan.private = private;
        db.polls.open(&poll, &lease("a", 60_000)).await.unwrap();
        let listed = db.store.polls_of(user, 20, 0).await.unwrap();
        assert_eq!(listed.iter().find(|listed| listed.id == poll.id).unwrap().private, private);
    }
}

async fn running_polls_are_found(db: TestDatabase) {
    let (user, other) = (db.user(0).await, db.user(0).await);
    db.running(Some(other), None).await;
    let (ended, running) = (db.running(Some(user), None).await, db.running(Some(user), None).await);
    let settling = db.running(Some(user), None).await;
    db.polls.close(&ended, Epoch::FIRST, &[], &closing(None), Settlement::Later).await.unwrap();
    db.polls.settle(&ended, Epoch::FIRST, usd(0), usd(0), at(9)).await.unwrap();
    db.polls.close(&settling, Epoch::FIRST, &[], &closing(None), Settlement::Later).await.unwrap();
    let history = &db.store;
    let found = async |words: &[&str]| -> Vec<_> {
        let polls =
            history.find_polls(user, PollSearch { words, running: true, batch: None }, 20, 0).await.unwrap();
        polls.into_iter().map(|poll| poll.id).collect()
    };
    assert_eq!(found(&[]).await, std::slice::from_ref(&running));
    assert_eq!(found(&["tabs"]).await, [running]);
    assert_eq!(found(&["nowhere"]).await, []);
}

async fn spending_is_summed_by_day(db: TestDatabase) {
    const DAY: i64 = 86_400_000;
    let (user, other) = (db.user(10_000).await, db.user(10_000).await);
    let recorded = ballots(1..=7);
    let spent: i64 = recorded.iter().map(|ballot| ballot.spend.amount.micro()).sum();
    // Accepted at, held, captured. A poll without a charge counts with the cost of its calls.
    for (owner, accepted, held) in [
        (user, DAY - 1, Some(400)),
        (user, DAY, Some(400)),
        (user, 2 * DAY - 1, None),
        (user, 4 * DAY, Some(300)),
        (other, DAY, Some(400)),
    ] {
        let hold = held.map(|amount| hold(1, amount));
        let poll = NewPoll { created_at: at(accepted), ..new_poll(Some(owner), hold) };
        db.polls.open(&poll, &lease("a", 60_000)).await.unwrap();
        db.polls.record(&poll.id, Epoch::FIRST, &recorded).await.unwrap();
        db.polls.close(&poll.id, Epoch::FIRST, &[], &closing(None), Settlement::Later).await.unwrap();
        let captured = usd(held.map_or(0, |amount| amount - 1));
        db.polls.settle(&poll.id, Epoch::FIRST, captured, usd(9), at(9)).await.unwrap();
    }
    let batch = BatchId::from_random(random());
    let row = NewPoll {
        created_at: at(DAY),
        request_ref: Some(batch.reference(1)),
        ..new_poll(Some(user), Some(hold(1, 300)))
    };
    db.polls.open(&row, &lease("a", 60_000)).await.unwrap();
    db.polls.close(&row.id, Epoch::FIRST, &[], &closing(None), Settlement::Later).await.unwrap();
    db.polls.settle(&row.id, Epoch::FIRST, usd(299), usd(0), at(9)).await.unwrap();
    let running = NewPoll { created_at: at(DAY), ..new_poll(Some(user), None) };
    db.polls.open(&running, &lease("a", 60_000)).await.unwrap();
    let expected = [
        DaySpending { day: at(DAY), polls: 2, batch_rows: 1, cost: usd(399 + spent + 9 + 299) },
        DaySpending { day: at(4 * DAY), polls: 1, batch_rows: 0, cost: usd(299) },
    ];
    let history = &db.store;
    assert_eq!(history.spending(user, at(DAY)).await.unwrap(), expected);
    assert_eq!(history.spending(user, at(5 * DAY)).await.unwrap(), []);
}
