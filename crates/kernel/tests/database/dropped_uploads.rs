//! Requests that end before or after any call of the store of files: nothing stays that no list shows.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use ep_kernel::batches::{Ports, RETENTION};
use ep_kernel::testing::{ManualClock, SeededEntropy};
use ep_kernel::{BatchRequest, BatchRows, BatchSettings, Batches, Fault, FileRequest, Tasks};
use ep_store::testing::Interruption;
use ep_store::{BatchTerms, BegunFile, FileContent, FileId, FileRecord, NewFile, StoreError, UserId};

use ep_store::testing::test_database::{TestDatabase, at, random};

on_both_engines!(
    an_upload_that_is_dropped_leaves_nothing,
    an_upload_whose_store_fails_leaves_nothing,
    a_batch_with_rows_that_is_dropped_leaves_no_file_without_it,
    files_without_a_newly_stored_line_are_abandoned,
    a_reference_has_one_file,
);

const ENDPOINT: &str = "/v1/chat/completions";

/// The service of batches over a store that interrupts.
struct World {
    interruption: Arc<Interruption>,
    batches: Arc<Batches>,
    tasks: Tasks,
}

impl World {
    fn new(db: &TestDatabase, interruption: Interruption) -> Self {
        let interruption = Arc::new(interruption);
        let tasks = Tasks::default();
        let ports = Ports {
            store: db.store.interrupted(&interruption),
            clock: Arc::new(ManualClock::default()),
            entropy: Arc::new(SeededEntropy::new(u64::from_le_bytes(random()[..8].try_into().unwrap()))),
            ended_tasks: Arc::default(),
            tasks: tasks.clone(),
        };
        let settings = BatchSettings {
            billing: true,
            worker: "a".to_owned(),
            lease: Duration::from_secs(60),
            at_once: 4,
            max_stored: 1 << 30,
            endpoints: vec![ENDPOINT],
        };
        Self { interruption, batches: Arc::new(Batches::new(ports, settings)), tasks }
    }

    /// Uploads three parts of two lines.
    async fn upload(&self, user: UserId) -> Result<FileRecord, Fault> {
        let name = "a".to_owned();
        let mut upload = self.batches.receive(FileRequest { user, name, request_ref: None });
        for _ in 0..3 {
            upload.write("x".repeat(1023).as_bytes()).await?;
            upload.write(format!("\n{}\n", "x".repeat(300 << 10)).as_bytes()).await?;
        }
        Ok(upload.complete(RETENTION).await?.record)
    }

    /// Runs a request up to the point. Returns `true` if it ended before.
    async fn interrupted(&self, request: impl Future<Output = ()>) -> bool {
        let ended = tokio::select! {
            biased;
            () = self.interruption.reached() => false,
            () = request => true,
        };
        self.interruption.release();
        let tracker = self.tasks.tracker();
        tracker.close();
        tracker.wait().await;
        ended
    }
}

/// Fails if there is an incomplete file. Returns the complete ones.
async fn listed(db: &TestDatabase, user: UserId) -> Vec<FileRecord> {
    let files = &db.store;
    let abandoned = files.delete_old_files(at(0), at(i64::MAX / 2), 9).await.unwrap();
    assert_eq!(abandoned, 0, "an incomplete file stayed");
    files.files_of(user, None, 9).await.unwrap()
}

async fn an_upload_that_is_dropped_leaves_nothing(db: TestDatabase) {
    let user = db.user(5_000_000).await;
    let mut completed = 0;
    for point in 0.. {
        let world = World::new(&db, Interruption::waiting(point));
        let ended = world.interrupted(async { drop(world.upload(user).await.unwrap()) }).await;
        let listed = listed(&db, user).await;
        assert!(listed.len() <= 1);
        for file in &listed {
            assert_eq!(file.bytes, 3 * (1025 + (300 << 10)));
            assert_eq!(db.store.stored_bytes().await.unwrap(), file.bytes);
            db.store.delete_file(user, file.id).await.unwrap();
        }
        assert_eq!(db.store.stored_bytes().await.unwrap(), 0);
        completed += listed.len();
        if ended {
            assert!(point > 10, "{point}");
            break;
        }
    }
    // Those that were dropped after their last part had arrived.
    assert!(completed > 1, "{completed}");
}

