//! Funding an account by card, against a strict fake of Stripe that the official SDK accepts.

use std::sync::Arc;
use std::time::Duration;

use ensemble_poll::app::clock::SystemClock;
use ep_kernel::Clock;
use ep_kernel::testing::{ManualClock, SeededEntropy};
use ep_polling::MicroUsd;
use ep_store::UserId;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Engine, Reply, Service, Setup, Stripe, question};

/// Starts a service with card payments and a fake Stripe. Both webhook secrets are valid; the first one signs.
async fn service_with_stripe(setup: Setup) -> (Service, Stripe) {
    let (setup, url) = setup.at_known_address();
    let stripe = Stripe::start(&url, &["whsec_new", "whsec_old"]).await;
    let setup = setup
        .with("EP_STRIPE_SECRET_KEY", "sk_test_of_the_tests")
        .with("EP_STRIPE_WEBHOOK_SECRET", "whsec_new,whsec_old")
        .with("EP_STRIPE_API_URL", &stripe.api_url);
    (setup.boot().await, stripe)
}

/// A signed-in browser.
struct Visitor<'a> {
    service: &'a Service,
    user: UserId,
    cookie: String,
}

impl<'a> Visitor<'a> {
    async fn new(service: &'a Service) -> Self {
        let (user, _) = service.user_with(MicroUsd::ZERO).await;
        Self { service, user, cookie: service.cookie(user).await }
    }

    async fn checkout(&self, body: &Value) -> Reply {
        self.service.anonymous().post_with("/api/checkout", body, &[("cookie", &self.cookie)]).await
    }

    /// Opens a checkout page for this amount and returns the page's Stripe id.
    async fn page(&self, cents: u32) -> String {
        let page = self.checkout(&json!({ "amount_cents": cents })).await.expect(200);
        let url = page["url"].as_str().unwrap();
        url.rsplit('/').next().unwrap().to_owned()
    }

    async fn balance(&self) -> Value {
        let client = self.service.anonymous();
        let request = client.request(Method::GET, "/api/balance").header("cookie", &self.cookie);
        client.send(request).await.expect(200)
    }

    async fn cents(&self) -> i64 {
        let balance = self.balance().await;
        assert_eq!(balance["usage_cents"], 0);
        assert!(self.service.app.accounts.treasury.audit(Duration::from_mins(1)).await.unwrap().is_clean());
        balance["balance_cents"].as_i64().unwrap()
    }
}

/// Returns the statuses of the service's responses to deliveries.
fn statuses(sent: &Value) -> Vec<u64> {
    sent["deliveries"].as_array().unwrap().iter().map(|sent| sent["status"].as_u64().unwrap_or(0)).collect()
}

#[tokio::test]
async fn card_payment_is_credited_once() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let (service, stripe) = service_with_stripe(Setup::demo().on(engine)).await;
        let visitor = Visitor::new(&service).await;
        let page = visitor.checkout(&json!({ "amount_cents": 2500 })).await.expect(200);
        assert_eq!(page.as_object().unwrap().len(), 1);
        let url = page["url"].as_str().unwrap();
        let http = ep_outgoing::client_builder().no_proxy().build().unwrap();
        assert!(http.get(url).send().await.unwrap().text().await.unwrap().contains("$25.00"));
        assert_eq!(visitor.cents().await, 0, "nothing before it is paid");
        let paid = http.post(url).send().await.unwrap();
        let back = paid.headers()["location"].to_str().unwrap();
        assert!(back.starts_with(&format!("{}/dashboard?funded=cs_test_", service.url)), "{back}");
        assert_eq!(visitor.cents().await, 2500);

        // Eight concurrent deliveries, then one with the older secret, then a delayed payment.
        let session = visitor.page(100).await;
        let sent = stripe.control("pay", json!({ "session": session, "times": 8 })).await;
        assert_eq!(statuses(&sent), [200; 8]);
        assert_eq!(visitor.cents().await, 2600);
        let event = &sent["event"]["id"];
        let again =
            stripe.control("deliver", json!({ "event": event, "times": 3, "secret": "whsec_old" })).await;
        assert_eq!(statuses(&again), [200; 3]);
        let two = stripe.control("deliver", json!({ "event": event, "signature": "two" })).await;
        assert_eq!(statuses(&two), [200]);
        let delayed = visitor.page(300).await;
        stripe.control("pay", json!({ "session": delayed, "async": true })).await;
        assert_eq!(visitor.cents().await, 2600, "completed, but not paid yet");
        let sent = stripe.control("async-succeeded", json!({ "session": delayed, "times": 2 })).await;
        assert_eq!(statuses(&sent), [200; 2]);
        assert_eq!(visitor.cents().await, 2900);

        // The customer's e-mail address is sent once, and each page has its own idempotency key.
        let requests = stripe.requests().await;
        let params = &requests[0]["params"];
        assert_eq!(params["client_reference_id"], visitor.user.to_string());
        assert_eq!(params["metadata[checkout_id]"], params["payment_intent_data[metadata][checkout_id]"]);
        assert_eq!(
            requests[0]["idempotency_key"],
            format!("checkout:{}", params["metadata[checkout_id]"].as_str().unwrap())
        );
    }
}

