//! USDC deposits.
//!
//! A payment is stored before it is settled, so a crash or a lost response leaves a row for reconciliation. While the
//! outcome is unknown, the caller must retry the same payment: a "payment required" response would make it sign a
//! second one. An outcome that is not known is never recorded as a failure. Credit is posted once the transfer is final.

mod chain_audit;
mod operator;
mod reconciliation;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::caller::Caller;
use crate::fault::{Fault, Kind, Result};
use crate::keys::IssuedKey;
use crate::ports::{Clock, Entropy, PaymentNetwork, PaymentRejection, TransferOutcome, Verification};
use crate::sign_in::SignUps;
use ep_polling::{MicroUsd, Timestamp};
use ep_store::{
    BegunDeposit, DepositId, DepositState, NewDeposit, Payment, Received, StoredDeposit, Transfer, Treasury,
    UserId, WalletAddress,
};

pub use chain_audit::ChainComparison;
pub use operator::TransactionHash;

/// Time between beginning a deposit and its first reconciliation.
const RECONCILE_AFTER: Duration = Duration::from_mins(2);
/// Time between look-ups of a confirming deposit.
const CONFIRM_AFTER: Duration = Duration::from_secs(5);
/// Longest time between two look-ups of a deposit of unknown outcome.
const LONGEST_WAIT: Duration = Duration::from_hours(1);
/// Longest time between two look-ups of a failed deposit.
const LONGEST_WAIT_FAILED: Duration = Duration::from_hours(24);
/// Retry delay while the outcome is unknown.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// USDC deposits.
pub struct Deposits {
    network: Arc<dyn PaymentNetwork>,
    store: Treasury,
    sign_ups: Arc<SignUps>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    /// References of payments being settled by this process.
    in_flight: Mutex<HashSet<String>>,
}

/// A payment being settled by this process, until this is dropped.
struct InFlight<'a> {
    deposits: &'a Deposits,
    reference: String,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.deposits.payments_in_flight().remove(&self.reference);
    }
}

/// Spendability of a deposit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DepositStatus {
    /// The transfer is on the chain and not final. The account is not credited yet.
    Confirming,
    /// The account is credited.
    Settled,
}

/// A deposit whose transfer is on the chain.
#[derive(Debug)]
pub struct Deposited {
    /// The deposit's id.
    pub id: DepositId,
    /// The status.
    pub status: DepositStatus,
    /// The amount.
    pub amount: MicroUsd,
    /// The transaction's hash.
    pub transaction: String,
    /// The payer's address.
    pub payer: WalletAddress,
    /// The credited account.
    pub user: UserId,
    /// True if an earlier request used this payment. A payment is public on the chain, so anyone can repeat
    /// it: the repetition proves no account.
    pub is_repeat: bool,
    /// True if the account was created for this deposit, and `key` holds its first key.
    pub is_new_user: bool,
    /// The first key of a new account.
    pub key: Option<IssuedKey>,
}

/// Outcome of taking a payment.
#[derive(Debug)]
pub enum DepositOutcome {
    /// The transfer is on the chain.
    Deposited(Box<Deposited>),
    /// Not settled; the payer may sign a new payment.
    Rejected(PaymentRejection),
}

impl Deposits {
    /// Creates the service for this network.
    pub fn new(
        network: Arc<dyn PaymentNetwork>,
        store: Treasury,
        sign_ups: Arc<SignUps>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Self { network, store, sign_ups, clock, entropy, in_flight: Mutex::default() }
    }

