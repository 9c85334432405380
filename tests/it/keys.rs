//! API keys: created, listed and revoked by their owner.

use std::time::Duration;

use ep_polling::MicroUsd;
use ep_upstream::testing::{Billing, Script, VoteFor};
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Client, Engine, Service, Setup, WalletLibraries, question};

#[tokio::test]
async fn key_is_created_listed_and_revoked() {
    let service = Service::start().await;
    let client = service.user().await;
    let created = client.post("/api/keys", &json!({ "label": " laptop " })).await;
    assert_eq!(created.header("cache-control"), "no-store");
    let created = created.expect(201);
    let key = created["key"].as_str().unwrap();
    assert!(key.starts_with("ep_k_") && created["warning"].is_string());
    assert_eq!((&created["label"], created["key_prefix"].as_str()), (&json!("laptop"), Some(&key[..10])));

    let with_it = client.with_key(key);
    let listed = with_it.get("/api/keys").await.expect(200);
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert_eq!((&listed[0]["id"], &listed[0]["revoked_at"]), (&created["id"], &json!(null)));
    assert!(!listed.to_string().contains(key));

    let path = format!("/api/keys/{}", created["id"].as_str().unwrap());
    let other = service.user().await;
    let delete = |client: &Client, path: &str| {
        let (client, request) = (client.clone(), client.request(Method::DELETE, path));
        async move { client.send(request).await }
    };
    delete(&other, &path).await.refused(404);
    assert_eq!(delete(&with_it, &path).await.expect(200), json!({ "revoked": true }));
    with_it.get("/api/keys").await.refused(401);
    delete(&client, &path).await.refused(404);
    delete(&client, "/api/keys/not-an-id").await.refused(404);
    let listed = client.get("/api/keys").await.expect(200);
    assert!(listed[0]["revoked_at"].is_string());

    client.post("/api/keys", &json!({ "label": "x".repeat(65) })).await.refused(400);
    client.post("/api/keys", &json!({ "label": 5 })).await.refused(400);
    assert_eq!(client.post("/api/keys", &json!({ "label": null })).await.expect(201)["label"], "");
    service.anonymous().get("/api/keys").await.refused(401);
}

#[tokio::test]
async fn scope_limits_a_key() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let service = Setup::demo().on(engine).boot().await;
        let owner = service.user().await;
        let with_scope = async |scope: &str| {
            let created = owner.post("/api/keys", &json!({ "scope": scope })).await.expect(201);
            assert_eq!((&created["scope"], &created["expires_at"]), (&json!(scope), &json!(null)));
            owner.with_key(created["key"].as_str().unwrap())
        };
        let poll = json!({ "question": "Which one is it today?", "options": ["a", "b"], "preset": "free" });
        for (scope, asks, manages) in [("all", true, true), ("polls", true, false), ("read", false, false)] {
            let client = with_scope(scope).await;
            client.get("/api/balance").await.expect(200);
            client.get("/api/keys").await.expect(200);
            client.post("/api/poll/dry-run", &poll).await.expect(200);
            let asked = [client.post("/api/poll", &poll).await, client.post("/api/poll/stream", &poll).await];
            for reply in asked {
                assert_eq!(reply.status, if asks { 200 } else { 403 }, "{scope}: {}", reply.text);
            }
            let by_mcp = client.tool("poll_question", poll.clone()).await;
            assert_eq!(by_mcp["isError"].as_bool().unwrap_or(false), !asks, "{scope}: {by_mcp}");
            let created = client.post("/api/keys", &json!({})).await;
            if manages {
                created.expect(201);
            } else {
                let said = created.refused(403);
                assert!(said.contains(&format!("scope of this API key is {scope}")), "{said}");
                let keys = owner.get("/api/keys").await.expect(200);
                let path = format!("/api/keys/{}", keys[0]["id"].as_str().unwrap());
                client.send(client.request(Method::DELETE, &path)).await.refused(403);
            }
        }
        for wrong in [json!("everything"), json!(5), json!(["read"])] {
            owner.post("/api/keys", &json!({ "scope": wrong })).await.refused(400);
        }
        let listed = owner.get("/api/keys").await.expect(200).to_string();
        assert!(
            ["all", "polls", "read"].iter().all(|scope| listed.contains(&format!("\"scope\":\"{scope}\"")))
        );
    }
}

