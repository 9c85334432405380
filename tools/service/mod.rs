//! The service itself.

mod get_health;
mod list_errors;

pub use get_health::{GetHealth, Working};
pub use list_errors::ListErrors;
