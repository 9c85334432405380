//! The surfaces: each translates bytes to a JSON value and a caller, finds the entry in the table, and
//! ends in the kernel's `dispatch`.
//!
//! **Invariant:** no surface names a single operation, and none checks access, limits or idempotency.

pub mod a2a;
pub mod cli;
pub mod http;
pub mod mcp;
pub mod rest;
pub mod route;
pub mod router;
pub mod routes;
