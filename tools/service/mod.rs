//! The service itself.

mod get_health;
mod list_errors;

pub use get_health::{ComponentHealth, GetHealth};
pub use list_errors::ListErrors;
