//! Checks access to every route: accepted callers, rejected callers and the headers of every response.

use ep_kernel::{Access, Agents, Rate, Task};
use ep_polling::MicroUsd;
use ep_site::{ErrorFormat, Route, RouteKind};
use ep_tools::TOOLS;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Client, Reply, Service, Setup, example};

async fn service() -> Service {
    let setup = Setup::demo().with("EP_ALLOWED_ORIGINS", "*");
    let limits = [
        "EP_RATE_LIMIT_PER_MINUTE",
        "EP_RATE_LIMIT_ANONYMOUS_PER_MINUTE",
        "EP_RATE_LIMIT_SIGN_IN_PER_MINUTE",
        "EP_RATE_LIMIT_FREE_PER_MINUTE",
        "EP_RATE_LIMIT_RESULTS_PER_MINUTE",
        "EP_RATE_LIMIT_PUBLIC_PER_MINUTE",
    ];
    limits.into_iter().fold(setup, |setup, limit| setup.with(limit, "100000")).boot().await
}

/// Returns a path with placeholder values that do not exist.
fn filled(route: &Route) -> String {
    let path = route.path.replace("{poll_id}", "EP-20260101-0000000000");
    let path = path.replace("{key_id}", "00000000-0000-4000-8000-000000000000");
    path.replace("{language}", "curl").replace("{name}", "no-such-panel")
}

fn method(route: &Route) -> Method {
    route.method.as_str().parse().unwrap()
}

/// Sends a request to a route, with its example as the body if it needs one, and extra headers.
async fn send(client: &Client, route: &Route, headers: &[(&str, &str)]) -> Reply {
    let body = route.as_operation().map_or(json!({}), |(entry, _)| example(entry));
    let request = client.request(method(route), &filled(route));
    let request = match (route.method, route.kind) {
        (_, RouteKind::Form) => request.form(&[("", "")]),
        (ep_kernel::method::Method::Post, _) => request.json(&body),
        _ => request,
    };
    client.send(headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))).await
}

/// Asserts the headers that every response has.
#[track_caller]
fn carries_the_headers(reply: &Reply, what: &str) {
    for name in [
        "x-request-id",
        "ratelimit-limit",
        "ratelimit-remaining",
        "ratelimit-reset",
        "ratelimit-policy",
        "ratelimit",
    ] {
        assert!(!reply.header(name).is_empty(), "{what} answers without {name}: {}", reply.status);
    }
    assert_eq!(reply.header("x-content-type-options"), "nosniff", "{what}");
}

/// True if a route ignores credentials: documents are public, and redirected callers may have an expired cookie.
fn ignores_credentials(route: &Route) -> bool {
    matches!(
        route.kind,
        RouteKind::Document
            | RouteKind::Redirect
            | RouteKind::Webhook
            | RouteKind::Page
            | RouteKind::Form
            | RouteKind::Probe
    )
}

/// True for sign-in routes: other credentials are ignored, even if invalid.
fn signs_in(route: &Route) -> bool {
    route.rate == Rate::SignIn
}

/// True if the errors of a route have the format of its protocol, whatever the request asks for.
fn has_own_errors(route: &Route) -> bool {
    matches!(route.errors(), ErrorFormat::Own(_))
}

/// True if one of the routes for this request admits the caller.
fn admitted(routes: &[Route], route: &Route, caller: Access) -> bool {
    let same = routes.iter().filter(|other| other.method == route.method && other.path == route.path);
    same.map(|other| other.access.and(caller)).any(|access| access.anonymous || access.cookie || access.key)
}