#[tokio::test]
async fn forged_old_and_foreign_events_are_ignored() {
    let (service, stripe) = service_with_stripe(Setup::demo()).await;
    let visitor = Visitor::new(&service).await;
    let session = visitor.page(500).await;
    let sent = stripe.control("pay", json!({ "session": session, "deliver": false })).await;
    let event = &sent["event"]["id"];
    for (forged, status) in [
        (json!({ "event": event, "signature": "wrong" }), 400),
        (json!({ "event": event, "signature": "missing" }), 400),
        (json!({ "event": event, "secret": "whsec_guessed" }), 400),
        (json!({ "event": event, "timestamp_offset_s": -310 }), 400),
        (json!({ "event": event, "timestamp_offset_s": 310 }), 400),
        // Signed, but different from the requested payment.
        (json!({ "event": event, "livemode": true }), 200),
        (json!({ "event": event, "object": { "amount_total": 50_000 } }), 200),
        (json!({ "event": event, "object": { "amount_total": 499 } }), 200),
        (json!({ "event": event, "object": { "currency": "jpy" } }), 200),
        (json!({ "event": event, "object": { "mode": "setup" } }), 200),
        (json!({ "event": event, "object": { "payment_status": "unpaid" } }), 200),
        (json!({ "event": event, "object": { "metadata": {} } }), 200),
        (
            json!({ "event": event, "object": { "metadata": { "checkout_id": "00000000-0000-4000-8000-000000000000" } } }),
            200,
        ),
        (json!({ "event": event, "object": { "id": "cs_test_other" } }), 200),
        (json!({ "event": event, "type": "customer.created" }), 200),
        (json!({ "event": event, "object": { "id": 5 } }), 400),
    ] {
        let sent = stripe.control("deliver", forged.clone()).await;
        assert_eq!(statuses(&sent), [status], "{forged}: {sent}");
        assert_eq!(visitor.cents().await, 0, "{forged}");
    }
    assert_eq!(statuses(&stripe.control("deliver", json!({ "event": event })).await), [200]);
    assert_eq!(visitor.cents().await, 500);
    // Unsigned requests are rejected.
    let client = service.anonymous();
    client.post("/api/webhooks/stripe", &json!({ "type": "checkout.session.completed" })).await.refused(400);
}

#[tokio::test]
async fn invalid_amounts_and_callers_are_rejected() {
    let (service, stripe) = service_with_stripe(Setup::demo()).await;
    let visitor = Visitor::new(&service).await;
    for amount in [
        json!(99),
        json!(100_001),
        json!(0),
        json!(-500),
        json!(500.5),
        json!("500"),
        Value::Null,
        json!([500]),
        json!(9e15),
    ] {
        let said = visitor.checkout(&json!({ "amount_cents": amount })).await.refused(400);
        assert!(said.contains("amount_cents"), "{said}");
    }
    visitor.checkout(&json!({})).await.refused(400);
    for amount in [100, 100_000] {
        visitor.page(amount).await;
    }
    assert_eq!(stripe.requests().await.len(), 2);
    let body = json!({ "amount_cents": 500 });
    service.anonymous().post("/api/checkout", &body).await.refused(401);
    let (_, with_key) = service.user_with(MicroUsd::ZERO).await;
    assert!(with_key.post("/api/checkout", &body).await.refused(401).contains("sign in with a browser"));

    let without = Setup::demo().boot().await;
    let visitor = Visitor::new(&without).await;
    assert!(visitor.checkout(&body).await.refused(503).contains("EP_STRIPE_SECRET_KEY"));
    let said = without.anonymous().post("/api/webhooks/stripe", &json!({})).await.refused(503);
    assert!(said.contains("EP_STRIPE_WEBHOOK_SECRET"));
}