#[tokio::test]
async fn expired_key_is_rejected() {
    let service = Setup::demo().seeded(2).boot().await;
    let owner = service.user().await;
    let expires_at = "2026-11-21T13:00:00.000Z";
    let created = owner.post("/api/keys", &json!({ "expires_at": expires_at })).await.expect(201);
    assert_eq!(created["expires_at"], expires_at);
    let client = owner.with_key(created["key"].as_str().unwrap());
    service.clock.as_ref().unwrap().advance(Duration::from_secs(3599));
    client.get("/api/keys").await.expect(200);
    service.clock.as_ref().unwrap().advance(Duration::from_secs(1));
    let reply = client.get("/api/keys").await;
    assert!(reply.header("www-authenticate").contains("invalid_token"));
    assert!(reply.refused(401).contains("expired"));
    owner.get("/api/keys").await.expect(200);
    for wrong in ["2026-11-21T13:00:00Z", "2020-01-01T00:00:00Z", "tomorrow", " "] {
        let said = owner.post("/api/keys", &json!({ "expires_at": wrong })).await.refused(400);
        assert!(said.contains("expires_at"), "{said}");
    }
}

/// Fifty concurrent polls with a key capped at ten. The models respond only after all polls have been accepted or
/// rejected.
async fn key_spending_is_capped(engine: Engine) {
    let mut script = Script { votes_for: VoteFor::Text("Beta".into()), ..Script::panel(12) };
    script.default.billing = Billing::Cost(120, 12, 0.000_01);
    script.default.latency = Duration::from_secs(3);
    let service = Setup::scripted(script).on(engine).boot().await;
    let ask = json!({ "pace": "fast", "confidence_threshold": 1, "wait_ms": 1, "max_cost_usd": 100 });
    let (user, owner) = service.user_with(MicroUsd::new(900_000_000)).await;
    owner.poll(ask.clone()).await.expect(202);
    let hold = service.app.accounts.balance(user).await.unwrap().held.as_usd();

    for cap in ["cap_usd", "daily_cap_usd"] {
        let terms = json!({ cap: hold * 10.0, "label": cap });
        let created = owner.post("/api/keys", &terms).await.expect(201);
        assert_eq!((&created[cap], &created["funds_usd"]), (&terms[cap], &json!(null)));
        let client = owner.with_key(created["key"].as_str().unwrap());
        let polls = futures::future::join_all((0..50).map(|_| client.poll(ask.clone()))).await;
        let count = |status| polls.iter().filter(|reply| reply.status == status).count();
        assert_eq!((count(202), count(403)), (10, 40), "{cap}");
        let refused = polls.into_iter().find(|reply| reply.status == 403).unwrap();
        assert!(refused.refused(403).contains("this API key may spend only $0.00 more"));
        let by_mcp = client.tool("poll_question", question(ask.clone())).await;
        assert_eq!(by_mcp["structuredContent"]["error"]["code"], "spending_cap_reached", "{by_mcp}");
        let keys = owner.get("/api/keys").await.expect(200);
        let listed = keys.as_array().unwrap().iter().find(|key| key["label"] == cap).unwrap();
        assert_eq!((&listed["spent_usd"], &listed["spent_today_usd"]), (&listed[cap], &listed[cap]));
    }
    assert!(!service.settled_cost(user).await.is_zero());
    let keys = owner.get("/api/keys").await.expect(200);
    for key in keys.as_array().unwrap().iter().filter(|key| key["spent_usd"] != json!(null)) {
        let spent = key["spent_usd"].as_f64().unwrap();
        assert!(spent > 0.0 && spent < hold * 10.0, "{key}");
    }
    for wrong in [json!(0), json!(-1), json!("5"), json!(1e-9), json!([1])] {
        owner.post("/api/keys", &json!({ "daily_cap_usd": wrong })).await.refused(400);
    }
}

