//! Browser sessions: the cookie, its lifetime and end, and protection from other websites.

use std::time::Duration;

use ep_polling::MicroUsd;
use reqwest::Method;
use serde_json::json;

use crate::harness::{Client, Engine, Reply, Setup, WalletLibraries};

async fn get(client: &Client, path: &str, cookie: &str, headers: &[(&str, &str)]) -> Reply {
    let request = client.request(Method::GET, path).header("cookie", cookie);
    client.send(headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))).await
}

async fn me(client: &Client, cookie: &str) -> Reply {
    get(client, "/api/auth/me", cookie, &[]).await
}

#[tokio::test]
async fn session_expires_after_a_day_unused_or_two_weeks() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let service = Setup::demo().seeded(3).on(engine).boot().await;
        let client = service.anonymous();
        let (user, _) = service.user_with(MicroUsd::ZERO).await;
        let clock = service.clock.as_ref().unwrap();
        let minute = Duration::from_mins(1);
        let (almost_a_day, almost_the_rest) =
            (Duration::from_mins(24 * 60 - 1), Duration::from_mins(24 * 60 - 18));

        let unused = service.cookie(user).await;
        let used = service.cookie(user).await;
        assert_ne!(unused, used);
        clock.advance(almost_a_day);
        assert_eq!(me(&client, &used).await.expect(200)["userId"], json!(user));
        clock.advance(30 * minute);
        let reply = me(&client, &unused).await;
        assert_eq!(reply.header("set-cookie"), "ep_session=; HttpOnly; SameSite=Lax; Path=/; Max-Age=0");
        assert!(reply.refused(401).contains("session has ended"));
        // The maximum distance between uses, regardless of which use was stored.
        for _ in 0..12 {
            me(&client, &used).await.expect(200);
            clock.advance(almost_a_day);
        }
        me(&client, &used).await.expect(200);
        clock.advance(almost_the_rest);
        me(&client, &used).await.expect(200);
        clock.advance(minute);
        me(&client, &used).await.refused(401);
        service.app.guard.sessions.sweep().await.unwrap();
        me(&client, &used).await.refused(401);
    }
}

#[tokio::test]
async fn only_the_service_can_make_a_cookie() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let (user, _) = service.user_with(MicroUsd::ZERO).await;
    let cookie = service.cookie(user).await;
    let token = cookie.strip_prefix("ep_session=").unwrap();
    assert!(cookie.len() < 4096);
    let mut flipped = token.to_owned();
    let last = if flipped.ends_with('0') { '1' } else { '0' };
    flipped.pop();
    flipped.push(last);
    for forged in [&flipped, &token[2..], "", "abc", &user.to_string(), &"0".repeat(token.len())] {
        me(&client, &format!("ep_session={forged}")).await.refused(401);
    }
    // A leaked database contains neither the cookie nor its token, and no cookie can be derived from it.
    me(&client, &cookie).await.expect(200);
    // Another service has another key.
    let other = Setup::demo().boot().await;
    me(&other.anonymous(), &cookie).await.refused(401);
}

#[tokio::test]
async fn stale_cookie_is_rejected_and_a_key_takes_precedence() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let (user, with_key) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    let body = json!({ "question": "Which one is it today?", "options": ["a", "b"] });
    let stale = [("cookie", "ep_session=stale"), ("sec-fetch-site", "same-origin")];
    let reply = client.post_with("/api/poll", &body, &stale).await;
    assert!(reply.header("set-cookie").contains("Max-Age=0"));
    reply.refused(401);
    let cookie = service.cookie(user).await;
    let paid = client.post_with("/api/poll", &body, &[("cookie", &cookie)]).await.expect(200);
    assert!(paid["costs"].is_object(), "a poll of the account, not the free one");

    // The key takes precedence, valid or not.
    with_key.post_with("/api/poll", &body, &[("cookie", "ep_session=stale")]).await.expect(200);
    let wrong = client.with_key("ep_k_wrong");
    let reply = wrong.post_with("/api/poll", &body, &[("cookie", &cookie)]).await;
    assert_eq!(reply.header("set-cookie"), "");
    reply.refused(401);
    // A key is not a sign-in, but the response does not call it invalid.
    let reply = with_key.get("/api/auth/me").await;
    assert!(!reply.header("www-authenticate").contains("invalid_token"));
    assert!(reply.refused(401).contains("sign in with a browser"));
}

