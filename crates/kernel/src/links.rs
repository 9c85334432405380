//! Absolute URLs of everything the service serves, by name.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::method::Method;

/// A request that achieves a goal, for example to fund an account.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionRequest {
    /// Stable name of the action.
    pub action: &'static str,
    /// The instruction as a sentence.
    pub description: String,
    /// The method and the absolute URL, if it is a request or a page.
    pub request: Option<(Method, String)>,
    /// An example of the body.
    pub example: Option<Value>,
}

/// A call in the form of a protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActionCall {
    /// A request, or a page to open: the method and the absolute URL.
    Request(Method, String),
    /// A tool of MCP, by name.
    Tool(&'static str),
    /// A skill of A2A, by name.
    Skill(&'static str),
}

/// The calls that a protocol has for operations, documents and pages. Those of REST are [`Links`].
pub trait Calls {
    /// Returns the links to everything that the service serves.
    fn links(&self) -> &Links;
    /// Returns the call of the operation, document or page with this name, if the protocol has one.
    fn call(&self, name: &str) -> Option<ActionCall>;
}

/// Finds the URL of an operation, a document or a protocol endpoint by its name.
///
/// The surfaces create it from the route table, so that paths are defined in one place.
#[derive(Debug, Clone, Default)]
pub struct Links {
    base_url: String,
    routes: HashMap<String, (Method, String)>,
    /// Absolute URLs of external pages.
    pages: HashMap<String, String>,
    /// Ways to achieve each goal in this configuration.
    ways: HashMap<&'static str, Vec<ActionRequest>>,
    /// Names of routes without a use in this configuration.
    unavailable: HashSet<String>,
}

impl Links {
    /// Creates links below `base_url` (without a trailing slash) to these routes: name, method, path with
    /// `{placeholders}`. If several routes share a name, the first one is used.
    pub fn new(
        base_url: impl Into<String>,
        routes: impl IntoIterator<Item = (String, Method, String)>,
    ) -> Self {
        let mut links = Self { base_url: base_url.into(), ..Self::default() };
        for (name, method, path) in routes {
            links.routes.entry(name).or_insert((method, path));
        }
        links
    }

    /// Adds an external page with an absolute URL.
    pub fn with_page(mut self, name: impl Into<String>, url: impl Into<String>) -> Self {
        self.pages.insert(name.into(), url.into());
        self
    }

    /// Sets the ways to achieve a goal. An empty list means that this service offers none.
    pub fn with_ways(mut self, goal: &'static str, ways: Vec<ActionRequest>) -> Self {
        self.ways.insert(goal, ways);
        self
    }

    /// Returns the ways to achieve a goal; `None` for an unknown goal.
    pub fn ways(&self, goal: &str) -> Option<&[ActionRequest]> {
        self.ways.get(goal).map(Vec::as_slice)
    }

    /// Adds the names of routes without a use in this configuration.
    pub fn without(mut self, unavailable: impl IntoIterator<Item = String>) -> Self {
        self.unavailable.extend(unavailable);
        self
    }

    /// Returns true if this configuration offers the route or operation of this name.
    pub fn offers(&self, name: &str) -> bool {
        !self.unavailable.contains(name)
    }

    /// Returns the public base URL, without a trailing slash: the only source of absolute links.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Returns the method and URL of the route or page with this name; the base URL for an unknown name.
    pub fn request(&self, name: &str) -> (Method, String) {
        if let Some(url) = self.pages.get(name) {
            return (Method::Get, url.clone());
        }
        let (method, path) =
            self.routes.get(name).map_or((Method::Get, ""), |(method, path)| (*method, path));
        (method, format!("{}{path}", self.base_url))
    }

    /// Returns the URL of the route with this name and its placeholders filled. Values must not need
    /// escaping: ids.
    pub fn url(&self, name: &str, values: &[(&str, &str)]) -> String {
        let (_, mut url) = self.request(name);
        for (placeholder, value) in values {
            url = url.replace(&format!("{{{placeholder}}}"), value);
        }
        url
    }

    /// True if a route or page has this name.
    pub fn has(&self, name: &str) -> bool {
        self.routes.contains_key(name) || self.pages.contains_key(name)
    }
}

impl Calls for Links {
    fn links(&self) -> &Links {
        self
    }

    fn call(&self, name: &str) -> Option<ActionCall> {
        let (method, url) = self.has(name).then(|| self.request(name))?;
        Some(ActionCall::Request(method, url))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_absolute_and_filled() {
        let routes = [("get_result".to_owned(), Method::Get, "/api/results/{poll_id}".to_owned())];
        let links = Links::new("https://ep.example", routes);
        assert_eq!(links.url("get_result", &[("poll_id", "EP-1")]), "https://ep.example/api/results/EP-1");
        let links = links.with_page("shop", "https://shop.example/a?b={c}");
        assert_eq!(links.request("shop"), (Method::Get, "https://shop.example/a?b={c}".to_owned()));
        assert_eq!(links.request("unknown"), (Method::Get, "https://ep.example".to_owned()));
    }
}