#[tokio::test]
async fn every_route_enforces_its_access() {
    let service = service().await;
    let (id, user) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    let cookie = service.cookie(id).await;
    let wrong_key = service.anonymous().with_key(&format!("ep_k_{}", "x".repeat(43)));
    let nobody = service.anonymous();
    let routes = &service.site.routes;
    let mut refused = 0;
    for route in routes {
        let what = format!("{} {}", route.method.as_str(), route.path);
        let callers: [(&str, Reply, bool); 5] = [
            ("anonymous", send(&nobody, route, &[]).await, admitted(routes, route, Access::ANONYMOUS)),
            ("a key", send(&user, route, &[]).await, admitted(routes, route, Access::KEY)),
            (
                "a cookie",
                send(&nobody, route, &[("cookie", &cookie)]).await,
                admitted(routes, route, Access::COOKIE),
            ),
            ("a wrong key", send(&wrong_key, route, &[]).await, ignores_credentials(route)),
            (
                "a stale cookie",
                send(&nobody, route, &[("cookie", "ep_session=old")]).await,
                ignores_credentials(route),
            ),
        ];
        if signs_in(route) {
            for (who, reply, _) in &callers {
                carries_the_headers(reply, &what);
                assert_eq!(reply.status, callers[0].1.status, "{who} at {what}: {}", reply.text);
                assert!(!reply.text.contains("authentication required"), "{who} at {what}: {}", reply.text);
            }
            continue;
        }
        for (who, reply, admits) in callers {
            carries_the_headers(&reply, &what);
            assert_eq!(reply.status != 401, admits, "{who} at {what}: {} {}", reply.status, reply.text);
            let set_up = reply.status != 503 || !reply.text.contains("not configured");
            assert!(reply.status < 500 || !set_up, "{who} at {what}: {}", reply.text);
            if !admits {
                refused += 1;
                assert!(reply.header("www-authenticate").starts_with("Bearer"), "{who} at {what}");
                let error = &reply.json()["error"];
                let said = if has_own_errors(route) { &error["message"] } else { error };
                assert!(said.is_string(), "{who} at {what}");
            }
        }
    }
    let judged = routes.iter().filter(|route| !ignores_credentials(route)).count();
    assert!(refused > 2 * judged, "{refused} of {judged} routes");
}

#[tokio::test]
async fn errors_use_the_requested_style() {
    let service = service().await;
    let client = service.anonymous().with_key("ep_k_wrong");
    let problem = [("accept", "application/problem+json")];
    for route in service.site.routes.iter().filter(|route| !ignores_credentials(route) && !signs_in(route)) {
        let reply = send(&client, route, &problem).await;
        if has_own_errors(route) {
            assert!(
                reply.expect(401)["error"]["message"].as_str().unwrap().contains("not valid"),
                "{}",
                route.path
            );
            continue;
        }
        assert_eq!(reply.header("content-type"), "application/problem+json", "{}", route.path);
        let body = reply.expect(401);
        assert_eq!((&body["code"], &body["status"]), (&json!("unauthenticated"), &json!(401)));
    }
    for (method, path, status) in
        [(Method::GET, "/nowhere", 404), (Method::PUT, "/api/poll", 405), (Method::DELETE, "/api/mcp", 405)]
    {
        let request = service.anonymous().request(method, path);
        let plain = service.anonymous().send(request.try_clone().unwrap()).await;
        carries_the_headers(&plain, path);
        plain.refused(status);
        let reply = service.anonymous().send(request.header("x-machine-client", "true")).await;
        carries_the_headers(&reply, path);
        assert_eq!(reply.header("content-type"), "application/problem+json", "{path}");
        assert_eq!(reply.expect(status)["status"], status);
    }
}

#[tokio::test]
async fn every_path_lists_its_methods() {
    let service = service().await;
    let client = service.anonymous();
    for route in &service.site.routes {
        let reply = client.send(client.request(Method::PATCH, &filled(route))).await;
        carries_the_headers(&reply, &route.path);
        assert_eq!(reply.status, 405, "{}", route.path);
        let allow = reply.header("allow");
        assert!(
            allow.contains(route.method.as_str()) && allow.contains("OPTIONS"),
            "{}: {allow}",
            route.path
        );
        let preflight = client
            .request(Method::OPTIONS, &filled(route))
            .header("origin", "https://elsewhere.example")
            .header("access-control-request-method", route.method.as_str());
        let reply = client.send(preflight).await;
        carries_the_headers(&reply, &route.path);
        assert_eq!((reply.status, reply.header("access-control-allow-origin")), (200, "*"), "{}", route.path);
    }
}

