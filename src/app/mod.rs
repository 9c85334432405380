//! The running service: settings in, routes bound to handlers, a server out.

pub mod assemble;
pub mod clock;
pub mod connections;
mod cors;
mod http_connection;
mod job;
pub mod jobs;
pub mod limiter;
mod open_files;
mod open_requests;
pub mod router;
pub mod routes;
pub mod server;
mod unknown_path;
mod unread;