#[tokio::test]
async fn key_spending_is_capped_on_sqlite() {
    key_spending_is_capped(Engine::Sqlite).await;
}

#[tokio::test]
async fn key_spending_is_capped_on_postgres() {
    key_spending_is_capped(Engine::Postgres).await;
}

/// A pre-funded key is given to another person: it spends its own funds and cannot read the funder's data.
#[tokio::test]
async fn pre_funded_key_has_a_separate_balance() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let service = Setup::demo().on(engine).boot().await;
        let (user, owner) = service.user_with(MicroUsd::new(10_000_000)).await;
        let private = owner.poll(json!({ "private": true, "preset": "free" })).await.expect(200);
        let created =
            owner.post("/api/keys", &json!({ "funds_usd": 0.5, "label": "gift" })).await.expect(201);
        assert_eq!((&created["funds_usd"], &created["scope"]), (&json!(0.5), &json!("polls")));
        let holder = owner.with_key(created["key"].as_str().unwrap());
        let cents =
            async |client: &Client| client.get("/api/balance").await.expect(200)["balance_cents"].clone();
        assert_eq!((cents(&owner).await, cents(&holder).await), (json!(950), json!(50)));

        let asked = holder.poll(json!({})).await.expect(200);
        assert!(asked["costs"]["total_estimated_cost"].as_f64().unwrap() > 0.0);
        let listed = holder.get("/api/results").await.expect(200);
        assert_eq!((cents(&owner).await, listed.as_array().unwrap().len()), (json!(950), 1));
        let path = format!("/api/results/{}", private["poll_id"].as_str().unwrap());
        holder.get(&path).await.refused(404);
        owner.get(&path).await.expect(200);
        assert_eq!(holder.get("/api/keys").await.expect(200).as_array().unwrap().len(), 1);
        holder.post("/api/keys", &json!({})).await.refused(403);

        let id = created["id"].as_str().unwrap();
        let funds = format!("/api/keys/{id}/funds");
        holder.post(&funds, &json!({ "amount_usd": 1 })).await.refused(403);
        let topped_up =
            owner.post_with(&funds, &json!({ "amount_usd": 1.25 }), &[("idempotency-key", "one")]).await;
        let again =
            owner.post_with(&funds, &json!({ "amount_usd": 1.25 }), &[("idempotency-key", "one")]).await;
        assert_eq!(topped_up.expect(200), again.expect(200));
        assert_eq!(cents(&owner).await, 825);
        assert!(owner.post(&funds, &json!({ "amount_usd": 9 })).await.refused(402).contains("$8.25"));
        for wrong in [json!(0), json!(-1), json!("1"), json!(null)] {
            owner.post(&funds, &json!({ "amount_usd": wrong })).await.refused(400);
        }
        for key in ["nothing", "3f2b8c1e-5d4a-4f6b-9a7c-8e1d2f3a4b5c"] {
            owner.post(&format!("/api/keys/{key}/funds"), &json!({ "amount_usd": 1 })).await.refused(404);
        }
        service.user().await.post(&funds, &json!({ "amount_usd": 0.1 })).await.refused(404);
        assert!(owner.post("/api/keys", &json!({ "funds_usd": 9 })).await.refused(402).contains("$8.25"));
        owner.post("/api/keys", &json!({ "funds_usd": 1, "scope": "all" })).await.refused(400);

        let spent = asked["costs"]["total_estimated_cost"].as_f64().unwrap();
        owner.send(owner.request(Method::DELETE, &format!("/api/keys/{id}"))).await.expect(200);
        holder.get("/api/balance").await.refused(401);
        let left = (10.0 - spent) * 100.0;
        assert_eq!(cents(&owner).await, left.floor() as i64);
        let usage = owner.get("/api/balance").await.expect(200)["usage_cents"].clone();
        assert_eq!(usage, 0, "what the holder spent is no usage of the owner's");
        service.settled_cost(user).await;
    }
}

