//! Backups of a database in use, and checks for damage.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ep_polling::Settlement;
use ep_store::{DatabaseUrl, Epoch, IntegrityCheck, back_up};

use ep_store::testing::test_database::{TestDatabase, ballots, closing, connect, hold, new_poll, usd};

fn file(db: &TestDatabase) -> PathBuf {
    db.url.strip_prefix("sqlite://").unwrap().into()
}

fn sqlite(file: &Path) -> DatabaseUrl {
    format!("sqlite://{}", file.display()).parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_of_a_database_in_use_is_complete_and_private() {
    let db = TestDatabase::sqlite().await;
    let user = db.user(1_000).await;
    let poll = db.running(Some(user), Some(hold(1, 100))).await;
    db.polls.record(&poll, Epoch::FIRST, &ballots(1..=3)).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("it's a copy.db");
    let writing = async {
        for _ in 0..20 {
            let poll = db.running(Some(user), None).await;
            let free = Settlement::Capture(usd(0));
            db.polls.close(&poll, Epoch::FIRST, &[], &closing(Some(0)), free).await.unwrap();
        }
    };
    let from = sqlite(&file(&db));
    let (copied, ()) = tokio::join!(back_up(&from, &to), writing);
    copied.unwrap();
    assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o600);
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, ["it's a copy.db"]);
    let again = back_up(&sqlite(&file(&db)), &to).await.unwrap_err();
    assert!(again.to_string().contains("already exists"), "{again}");

    let copy = connect(&format!("sqlite://{}", to.display())).await;
    assert_eq!(copy.runtime.polls().ballots(&poll, 0).await.unwrap().len(), 3);
    let balance = copy.store.balance(user).await.unwrap().unwrap();
    assert_eq!((balance.posted, balance.held), (usd(1_000), usd(100)));
    let within = ep_store::testing::test_database::SETTLED_WITHIN;
    assert!(copy.treasury.audit(within).await.unwrap().is_clean());
    assert!(copy.treasury.check_integrity(IntegrityCheck::Full).await.unwrap().is_empty());
    copy.runtime.close().await;
}

#[tokio::test]
async fn backup_errors_name_the_cause() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("copy.db");
    let error_of = async |url: &str| back_up(&url.parse().unwrap(), &to).await.unwrap_err().to_string();
    let missing = error_of(&format!("sqlite://{}/none.db", folder.path().display())).await;
    assert!(missing.contains("no database at"), "{missing}");
    let server = error_of("postgres://ep:hunter2@db.example/polls").await;
    assert!(server.contains("pg_dump") && !server.contains("hunter2"), "{server}");
    assert!(error_of("sqlite::memory:").await.contains("memory"));
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none(), "no failure leaves a file");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn zeroed_pages_are_found_at_every_position() {
    let mut db = TestDatabase::sqlite().await;
    let user = db.user(1_000).await;
    for _ in 0..30 {
        let poll = new_poll(Some(user), None);
        db.polls.open(&poll, &ep_store::testing::test_database::lease("worker", 60_000)).await.unwrap();
        db.polls.record(&poll.id, Epoch::FIRST, &ballots(1..=20)).await.unwrap();
        let free = Settlement::Capture(usd(0));
        db.polls.close(&poll.id, Epoch::FIRST, &[], &closing(Some(0)), free).await.unwrap();
    }
    let check = async |db: &TestDatabase, check| db.treasury.check_integrity(check).await.unwrap();
    assert_eq!(check(&db, IntegrityCheck::Quick).await, Vec::<String>::new());
    assert_eq!(check(&db, IntegrityCheck::Full).await, Vec::<String>::new());
    db = db.reopened().await;
    db.runtime.close().await;
    let path = file(&db);
    let whole = fs::read(&path).unwrap();
    let page_size = 4_096;
    let pages = whole.len() / page_size;
    let mut unnoticed = Vec::new();
    // The first page is the header: without it, the file is not a database.
    for page in 1..pages {
        let bytes = &whole[page * page_size..][..page_size];
        // A free page contains no data.
        if bytes.iter().all(|byte| *byte == 0) {
            continue;
        }
        for suffix in ["-wal", "-shm"] {
            drop(fs::remove_file(format!("{}{suffix}", path.display())));
        }
        fs::write(&path, &whole).unwrap();
        fs::OpenOptions::new()
            .write(true)
            .open(&path)
            .unwrap()
            .write_all_at(&vec![0; page_size], (page * page_size) as u64)
            .unwrap();
        let url: DatabaseUrl = db.url.parse().unwrap();
        let Ok(store) = ep_store::connect(&url, ep_store::StoreOptions::default()).await else { continue };
        if store.treasury.check_integrity(IntegrityCheck::Quick).await.unwrap().is_empty() {
            unnoticed.push(page + 1);
        }
        store.runtime.close().await;
    }
    assert!(pages > 50 && unnoticed.is_empty(), "of {pages} pages {unnoticed:?} were not detected");
}
