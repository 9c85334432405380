//! Webhooks, and notifications stored with their polls.

use std::collections::HashSet;
use std::time::Duration;

use ep_polling::{PollId, Settlement};
use ep_store::{
    AttemptOutcome, ClaimLimits, DueNotification, Epoch, NewPoll, NotificationState, Opened, UserId, Webhook,
    WebhookSecretNumber, WebhookUrl,
};
use futures::future::join_all;

use crate::key_money::funded_key;
use ep_store::testing::test_database::{TestDatabase, at, closing, delete_account, lease, new_poll, tamper};

on_both_engines!(
    a_webhook_is_set_and_its_secret_replaced,
    a_notification_is_due_once_its_poll_has_ended,
    an_attempt_is_repeated_if_requested_or_lost,
    no_account_delays_the_notifications_of_others,
    concurrent_processes_claim_each_notification_once,
    an_unreadable_notification_stops_no_other,
    old_notifications_and_those_of_erased_accounts_are_deleted,
);

const LASTS: Duration = Duration::from_secs(60);

fn url(text: &str) -> WebhookUrl {
    WebhookUrl::checked(text)
}

async fn ended(db: &TestDatabase, user: Option<UserId>, notify: Option<&str>) -> PollId {
    let poll = NewPoll { notify: notify.map(url), ..new_poll(user, None) };
    let opened = db.polls.open(&poll, &lease("a", 60_000)).await.unwrap();
    let default = match user {
        Some(user) => db.vault.webhook(user).await.unwrap().url,
        None => None,
    };
    assert_eq!(opened, Opened::New { held: None, notifies: notify.is_some() || default.is_some() });
    close(db, &poll.id).await;
    poll.id
}

async fn close(db: &TestDatabase, poll: &PollId) {
    let settlement = Settlement::Capture(ep_store::testing::test_database::usd(0));
    db.polls.close(poll, Epoch::FIRST, &[], &closing(Some(0)), settlement).await.unwrap();
}

const fn claim(total: u32, per_account: u32, busy: &[UserId]) -> ClaimLimits<'_> {
    ClaimLimits { total, per_account, busy, lasts: LASTS }
}

async fn due(db: &TestDatabase) -> Vec<DueNotification<PollId>> {
    db.vault.due_notifications(claim(100, 100, &[])).await.unwrap()
}

/// Moves the next attempts back, which simulates that much time.
async fn pass(db: &TestDatabase, time: Duration) {
    let change = format!("UPDATE notifications SET next_at = next_at - {}", time.as_millis());
    tamper(&db.url, change).await.unwrap();
}

async fn an_unreadable_notification_stops_no_other(db: TestDatabase) {
    let user = db.user(0).await;
    let [damaged, other] = [(); 2].map(|()| ended(&db, Some(user), Some("https://a.example/")));
    let (damaged, other) = (damaged.await, other.await);
    let damage = format!("UPDATE notifications SET attempts = 5000000000 WHERE poll_id = '{damaged}'");
    tamper(&db.url, damage).await.unwrap();
    db.vault.due_notifications(claim(100, 100, &[])).await.unwrap_err();
    // It is claimed nevertheless, and its turn comes again later.
    assert_eq!(due(&db).await, []);
    let healthy = format!("UPDATE notifications SET next_at = 0 WHERE poll_id = '{other}'");
    tamper(&db.url, healthy).await.unwrap();
    let due = due(&db).await;
    assert_eq!(due.iter().map(|due| &due.about).collect::<Vec<_>>(), [&other]);
}

async fn a_webhook_is_set_and_its_secret_replaced(db: TestDatabase) {
    let (user, other) = (db.user(0).await, db.user(0).await);
    let webhooks = &db.vault;
    assert_eq!(webhooks.webhook(user).await.unwrap(), Webhook::default());
    webhooks.set_webhook_url(user, Some(&url("https://a.example/"))).await.unwrap();
    assert_eq!(webhooks.replace_webhook_secret(user, at(1)).await.unwrap(), 1);
    assert_eq!(webhooks.replace_webhook_secret(user, at(2)).await.unwrap(), 2);
    assert_eq!(webhooks.replace_webhook_secret(other, at(3)).await.unwrap(), 1);
    webhooks.set_webhook_url(user, Some(&url("https://b.example/"))).await.unwrap();
    let secret = WebhookSecretNumber { number: 2, replaced_at: Some(at(2)) };
    let set = Webhook { url: Some(url("https://b.example/")), secret };
    assert_eq!(webhooks.webhook(user).await.unwrap(), set);
    webhooks.set_webhook_url(user, None).await.unwrap();
    assert_eq!(webhooks.webhook(user).await.unwrap(), Webhook { url: None, secret });
}

async fn a_notification_is_due_once_its_poll_has_ended(db: TestDatabase) {
    let (user, other) = (db.user(0).await, db.user(0).await);
    let webhooks = &db.vault;
    ended(&db, Some(user), None).await;
    assert!(due(&db).await.is_empty(), "no webhook URL is set");

    webhooks.set_webhook_url(user, Some(&url("https://all.example/"))).await.unwrap();
    let running = new_poll(Some(user), None);
    db.polls.open(&running, &lease("a", 60_000)).await.unwrap();
    let own = ended(&db, Some(user), Some("https://own.example/")).await;
    let others = ended(&db, Some(other), Some("https://other.example/")).await;
    ended(&db, None, None).await;
    let taken: HashSet<(PollId, UserId, String, u32)> = due(&db)
        .await
        .into_iter()
        .map(|due| (due.about, due.user, due.url.as_str().to_owned(), due.attempts))
        .collect();
    let expected = [(own, user, "https://own.example/"), (others, other, "https://other.example/")];
    assert_eq!(taken, expected.map(|(poll, user, url)| (poll, user, url.to_owned(), 1)).into());
    assert!(due(&db).await.is_empty(), "they are claimed");

    // The URL at the time of the poll's opening counts.
    webhooks.set_webhook_url(user, None).await.unwrap();
    webhooks.replace_webhook_secret(user, at(4)).await.unwrap();
    close(&db, &running.id).await;
    let [late] = &due(&db).await[..] else { panic!("one is due") };
    assert_eq!((&late.about, late.url.as_str()), (&running.id, "https://all.example/"));
    assert_eq!(late.secret, WebhookSecretNumber { number: 1, replaced_at: Some(at(4)) });
}