#[tokio::test]
async fn failed_processor_calls_create_one_page() {
    let (service, stripe) = service_with_stripe(Setup::demo()).await;
    let visitor = Visitor::new(&service).await;
    for failures in [vec!["500"], vec!["drop-after"], vec!["409", "drop"]] {
        stripe.control("fail", json!({ "next": failures })).await;
        visitor.page(700).await;
    }
    let keys: std::collections::BTreeSet<String> =
        stripe.requests().await.iter().map(|request| request["idempotency_key"].to_string()).collect();
    assert_eq!(keys.len(), 3, "one key for each payment");
    stripe.control("fail", json!({ "next": ["500", "503", "500"] })).await;
    let reply = visitor.checkout(&json!({ "amount_cents": 700 })).await;
    assert!(!reply.header("retry-after").is_empty());
    assert!(reply.refused(503).contains("nothing was charged"));
    assert_eq!(visitor.cents().await, 0);
}

#[tokio::test]
async fn payments_without_a_webhook_are_reconciled() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        // Stripe's clock is the real one.
        let clock = Arc::new(ManualClock::at(SystemClock.now()));
        let controlled = Some((Arc::clone(&clock), Arc::new(SeededEntropy::new(11))));
        let (service, stripe) = service_with_stripe(Setup { controlled, ..Setup::demo() }.on(engine)).await;
        let visitor = Visitor::new(&service).await;
        let cards = &service.app.ports.cards;
        let (paid, expired, waiting) =
            (visitor.page(500).await, visitor.page(600).await, visitor.page(700).await);
        stripe.control("pay", json!({ "session": paid, "deliver": false })).await;
        stripe.control("expire", json!({ "session": expired, "deliver": false })).await;
        // The response is lost, but the page exists.
        stripe.control("fail", json!({ "next": ["drop-after", "500", "500"] })).await;
        visitor.checkout(&json!({ "amount_cents": 800 })).await.refused(503);
        assert_eq!(cards.reconcile().await.unwrap(), 0, "not before half an hour");
        clock.advance(Duration::from_mins(31));
        assert_eq!(cards.reconcile().await.unwrap(), 4);
        assert_eq!(visitor.cents().await, 500);
        assert_eq!(cards.reconcile().await.unwrap(), 2, "what is neither paid nor closed");
        stripe.control("pay", json!({ "session": waiting, "deliver": false })).await;
        cards.reconcile().await.unwrap();
        assert_eq!(visitor.cents().await, 1200);
        clock.advance(Duration::from_hours(24));
        cards.reconcile().await.unwrap();
        assert_eq!(visitor.cents().await, 1200);
    }
}

#[tokio::test]
async fn refunds_and_disputes_are_debited_and_freeze_accounts_without_balance() {
    let (service, stripe) = service_with_stripe(Setup::demo()).await;
    let visitor = Visitor::new(&service).await;
    let session = visitor.page(1000).await;
    stripe.control("pay", json!({ "session": session })).await;
    let sent = stripe.control("refund", json!({ "session": session, "amount_cents": 300, "times": 4 })).await;
    assert_eq!(statuses(&sent), [200; 4]);
    assert_eq!(visitor.cents().await, 700);
    stripe.control("dispute", json!({ "session": session, "amount_cents": 700 })).await;
    assert_eq!(visitor.cents().await, 0);
    stripe.control("dispute-closed", json!({ "session": session, "status": "won" })).await;
    assert_eq!(visitor.cents().await, 700);

    // Another payment is spent and then refunded: the service bears the loss.
    let (user, client) = service.user_with(MicroUsd::ZERO).await;
    let spender = Visitor { service: &service, user, cookie: service.cookie(user).await };
    let session = spender.page(100).await;
    stripe.control("pay", json!({ "session": session })).await;
    client.poll(json!({})).await.expect(200);
    let spent = service.settled_cost(user).await;
    assert!(!spent.is_zero());
    // A refund reported before its payment is applied after it.
    let early = spender.page(200).await;
    let paid = stripe.control("pay", json!({ "session": early, "deliver": false })).await;
    stripe.control("refund", json!({ "session": early, "amount_cents": 200 })).await;
    stripe.control("refund", json!({ "session": session, "amount_cents": 100 })).await;
    assert_eq!(spender.balance().await["balance_cents"], 0);
    stripe.control("deliver", json!({ "event": paid["event"]["id"] })).await;
    assert_eq!(spender.balance().await["balance_cents"], 0);
    let refused = client.post_with("/api/poll", &question(json!({})), &[("x-machine-client", "true")]).await;
    assert_eq!(refused.expect(403)["code"], "account_frozen");
    client.poll(json!({ "preset": "free" })).await.expect(200);
    assert!(service.app.accounts.treasury.audit(Duration::from_mins(1)).await.unwrap().is_clean());
}

