//! Deposits of USDC.
//!
//! A payment is stored before it is carried out, so that a crash or a lost answer leaves a row that somebody looks
//! after. While nobody can say whether the money has moved, the caller is told to come back with the same payment: told
//! to pay, it would sign a second one.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::caller::{Caller, DepositId, UserId};
use crate::fault::{Fault, Kind};
use crate::identity::WalletAddress;
use crate::keys::IssuedKey;
use crate::ports::{
    BegunDeposit, Clock, DepositState, DepositStore, Entropy, NewDeposit, NotPaid, Outcome, Payment,
    PaymentNetwork, StoredDeposit, Verdict,
};
use crate::sign_in::SignUps;
use ep_polling::money::MicroUsd;

/// A deposit is looked after when it has been under way this long.
const LOOK_AFTER: Duration = Duration::from_mins(2);
/// Deposits looked after at once.
const AT_ONCE: u32 = 100;
/// When to come back with a payment of which nobody can say whether it was carried out.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Deposits of USDC.
pub struct Deposits {
    network: Arc<dyn PaymentNetwork>,
    store: Arc<dyn DepositStore>,
    sign_ups: Arc<SignUps>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    /// Payments that this process is carrying out.
    in_flight: Mutex<HashSet<String>>,
}

/// A payment that this process is carrying out, until this is dropped.
struct InFlight<'a> {
    deposits: &'a Deposits,
    reference: String,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.deposits.payments_in_flight().remove(&self.reference);
    }
}

/// A deposit that was credited.
#[derive(Debug)]
pub struct Deposited {
    /// Its id.
    pub id: DepositId,
    /// How much.
    pub amount: MicroUsd,
    /// The transaction's hash.
    pub transaction: String,
    /// Who paid.
    pub payer: WalletAddress,
    /// The account.
    pub user: UserId,
    /// Whether the account has been made for it, and its first key is in this answer.
    pub is_new_user: bool,
    /// The first key of a new account.
    pub key: Option<IssuedKey>,
}

/// What became of a payment.
#[derive(Debug)]
pub enum Taken {
    /// It was credited.
    Deposited(Box<Deposited>),
    /// It was not carried out: the payer may sign another one.
    Refused(NotPaid),
}

impl Deposits {
    /// Deposits over this network.
    pub fn new(
        network: Arc<dyn PaymentNetwork>,
        store: Arc<dyn DepositStore>,
        sign_ups: Arc<SignUps>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Self { network, store, sign_ups, clock, entropy, in_flight: Mutex::default() }
    }

    fn payments_in_flight(&self) -> MutexGuard<'_, HashSet<String>> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a payment, once: for the account of the caller, or of the payer where the caller has none.
    /// [`Kind::Unavailable`] where nobody can say whether it was carried out.
    pub async fn take(&self, payment: Payment, caller: &Caller) -> Result<Taken, Fault> {
        // The one that carries it out answers for it: it alone can show the first key of a new account.
        if !self.payments_in_flight().insert(payment.reference.clone()) {
            return Err(pending());
        }
        let _in_flight = InFlight { deposits: self, reference: payment.reference.clone() };
        if let Some(known) = self.store.deposit(&payment.reference).await? {
            return self.again(known).await;
        }
        if let Verdict::Refused(why) = self.network.verify(&payment).await? {
            return Ok(Taken::Refused(why));
        }
        let id = DepositId::from_random(self.entropy.bytes());
        let (since, created_at) = (self.network.position().await?, self.clock.now());
        let deposit = NewDeposit { id, payment, user: caller.user(), since, created_at };
        if let BegunDeposit::Known(known) = self.store.begin_deposit(&deposit).await? {
            return self.again(known).await;
        }
        let outcome = self.network.settle(&deposit.payment, since).await;
        self.finish(&deposit, outcome, true).await
    }

    /// Answers for a payment that has been taken before. Its first key is in no second answer: whoever repeats a
    /// payment need not be its payer, once it is public on the chain.
    async fn again(&self, known: StoredDeposit) -> Result<Taken, Fault> {
        let StoredDeposit { deposit, state } = known;
        match state {
            DepositState::Settled { user, transaction } => Ok(Taken::Deposited(Box::new(Deposited {
                id: deposit.id,
                amount: deposit.payment.amount,
                transaction,
                payer: deposit.payment.payer,
                user,
                is_new_user: false,
                key: None,
            }))),
            DepositState::Settling | DepositState::Failed => {
                if state == DepositState::Failed {
                    // It is tried again, and may have been carried out after all.
                    self.store.begin_deposit(&deposit).await?;
                }
                let outcome = self.network.look_up(&deposit.payment, deposit.since, self.clock.now()).await;
                self.finish(&deposit, outcome, false).await
            }
        }
    }

    async fn finish(&self, deposit: &NewDeposit, outcome: Outcome, with_key: bool) -> Result<Taken, Fault> {
        let NewDeposit { id, payment, .. } = deposit;
        match outcome {
            Outcome::Unknown => Err(pending()),
            Outcome::NotMoved(why) => {
                self.store.fail_deposit(&payment.reference).await?;
                Ok(Taken::Refused(why))
            }
            Outcome::Moved { transaction } => {
                let (payer, key) = self.sign_ups.draw_payer(payment.payer, with_key);
                let now = self.clock.now();
                let credited =
                    self.store.credit_deposit(&payment.reference, &transaction, &payer, now).await?;
                if credited.now {
                    metrics::counter!("ep_usdc_deposits_total").increment(1);
                    tracing::info!(deposit = %id, amount = %payment.amount, "an account was funded in USDC");
                }
                let key = match (credited.now, with_key) {
                    (true, _) => key.filter(|_| credited.is_new_user),
                    // Another process has credited it meanwhile, and may have made the account without a key.
                    (false, true) if deposit.user.is_none() => {
                        self.sign_ups.first_key_of(credited.user).await?
                    }
                    (false, _) => None,
                };
                Ok(Taken::Deposited(Box::new(Deposited {
                    id: *id,
                    amount: payment.amount,
                    transaction,
                    payer: payment.payer,
                    user: credited.user,
                    is_new_user: key.is_some(),
                    key,
                })))
            }
        }
    }

    /// Looks after deposits of which nobody could say what became of them. Returns how many were looked after.
    pub async fn reconcile(&self) -> Result<u32, Fault> {
        let now = self.clock.now();
        let before = now.before(LOOK_AFTER);
        let mut looked = 0;
        for StoredDeposit { deposit, .. } in self.store.settling_deposits(before, AT_ONCE).await? {
            looked += 1;
            let outcome = self.network.look_up(&deposit.payment, deposit.since, now).await;
            match self.finish(&deposit, outcome, false).await {
                Ok(_) => {}
                Err(fault) if fault.kind() == Kind::Unavailable => {
                    tracing::warn!(deposit = %deposit.id, "nobody can say yet what became of a deposit");
                }
                Err(fault) => {
                    tracing::error!(deposit = %deposit.id, error = %fault, "a deposit is not settled");
                }
            }
        }
        Ok(looked)
    }
}

/// Nobody can say yet how a payment ends: its caller comes back with the same one.
pub fn pending() -> Fault {
    let text = "the payment is being carried out and nobody can say yet how it ends; send the same request with the \
                same payment again, and do not sign another payment";
    Fault::new(Kind::Unavailable, text).retry_after(RETRY_AFTER)
}