#[tokio::test]
async fn other_websites_cannot_use_a_visitors_session() {
    let service = Setup::demo().with("EP_ALLOWED_ORIGINS", "*").boot().await;
    let client = service.anonymous();
    let (user, with_key) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    let cookie = service.cookie(user).await;
    let create = async |headers: &[(&str, &str)]| {
        let request = client.request(Method::POST, "/api/keys").header("cookie", &cookie);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        client.send(request.body("{}")).await
    };
    let json_body = ("content-type", "application/json");
    for headers in [
        vec![json_body, ("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")],
        vec![json_body, ("sec-fetch-site", "same-site")],
        vec![json_body, ("origin", "https://evil.example")],
        vec![json_body, ("origin", "null")],
    ] {
        assert!(create(&headers).await.refused(403).contains("another website"), "{headers:?}");
    }
    for headers in [vec![], vec![("content-type", "text/plain"), ("sec-fetch-site", "same-origin")]] {
        create(&headers).await.refused(415);
    }
    let delete = client.request(Method::DELETE, "/api/keys/00000000-0000-4000-8000-000000000000");
    let delete = delete.header("cookie", &cookie).header("sec-fetch-site", "cross-site");
    client.send(delete).await.refused(403);
    assert_eq!(with_key.get("/api/keys").await.expect(200).as_array().unwrap().len(), 1, "nothing was made");
    for headers in [
        vec![json_body, ("sec-fetch-site", "same-origin")],
        vec![json_body, ("origin", service.url.as_str())],
        vec![json_body],
    ] {
        create(&headers).await.expect(201);
    }
    // Programs send keys; browsers do not send them automatically.
    let foreign = [("sec-fetch-site", "cross-site"), ("origin", "https://app.example")];
    with_key.post_with("/api/keys", &json!({}), &foreign).await.expect(201);
}

#[tokio::test]
async fn signing_out_ends_the_session() {
    let service = Setup::demo().on(Engine::Postgres).boot().await;
    let client = service.anonymous();
    let (user, _) = service.user_with(MicroUsd::ZERO).await;
    let (cookie, other) = (service.cookie(user).await, service.cookie(user).await);
    // A link on another website leads only to a confirmation page.
    let asked = get(&client, "/api/auth/logout", &cookie, &[("sec-fetch-site", "cross-site")]).await;
    assert_eq!((asked.status, asked.header("content-type")), (200, "text/html; charset=utf-8"));
    assert!(asked.text.contains("Sign out") && asked.header("set-cookie").is_empty());
    me(&client, &cookie).await.expect(200);

    for _ in 0..2 {
        let out = get(&client, "/api/auth/logout", &cookie, &[]).await;
        assert_eq!((out.status, out.header("location")), (302, format!("{}/", service.url).as_str()));
        assert!(out.header("set-cookie").contains("Max-Age=0"));
        me(&client, &cookie).await.refused(401);
    }
    me(&client, &other).await.expect(200);
    assert_eq!(client.get("/api/auth/logout").await.status, 302);
}

#[tokio::test]
async fn signing_in_again_replaces_the_session() {
    let libraries = WalletLibraries::start();
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    let wallet = libraries.wallet().await;
    // An attacker has placed the first cookie in the browser.
    let (planted_user, _) = service.user_with(MicroUsd::ZERO).await;
    let mut cookie = service.cookie(planted_user).await;
    let mut seen = vec![cookie.clone()];
    for _ in 0..2 {
        let reply = libraries.sign_in(&client, &wallet, &[("cookie", &cookie)]).await;
        let begun = reply.cookie();
        let user = reply.expect(200)["user_id"].clone();
        assert!(!seen.contains(&begun));
        me(&client, &cookie).await.refused(401);
        assert_eq!(me(&client, &begun).await.expect(200)["userId"], user);
        seen.push(begun.clone());
        cookie = begun;
    }
}

/// Another website that submits a signed message must not sign its visitor's browser in. Its request gets the
/// normal response without the cookie. Programs, which send no such headers, get the cookie.
#[tokio::test]
async fn only_own_pages_and_programs_get_a_sign_in_cookie() {
    let libraries = WalletLibraries::start();
    let service = Setup::demo().with("EP_ALLOWED_ORIGINS", "*").boot().await;
    let client = service.anonymous();
    let own = service.url.clone();
    for (headers, begins) in [
        (vec![], true),
        (vec![("sec-fetch-site", "same-origin"), ("origin", own.as_str())], true),
        (vec![("sec-fetch-site", "none")], true),
        (vec![("origin", own.as_str())], true),
        (vec![("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")], false),
        (vec![("sec-fetch-site", "cross-site")], false),
        (vec![("sec-fetch-site", "same-site"), ("origin", own.as_str())], false),
        (vec![("origin", "https://evil.example")], false),
        (vec![("origin", "null")], false),
    ] {
        let wallet = libraries.wallet().await;
        let reply = libraries.sign_in(&client, &wallet, &headers).await;
        assert_eq!(reply.headers.contains_key("set-cookie"), begins, "{headers:?}");
        let cookie = reply.cookie();
        let account = reply.expect(200);
        assert!(account["api_key"].is_string() && account["is_new_user"] == json!(true), "{account}");
        if begins {
            assert_eq!(me(&client, &cookie).await.expect(200)["userId"], account["user_id"]);
        }
    }
    // A cross-site request with a session is rejected, like every change by another website.
    let (user, _) = service.user_with(MicroUsd::ZERO).await;
    let cookie = service.cookie(user).await;
    let body = json!({ "message": "m", "signature": "0x" });
    let headers = [("cookie", cookie.as_str()), ("sec-fetch-site", "cross-site")];
    client.post_with("/api/wallet/verify", &body, &headers).await.refused(403);
    me(&client, &cookie).await.expect(200);
}
