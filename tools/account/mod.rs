//! The caller's account.

mod get_balance;
mod get_current_user;

pub use get_balance::GetBalance;
pub use get_current_user::GetCurrentUser;