/// Stripe returns the money of a failed refund to the service. The account is credited once, in any order of
/// events.
#[tokio::test]
async fn failed_refund_is_credited_once() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let (service, stripe) = service_with_stripe(Setup::demo().on(engine)).await;
        let visitor = Visitor::new(&service).await;
        let session = visitor.page(1000).await;
        stripe.control("pay", json!({ "session": session })).await;
        let refund = async |cents: u32| {
            stripe.control("refund", json!({ "session": session, "amount_cents": cents })).await["refund"]
                .clone()
        };
        refund(200).await;
        let failing = refund(300).await;
        assert_eq!(visitor.cents().await, 500);
        let failed = json!({ "session": session, "refund": failing["id"], "times": 4 });
        let sent = stripe.control("refund-failed", failed).await;
        assert_eq!(statuses(&sent), [200; 4]);
        assert_eq!(visitor.cents().await, 800);
        // The same failure under Stripe's other event types.
        let event = &sent["event"]["id"];
        for kind in ["charge.refund.updated", "refund.updated"] {
            stripe.control("deliver", json!({ "event": event, "type": kind })).await;
            assert_eq!(visitor.cents().await, 800, "{kind}");
        }
        // Other refund changes and failures in another currency change nothing.
        for object in
            [json!({ "id": "re_1", "status": "succeeded" }), json!({ "id": "re_2", "currency": "jpy" })]
        {
            let update = json!({ "event": event, "type": "refund.updated", "object": object });
            assert_eq!(statuses(&stripe.control("deliver", update).await), [200]);
            assert_eq!(visitor.cents().await, 800);
        }

        // The failure arrives before the refund.
        let session = visitor.page(500).await;
        stripe.control("pay", json!({ "session": session })).await;
        let early = json!({ "session": session, "amount_cents": 500, "deliver": false });
        let early = stripe.control("refund", early).await;
        let failed = json!({ "session": session, "refund": early["refund"]["id"] });
        stripe.control("refund-failed", failed).await;
        assert_eq!(visitor.cents().await, 1300);
        stripe.control("deliver", json!({ "event": early["event"]["id"] })).await;
        assert_eq!(visitor.cents().await, 1300);
    }
}

/// Unsigned webhook requests are limited so they cannot cause unlimited work. Signed events are never limited.
#[tokio::test]
async fn only_unsigned_events_are_rate_limited() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let setup = Setup::demo().with("EP_RATE_LIMIT_ANONYMOUS_PER_MINUTE", "3").on(engine);
        let (service, stripe) = service_with_stripe(setup).await;
        let visitor = Visitor::new(&service).await;
        let session = visitor.page(500).await;
        let paid = stripe.control("pay", json!({ "session": session, "deliver": false })).await;
        let event = &paid["event"]["id"];
        for (signature, status) in
            [("wrong", 400), ("missing", 400), ("wrong", 400), ("wrong", 429), ("missing", 429)]
        {
            let forged = json!({ "event": event, "signature": signature });
            assert_eq!(statuses(&stripe.control("deliver", forged).await), [status], "{signature}");
        }
        let client = service.anonymous();
        let refused = client.post("/api/webhooks/stripe", &json!({})).await;
        assert!(!refused.header("retry-after").is_empty());
        refused.refused(429);
        assert_eq!(visitor.cents().await, 0);
        let sent = stripe.control("deliver", json!({ "event": event, "times": 8 })).await;
        assert_eq!(statuses(&sent), [200; 8]);
        assert_eq!(visitor.cents().await, 500);
    }
}
