//! t
pub use memory::InMemory;
mod memory;