async fn an_attempt_is_repeated_if_requested_or_lost(db: TestDatabase) {
    let user = db.user(0).await;
    let webhooks = &db.vault;
    let poll = ended(&db, Some(user), Some("https://a.example/")).await;
    assert_eq!(due(&db).await.len(), 1);
    // The process that made the first attempt has died.
    pass(&db, LASTS).await;
    assert_eq!(due(&db).await[0].attempts, 2);
    let again = AttemptOutcome::Again { error: "the receiver responded with 500".into(), after: 5 * LASTS };
    webhooks.notification_attempted(&poll, &again).await.unwrap();
    pass(&db, 4 * LASTS).await;
    assert!(due(&db).await.is_empty());
    let [record] = &webhooks.notifications_of(user, 9).await.unwrap()[..] else { panic!("one") };
    assert_eq!((record.state, record.attempts), (NotificationState::Waiting, 2));
    assert_eq!(record.last_error.as_deref(), Some("the receiver responded with 500"));
    pass(&db, LASTS).await;
    assert_eq!(due(&db).await[0].attempts, 3);
    webhooks.notification_attempted(&poll, &AttemptOutcome::Delivered).await.unwrap();
    pass(&db, 100 * LASTS).await;
    assert!(due(&db).await.is_empty());
    // A late report of an attempt presumed dead changes nothing.
    webhooks.notification_attempted(&poll, &again).await.unwrap();
    let [record] = &webhooks.notifications_of(user, 9).await.unwrap()[..] else { panic!("one") };
    assert_eq!((record.state, &record.last_error), (NotificationState::Delivered, &None));

    let poll = ended(&db, Some(user), Some("https://a.example/")).await;
    assert_eq!(due(&db).await.len(), 1);
    webhooks.notification_attempted(&poll, &AttemptOutcome::Failed { error: "gone".into() }).await.unwrap();
    pass(&db, 100 * LASTS).await;
    assert!(due(&db).await.is_empty());
    let records = webhooks.notifications_of(user, 9).await.unwrap();
    assert!(records.iter().any(|record| record.state == NotificationState::Failed));
    assert!(webhooks.notifications_of(db.user(0).await, 9).await.unwrap().is_empty());
}

async fn no_account_delays_the_notifications_of_others(db: TestDatabase) {
    let users = join_all((0..3).map(|_| db.user(0))).await;
    let webhooks = &db.vault;
    for user in &users {
        for _ in 0..10 {
            ended(&db, Some(*user), Some("https://a.example/")).await;
        }
    }
    let taken = webhooks.due_notifications(claim(100, 4, &users[..1])).await.unwrap();
    let of = |user: &UserId| taken.iter().filter(|due| due.user == *user).count();
    assert_eq!(users.iter().map(of).collect::<Vec<_>>(), [0, 4, 4]);
    assert_eq!(webhooks.due_notifications(claim(5, 4, &[])).await.unwrap().len(), 5);
}

async fn concurrent_processes_claim_each_notification_once(db: TestDatabase) {
    let user = db.user(0).await;
    let polls = join_all((0..40).map(|_| ended(&db, Some(user), Some("https://a.example/")))).await;
    let taking = (0..8).map(|_| {
        let webhooks = db.vault.clone();
        tokio::spawn(async move {
            let mut taken = Vec::new();
            for _ in 0..8 {
                taken.extend(webhooks.due_notifications(claim(7, 7, &[])).await.unwrap());
            }
            taken
        })
    });
    let taken: Vec<PollId> =
        join_all(taking).await.into_iter().flat_map(Result::unwrap).map(|due| due.about).collect();
    assert_eq!(taken.len(), 40);
    assert_eq!(taken.into_iter().collect::<HashSet<_>>(), polls.into_iter().collect());
}

async fn old_notifications_and_those_of_erased_accounts_are_deleted(db: TestDatabase) {
    let (user, other) = (db.user(100).await, db.user(0).await);
    let webhooks = &db.vault;
    let (key, account) = funded_key(user, 50);
    db.vault.add_funded_key(&key, &account).await.unwrap();
    for user in [user, other, key.user] {
        webhooks.set_webhook_url(user, Some(&url("https://all.example/"))).await.unwrap();
        ended(&db, Some(user), None).await;
    }
    let delivered = ended(&db, Some(other), None).await;
    webhooks.notification_attempted(&delivered, &AttemptOutcome::Delivered).await.unwrap();
    assert_eq!(webhooks.delete_old_notifications(at(7)).await.unwrap(), 0);
    assert_eq!(webhooks.delete_old_notifications(at(8)).await.unwrap(), 1);

    delete_account(&db, user, at(9)).await;
    for user in [user, key.user] {
        assert_eq!(webhooks.webhook(user).await.unwrap(), Webhook::default());
        assert!(webhooks.notifications_of(user, 9).await.unwrap().is_empty());
    }
    assert_eq!(webhooks.notifications_of(other, 9).await.unwrap().len(), 1);
}
