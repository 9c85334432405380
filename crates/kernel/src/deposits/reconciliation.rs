//! Reconciliation of deposits with open outcomes.

use std::collections::BTreeMap;

use futures::StreamExt;

use super::{DepositOutcome, Deposits};
use crate::fault::{Kind, Result};
use ep_store::{DepositState, StoredDeposit};

/// Maximum deposits per run.
const PER_RUN: u32 = 64;
/// Maximum deposits of one payer per run.
const PER_PAYER: u32 = 2;
/// Number of payers reconciled concurrently. The deposits of one payer are looked up one after the other.
const PAYERS_AT_ONCE: usize = 16;

impl Deposits {
    /// Looks up due deposits. Returns their number.
    pub async fn reconcile(&self) -> Result<usize> {
        let due = self.store.due_deposits(self.clock.now(), PER_RUN, PER_PAYER).await?;
        let looked = due.len();
        self.reconcile_each(due).await;
        Ok(looked)
    }

    /// Looks up all open deposits, due or not. Returns their number.
    pub async fn reconcile_all(&self) -> Result<usize> {
        let (mut looked, mut after) = (0, String::new());
        loop {
            let open = self.store.open_deposits(&after, PER_RUN).await?;
            let Some(last) = open.last() else { return Ok(looked) };
            after.clone_from(&last.deposit.payment.reference);
            looked += open.len();
            self.reconcile_each(open).await;
        }
    }

    async fn reconcile_each(&self, deposits: Vec<StoredDeposit>) {
        let mut payers: BTreeMap<String, Vec<StoredDeposit>> = BTreeMap::new();
        for known in deposits {
            payers.entry(known.deposit.payment.payer.lower_case()).or_default().push(known);
        }
        let each_payer = async |deposits: Vec<StoredDeposit>| {
            for known in deposits {
                self.reconcile_one(&known).await;
            }
        };
        futures::stream::iter(payers.into_values()).for_each_concurrent(PAYERS_AT_ONCE, each_payer).await;
    }

    async fn reconcile_one(&self, known: &StoredDeposit) {
        let deposit = &known.deposit;
        // Another request is settling it.
        let Some(_in_flight) = self.reserve(&deposit.payment.reference) else { return };
        let outcome = match known.state {
            // Its payer was informed that nothing has moved, so nothing is settled for it.
            DepositState::Failed => self.network.look_up(&deposit.payment, deposit.since).await,
            _ => self.find_or_settle(deposit).await,
        };
        match self.finish(known, outcome, false).await {
            Ok(DepositOutcome::Deposited(_)) if matches!(known.state, DepositState::Vanished(_)) => {
                tracing::warn!(
                    deposit = %deposit.id,
                    "the transaction of a vanished deposit is on the chain again; unfreeze its account"
                );
            }
            Ok(_) => {}
            Err(fault) if fault.kind() == Kind::Unavailable => {
                tracing::warn!(deposit = %deposit.id, "outcome of a deposit is still unknown");
            }
            Err(fault) => {
                tracing::error!(deposit = %deposit.id, error = %fault, "failed to settle a deposit");
            }
        }
    }
}
