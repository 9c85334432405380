//! Absolute links to what the service serves, by name.

use std::collections::HashMap;

use serde_json::Value;

use crate::method::Method;

/// A request that reaches a goal, for example to fund an account.
#[derive(Debug, Clone, PartialEq)]
pub struct Way {
    /// A stable word for it.
    pub action: &'static str,
    /// The instruction, as one sentence.
    pub description: String,
    /// The method and the absolute URL, if it is a request or a page.
    pub request: Option<(Method, String)>,
    /// An example of the body.
    pub example: Option<Value>,
}

/// Finds the address of an operation, a document or a protocol endpoint by its name.
///
/// The surfaces make it from the route table, so that nothing else names a path.
#[derive(Debug, Clone, Default)]
pub struct Links {
    base_url: String,
    routes: HashMap<String, (Method, String)>,
    /// Absolute URLs of pages that others serve.
    pages: HashMap<String, String>,
    /// The ways to reach each goal in this configuration.
    ways: HashMap<&'static str, Vec<Way>>,
}

impl Links {
    /// Links below `base_url` (without a trailing slash) to these routes: name, method, path with
    /// `{placeholders}`. Of several routes with one name the first counts.
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

    /// The links with a page that others serve, at an absolute URL.
    pub fn with_page(mut self, name: impl Into<String>, url: impl Into<String>) -> Self {
        self.pages.insert(name.into(), url.into());
        self
    }

    /// The links with the ways that reach a goal here. An empty list means that none does.
    pub fn with_ways(mut self, goal: &'static str, ways: Vec<Way>) -> Self {
        self.ways.insert(goal, ways);
        self
    }

    /// The ways that reach a goal; `None` if nothing is known about it.
    pub fn ways(&self, goal: &str) -> Option<&[Way]> {
        self.ways.get(goal).map(Vec::as_slice)
    }

    /// The public base URL, without a trailing slash: the only source of absolute links.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Method and URL of the route or page with this name; the base URL if there is none.
    pub fn request(&self, name: &str) -> (Method, String) {
        if let Some(url) = self.pages.get(name) {
            return (Method::Get, url.clone());
        }
        let (method, path) =
            self.routes.get(name).map_or((Method::Get, ""), |(method, path)| (*method, path));
        (method, format!("{}{path}", self.base_url))
    }

    /// The URL of the route with this name, its placeholders filled. Values must need no escaping: ids.
    pub fn url(&self, name: &str, values: &[(&str, &str)]) -> String {
        let (_, mut url) = self.request(name);
        for (placeholder, value) in values {
            url = url.replace(&format!("{{{placeholder}}}"), value);
        }
        url
    }

    /// Whether a route or page has this name.
    pub fn has(&self, name: &str) -> bool {
        self.routes.contains_key(name) || self.pages.contains_key(name)
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
