//! The core of the service: operations, polls and accounts. Storage is [`ep_store`]; models, clock and randomness are ports
//! ([`ports`]) that the caller provides.
//!
//! Read [`tool`] first: it is the contract that every operation implements. Polls are defined in
//! `ep_polling`.

pub mod account_data;
pub mod accounts;
pub mod api_key;
pub mod app;
pub mod batches;
pub mod caller;
pub mod canonical;
pub mod cards;
pub mod ctx;
pub mod deposits;
pub mod dispatch;
pub mod event;
pub mod executor;
pub mod fault;
pub mod guard;
pub mod idempotency;
pub mod key_uses;
pub mod keys;
mod likeness;
pub mod links;
pub mod method;
pub mod output;
pub mod ports;
pub mod purpose;
pub mod reading;
pub mod reputation;
pub mod schema;
pub mod sealing;
pub mod sign_in;
pub mod signing;
pub mod tasks;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tool;
pub mod turns;
pub mod webhooks;
