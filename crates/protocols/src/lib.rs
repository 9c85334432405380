//! Protocols for programs. Each translates bytes to a JSON value and a caller, finds the entry in the table, and
//! ends in the kernel's `dispatch`.
//!
//! **Invariant:** no protocol names an operation, and none checks access or idempotency. The kernel's guard checks rate
//! limits, and MCP and A2A also ask it before they respond without an operation.

pub mod a2a;
pub mod batch_rows;
pub mod mcp;
pub mod openai;
pub mod rest;