#[tokio::test]
async fn keys_have_no_cap_without_billing() {
    let service = Setup::demo().with("EP_BILLING", "off").boot().await;
    let owner = service.user().await;
    for terms in [json!({ "cap_usd": 1 }), json!({ "daily_cap_usd": 1 }), json!({ "funds_usd": 1 })] {
        assert!(owner.post("/api/keys", &terms).await.refused(400).contains("does not charge"));
    }
}

/// A limited key cannot create a key without the limit.
#[tokio::test]
async fn limited_key_cannot_create_unlimited_keys() {
    let service = Setup::demo().boot().await;
    let owner = service.user().await;
    let funded = owner.post("/api/keys", &json!({ "funds_usd": 0.1 })).await.expect(201);
    let funds = format!("/api/keys/{}/funds", funded["id"].as_str().unwrap());
    for limit in [
        json!({ "cap_usd": 0.1 }),
        json!({ "daily_cap_usd": 0.1 }),
        json!({ "funds_usd": 0.1 }),
        json!({ "expires_at": "2126-01-01T00:00:00Z" }),
    ] {
        let created = owner.post("/api/keys", &limit).await.expect(201);
        assert_eq!(created["scope"], "polls", "{limit}");
        let client = owner.with_key(created["key"].as_str().unwrap());
        client.post("/api/keys", &json!({})).await.refused(403);
        client.post("/api/keys", &json!({ "funds_usd": 0.1 })).await.refused(403);
        client.post(&funds, &json!({ "amount_usd": 0.1 })).await.refused(403);
        let mut wide = limit.clone();
        wide["scope"] = json!("all");
        let expires = limit.get("expires_at").is_some();
        assert_eq!(owner.post("/api/keys", &wide).await.status, if expires { 201 } else { 400 });
        let mut narrow = limit;
        narrow["scope"] = json!("read");
        assert_eq!(owner.post("/api/keys", &narrow).await.expect(201)["scope"], "read");
    }
}

/// No response repeats a key that a caller put into the wrong field.
#[tokio::test]
async fn key_in_the_wrong_field_is_not_repeated() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let key = client.post("/api/keys", &json!({})).await.expect(201)["key"].as_str().unwrap().to_owned();
    let question = |member: &str| question(json!({ member: key }));
    let replies = [
        client.post("/api/keys", &json!({ "scope": key })).await,
        client.post("/api/poll", &question("preset")).await,
        client.post("/api/poll", &question("profile")).await,
        client.post("/api/poll", &question("max_cost_usd")).await,
        client.get(&format!("/api/results?limit={key}")).await,
        client.get(&format!("/api/{key}")).await,
    ];
    for reply in replies {
        assert!((400..500).contains(&reply.status), "{}", reply.text);
        assert!(!reply.text.contains(&key[5..]), "{}", reply.text);
    }
}

