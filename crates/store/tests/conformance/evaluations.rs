//! Evaluations of accounts.

use ep_store::{EvaluationId, EvaluationRecord, MAX_EVALUATION_BYTES, MAX_EVALUATIONS, StoreError};

use ep_store::testing::test_database::{TestDatabase, at, delete_account, random};

on_both_engines!(
    evaluations_belong_to_one_account_until_they_are_shared,
    evaluations_are_bounded_and_deleted_with_their_account,
);

fn record(number: i64) -> EvaluationRecord {
    EvaluationRecord {
        id: EvaluationId::from_random(random()),
        name: format!("gold-{number}.csv"),
        report: "{\"rows\":50}".to_owned(),
        shared: false,
        created_at: at(number),
    }
}

async fn evaluations_belong_to_one_account_until_they_are_shared(db: TestDatabase) {
    let (user, stranger) = (db.user(0).await, db.user(0).await);
    let evaluations = &db.store;
    let [first, second] = [record(1), record(2)];
    for record in [&first, &second] {
        evaluations.add_evaluation(user, record).await.unwrap();
    }
    assert_eq!(evaluations.evaluation(user, first.id).await.unwrap(), Some(first.clone()));
    assert_eq!(evaluations.evaluation(stranger, first.id).await.unwrap(), None);
    assert_eq!(evaluations.shared_evaluation(first.id).await.unwrap(), None);
    let listed = evaluations.evaluations_of(user, 9).await.unwrap();
    assert_eq!(listed.iter().map(|listed| listed.id).collect::<Vec<_>>(), [second.id, first.id]);
    assert!(listed.iter().all(|listed| listed.report.is_empty()));
    assert!(!evaluations.share_evaluation(stranger, first.id, true).await.unwrap());
    assert!(evaluations.share_evaluation(user, first.id, true).await.unwrap());
    let shared = evaluations.shared_evaluation(first.id).await.unwrap();
    assert_eq!(shared, Some(EvaluationRecord { shared: true, ..first.clone() }));
    assert!(evaluations.share_evaluation(user, first.id, false).await.unwrap());
    assert_eq!(evaluations.shared_evaluation(first.id).await.unwrap(), None);
    assert!(!evaluations.delete_evaluation(stranger, first.id).await.unwrap());
    assert!(evaluations.delete_evaluation(user, first.id).await.unwrap());
    assert_eq!(evaluations.evaluation(user, first.id).await.unwrap(), None);
}

async fn evaluations_are_bounded_and_deleted_with_their_account(db: TestDatabase) {
    let (user, other) = (db.user(0).await, db.user(0).await);
    let evaluations = &db.store;
    for number in 0..MAX_EVALUATIONS {
        evaluations.add_evaluation(user, &record(i64::from(number))).await.unwrap();
    }
    let more = evaluations.add_evaluation(user, &record(200)).await;
    assert!(matches!(more, Err(StoreError::Conflict(_))), "{more:?}");
    evaluations.add_evaluation(other, &record(1)).await.unwrap();
    let large = EvaluationRecord { report: "é".repeat(MAX_EVALUATION_BYTES as usize / 4), ..record(300) };
    let (one, two) = (large.clone(), EvaluationRecord { id: record(1).id, ..large.clone() });
    let [rich, three] = [db.user(0).await, db.user(0).await];
    for stored in [&one, &two] {
        evaluations.add_evaluation(rich, stored).await.unwrap();
    }
    let more = evaluations.add_evaluation(rich, &record(301)).await;
    assert!(matches!(&more, Err(StoreError::Conflict(rule)) if rule.contains("8 MiB")), "{more:?}");
    evaluations.add_evaluation(three, &record(302)).await.unwrap();
    delete_account(&db, user, at(300)).await;
    assert!(evaluations.evaluations_of(user, 200).await.unwrap().is_empty());
    assert_eq!(evaluations.evaluations_of(other, 200).await.unwrap().len(), 1);
    assert!(evaluations.add_evaluation(user, &record(1)).await.is_err());
}
