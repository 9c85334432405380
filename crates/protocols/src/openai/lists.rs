//! Parts of the requests for stored objects: account, path, query and pages.

use std::collections::HashMap;

use ep_kernel::guard::Admission;
use ep_kernel::{Fault, Kind};
use ep_polling::Timestamp;
use ep_site::http::Exchange;
use ep_store::UserId;
use serde_json::{Value, json};

/// Returns the caller's account.
pub(super) fn account(admission: &Admission) -> Result<UserId, Fault> {
    let user = admission.caller.user();
    user.ok_or_else(|| Fault::new(Kind::Unauthenticated, "files and batches need an API key of an account"))
}

/// Returns the id in the path.
pub(super) fn path_id(exchange: &Exchange) -> Result<String, Fault> {
    let params = exchange.params.as_ref().map_err(|_| Fault::invalid("id", "is not valid UTF-8"))?;
    Ok(params.iter().next().map_or_else(String::new, |(_, id)| id.to_owned()))
}

/// Returns a time in whole seconds.
pub(super) const fn seconds(at: Timestamp) -> i64 {
    at.millis() / 1000
}

/// The parameters of a list.
pub(super) struct Query(HashMap<String, String>);

/// Reads the query of a request.
pub(super) fn query(query: Option<&str>) -> Query {
    Query(url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect())
}

impl Query {
    /// Returns a parameter that is not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns the length of the page.
    pub fn limit(&self, usual: u32, most: u32) -> Result<u32, Fault> {
        let Some(limit) = self.get("limit") else { return Ok(usual) };
        let rule = || Fault::invalid("limit", "must be a number from 1 on");
        if !limit.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(rule());
        }
        // Clients of OpenAI send larger ones.
        match limit.parse::<u32>().unwrap_or(most) {
            0 => Err(rule()),
            limit => Ok(limit.min(most)),
        }
    }
}

/// Returns a page of a list. `found` has one more object if there is a next page.
pub(super) fn page(mut found: Vec<Value>, limit: u32) -> Value {
    let more = found.len() > limit as usize;
    found.truncate(limit as usize);
    let id = |object: Option<&Value>| object.map_or(Value::Null, |object| object["id"].clone());
    json!({
        "object": "list",
        "first_id": id(found.first()),
        "last_id": id(found.last()),
        "has_more": more,
        "data": found,
    })
}
