//! A database that fails in the middle of polls: they go on when it does, and ask nobody twice.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use ep_kernel::executor::{PollExecutor, PollState, Ports};
use ep_kernel::ports::{Clock, Closing, Entropy, Lease, NewPoll, Opened, PollRecord, PollStore, StoreError};
use ep_kernel::tasks::Tasks;
use ep_polling::ballot::Ballot;
use ep_polling::money::{MicroUsd, Settlement};
use ep_polling::poll_id::PollId;
use ep_polling::time::Timestamp;

use super::scripted::{Case, Script};

/// Keeps polls in memory; every n-th write fails, some of them after they were done.
#[derive(Default)]
struct Flaky {
    polls: Mutex<HashMap<PollId, (PollRecord, Vec<Ballot>)>>,
    writes: AtomicU32,
    fails_every: u32,
    settled: AtomicU32,
}

impl Flaky {
    fn write<T>(&self, change: impl FnOnce() -> T) -> Result<T, StoreError> {
        let number = self.writes.fetch_add(1, Ordering::SeqCst) + 1;
        if !number.is_multiple_of(self.fails_every) {
            return Ok(change());
        }
        if number.is_multiple_of(2) {
            // Done, but nobody hears of it.
            change();
        }
        Err(StoreError::Failed("the disk is on fire".into()))
    }
}

#[async_trait]
impl PollStore for Flaky {
    async fn open(&self, poll: &NewPoll, _: &Lease) -> Result<Opened, StoreError> {
        let NewPoll { id, owner, plan, created_at, .. } = poll.clone();
        let record =
            PollRecord { id: id.clone(), owner, plan, created_at, held: None, closing: None, settled: false };
        self.polls.lock().unwrap().insert(id, (record, Vec::new()));
        Ok(Opened::New { held: None })
    }
    async fn record(&self, poll: &PollId, ballots: &[Ballot]) -> Result<(), StoreError> {
        self.write(|| self.polls.lock().unwrap().get_mut(poll).unwrap().1.extend_from_slice(ballots))
    }
    async fn close(&self, poll: &PollId, closing: &Closing, _: Settlement) -> Result<(), StoreError> {
        self.write(|| self.polls.lock().unwrap().get_mut(poll).unwrap().0.closing = Some(closing.clone()))
    }
    async fn settle(&self, _: &PollId, _: MicroUsd, _: MicroUsd, _: Timestamp) -> Result<bool, StoreError> {
        self.settled.fetch_add(1, Ordering::SeqCst);
        Ok(true)
    }
    async fn poll(&self, id: &PollId) -> Result<Option<PollRecord>, StoreError> {
        Ok(self.polls.lock().unwrap().get(id).map(|(record, _)| record.clone()))
    }
    async fn ballots(&self, id: &PollId, after: u32) -> Result<Vec<Ballot>, StoreError> {
        Ok(self.polls.lock().unwrap()[id].1.iter().filter(|ballot| ballot.seq > after).cloned().collect())
    }
    async fn adopt(&self, _: &Lease, _: Timestamp, _: u32) -> Result<Vec<PollRecord>, StoreError> {
        Ok(Vec::new())
    }
    async fn renew(&self, _: &Lease) -> Result<u64, StoreError> {
        Ok(0)
    }
    async fn ping(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_769_817_600_000)
    }
}

impl Entropy for Fixed {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}

/// Conducts a poll over a store that fails every n-th write, to its end.
async fn conducted(case: &Case, fails_every: u32) -> (PollState, Arc<Script>, Arc<Flaky>) {
    let (script, store) = (Arc::new(case.script()), Arc::new(Flaky { fails_every, ..Flaky::default() }));
    let ports = Ports {
        polls: Arc::clone(&store) as Arc<dyn PollStore>,
        models: Arc::clone(&script) as _,
        clock: Arc::new(Fixed),
        entropy: Arc::new(Fixed),
        tasks: Tasks::default(),
    };
    let executor = PollExecutor::new(ports, Duration::from_secs(30), Duration::from_secs(180));
    let id = executor.open(case.plan(), None, false, None).await.unwrap();
    let mut follow = executor.follow(&id).await.unwrap().unwrap();
    while !follow.next().await.unwrap().is_empty() {}
    (follow.state().await.unwrap(), script, store)
}

#[tokio::test(start_paused = true)]
async fn a_poll_survives_every_failing_write() {
    let votes: Vec<Option<usize>> = (0..30).map(|i| Some(i % 2)).collect();
    for fails_every in [2, 3, 4, 5, 7] {
        let mut case = Case::new(&votes);
        case.threshold = 1.0;
        let (state, script, store) = conducted(&case, fails_every).await;
        assert!(state.record.closing.is_some(), "every {fails_every}");
        assert_eq!(state.ballots.len(), 30, "every {fails_every}");
        let id = &state.record.id;
        let stored = store.ballots(id, 0).await.unwrap();
        assert_eq!(stored.len(), 30, "memory and database agree");
        let mut positions: Vec<u32> = stored.iter().map(|ballot| ballot.position).collect();
        positions.sort_unstable();
        assert_eq!(positions, (0..30).collect::<Vec<_>>());
        // Whoever was recorded is never asked again; whoever was lost on the way is.
        assert!(script.asked.lock().unwrap().len() >= 30);
    }
}
