//! The ledger against a model. After every change of a random sequence, the balance equals the model's and
//! the sum of its transfers.

use std::collections::HashMap;

use ep_polling::{PollId, Settlement};
use ep_store::{CreditOutcome, Epoch, Opened, StoreError, UserId};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use ep_store::testing::test_database::{TestDatabase, at, closing, hold, lease, new_poll, usd};

/// A change to one account. Polls are numbered in the order of their opening.
#[derive(Debug, Clone)]
enum Change {
    Credit { reference: u8, amount: i64 },
    Open { at_least: i64, at_most: i64 },
    Close { poll: usize, capture: Option<i64> },
    Settle { poll: usize, capture: i64 },
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let amount = || 0..1_500_i64;
    let change = prop_oneof![
        (0..6_u8, 1..1_500_i64).prop_map(|(reference, amount)| Change::Credit { reference, amount }),
        (amount(), amount()).prop_map(|(a, b)| Change::Open { at_least: a.min(b), at_most: a.max(b) }),
        (0..8_usize, proptest::option::of(amount()))
            .prop_map(|(poll, capture)| Change::Close { poll, capture }),
        (0..8_usize, amount()).prop_map(|(poll, capture)| Change::Settle { poll, capture }),
    ];
    proptest::collection::vec(change, 1..40)
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Running,
    Closed,
    Settled,
}

#[derive(Default)]
struct Model {
    posted: i64,
    held: i64,
    used: i64,
    credits: HashMap<u8, i64>,
    polls: Vec<(PollId, i64, State)>,
}

impl Model {
    fn capture(&mut self, poll: usize, amount: i64) {
        let (_, held, state) = &mut self.polls[poll];
        let captured = amount.min(*held);
        *state = State::Settled;
        self.held -= *held;
        self.posted -= captured;
        self.used += captured;
    }

    /// Makes a change in the database and in the model, and compares the results.
    async fn apply(&mut self, db: &TestDatabase, user: UserId, change: &Change) {
        match *change {
            Change::Credit { reference, amount } => {
                let text = format!("credit:{user}:{reference}");
                let outcome = db.treasury.credit(user, usd(amount), &text, at(1)).await;
                match self.credits.get(&reference) {
                    None => {
                        assert_eq!(outcome.unwrap(), CreditOutcome::Credited);
                        self.credits.insert(reference, amount);
                        self.posted += amount;
                    }
                    Some(earlier) if *earlier == amount => {
                        assert_eq!(outcome.unwrap(), CreditOutcome::AlreadyCredited);
                    }
                    Some(_) => assert!(matches!(outcome, Err(StoreError::Conflict(_))), "{outcome:?}"),
                }
            }
            Change::Open { at_least, at_most } => {
                let poll = new_poll(Some(user), Some(hold(at_least, at_most)));
                let opened = db.polls.open(&poll, &lease("worker", 60_000)).await;
                let available = self.posted - self.held;
                if available < at_least {
                    assert!(matches!(opened, Err(StoreError::InsufficientBalance { .. })), "{opened:?}");
                } else {
                    let held = at_most.min(available);
                    assert_eq!(opened.unwrap(), Opened::New { held: Some(usd(held)), notifies: false });
                    self.held += held;
                    self.polls.push((poll.id, held, State::Running));
                }
            }
            Change::Close { poll, capture } => {
                let Some((id, _, state)) = self.polls.get(poll).cloned() else { return };
                let settlement = capture.map_or(Settlement::Later, |amount| Settlement::Capture(usd(amount)));
                let closed = db.polls.close(&id, Epoch::FIRST, &[], &closing(None), settlement).await;
                assert_eq!(closed.is_ok(), state == State::Running, "{closed:?}");
                match (closed, capture) {
                    (Ok(()), Some(amount)) => self.capture(poll, amount),
                    (Ok(()), None) => self.polls[poll].2 = State::Closed,
                    (Err(_), _) => {}
                }
            }
            Change::Settle { poll, capture } => {
                let Some((id, _, state)) = self.polls.get(poll).cloned() else { return };
                let settled = db.polls.settle(&id, Epoch::FIRST, usd(capture), usd(0), at(1)).await;
                match state {
                    State::Running => assert!(matches!(settled, Err(StoreError::NotFound(_))), "{settled:?}"),
                    State::Closed => {
                        assert!(settled.unwrap());
                        self.capture(poll, capture);
                    }
                    State::Settled => assert!(!settled.unwrap()),
                }
            }
        }
    }
}

#[test]
fn balances_follow_a_model_and_equal_their_transfers() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let db = runtime.block_on(TestDatabase::temporary());
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) };
    let result = TestRunner::new(config).run(&changes(), |changes| {
        runtime.block_on(async {
            let user = db.user(0).await;
            let mut model = Model::default();
            for change in &changes {
                model.apply(&db, user, change).await;
                assert_eq!(db.money(user).await, [model.posted, model.held, model.used], "{change:?}");
            }
            db.assert_consistent().await;
        });
        Ok(())
    });
    result.unwrap();
}
