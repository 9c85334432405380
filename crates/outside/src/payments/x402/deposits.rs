//! USDC deposits: the protocol and the service that credits them.

use std::sync::Arc;
use std::time::Duration;

use ep_kernel::deposits::pending;
use ep_kernel::{Caller, DepositOutcome, Deposits, Fault, Tasks};
use ep_store::Payment;
use tokio::sync::oneshot;

use super::X402;

/// Maximum wait for a settlement before the client is asked to retry. Deadlines of routes must be longer.
const LONGEST_WAIT: Duration = Duration::from_secs(80);

/// Configured USDC deposits.
#[derive(Clone)]
pub struct Usdc {
    /// The protocol.
    pub x402: Arc<X402>,
    /// The deposit service.
    pub deposits: Arc<Deposits>,
}

impl Usdc {
    /// Settles a payment, even if its client disconnects.
    pub async fn take(
        &self,
        tasks: &Tasks,
        payment: Payment,
        caller: Caller,
    ) -> Result<DepositOutcome, Fault> {
        let (sender, answered) = oneshot::channel();
        let deposits = Arc::clone(&self.deposits);
        tasks.spawn(async move {
            let outcome = deposits.take(payment, &caller).await;
            drop(sender.send(outcome));
        });
        // After a timeout the client must retry the same payment, not sign a new one.
        let answered = tokio::time::timeout(LONGEST_WAIT, answered).await;
        if let Ok(Ok(outcome)) = answered { outcome } else { Err(pending()) }
    }
}
