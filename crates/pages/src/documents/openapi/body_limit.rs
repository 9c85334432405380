//! The limit of a request body, where it differs from the default.

use ep_site::Route;
use ep_site::route::MAX_BODY;

/// Appends the limit of a route's body, if it differs from the default, which `info` names.
pub(super) fn with_body_limit(description: String, route: &Route) -> String {
    if route.max_body == MAX_BODY {
        return description;
    }
    let limit = route.max_body / 1024;
    format!("{}\n\nThe body may have at most {limit} KiB.", description.trim_end()).trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use ep_kernel::method::Method;

    use super::*;

    #[test]
    fn a_route_with_its_own_body_limit_says_so() {
        let route = Route::form(Method::Post, "large", "/large", "Takes much.");
        assert_eq!(with_body_limit("Takes much.".to_owned(), &route), "Takes much.");
        let route = route.max_body(1024 * 1024);
        let described = with_body_limit("Takes much.".to_owned(), &route);
        assert_eq!(described, "Takes much.\n\nThe body may have at most 1024 KiB.");
        assert_eq!(with_body_limit(String::new(), &route), "The body may have at most 1024 KiB.");
    }
}
