//! The running service: settings in, routes bound to handlers, a server out.

pub mod assemble;
pub mod clock;
pub mod connections;
mod cors;
pub mod jobs;
pub mod limiter;
pub mod router;
pub mod routes;
pub mod server;
mod unknown_path;
mod unread;
