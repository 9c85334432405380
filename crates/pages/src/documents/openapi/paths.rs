//! Paths and operation ids.

use std::collections::HashSet;

use ep_kernel::method::Method;
use ep_site::{Route, Site};

/// A method on a path and every route that serves it. There are several routes if callers with and without a
/// credential get different responses.
pub(super) struct Endpoint<'a> {
    /// The operation id.
    pub(super) id: String,
    pub(super) method: Method,
    /// The path, with the interface's parameter names.
    pub(super) path: String,
    pub(super) routes: Vec<&'a Route>,
}

/// The interface's parameter names: the preceding path segment, the input field and the name in the path.
const PLACEHOLDERS: [(&str, &str, &str); 5] = [
    ("results", "poll_id", "resultId"),
    ("polls", "poll_id", "id"),
    ("keys", "key_id", "keyId"),
    ("mermaid", "poll_id", "pollId"),
    ("feedback", "poll_id", "pollId"),
];

/// Returns the parameters of a path: the router's name and the interface's name of each.
pub(in crate::documents) fn placeholders(path: &str) -> Vec<(&str, &str)> {
    let parts: Vec<&str> = path.split('/').collect();
    let named = |(index, part): (usize, &&'_ str)| -> Option<(usize, usize, usize)> {
        Some((index, part.find('{')? + 1, part.find('}')?))
    };
    let spans = parts.iter().enumerate().filter_map(named);
    let name = |(index, begin, end): (usize, usize, usize)| {
        let member = &parts[index][begin..end];
        let below = index.checked_sub(1).map_or("", |before| parts[before]);
        let known = PLACEHOLDERS.iter().find(|(part, name, _)| *part == below && *name == member);
        (member, known.map_or(member, |(_, _, name)| *name))
    };
    spans.map(name).collect()
}

/// Returns a path with the interface's parameter names.
pub(in crate::documents) fn shown(path: &str) -> String {
    placeholders(path).into_iter().fold(path.to_owned(), |path, (member, name)| {
        path.replace(&format!("{{{member}}}"), &format!("{{{name}}}"))
    })
}

/// Returns every endpoint. Paths that differ only in a trailing slash are merged.
pub(super) fn endpoints(site: &Site) -> impl Iterator<Item = Endpoint<'_>> {
    let mut endpoints: Vec<Endpoint<'_>> = Vec::new();
    let for_programs = |route: &&Route| !route.is_form();
    for route in site.routes.iter().chain(&site.alias_patterns).filter(for_programs) {
        let path = shown(&route.path);
        let path = path.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or(&path).to_owned();
        let same = endpoints.iter_mut().find(|known| known.method == route.method && known.path == path);
        match same {
            Some(known) if known.routes.iter().any(|known| known.name == route.name) => {}
            Some(known) => known.routes.push(route),
            None => {
                let (id, method) = (String::new(), route.method);
                endpoints.push(Endpoint { id, method, path, routes: vec![route] });
            }
        }
    }
    let mut used = HashSet::new();
    for endpoint in &mut endpoints {
        let names = names(endpoint);
        let last = names.last().cloned().unwrap_or_default();
        let numbered = (2_u32..).map(|number| format!("{last}_{number}"));
        endpoint.id = names.into_iter().chain(numbered).find(|name| !used.contains(name)).unwrap_or_default();
        used.insert(endpoint.id.clone());
    }
    endpoints.into_iter()
}

/// Returns candidate ids for an endpoint, the shortest first: with the operation, the form, the path and the
/// method.
fn names(endpoint: &Endpoint<'_>) -> Vec<String> {
    let route = endpoint.routes[0];
    let name = route.name;
    let own: Vec<&str> = name.split('_').collect();
    let words =
        words(&endpoint.path).into_iter().filter(|word| word != "api" && !own.contains(&word.as_str()));
    let path = format!("{name}_{}", words.collect::<Vec<_>>().join("_"));
    let method = format!("{path}_{}", endpoint.method.as_str().to_ascii_lowercase());
    let mut names = vec![path, method];
    if route.is_stream() {
        names.splice(..0, [name.to_owned(), format!("{name}_stream")]);
    } else if !route.as_protocol().is_some_and(|endpoint| endpoint.shares_name) {
        names.insert(0, name.to_owned());
    }
    names
}

/// Splits a path into words in lower case.
fn words(path: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in path.chars() {
        if !c.is_ascii_alphanumeric() || c.is_ascii_uppercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_ascii_alphanumeric()) {
            word.push(c.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_use_interface_names() {
        assert_eq!(shown("/a/results/{poll_id}"), "/a/results/{resultId}");
        assert_eq!(shown("/a/polls/{poll_id}/status"), "/a/polls/{id}/status");
        assert_eq!(shown("/a/keys/{key_id}"), "/a/keys/{keyId}");
        assert_eq!(shown("/a/{other}/b/{third}.md"), "/a/{other}/b/{third}.md");
        assert_eq!(words("/a/message:send/pushConfigs"), ["a", "message", "send", "push", "configs"]);
        assert_eq!(placeholders("/a/{one}/b/{two}"), [("one", "one"), ("two", "two")]);
    }
}
