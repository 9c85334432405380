//! The ground that documents, protocols and pages stand on: routes and protocols as data, and the names of both.
//!
//! Nothing here handles a request. Handlers are bound to routes in `surface/routes.rs`.

pub mod deposit;
pub mod names;
pub mod protocol;
pub mod resource;
pub mod route;

pub use protocol::{Protocol, ProtocolRoute};
pub use resource::{Challenge, ProtectedResource};
pub use route::{QueryParameter, Route, RouteKind};