    fn payments_in_flight(&self) -> MutexGuard<'_, HashSet<String>> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves a payment for this caller; `None` if this process is already settling it.
    fn reserve(&self, reference: &str) -> Option<InFlight<'_>> {
        let is_new = self.payments_in_flight().insert(reference.to_owned());
        is_new.then(|| InFlight { deposits: self, reference: reference.to_owned() })
    }

    /// Accepts a payment once, for the caller's account, or the payer's if the caller has none.
    /// [`Kind::Unavailable`] while the outcome is unknown.
    pub async fn take(&self, payment: Payment, caller: &Caller) -> Result<DepositOutcome> {
        if let Verification::Rejected(why) = self.verify(&payment).await? {
            return Ok(DepositOutcome::Rejected(why));
        }
        // Only the request that settles a payment can show the first key of a new account.
        let Some(_in_flight) = self.reserve(&payment.reference) else { return Err(pending()) };
        if let Some(known) = self.store.deposit(&payment.reference).await? {
            return self.again(known).await;
        }
        let id = DepositId::from_random(self.entropy.bytes());
        let (since, created_at) = (self.network.position().await?, self.clock.now());
        let deposit = NewDeposit { id, payment, user: caller.user(), since, created_at };
        let reconcile_at = created_at.after(RECONCILE_AFTER);
        if let BegunDeposit::Known(known) = self.store.begin_deposit(&deposit, reconcile_at).await? {
            return self.again(*known).await;
        }
        let outcome = self.network.settle(&deposit.payment, since).await;
        self.finish(&StoredDeposit { deposit, state: DepositState::Settling, attempts: 0 }, outcome, true)
            .await
    }

    /// Verifies a payment before any response: it repeats a stored one with the same signature, or the
    /// network accepts it. The network rejects a payment that another request settled meanwhile, so the store
    /// is read again.
    async fn verify(&self, payment: &Payment) -> Result<Verification> {
        if self.is_stored(payment).await? {
            return Ok(Verification::Valid);
        }
        match self.network.verify(payment).await? {
            Verification::Rejected(_) if self.is_stored(payment).await? => Ok(Verification::Valid),
            verdict => Ok(verdict),
        }
    }

    async fn is_stored(&self, payment: &Payment) -> Result<bool> {
        let known = self.store.deposit(&payment.reference).await?;
        Ok(known.is_some_and(|known| self.network.repeats(&known.deposit.payment, payment)))
    }

    /// Responds to a repeated payment. Never returns the first key: a payment is public on the chain, so anyone can
    /// repeat it.
    async fn again(&self, known: StoredDeposit) -> Result<DepositOutcome> {
        let StoredDeposit { deposit, state, .. } = &known;
        match state {
            DepositState::Settled(received) => Ok(repeated(deposit, received, DepositStatus::Settled)),
            DepositState::Failed => {
                let mut outcome = self.network.look_up(&deposit.payment, deposit.since).await;
                if let TransferOutcome::Unused { .. } = outcome {
                    // Nothing has moved, so this is a first attempt again.
                    let reconcile_at = self.clock.now().after(RECONCILE_AFTER);
                    let BegunDeposit::New = self.store.begin_deposit(deposit, reconcile_at).await? else {
                        return Err(pending());
                    };
                    outcome = self.network.settle(&deposit.payment, deposit.since).await;
                    let known = StoredDeposit {
                        deposit: deposit.clone(),
                        state: DepositState::Settling,
                        attempts: 0,
                    };
                    return self.finish(&known, outcome, false).await;
                }
                self.finish(&known, outcome, false).await
            }
            DepositState::Settling
            | DepositState::Unknown
            | DepositState::Confirming(_)
            | DepositState::Vanished(_) => {
                let outcome = self.find_or_settle(deposit).await;
                self.finish(&known, outcome, false).await
            }
        }
    }

    /// Looks a payment up, and settles it again if it is still unused. A rejection is not final: an earlier
    /// attempt may still be settled until the authorization expires.
    async fn find_or_settle(&self, deposit: &NewDeposit) -> TransferOutcome {
        match self.network.look_up(&deposit.payment, deposit.since).await {
            TransferOutcome::Unused { .. } => {
                match self.network.settle(&deposit.payment, deposit.since).await {
                    TransferOutcome::NotMoved(_) => TransferOutcome::Unknown,
                    settled => settled,
                }
            }
            outcome => outcome,
        }
    }

    /// Records an outcome, and returns the result for the sender of the payment.
    async fn finish(
        &self,
        known: &StoredDeposit,
        outcome: TransferOutcome,
        is_first: bool,
    ) -> Result<DepositOutcome> {
        match outcome {
            TransferOutcome::Moved(transfer) => self.credit(known, &transfer, is_first).await,
            TransferOutcome::NotMoved(why) => {
                self.fail(known, why).await?;
                Ok(DepositOutcome::Rejected(why))
            }
            TransferOutcome::Unused { .. } | TransferOutcome::Unknown => {
                self.postpone(known).await?;
                match &known.state {
                    DepositState::Confirming(received) => {
                        Ok(repeated(&known.deposit, received, DepositStatus::Confirming))
                    }
                    _ => Err(pending()),
                }
            }
        }
    }

    async fn credit(
        &self,
        known: &StoredDeposit,
        transfer: &Transfer,
        is_first: bool,
    ) -> Result<DepositOutcome> {
        let NewDeposit { id, payment, user: account, .. } = &known.deposit;
        let (payer, key) = self.sign_ups.draw_payer(payment.payer, is_first);
        let now = self.clock.now();
        let reconcile_at = now.after(CONFIRM_AFTER);
        let credited =
            self.store.credit_deposit(&payment.reference, transfer, &payer, now, reconcile_at).await?;
        if credited.credited {
            metrics::counter!("ep_usdc_deposits_total").increment(1);
            tracing::info!(deposit = %id, amount = %payment.amount, "account funded in USDC");
        }
        let key = match (credited.now, is_first) {
            (true, _) => key.filter(|_| credited.is_new_user),
            // Another process recorded it meanwhile, and may have created the account without a key.
            (false, true) if account.is_none() => self.sign_ups.first_key_of(credited.user).await?,
            (false, _) => None,
        };
        Ok(DepositOutcome::Deposited(Box::new(Deposited {
            id: *id,
            status: if credited.is_settled { DepositStatus::Settled } else { DepositStatus::Confirming },
            amount: payment.amount,
            transaction: transfer.transaction.clone(),
            payer: payment.payer,
            user: credited.user,
            is_repeat: !is_first,
            is_new_user: key.is_some(),
            key,
        })))
    }

    /// Records that no money has moved. Unless the chain proves it, the deposit is looked up again after its
    /// authorization has expired.
    async fn fail(&self, known: &StoredDeposit, why: PaymentRejection) -> Result<()> {
        let reference = &known.deposit.payment.reference;
        let is_proven = matches!(why, PaymentRejection::ExpiredUnused | PaymentRejection::Used);
        if let DepositState::Vanished(_) = known.state {
            // The operator decides about its credit.
            return Ok(self.store.postpone_deposit(reference, false, None).await?);
        }
        let later = || self.clock.now().max(known.deposit.payment.valid_before).after(RECONCILE_AFTER);
        Ok(self.store.fail_deposit(reference, (!is_proven).then(later)).await?)
    }

    /// Sets the time of the next look-up, later after every unsuccessful one.
    async fn postpone(&self, known: &StoredDeposit) -> Result<()> {
        let NewDeposit { id, payment, .. } = &known.deposit;
        let now = self.clock.now();
        let is_unknown = known.state == DepositState::Settling && now > payment.valid_before;
        if is_unknown {
            metrics::counter!("ep_usdc_deposits_unknown_total").increment(1);
            tracing::error!(
                deposit = %id,
                "outcome of a deposit is unknown; retrying later, or run `ep admin settle-deposit`"
            );
        }
        let reconcile_at = next_reconciliation(now, known);
        Ok(self.store.postpone_deposit(&payment.reference, is_unknown, Some(reconcile_at)).await?)
    }
}

