//! Base data for documents, protocols and pages: routes and protocols as data, and their names.
//!
//! Nothing here handles a request. `app/routes.rs` binds handlers to routes.

pub mod deposit;
pub mod names;
pub mod protocol;
pub mod rails;
pub mod resource;
pub mod route;

pub use protocol::{Protocol, ProtocolRoute};
pub use rails::{RAILS, Rail};
pub use resource::{Challenge, ProtectedResource};
pub use route::{QueryParameter, Route, RouteKind};