#[tokio::test]
async fn websites_cannot_reach_a_loopback_service() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    for route in &service.site.routes {
        let what = format!("{} {}", route.method.as_str(), route.path);
        // Open documents contain nothing about this machine, but the Host must still match.
        let open = service.site.is_open(&route.path);
        let foreign = [("host", "rebound.example"), ("origin", "https://elsewhere.example")];
        for foreign in foreign.into_iter().filter(|(name, _)| !open || *name == "host") {
            let reply = send(&client, route, &[foreign]).await;
            assert_eq!(reply.status, 403, "{what}: {}", reply.text);
            assert!(!reply.headers.contains_key("access-control-allow-origin"), "{what}");
            assert!(!reply.header("x-request-id").is_empty(), "{what}");
        }
        if route.is_form() {
            // Forms are sent by pages of the service alone.
            continue;
        }
        let own = send(&client, route, &[("host", "localhost:1"), ("origin", "http://localhost:3000")]).await;
        assert_ne!(own.status, 403, "{what}: {}", own.text);
        assert_eq!(own.header("access-control-allow-origin"), "http://localhost:3000", "{what}");
    }
    let preflight = |origin: &str| {
        let request = client.request(Method::OPTIONS, "/api/poll").header("origin", origin.to_owned());
        client.send(request.header("access-control-request-method", "POST"))
    };
    assert_eq!(preflight("https://elsewhere.example").await.status, 403);
    let allowed = preflight("http://127.0.0.1:3000").await;
    for name in ["authorization", "content-type", "idempotency-key", "mcp-protocol-version", "a2a-version"] {
        assert!(allowed.header("access-control-allow-headers").contains(name), "{name}");
    }
    assert!(own_headers(&send(&client, &service.site.routes[0], &[("origin", "http://localhost")]).await));
}

#[tokio::test]
async fn websites_can_read_public_routes_behind_a_proxy() {
    let proxied = Setup::demo().with("EP_BASE_URL", "https://polls.example.com");
    let service = proxied.boot().await;
    let client = service.anonymous();
    let foreign = [("host", "polls.example.com"), ("origin", "https://elsewhere.example")];
    let mut read = 0;
    for route in &service.site.routes {
        let public = matches!(route.kind, RouteKind::Document | RouteKind::Page);
        if !public {
            continue;
        }
        let reply = send(&client, route, &foreign).await;
        assert_ne!(reply.status, 403, "{}: {}", route.path, reply.text);
        assert_eq!(reply.header("access-control-allow-origin"), "*", "{}", route.path);
        assert!(!reply.headers.contains_key("access-control-allow-credentials"), "{}", route.path);
        read += 1;
    }
    assert!(read > 50, "{read}");
    let listed = Setup::demo().with("EP_BASE_URL", "https://polls.example.com");
    let service = listed.with("EP_ALLOWED_ORIGINS", "https://app.example").boot().await;
    let client = service.anonymous();
    for route in service.site.routes.iter().filter(|route| route.as_document().is_some()) {
        let reply = send(&client, route, &foreign).await;
        assert_ne!(reply.status, 403, "{}: {}", route.path, reply.text);
        let allowed = reply.header("access-control-allow-origin");
        assert!(["*", foreign[1].1].contains(&allowed), "{}: {allowed}", route.path);
    }
    client.post_with("/api/poll", &crate::harness::question(json!({})), &foreign).await.refused(403);
}

/// True if a page may read the response headers that our clients need.
fn own_headers(reply: &Reply) -> bool {
    let exposed = reply.header("access-control-expose-headers");
    ["x-request-id", "location", "retry-after", "etag"].iter().all(|name| exposed.contains(name))
}

