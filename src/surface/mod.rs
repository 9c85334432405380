//! The surfaces: each translates bytes to a JSON value and a caller, finds the entry in the table, and
//! ends in the kernel's `dispatch`.
//!
//! **Invariant:** no surface except `ep poll` and the pages names an operation, and none checks access or idempotency; rate
//! limits are checked by the kernel's guard, which MCP and A2A also ask before they answer without a tool.

pub mod a2a;
pub mod cli;
pub mod http;
pub mod mcp;
pub mod rest;
pub mod router;
pub mod routes;
mod unknown_path;
pub mod web;
