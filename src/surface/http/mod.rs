//! What every HTTP surface shares: reading who calls and from where, and showing answers and faults.

mod address;
mod body;
mod incoming;
mod outgoing;

use std::sync::Arc;

use ep_kernel::app::App;
use ep_kernel::tool::Entry;
use ipnet::IpNet;

pub use body::{MAX_BODY, read as read_body, read_json};
pub use incoming::{ErrorStyle, Incoming, Shown};
pub use outgoing::{answer, entity_tag, fault, finish, json_response, outcome, wrong_method};

/// What HTTP handlers work with.
#[derive(Clone)]
pub struct Gate {
    /// The service.
    pub app: Arc<App>,
    /// Every operation.
    pub tools: &'static [Entry],
    /// Proxies whose forwarded headers are believed.
    pub proxies: Arc<[IpNet]>,
}
