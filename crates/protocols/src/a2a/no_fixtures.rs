//! Empty fixtures for builds without the feature `conformance-fixtures`.

use ep_kernel::guard::Admission;
use ep_kernel::{Access, Fault};
use ep_site::http::AppState;
use serde_json::{Map, Value};

use super::conversation::Conversation;
use super::dialect::Dialect;
use super::errors::Answer;
use super::sent::Sent;

/// Access to sending messages.
pub(super) const ACCESS: Access = Access::KEY;

pub(super) async fn admitted(_: &AppState, admission: Admission) -> Result<Admission, Fault> {
    std::future::ready(Ok(admission)).await
}

pub(super) fn is_fixture(_: &Value) -> bool {
    false
}

pub(super) fn question(_: &Value) -> Option<Map<String, Value>> {
    None
}

#[expect(clippy::unnecessary_wraps, reason = "fixtures can be refused")]
pub(super) fn reply(_: &Sent<'_>, _: &str) -> Answer<Option<Value>> {
    Ok(None)
}

pub(super) fn parts(_: &Conversation, _: Dialect) -> Vec<Value> {
    Vec::new()
}
