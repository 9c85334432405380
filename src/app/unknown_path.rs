//! Paths that match no route: nearest known path, and trailing slashes.

use std::borrow::Cow;

use ep_site::Route;

/// Minimum similarity of a suggestion, from 0 to 1.
const SIMILAR: f64 = 0.7;
/// Bonus for a route with the request's method.
const SAME_METHOD: f64 = 0.02;
/// Bonus for the path as it was sent.
const AS_SENT: f64 = 0.15;
/// Maximum length of a compared path, in bytes. The cost is the product of both lengths.
const MAX_PATH: usize = 200;

/// A route and its path, with path parameters replaced by the request's values.
pub(super) struct Nearest<'a> {
    pub(super) route: &'a Route,
    pub(super) path: String,
}

/// Returns the route with the path most similar to this one.
pub(super) fn nearest<'a>(
    routes: impl Iterator<Item = &'a Route>,
    method: &str,
    path: &str,
) -> Option<Nearest<'a>> {
    if path.len() > MAX_PATH {
        return None;
    }
    let path = path.trim_end_matches('/');
    // Callers often add or omit the version or the API prefix.
    let below = path.strip_prefix("/api").unwrap_or(path);
    let rest = below.strip_prefix("/v1").unwrap_or(path);
    let prefixed = format!("/api{rest}");
    let forms = [path, rest, prefixed.as_str()];
    let scored = routes.filter(|route| !route.is_form());
    let scored = scored.flat_map(|route| {
        forms.iter().map(move |form| {
            let of_method = if route.method.as_str() == method { SAME_METHOD } else { 0.0 };
            let as_sent = if *form == path { AS_SENT } else { 0.0 };
            (similarity(form, &route.path), of_method + as_sent, route, *form)
        })
    });
    let best = scored
        .filter(|(similarity, ..)| *similarity >= SIMILAR)
        .max_by(|one, other| (one.0 + one.1).total_cmp(&(other.0 + other.1)))?;
    let (_, _, route, form) = best;
    Some(Nearest { route, path: filled(form, &route.path) })
}

/// Returns the path without trailing slashes, if a route matches it.
pub(super) fn without_trailing_slash<'a>(
    mut routes: impl Iterator<Item = Cow<'a, str>>,
    path: &'a str,
) -> Option<&'a str> {
    let shorter = path.trim_end_matches('/');
    // A path that starts with two slashes would redirect to another host.
    if shorter.len() == path.len() || !shorter.starts_with('/') || shorter.starts_with("//") {
        return None;
    }
    routes.any(|route| matches(shorter, &route)).then_some(shorter)
}

/// Returns the similarity of two paths, from 0 to 1. Values of path parameters are not compared.
fn similarity(path: &str, pattern: &str) -> f64 {
    let (given, known) = (path.split('/'), pattern.split('/'));
    if given.clone().count() != known.clone().count() {
        let literal = if pattern.contains('{') { 0.0 } else { 1.0 };
        return literal * strsim::normalized_damerau_levenshtein(path, pattern);
    }
    let words = given.zip(known).filter(|(_, known)| !known.contains('{'));
    let (given, known): (Vec<&str>, Vec<&str>) = words.unzip();
    strsim::normalized_damerau_levenshtein(&given.join("/"), &known.join("/"))
}

/// Fills a pattern's parameters with the values of this path, if both have the same number of segments.
fn filled(path: &str, pattern: &str) -> String {
    if path.split('/').count() != pattern.split('/').count() {
        return pattern.to_owned();
    }
    let segments = path.split('/').zip(pattern.split('/'));
    let segments = segments.map(|(given, known)| if known.contains('{') { given } else { known });
    segments.collect::<Vec<_>>().join("/")
}

/// Returns true if a path matches a pattern.
fn matches(path: &str, pattern: &str) -> bool {
    let (given, known) = (path.split('/'), pattern.split('/'));
    given.clone().count() == known.clone().count()
        && given.zip(known).all(|(given, known)| given == known || (known.contains('{') && !given.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_compared_and_values_are_not() {
        let id = "EP-20260131-7KQ2M4X9TB";
        let result = format!("/api/result/{id}");
        assert!(similarity(&result, "/api/results/{poll_id}") > SIMILAR);
        assert_eq!(filled(&result, "/api/results/{poll_id}"), format!("/api/results/{id}"));
        assert!(similarity(&format!("/x/{id}"), "/results/{poll_id}") < SIMILAR);
        assert!(similarity("/nowhere", "/api/poll") < SIMILAR);
    }

    #[test]
    fn slashes_are_removed_from_served_paths_alone() {
        let shorter = |path| {
            let routes = ["/", "/api/poll", "/results/{poll_id}"];
            without_trailing_slash(routes.into_iter().map(Cow::Borrowed), path)
        };
        assert_eq!(shorter("/api/poll/"), Some("/api/poll"));
        assert_eq!(shorter("/results/EP-1//"), Some("/results/EP-1"));
        for path in ["/", "//", "/api/poll", "/results/", "//results/EP-1/", "//evil.example/", "/nowhere/"] {
            assert_eq!(shorter(path), None, "{path}");
        }
    }
}
