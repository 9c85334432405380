//! A database for one test, and sample values.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(missing_docs, reason = "names and types say it")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ep_polling::ballot::READER;
use ep_polling::{
    Ballot, BallotMode, Budget, Casting, ChoiceKind, Hold, Member, MicroUsd, ModelId, NoVote, Pace, Plan,
    PollId, Price, Probabilities, Reason, Seed, Spend, SpendBasis, Threshold, Timestamp, Tokens,
};
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::accounts::{
    AccountDeletion, AccountDeletionOutcome, Email, Identity, NewSignUp, NewUser, StarterCreditLimits,
    WalletAddress,
};
use crate::batches::BatchLimits;
use crate::database_url::DatabaseUrl;
use crate::handles::{OpenDatabase, Runtime, Store, Treasury, Vault};
use crate::ids::{KeyId, UserId};
use crate::lease::Lease;
use crate::ledger::Audit;
use crate::polls::{Closing, NewPoll, Opened, PollStore};
use crate::testing::postgres;
use crate::upstreams::UpstreamCache;

/// Runs each test on SQLite and on PostgreSQL.
#[macro_export]
macro_rules! on_both_engines {
    ($($test:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test($crate::testing::TestDatabase::sqlite().await).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test($crate::testing::TestDatabase::postgres().await).await;
            })*
        }
    };
}

/// An open database with its handles.
pub struct TestDatabase {
    pub store: Store,
    pub treasury: Treasury,
    pub vault: Vault,
    pub runtime: Runtime,
    pub polls: Arc<dyn PollStore>,
    pub upstream_cache: Arc<dyn UpstreamCache>,
    pub url: String,
    files: Files,
}

/// Deletes an account with any balance.
pub async fn delete_account(db: &TestDatabase, user: UserId, at: Timestamp) {
    let deletion = AccountDeletion { user, forfeit_balance: true, by_operator: true, at };
    let deleted = db.store.delete_account(deletion).await.unwrap();
    assert!(matches!(deleted, AccountDeletionOutcome::Deleted { .. }), "{deleted:?}");
}

/// Deletes the database when dropped.
#[expect(clippy::large_enum_variant, reason = "a handful in a test process")]
enum Files {
    Temporary,
    Folder { _folder: tempfile::TempDir },
    Database { _database: postgres::Database },
}

impl TestDatabase {
    /// Creates a SQLite database in a file.
    pub async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("new/ep.db").display());
        Self::open(url, Files::Folder { _folder: folder }).await
    }

    /// Creates a SQLite database without durable commits.
    pub async fn temporary() -> Self {
        Self::open("sqlite::memory:".to_owned(), Files::Temporary).await
    }

    /// Creates a PostgreSQL database.
    pub async fn postgres() -> Self {
        let database = postgres::Postgres::start().unwrap().database().await.unwrap();
        Self::open(database.url().to_owned(), Files::Database { _database: database }).await
    }

    /// Closes the database and opens it again.
    pub async fn reopened(self) -> Self {
        self.runtime.close().await;
        Self::open(self.url, self.files).await
    }

    async fn open(url: String, files: Files) -> Self {
        let OpenDatabase { store, treasury, vault, runtime } = connect(&url).await;
        Self {
            polls: runtime.polls(),
            upstream_cache: runtime.upstream_cache(),
            store,
            treasury,
            vault,
            runtime,
            url,
            files,
        }
    }

    /// Creates a user with this much credit.
    pub async fn user(&self, credit: i64) -> UserId {
        let id = UserId::from_random(random());
        let email = format!("{id}@example.com").parse().unwrap();
        let user = NewUser { id, email, starter_credit: MicroUsd::new(credit), created_at: at(0) };
        self.treasury.create_user(&user).await.unwrap();
        id
    }

    /// Moves every lease and deadline back by this many milliseconds, which simulates that time on the
    /// database's clock.
    pub async fn pass(&self, millis: i64) {
        for change in [
            format!(
                "UPDATE polls SET lease_until = lease_until - {millis}, deadline_at = deadline_at - {millis}"
            ),
            format!("UPDATE replays SET lease_until = lease_until - {millis}"),
            format!("UPDATE batches SET lease_until = lease_until - {millis}"),
            format!("UPDATE batch_rows SET lease_until = lease_until - {millis}"),
        ] {
            tamper(&self.url, change).await.unwrap();
        }
    }

    /// Opens a running poll, leased to `worker` for a minute.
    pub async fn running(&self, owner: Option<UserId>, hold: Option<Hold>) -> PollId {
        let poll = new_poll(owner, hold);
        let opened = self.polls.open(&poll, &lease("worker", 60_000)).await.unwrap();
        assert!(matches!(opened, Opened::New { .. }));
        poll.id
    }

    /// Asserts that an audit finds no error in the ledger. Tests capture amounts unrelated to their ballots,
    /// and record ballots in any order.
    pub async fn assert_consistent(&self) {
        let audit = self.treasury.audit(SETTLED_WITHIN).await.unwrap();
        let audit = Audit { wrong_captures: Vec::new(), wrong_ballots: Vec::new(), ..audit };
        assert!(audit.is_clean(), "{audit:?}");
    }

    /// Returns the posted, held and used amounts.
    pub async fn money(&self, user: UserId) -> [i64; 3] {
        let balance = self.store.balance(user).await.unwrap().unwrap();
        [balance.posted.micro(), balance.held.micro(), balance.used.micro()]
    }
}