#[tokio::test]
async fn created_key_does_not_outlive_its_creator() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let service = Setup::demo().seeded(4).on(engine).boot().await;
        let owner = service.user().await;
        let own = "2026-11-21T13:00:00.000Z";
        let terms = json!({ "expires_at": own, "scope": "all" });
        let created = owner.post("/api/keys", &terms).await.expect(201);
        let maker = owner.with_key(created["key"].as_str().unwrap());
        for later in ["2026-11-21T13:00:00.001Z", "2036-01-01T00:00:00Z"] {
            let said = maker.post("/api/keys", &json!({ "expires_at": later })).await.refused(400);
            assert!(said.contains("expires_at") && said.contains(own), "{said}");
        }
        let at = async |body: serde_json::Value| {
            let made = maker.post("/api/keys", &body).await.expect(201);
            (made["expires_at"].clone(), made["scope"].clone())
        };
        assert_eq!(at(json!({})).await, (json!(own), json!("polls")));
        assert_eq!(at(json!({ "scope": "all" })).await, (json!(own), json!("all")));
        assert_eq!(at(json!({ "cap_usd": 0.5 })).await, (json!(own), json!("polls")));
        let earlier = "2026-11-21T12:30:00.000Z";
        assert_eq!(at(json!({ "expires_at": earlier })).await.0, earlier);
        // The limit also applies to keys created by those keys. The owner's own key has no limit.
        let made = maker.post("/api/keys", &json!({ "scope": "all" })).await.expect(201);
        let second = owner.with_key(made["key"].as_str().unwrap());
        assert_eq!(second.post("/api/keys", &json!({})).await.expect(201)["expires_at"], own);
        assert_eq!(owner.post("/api/keys", &json!({})).await.expect(201)["expires_at"], json!(null));
        service.clock.as_ref().unwrap().advance(Duration::from_hours(1));
        second.get("/api/keys").await.refused(401);
    }
}

#[tokio::test]
async fn replay_shows_a_key_only_to_its_creating_credential() {
    let service = Setup::default().boot().await;
    let (_, owner) = service.user_with(MicroUsd::ZERO).await;
    let brief = json!({ "label": "brief", "scope": "all", "expires_at": "2099-01-01T00:00:00Z" });
    let brief = owner.post("/api/keys", &brief).await.expect(201);
    let brief = service.anonymous().with_key(brief["key"].as_str().unwrap());
    let (key, request) = ([("idempotency-key", "one")], json!({ "label": "laptop" }));
    let first = owner.post_with("/api/keys", &request, &key).await.expect(201);
    assert_eq!(owner.post_with("/api/keys", &request, &key).await.expect(201), first);
    // An expiring key must not obtain a longer-lived one.
    let refused = brief.post_with("/api/keys", &request, &key).await.refused(422);
    assert!(refused.contains("another credential"), "{refused}");
}

#[tokio::test]
async fn rotation_revokes_keys_created_concurrently() {
    let (service, wallets) =
        (Setup::default().with("EP_RATE_LIMIT_PER_MINUTE", "100000").boot().await, WalletLibraries::start());
    for _ in 0..5 {
        let (wallet, nobody) = (wallets.wallet().await, service.anonymous());
        let made = wallets.sign_in(&nobody, &wallet, &[]).await.expect(200);
        let thief = nobody.with_key(made["api_key"].as_str().unwrap());
        // The requests reach the service before, during and after the rotation.
        let stolen = (0..40).map(|number| {
            let thief = thief.clone();
            async move {
                tokio::time::sleep(Duration::from_millis(number)).await;
                thief.post("/api/keys", &json!({ "label": number.to_string() })).await
            }
        });
        let rotation = async {
            let path = format!("/api/wallet/challenge?address={}&purpose=rotate_key", wallet.address);
            let message = nobody.get(&path).await.expect(200)["message"].as_str().unwrap().to_owned();
            let signature = wallets.sign(&wallet, &message).await;
            let body = json!({ "message": message, "signature": signature });
            nobody.post("/api/wallet/rotate-key", &body).await
        };
        let (rotated, stolen) = tokio::join!(rotation, futures::future::join_all(stolen));
        rotated.expect(200);
        for reply in stolen.into_iter().filter(|reply| reply.status == 201) {
            let key: Value = serde_json::from_str(&reply.text).unwrap();
            nobody.clone().with_key(key["key"].as_str().unwrap()).get("/api/balance").await.refused(401);
        }
    }
}
