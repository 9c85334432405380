//! The caller's account.

mod create_checkout;
mod get_balance;
mod get_current_user;

pub use create_checkout::CreateCheckout;
pub use get_balance::GetBalance;
pub use get_current_user::GetCurrentUser;
