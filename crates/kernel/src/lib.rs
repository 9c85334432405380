//! What a poll is, and what a tool is. No I/O lives here: voters, clock, randomness, storage and
//! limits are ports ([`ports`]) that the outside hands in.
//!
//! Read [`tool`] first: it is the contract every operation is written against. Then [`polling`], the
//! domain itself.

pub mod admission;
pub mod api_key;
pub mod app;
pub mod caller;
pub mod conduct;
pub mod dispatch;
pub mod event;
pub mod fault;
pub mod money;
pub mod polling;
pub mod ports;
pub mod replay;
pub mod schema;
pub mod time;
pub mod tool;
