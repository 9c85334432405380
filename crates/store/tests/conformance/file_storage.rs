//! The room that files take, and its limits.

use ep_store::{Added, FileContent, FileId, NewFile, StoreError, UserId};

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha12Rng;

use crate::key_money::funded_key;
use ep_store::testing::test_database::{TestDatabase, at, random, usd};

on_both_engines!(
    a_file_of_random_lines_takes_little_more_than_its_size,
    the_room_of_a_deleted_file_is_used_again,
    long_lines_and_ranges_are_read_by_number,
    unfinished_files_count,
    files_of_accounts_with_one_funder_count_together,
    the_stored_bytes_are_those_of_all_files,
);

const KIB: u64 = 1024;

async fn begun(db: &TestDatabase, user: UserId, quota: u64) -> FileId {
    let id = FileId::from_random(random());
    let new = NewFile {
        id,
        user,
        name: "a".to_owned(),
        created_at: at(5),
        expires_at: at(10),
        quota,
        request_ref: None,
    };
    db.store.begin_file(&new).await.unwrap();
    id
}

async fn completed(db: &TestDatabase, id: FileId, bytes: u64, lines: u32) {
    db.store.complete_file(id, FileContent { bytes, lines, sha256: None }, at(1_000_000), 9).await.unwrap();
}

/// A line that cannot be compressed by much.
fn line(length: usize) -> String {
    let mut random = ChaCha12Rng::seed_from_u64(u64::from_le_bytes(random()[..8].try_into().unwrap()));
    let mut text: String = (1..length).map(|_| char::from(random.random_range(b'!'..=b'~'))).collect();
    text.push('\n');
    text
}

/// Stores a file of lines of 1 KB, in the parts of an upload.
async fn stored(db: &TestDatabase, user: UserId, mebibytes: u32) -> FileId {
    let id = begun(db, user, 1 << 30).await;
    let files = &db.store;
    for part in 0..mebibytes * 4 {
        let lines: Vec<String> = (0..256).map(|_| line(1024)).collect();
        files.add_lines(id, part * 256 + 1, &lines, at(5)).await.unwrap();
    }
    completed(db, id, u64::from(mebibytes) << 20, mebibytes * 1024).await;
    id
}

/// Creates a key with this much money of its own. Returns its account.
async fn funded(db: &TestDatabase, funder: UserId, amount: i64) -> UserId {
    let (key, account) = funded_key(funder, amount);
    assert_eq!(db.vault.add_funded_key(&key, &account).await.unwrap(), Added::Active);
    key.user
}

async fn used(db: &TestDatabase) -> u64 {
    let size = db.treasury.database_size().await.unwrap();
    size.bytes - size.free.map_or(0, |free| free.bytes)
}

async fn a_file_of_random_lines_takes_little_more_than_its_size(db: TestDatabase) {
    let user = db.user(0).await;
    let before = used(&db).await;
    stored(&db, user, 8).await;
    let taken = used(&db).await - before;
    assert!(taken <= (8 << 20) * 12 / 10, "{taken}");
}

async fn the_room_of_a_deleted_file_is_used_again(db: TestDatabase) {
    let user = db.user(0).await;
    let first = stored(&db, user, 4).await;
    db.store.delete_file(user, first).await.unwrap();
    let size = db.treasury.database_size().await.unwrap();
    // PostgreSQL finds the room at its next cleanup.
    let Some(free) = size.free else { return };
    assert!(free.bytes >= 4 << 20 && free.pages > 0, "{free:?}");
    stored(&db, user, 4).await;
    let grown = db.treasury.database_size().await.unwrap();
    assert!(grown.bytes <= size.bytes + 64 * KIB, "{grown:?} after {size:?}");
}