async fn an_upload_whose_store_fails_leaves_nothing(db: TestDatabase) {
    let user = db.user(5_000_000).await;
    for point in 0.. {
        let world = World::new(&db, Interruption::failing(point));
        let uploaded = world.upload(user).await;
        let listed = listed(&db, user).await;
        if let Ok(file) = uploaded {
            assert!(point > 10, "{point}");
            assert_eq!(listed, [file]);
            break;
        }
        assert_eq!(listed, [], "{point}");
        assert_eq!(db.store.stored_bytes().await.unwrap(), 0);
    }
}

async fn a_batch_with_rows_that_is_dropped_leaves_no_file_without_it(db: TestDatabase) {
    for is_repeated in [false, true] {
        for point in 0.. {
            let user = db.user(5_000_000).await;
            let request = || BatchRequest {
                user,
                key: None,
                terms: BatchTerms { endpoint: ENDPOINT.to_owned(), ..BatchTerms::default() },
                keep: RETENTION,
                notify: None,
                request_ref: Some(format!("request of {user}")),
            };
            let rows = || BatchRows::Lines("{}\n".repeat(9));
            if is_repeated {
                World::new(&db, Interruption::waiting(usize::MAX))
                    .batches
                    .create(request(), rows())
                    .await
                    .unwrap();
            }
            let world = World::new(&db, Interruption::waiting(point));
            let ended = world
                .interrupted(async {
                    world.batches.create(request(), rows()).await.unwrap();
                })
                .await;
            let files: Vec<FileId> = listed(&db, user).await.iter().map(|file| file.id).collect();
            let batches = db.store.batches_of(user, None, 9).await.unwrap();
            let read: Vec<FileId> = batches.iter().map(|batch| batch.file).collect();
            assert_eq!(files, read, "{point}");
            assert!(!is_repeated || batches.len() == 1);
            if ended {
                assert!(point > 10 && batches.len() == 1, "{point}");
                break;
            }
        }
    }
}

async fn files_without_a_newly_stored_line_are_abandoned(db: TestDatabase) {
    let user = db.user(0).await;
    let files = &db.store;
    let begun = async |created: i64| {
        let id = FileId::from_random(random());
        let (created_at, expires_at) = (at(created), at(1_000_000));
        let name = "a".to_owned();
        let new = NewFile { id, user, name, created_at, expires_at, quota: 99, request_ref: None };
        assert_eq!(files.begin_file(&new).await.unwrap(), BegunFile::New);
        id
    };
    let (silent, slow) = (begun(100).await, begun(100).await);
    files.add_lines(slow, 1, &["x\n".to_owned()], at(400)).await.unwrap();
    assert_eq!(files.delete_old_files(at(400), at(100), 9).await.unwrap(), 0);
    assert_eq!(files.delete_old_files(at(400), at(101), 9).await.unwrap(), 1);
    let gone = files.add_lines(silent, 1, &["x\n".to_owned()], at(401)).await;
    assert!(matches!(gone, Err(StoreError::NotFound("file"))), "{gone:?}");
    files.add_lines(slow, 2, &["x\n".to_owned()], at(700)).await.unwrap();
    assert_eq!(files.delete_old_files(at(700), at(700), 9).await.unwrap(), 0);
    assert_eq!(files.delete_old_files(at(700), at(701), 9).await.unwrap(), 1);
}

async fn a_reference_has_one_file(db: TestDatabase) {
    let (user, files) = (db.user(0).await, &db.store);
    let new = |name: &str| NewFile {
        id: FileId::from_random(random()),
        user,
        name: name.to_owned(),
        created_at: at(1),
        expires_at: at(2),
        quota: 99,
        request_ref: Some("one".to_owned()),
    };
    let first = new("a");
    assert_eq!(files.begin_file(&first).await.unwrap(), BegunFile::New);
    let earlier = |begun| match begun {
        BegunFile::Earlier(earlier) => earlier,
        BegunFile::New => panic!("two files of one reference"),
    };
    let running = earlier(files.begin_file(&new("b")).await.unwrap());
    assert_eq!((&*running.name, running.complete), ("a", None));
    let content = FileContent { bytes: 0, lines: 0, sha256: Some("digest".to_owned()) };
    files.complete_file(first.id, content, at(9), 9).await.unwrap();
    let (record, digest) = earlier(files.begin_file(&new("a")).await.unwrap()).complete.unwrap();
    assert_eq!((record.id, &*digest), (first.id, "digest"));
    files.delete_file(user, first.id).await.unwrap();
    assert_eq!(files.begin_file(&new("a")).await.unwrap(), BegunFile::New);
}
