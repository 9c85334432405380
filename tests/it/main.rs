//! End-to-end tests of the public interfaces, in one binary because it is linked only once.
//!
//! Every test boots the real service on a separate port, against a scripted upstream over HTTP that behaves like
//! a real one. See `harness`.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]
#![expect(clippy::disallowed_methods, reason = "tests spawn what they wait for, and read the real clock")]

mod compression;
mod harness;

mod a2a;
mod a2a_bad_input;
mod a2a_cards;
mod a2a_clients;
mod a2a_http;
mod a2a_payments;
mod a2a_pushes;
mod a2a_streams;
mod a2a_tasks;
mod access;
mod account_data;
mod adding_a_tool;
mod architecture;
mod bad_input;
mod bodies;
mod cards;
mod catalogue;
mod client_contract;
mod clocks;
mod command_help;
mod command_line;
mod connections;
mod counts;
mod crash;
mod deposit_outcomes;
mod deposits;
mod discovery;
mod doc_samples;
mod documents;
mod examples;
mod feedback;
mod graph;
mod health;
mod history;
mod idempotency;
mod intents;
mod keys;
mod label;
mod label_proof;
mod lifecycle;
mod limits;
mod long_input;
mod mcp;
mod mcp_app;
mod mcp_arguments;
mod mcp_clients;
mod mcp_polls;
mod money;
mod oauth;
mod oauth_clients;
mod offer;
mod oidc;
mod openai;
mod openai_clients;
mod openai_crashes;
mod openai_decisions;
mod openai_sdks;
mod openapi;
mod operating;
mod pages;
mod pages_account;
mod pages_ask;
mod pages_content;
mod pages_docs;
mod pages_how_sure;
mod pages_result;
mod pages_security;
mod pages_start;
mod pages_visitor;
mod panels;
mod parity;
mod polls;
mod real_model;
mod reasons;
mod recovery;
mod replicas;
mod reputation;
mod rounds;
mod sessions;
mod skills;
mod streams;
mod surfaces;
mod telemetry;
mod unknown_arguments;
mod upstreams;
mod wallets;
mod webhooks;