async fn long_lines_and_ranges_are_read_by_number(db: TestDatabase) {
    let user = db.user(0).await;
    let id = begun(&db, user, 1 << 30).await;
    let lengths = [1 << 20, 10, 70_000, 40_000, 40_000, 2, 1 << 20];
    let mut lines: Vec<String> = lengths.into_iter().map(line).collect();
    lines.extend((0..300).map(|_| line(1000)));
    let files = &db.store;
    // A crash between two parts leaves the first ones.
    files.add_lines(id, 1, &lines[..3], at(5)).await.unwrap();
    assert_eq!(files.lines(id, 0, 9).await.unwrap().len(), 3);
    files.add_lines(id, 4, &lines[3..], at(5)).await.unwrap();
    let repeated = files.add_lines(id, 4, &lines[3..4], at(5)).await;
    assert!(repeated.is_err(), "a number occurs once");
    completed(&db, id, lines.iter().map(|line| line.len() as u64).sum(), 307).await;
    let expected = |after: u32, count: usize| -> Vec<(u32, String)> {
        (after + 1..).zip(lines[after as usize..].iter().cloned()).take(count).collect()
    };
    for after in [0, 1, 2, 3, 4, 5, 6, 7, 8, 100, 305, 306] {
        assert_eq!(files.lines(id, after, 1).await.unwrap(), expected(after, 1), "{after}");
        let some = files.lines(id, after, 40).await.unwrap();
        assert_eq!(some, expected(after, some.len()), "{after}");
        assert!(!some.is_empty());
    }
    assert_eq!(files.lines(id, 307, 40).await.unwrap(), []);
}

async fn unfinished_files_count(db: TestDatabase) {
    let user = db.user(0).await;
    let files = &db.store;
    let part = [line(400)];
    let (first, second) = (begun(&db, user, KIB).await, begun(&db, user, KIB).await);
    files.add_lines(first, 1, &part, at(5)).await.unwrap();
    files.add_lines(second, 1, &part, at(5)).await.unwrap();
    for (file, number) in [(first, 2), (second, 2)] {
        let refused = files.add_lines(file, number, &part, at(5)).await;
        assert!(matches!(refused, Err(StoreError::FilesQuota(KIB))), "{refused:?}");
    }
    // Nothing of a refused part is stored or counted.
    assert_eq!(files.lines(second, 0, 9).await.unwrap().len(), 1);
    files.add_lines(second, 2, &[line(224)], at(5)).await.unwrap();
    completed(&db, second, 624, 2).await;
    assert!(files.add_lines(first, 2, &[line(2)], at(5)).await.is_err());
    files.delete_file(user, second).await.unwrap();
    files.add_lines(first, 2, &part, at(5)).await.unwrap();
    // Another account has its own room.
    let other = db.user(0).await;
    let theirs = begun(&db, other, KIB).await;
    files.add_lines(theirs, 1, &[line(1000)], at(5)).await.unwrap();
}

async fn files_of_accounts_with_one_funder_count_together(db: TestDatabase) {
    let funder = db.user(3_000_000).await;
    let funded = funded(&db, funder, 1_000_000).await;
    let files = &db.store;
    for user in [funder, funded] {
        assert_eq!(files.funds(user).await.unwrap(), usd(3_000_000));
    }
    let part = [line(600)];
    let (own, keys) = (begun(&db, funder, KIB).await, begun(&db, funded, KIB).await);
    files.add_lines(keys, 1, &part, at(5)).await.unwrap();
    let refused = files.add_lines(own, 1, &part, at(5)).await;
    assert!(matches!(refused, Err(StoreError::FilesQuota(KIB))), "{refused:?}");
}

async fn the_stored_bytes_are_those_of_all_files(db: TestDatabase) {
    let files = &db.store;
    assert_eq!(files.stored_bytes().await.unwrap(), 0);
    let (first, second) = (db.user(0).await, db.user(0).await);
    let (open, done) = (begun(&db, first, KIB).await, begun(&db, second, KIB).await);
    files.add_lines(open, 1, &[line(100)], at(5)).await.unwrap();
    files.add_lines(done, 1, &[line(300)], at(5)).await.unwrap();
    completed(&db, done, 300, 1).await;
    assert_eq!(files.stored_bytes().await.unwrap(), 400);
    files.delete_file(second, done).await.unwrap();
    assert_eq!(files.stored_bytes().await.unwrap(), 100);
}