/// Returns the time of the next look-up after an unsuccessful one.
fn next_reconciliation(now: Timestamp, known: &StoredDeposit) -> Timestamp {
    let (first, longest) = match known.state {
        DepositState::Confirming(_) => (CONFIRM_AFTER, RECONCILE_AFTER),
        DepositState::Failed => (RECONCILE_AFTER, LONGEST_WAIT_FAILED),
        _ => (RECONCILE_AFTER, LONGEST_WAIT),
    };
    now.after(first.saturating_mul(1 << known.attempts.min(16)).min(longest))
}

fn repeated(deposit: &NewDeposit, received: &Received, status: DepositStatus) -> DepositOutcome {
    DepositOutcome::Deposited(Box::new(Deposited {
        id: deposit.id,
        status,
        amount: deposit.payment.amount,
        transaction: received.transaction.clone(),
        payer: deposit.payment.payer,
        user: received.user,
        is_repeat: true,
        is_new_user: false,
        key: None,
    }))
}

/// Returns the fault for a payment of unknown outcome.
pub fn pending() -> Fault {
    let text = "the outcome of the payment is not known yet; do not pay again: send the same request with the same \
                payment, and do not sign another payment";
    Fault::new(Kind::Unavailable, text).retry_after(RETRY_AFTER)
}

/// Returns the fault for work that needs the credit of a deposit not yet final.
pub fn confirming() -> Fault {
    let text = "the payment is on the chain and awaits confirmations; do not pay again: send the same message \
                with the same payment, and do not sign another payment";
    Fault::new(Kind::Unavailable, text).retry_after(RETRY_AFTER)
}
