//! USDC deposits: payments on a chain, authorized by the payer's signature.

use ep_polling::{MicroUsd, Timestamp};

use crate::accounts::WalletAddress;
use crate::error::{UnexpectedData, failed};
use crate::ids::{DepositId, UserId};
use crate::row::{Columns, FromRow};
use crate::store_error::{Result, StoreError};

/// A payment authorized by its payer (EIP-3009).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// Chain, asset, payer and nonce. The authorization moves money only once, regardless of its submitter.
    pub reference: String,
    /// The payer's address.
    pub payer: WalletAddress,
    /// The amount. One unit of USDC is one micro-USD.
    pub amount: MicroUsd,
    /// The time after which the authorization can no longer be used.
    pub valid_before: Timestamp,
    /// The payment in the facilitator's JSON format.
    pub body: String,
}

/// A USDC transfer that settled a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// The transaction's hash.
    pub transaction: String,
    /// The block number. `None` if no node was asked.
    pub block: Option<u64>,
    /// True once the block is so deep that it is not expected to be replaced.
    pub is_final: bool,
}

/// A new deposit. Its payment is verified and not settled yet.
#[derive(Debug, Clone)]
pub struct NewDeposit {
    /// The deposit's id.
    pub id: DepositId,
    /// The payment.
    pub payment: Payment,
    /// The caller's account; `None` for the payer's.
    pub user: Option<UserId>,
    /// A block from which to look for the payment; 0 if no node was asked.
    pub since: u64,
    /// The time when it started.
    pub created_at: Timestamp,
}

/// Account and transaction of a deposit seen on the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// The account.
    pub user: UserId,
    /// The transaction's hash.
    pub transaction: String,
    /// The block number. `None` if no node was asked.
    pub block: Option<u64>,
}

/// Stage of a deposit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DepositState {
    /// The payment is being settled.
    Settling,
    /// The authorization has expired, and it is unknown whether the money has moved.
    Unknown,
    /// The money has moved in a block that is not final. The account exists and is not credited yet.
    Confirming(Received),
    /// The account is credited.
    Settled(Received),
    /// The account was credited, and the transaction is no longer on the chain.
    Vanished(Received),
    /// The money has not moved.
    Failed,
}

impl DepositState {
    /// Returns the transfer, if the money has moved.
    pub fn received(&self) -> Option<&Received> {
        match self {
            Self::Confirming(received) | Self::Settled(received) | Self::Vanished(received) => Some(received),
            Self::Settling | Self::Unknown | Self::Failed => None,
        }
    }
}

/// A stored deposit.
#[derive(Debug, Clone)]
pub struct StoredDeposit {
    /// The deposit as it began. Its user is set once an account is known.
    pub deposit: NewDeposit,
    /// The stage.
    pub state: DepositState,
    /// Number of unsuccessful look-ups in this stage.
    pub attempts: u32,
}

/// Result of starting a deposit.
#[derive(Debug, Clone)]
pub enum BegunDeposit {
    /// The deposit has started, for the first time or after a failure. The caller must settle it.
    New,
    /// A deposit with this payment already exists.
    Known(Box<StoredDeposit>),
}

/// Result of recording a transfer.
#[derive(Debug, Clone)]
pub struct CreditedDeposit {
    /// The account.
    pub user: UserId,
    /// True if this call was the first to record a transfer for the deposit.
    pub now: bool,
    /// True if this call created the account.
    pub is_new_user: bool,
    /// True if this call credited the account.
    pub credited: bool,
    /// True if the account is credited, by this call or before.
    pub is_settled: bool,
}

impl FromRow for StoredDeposit {
    fn from_row(columns: &mut Columns<'_>) -> Result<Self> {
        let unreadable = || failed(UnexpectedData::Value("a deposit"));
        let (reference, id, payer): (_, _, WalletAddress) = columns.get()?;
        let (user, amount, status): (Option<UserId>, _, String) = columns.get()?;
        let (body, valid_before, since) = columns.get()?;
        let (transaction, created_at, block): (Option<String>, _, _) = columns.get()?;
        let received = || {
            let (user, transaction) = user.zip(transaction.clone()).ok_or_else(unreadable)?;
            Ok::<_, StoreError>(Received { user, transaction, block })
        };
        let state = match status.as_str() {
            "settling" => DepositState::Settling,
            "unknown" => DepositState::Unknown,
            "confirming" => DepositState::Confirming(received()?),
            "settled" => DepositState::Settled(received()?),
            "vanished" => DepositState::Vanished(received()?),
            "failed" => DepositState::Failed,
            _ => return Err(unreadable()),
        };
        let payment = Payment { reference, payer, amount, valid_before, body };
        let deposit = NewDeposit { id, payment, user, since, created_at };
        Ok(Self { deposit, state, attempts: columns.get()? })
    }
}
