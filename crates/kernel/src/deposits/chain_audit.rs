//! Comparison of settled deposits with the chain.

use std::time::Duration;

use super::Deposits;
use crate::fault::Result;
use crate::ports::Presence;
use ep_polling::{MicroUsd, Timestamp};
use ep_store::{DepositId, StoredDeposit};

/// Number of deposits read and compared per page.
const PAGE: u32 = 500;

/// Result of comparing settled deposits with the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainComparison {
    /// Number of settled deposits.
    pub deposits: u64,
    /// Sum of the deposits.
    pub settled: MicroUsd,
    /// Sum of the deposits found on the chain.
    pub on_chain: MicroUsd,
    /// Deposits not found on the chain.
    pub missing: Vec<DepositId>,
    /// Deposits that the node could not look up.
    pub unchecked: Vec<DepositId>,
}

impl ChainComparison {
    /// Returns true if the chain shows every settled deposit.
    pub fn is_clean(&self) -> bool {
        self.settled == self.on_chain
    }
}

impl Deposits {
    /// Compares all settled deposits with the chain, and changes nothing. `None` without a node.
    pub async fn compare_all(&self) -> Result<Option<ChainComparison>> {
        self.compare(Timestamp::from_millis(0), false).await
    }

    /// Compares the settled deposits of the last `past` with the chain, and freezes the accounts of missing
    /// ones. `None` without a node.
    pub async fn compare_recent(&self, past: Duration) -> Result<Option<ChainComparison>> {
        self.compare(self.clock.now().before(past), true).await
    }

    async fn compare(&self, since: Timestamp, freezes: bool) -> Result<Option<ChainComparison>> {
        if !self.network.has_node() {
            return Ok(None);
        }
        let (mut missing, mut unchecked) = (Vec::new(), Vec::new());
        let (mut deposits, mut settled, mut on_chain) = (0, MicroUsd::ZERO, MicroUsd::ZERO);
        let mut after = (since, String::new());
        loop {
            let page = self.store.settled_deposits((after.0, &after.1), PAGE).await?;
            for (known, presence) in page.iter().zip(self.network.presence(&page).await) {
                deposits += 1;
                settled = settled.plus(known.deposit.payment.amount);
                match presence {
                    Presence::Found => on_chain = on_chain.plus(known.deposit.payment.amount),
                    Presence::Missing => {
                        missing.push(known.deposit.id);
                        if freezes {
                            self.vanish(known).await?;
                        }
                    }
                    Presence::Unknown => unchecked.push(known.deposit.id),
                }
            }
            let Some(last) = page.last().filter(|_| page.len() == PAGE as usize) else { break };
            after = (last.deposit.created_at, last.deposit.payment.reference.clone());
        }
        if !unchecked.is_empty() {
            tracing::warn!(deposits = unchecked.len(), "failed to compare settled deposits with the chain");
        }
        Ok(Some(ChainComparison { deposits, settled, on_chain, missing, unchecked }))
    }

    async fn vanish(&self, known: &StoredDeposit) -> Result<()> {
        let reference = &known.deposit.payment.reference;
        if self.store.vanish_deposit(reference, self.clock.now()).await? {
            metrics::counter!("ep_usdc_deposits_vanished_total").increment(1);
            tracing::error!(
                deposit = %known.deposit.id,
                amount = %known.deposit.payment.amount,
                "the transaction of a settled deposit is no longer on the chain; its account is frozen"
            );
        }
        Ok(())
    }
}