/// Returns a new wallet.
pub fn wallet() -> WalletAddress {
    let mut bytes = [0; 20];
    bytes[..16].copy_from_slice(&random());
    WalletAddress::new(bytes)
}

/// Returns the unlimited sign-up of a wallet with this much starter credit.
pub fn sign_up(wallet: WalletAddress, starter_credit: i64) -> NewSignUp {
    NewSignUp {
        identity: Identity::Wallet(wallet),
        user: NewUser {
            id: UserId::from_random(random()),
            email: Email::of_wallet(wallet),
            starter_credit: usd(starter_credit),
            created_at: at(0),
        },
        key: None,
        limits: StarterCreditLimits { per_day: 0, per_network_and_day: 0, per_address_and_day: 0 },
        client: String::new(),
        network: String::new(),
    }
}

pub async fn connect(url: &str) -> OpenDatabase {
    let url: DatabaseUrl = url.parse().unwrap();
    crate::connect(&url, crate::StoreOptions { connections: 16, timeout: Duration::from_secs(30) })
        .await
        .unwrap()
}

/// The time within which a poll must be settled after its deadline.
pub const SETTLED_WITHIN: Duration = Duration::from_mins(1);

/// Runs a statement directly, bypassing the store.
pub async fn tamper(
    url: &str,
    sql: impl Into<String>,
) -> Result<u64, Box<dyn std::error::Error + Send + Sync>> {
    let sql = sql.into();
    if let Some(file) = url.strip_prefix("sqlite://") {
        return Ok(open_sqlite(file).execute(&sql, [])? as u64);
    }
    let mut db = PgConnection::connect(url).await?;
    Ok(sqlx::query(AssertSqlSafe(sql)).execute(&mut db).await?.rows_affected())
}

/// Reads a number directly, bypassing the store.
pub async fn number(url: &str, sql: &'static str) -> i64 {
    if let Some(file) = url.strip_prefix("sqlite://") {
        return open_sqlite(file).query_row(sql, [], |row| row.get(0)).unwrap();
    }
    let mut db = PgConnection::connect(url).await.unwrap();
    sqlx::query_scalar(sql).fetch_one(&mut db).await.unwrap()
}

/// Reads texts directly, bypassing the store.
pub async fn texts(url: &str, sql: &'static str) -> Vec<String> {
    if let Some(file) = url.strip_prefix("sqlite://") {
        let db = open_sqlite(file);
        let mut rows = db.prepare(sql).unwrap();
        return rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    }
    let mut db = PgConnection::connect(url).await.unwrap();
    sqlx::query_scalar(sql).fetch_all(&mut db).await.unwrap()
}

/// Opens a file directly, bypassing the store.
pub fn open_sqlite(file: &str) -> rusqlite::Connection {
    let db = rusqlite::Connection::open(file).unwrap();
    db.pragma_update(None, "foreign_keys", true).unwrap();
    db.busy_timeout(Duration::from_secs(5)).unwrap();
    db
}

/// Returns bytes that are unique among all test processes.
pub fn random() -> [u8; 16] {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&NEXT.fetch_add(1, Ordering::Relaxed).to_le_bytes());
    bytes[8..12].copy_from_slice(&std::process::id().to_le_bytes());
    bytes
}

