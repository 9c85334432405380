//! The caller's account.

mod get_balance;

pub use get_balance::GetBalance;
