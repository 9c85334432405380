//! USDC deposits: payments on a chain, authorized by the payer's signature.

mod records;
pub(crate) mod transactions;

pub use self::records::{
    BegunDeposit, CreditedDeposit, DepositState, NewDeposit, Payment, Received, StoredDeposit, Transfer,
};