pub fn key_id() -> KeyId {
    KeyId::from_random(random())
}

pub fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_769_817_600_000 + millis)
}

pub fn usd(micro: i64) -> MicroUsd {
    MicroUsd::new(micro)
}

/// Returns a lease that lasts this many milliseconds.
pub fn lease(worker: &str, lasts: u64) -> Lease {
    Lease { worker: worker.to_owned(), lasts: Duration::from_millis(lasts) }
}

/// Returns the limits of an account with this number of open batches.
pub const fn limits(open: u32) -> BatchLimits {
    BatchLimits { open, results_bytes: 1 << 20, failed: 3 }
}

pub fn hold(at_least: i64, at_most: i64) -> Hold {
    Hold { at_least: usd(at_least), at_most: usd(at_most) }
}

pub fn new_poll(owner: Option<UserId>, hold: Option<Hold>) -> NewPoll {
    let bytes = random();
    let number = u64::from_le_bytes(std::array::from_fn(|index| bytes[index]));
    let process = u64::from(std::process::id()) % 100_000;
    let id = format!("EP-20260131-{process:05}{number:05}").parse().unwrap();
    NewPoll {
        id,
        owner,
        plan: plan(50),
        created_at: at(7),
        request_ref: None,
        hold,
        capped: None,
        notify: None,
        batch: None,
        time: Some(Duration::from_mins(2)),
    }
}

pub fn plan(members: usize) -> Plan {
    let member = |number: usize| Member {
        model: ModelId::new(format!("maker/some-model-{number}")),
        family: format!("family-{}", number % 7),
        price: (!number.is_multiple_of(5)).then_some(Price::FREE),
        output_tokens: 400,
    };
    Plan {
        question: "Tabs or \"spaces\"? 🦀 \u{1}".into(),
        options: vec!["Tabs".into(), "Spaces".into(), "Neither".into()],
        preset: Some("generalist".into()),
        panel: None,
        threshold: Threshold::new(0.123_456_789_012_345_67).unwrap(),
        budget: Budget::default(),
        pace: Pace::Balanced,
        private: false,
        explanations: None,
        kind: ChoiceKind::Options,
        complete: false,
        on_tie: ep_polling::tie_rule::TieRule::Report,
        ranked: false,
        simulated: true,
        roster: (0..members).map(member).collect(),
        seed: Seed::new([7; 32]),
        deadline_ms: 120_000,
        notices: vec!["Only 50 models are on offer.".to_owned()].into(),
    }
}

/// Returns the ballot with this sequence number and member position; every third has no vote, and every seventh has
/// probabilities.
pub fn ballot(seq: u32, position: u32) -> Ballot {
    let failed = position % 3 == 2;
    Ballot {
        seq,
        position,
        vote: if failed {
            Err(NoVote::new(Reason::RateLimited, "the model asked for \"fewer\" requests"))
        } else {
            Ok(position as usize % 2)
        },
        probabilities: position.is_multiple_of(7).then(|| Probabilities::new(&[0.25, 0.75]).unwrap()),
        casting: (!failed).then_some(Casting {
            mode: BallotMode::ForcedTool,
            reasoned: [None, Some(true), Some(false)][position as usize % 3],
            asked_again: position.is_multiple_of(5),
        }),
        latency_ms: 850 + position,
        at_ms: 900 * seq,
        spend: Spend {
            amount: usd(if failed { 0 } else { 120 }),
            basis: if failed { SpendBasis::Unknown } else { SpendBasis::Reported },
        },
        tokens: (!failed).then_some(Tokens { prompt: 200 + position, completion: 18 }),
        answered_by: position.is_multiple_of(4).then(|| "maker/some-model-20260101".to_owned()),
    }
}

pub fn ballots(seqs: std::ops::RangeInclusive<u32>) -> Vec<Ballot> {
    seqs.map(|seq| ballot(seq, seq - 1)).collect()
}

pub fn closing(unused: Option<i64>) -> Closing {
    serde_json::from_value(json!({
        "reason": "confidence",
        "p_value": 0.012_345_678_901_234_567,
        "gather_ms": 4_321,
        "upstream_us": 4_000_001,
        "total_ms": 4_400,
        "closed_at": at(5_000),
        "reader": READER,
        "unused_calls_cost": unused,
    }))
    .unwrap()
}
