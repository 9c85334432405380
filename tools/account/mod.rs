//! The caller's account.

mod create_checkout;
mod delete_account;
mod export;
mod export_account;
mod export_cursor;
mod exported_poll;
mod get_balance;
mod get_confirmation;
mod get_current_user;
mod list_spending;
mod set_confirmation;

pub use create_checkout::{CheckoutLink, CreateCheckout};
pub use delete_account::DeleteAccount;
pub use export::{AccountExport, export_page, whole_export};
pub use export_account::ExportAccount;
pub use get_balance::{BalanceReply, GetBalance};
pub use get_confirmation::GetConfirmation;
pub use get_current_user::{CurrentUser, GetCurrentUser};
pub use list_spending::{ListSpending, Spending, SpendingOfDay};
pub use set_confirmation::SetConfirmation;