/// A website that could set this service's cookies could sign its visitors in to an account of its choice.
#[tokio::test]
async fn responses_to_other_websites_set_no_cookie() {
    let service = service().await;
    let client = service.anonymous();
    let cross_site = [("sec-fetch-site", "cross-site"), ("origin", "https://elsewhere.example")];
    for route in &service.site.routes {
        let reply = send(&client, route, &cross_site).await;
        assert!(!reply.headers.contains_key("set-cookie"), "{} {}", route.method.as_str(), route.path);
    }
}

#[tokio::test]
async fn users_cannot_access_data_of_other_users() {
    let service = service().await;
    let (owner, other) = (service.user().await, service.user().await);
    let poll = owner.poll(json!({ "private": true })).await.expect(200);
    let id = poll["poll_id"].as_str().unwrap();
    let mut tried = 0;
    for route in service.site.routes.iter().filter(|route| route.path.contains("{poll_id}")) {
        let mut path = route.path.replace("{poll_id}", id);
        if route.name == "delete_poll" {
            // Without confirmation, the request changes nothing. Other accounts do not learn that the poll
            // exists.
            path.push_str("?confirm=no");
        }
        let of = |client: &Client| client.request(method(route), &path);
        // The poll has ended. Private polls have no public feedback and no embed frame.
        let own = match path.as_str() {
            path if path.starts_with("/embed/") => 404,
            path if path.ends_with("/cancel") => 409,
            path if path.ends_with("?confirm=no") => 400,
            path if path.starts_with("/api/feedback/") => 404,
            _ => 200,
        };
        assert_eq!(owner.send(of(&owner)).await.status, own, "{path} for its owner");
        let without = if route.access.anonymous { 404 } else { 401 };
        for (client, status) in [(&other, 404), (&service.anonymous(), without)] {
            let reply = client.send(of(client)).await;
            assert_eq!(reply.status, status, "{path}: {}", reply.text);
            assert!(!reply.text.contains("better one"), "{path} tells the question");
        }
        tried += 1;
    }
    for entry in TOOLS.iter().filter(|entry| entry.spec.agents != Agents::None) {
        if entry.input().get("properties").and_then(|members| members.get("poll_id")).is_none() {
            continue;
        }
        let name = entry.spec.name;
        let mut input = json!({ "poll_id": id });
        if name == "delete_poll" {
            input["confirm"] = "no".into();
        }
        let found = owner.tool(name, input.clone()).await;
        // The poll has ended and cannot be cancelled. Private polls have no feedback.
        let refused = entry.spec.task == Task::Cancel
            || entry.spec.name.ends_with("_feedback")
            || entry.spec.name == "delete_poll";
        assert_eq!(found["isError"], Value::Bool(refused), "{name} for its owner");
        let refused = other.tool(name, input).await;
        assert_eq!(refused["structuredContent"]["error"]["code"], "not_found", "{name} over MCP");
        tried += 1;
        if entry.spec.agents != Agents::Core {
            continue;
        }
        let message = json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{ "data": { "poll_id": id } }],
            "metadata": { "skillId": name } });
        let reply = other.rpc("/api/a2a", "SendMessage", json!({ "message": message })).await.expect(200);
        assert_eq!(reply["error"]["code"], -32001, "{name} over A2A");
        tried += 1;
    }
    assert!(tried >= 2);
}

#[tokio::test]
async fn bearer_token_takes_precedence_over_a_cookie() {
    let service = service().await;
    let (id, user) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    let stale = ("cookie", "ep_session=old");
    assert_eq!(user.post_with("/api/poll", &crate::harness::question(json!({})), &[stale]).await.status, 200);
    let cookie = format!("theme=dark; {}", service.cookie(id).await);
    let nobody = service.anonymous();
    let paid =
        nobody.post_with("/api/poll", &crate::harness::question(json!({})), &[("cookie", &cookie)]).await;
    assert!(paid.expect(200).get("costs").is_some(), "a session polls like an account");
    let reply = nobody.post_with("/api/poll", &crate::harness::question(json!({})), &[stale]).await;
    assert!(reply.header("set-cookie").starts_with("ep_session=;"), "{:?}", reply.headers);
    reply.refused(401);
}
