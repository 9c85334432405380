//! Payments for A2A tasks: the a2a-x402 extension with Circle's contract, the reference facilitator and its
//! payers.

use std::time::Duration;

use ep_polling::MicroUsd;
use ep_upstream::testing::Script;
use serde_json::{Value, json};

use crate::deposits::{PaymentSetup, assert_clean, balance};
use crate::harness::{Client, Engine, Reply, Setup, Wallet, question};

const URI: &str = "https://github.com/google-agentic-commerce/a2a-x402/blob/main/spec/v0.2";

/// A protocol version.
#[derive(Clone, Copy, PartialEq)]
enum Version {
    V1,
    V03,
}

impl Version {
    fn header(self) -> (&'static str, &'static str) {
        (if self == Self::V1 { "a2a-extensions" } else { "x-a2a-extensions" }, URI)
    }

    /// Sends a message to a task, or without a task.
    async fn send(self, client: &Client, mut message: Value, task: Option<&Value>) -> Reply {
        if let Some(task) = task {
            message["taskId"] = task.clone();
        }
        message["role"] = if self == Self::V1 { "ROLE_USER".into() } else { "user".into() };
        let method = if self == Self::V1 { "SendMessage" } else { "message/send" };
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { "message": message } });
        client.post_with("/api/a2a", &body, &[self.header()]).await
    }

    fn task(self, reply: &Value) -> Value {
        let task = if self == Self::V1 { &reply["result"]["task"] } else { &reply["result"] };
        assert!(task.is_object(), "{reply}");
        task.clone()
    }
}

fn state(task: &Value) -> String {
    let state = task["status"]["state"].as_str().unwrap();
    state.trim_start_matches("TASK_STATE_").to_lowercase().replace('_', "-")
}

fn asks(id: &str) -> Value {
    json!({ "messageId": id, "parts": [{ "kind": "data", "data": question(json!({})) }] })
}

/// A message with a payment, or with a rejection of the payment.
fn pays(id: &str, status: &str, payload: &Value) -> Value {
    json!({
        "messageId": id,
        "parts": [{ "kind": "text", "text": "Here is the payment." }],
        "metadata": { "x402.payment.status": status, "x402.payment.payload": payload },
    })
}

fn payment_metadata(task: &Value) -> &Value {
    &task["status"]["message"]["metadata"]
}

/// Signs the payment that a task requests, with some fields changed.
async fn signed(world: &PaymentSetup, task: &Value, wallet: &Wallet, changes: Value) -> Value {
    let required = &payment_metadata(task)["x402.payment.required"];
    let request = json!({
        "op": "sign", "version": required["x402Version"], "requirements": required["accepts"][0],
        "privateKey": wallet.private_key, "overrides": changes,
    });
    world.payer.ask(request).await["payload"].clone()
}

async fn a_task_is_paid_for(world: &PaymentSetup, engine: Engine, version: Version) {
    let service = world.with_node(Setup::demo().on(engine)).boot().await;
    let (user, client) = service.user_with(MicroUsd::ZERO).await;
    let (_, other) = service.user_with(MicroUsd::ZERO).await;
    let (wallet, poor) = (world.wallet(10).await, world.libraries.wallet().await);

    // Without the extension, an insufficient balance is an error.
    let plain = json!({ "jsonrpc": "2.0", "id": 1, "method": "message/send",
        "params": { "message": { "messageId": "plain", "role": "user", "parts": asks("")["parts"] } } });
    let refused = client.post_with("/api/a2a", &plain, &[("a2a-extensions", "https://x.example")]).await;
    assert_eq!(refused.header("a2a-extensions"), "");
    assert_eq!(refused.expect(200)["error"]["code"], 40200);

    let reply = version.send(&client, asks("first"), None).await;
    assert_eq!(reply.header(version.header().0), URI);
    let task = version.task(&reply.expect(200));
    assert_eq!(state(&task), "input-required", "{task}");
    assert_eq!(payment_metadata(&task)["x402.payment.status"], "payment-required");
    assert_eq!(
        payment_metadata(&task)["x402.payment.required"]["accepts"][0]["maxAmountRequired"],
        "1000000"
    );
    let id = &task["id"];
    assert_eq!(version.task(&version.send(&client, asks("first"), None).await.expect(200))["id"], *id);

    // A payment that differs from the request leaves the task waiting and moves no money.
    for (number, (payer, changes, code)) in [
        (&wallet, json!({ "value": "999999" }), "INVALID_AMOUNT"),
        // The facilitator predicts a failure without a reason.
        (&poor, json!({}), "SETTLEMENT_FAILED"),
        (&poor, json!({ "from": wallet.address }), "INVALID_SIGNATURE"),
    ]
    .into_iter()
    .enumerate()
    {
        let payload = signed(world, &task, payer, changes).await;
        let message = pays(&format!("wrong-{number}"), "payment-submitted", &payload);
        let failed = version.task(&version.send(&client, message, Some(id)).await.expect(200));
        assert_eq!(state(&failed), "input-required");
        let said = payment_metadata(&failed);
        assert_eq!(
            (&said["x402.payment.status"], &said["x402.payment.error"]),
            (&json!("payment-failed"), &json!(code))
        );
        let receipts = said["x402.payment.receipts"].as_array().unwrap();
        assert_eq!((receipts.len(), &receipts[number]["success"]), (number + 1, &json!(false)), "{said}");
        assert_eq!(said["x402.payment.required"]["accepts"][0]["maxAmountRequired"], "1000000");
    }
    for payload in [json!(null), json!({}), json!({ "x402Version": 7 })] {
        let message = pays("malformed", "payment-submitted", &payload);
        assert_eq!(version.send(&client, message, Some(id)).await.expect(200)["error"]["code"], -32602);
    }
    let payload = signed(world, &task, &wallet, json!({})).await;
    let message = pays("paid", "payment-submitted", &payload);
    assert_eq!(version.send(&other, message.clone(), Some(id)).await.expect(200)["error"]["code"], -32001);
    assert_eq!(world.chain.balance(&wallet.address).await, 10_000_000);
    assert_eq!(balance(&client).await, "$0.00");

    // Sent repeatedly and concurrently, the payment is credited once and opens one poll.
    let at_once = (0..6).map(|_| version.send(&client, message.clone(), Some(id)));
    for reply in futures::future::join_all(at_once).await {
        let reply = reply.expect(200);
        let code = reply["error"]["code"].as_i64();
        assert!(code.is_none_or(|code| matches!(code, 50301 | 40900..=40999)), "{reply}");
    }
    let done = version.task(&version.send(&client, message.clone(), Some(id)).await.expect(200));
    assert_eq!((&done["id"], state(&done).as_str()), (id, "completed"), "{done}");
    let said = payment_metadata(&done);
    assert_eq!(said["x402.payment.status"], "payment-completed");
    let receipts = said["x402.payment.receipts"].as_array().unwrap();
    assert_eq!(
        (receipts.len(), &receipts[3]["success"], &receipts[3]["payer"]),
        (4, &json!(true), &json!(wallet.address))
    );
    assert!(done["artifacts"].is_array());
    assert_eq!(world.chain.balance(&wallet.address).await, 9_000_000);
    let deposits = service.app.accounts.balance(user).await.unwrap();
    assert_eq!(deposits.posted.plus(deposits.used), MicroUsd::new(1_000_000));
    assert!(deposits.used > MicroUsd::ZERO && deposits.held == MicroUsd::ZERO);

    // The payment cannot pay for another account's task.
    let theirs = version.task(&version.send(&other, asks("theirs"), None).await.expect(200));
    let stolen = version.send(&other, message.clone(), Some(&theirs["id"])).await.expect(200);
    let stolen = version.task(&stolen);
    assert_eq!(payment_metadata(&stolen)["x402.payment.error"], "DUPLICATE_NONCE", "{stolen}");
    assert!(!stolen["status"].to_string().contains("\"success\":true"));
    assert_eq!(balance(&other).await, "$0.00");
    // The payer can reject the payment.
    let rejected = pays("no", "payment-rejected", &Value::Null);
    let rejected = version.task(&version.send(&other, rejected, Some(&theirs["id"])).await.expect(200));
    assert_eq!(state(&rejected), "canceled");
    assert_eq!(payment_metadata(&rejected)["x402.payment.status"], "payment-rejected");
    let late = version.send(&other, pays("late", "payment-submitted", &payload), Some(&theirs["id"])).await;
    assert_eq!(late.expect(200)["error"]["code"], -32004);
    assert_clean(&service).await;
}

#[tokio::test]
async fn poll_above_the_balance_is_paid_through_its_task() {
    let world = PaymentSetup::start().await;
    a_task_is_paid_for(&world, Engine::Sqlite, Version::V1).await;
    a_task_is_paid_for(&world, Engine::Postgres, Version::V03).await;
}

#[tokio::test]
async fn retried_payment_counts_once_after_any_failure() {
    let world = PaymentSetup::start().await;
    let service = world.with_node(Setup::demo()).boot().await;
    for failures in [
        json!({ "verify": ["500"] }),
        json!({ "settle": ["drop-after"] }),
        json!({ "settle": ["lost-receipt"] }),
    ] {
        let (_, client) = service.user_with(MicroUsd::ZERO).await;
        let wallet = world.wallet(1).await;
        let version = Version::V1;
        let task = version.task(&version.send(&client, asks("first"), None).await.expect(200));
        let payload = signed(&world, &task, &wallet, json!({})).await;
        world.facilitator.fail(failures.clone()).await;
        let mut done = Value::Null;
        for _ in 0..20 {
            let message = pays("paid", "payment-submitted", &payload);
            done = version.send(&client, message, Some(&task["id"])).await.expect(200);
            if done["error"]["code"] != 50301 {
                break;
            }
        }
        assert_eq!(state(&version.task(&done)), "completed", "{failures}: {done}");
        assert_eq!(world.chain.balance(&wallet.address).await, 0);
    }
    assert_clean(&service).await;
}

#[tokio::test]
async fn task_waits_for_payment_confirmations() {
    let world = PaymentSetup::start().await;
    // More blocks than the chain mines during the test.
    let service = world.with_node(Setup::demo()).with("EP_X402_CONFIRMATIONS", "100").boot().await;
    let (_, client) = service.user_with(MicroUsd::ZERO).await;
    let wallet = world.wallet(2).await;
    let version = Version::V1;
    let task = version.task(&version.send(&client, asks("first"), None).await.expect(200));
    let payload = signed(&world, &task, &wallet, json!({})).await;
    let message = pays("paid", "payment-submitted", &payload);
    for _ in 0..3 {
        let waiting = version.send(&client, message.clone(), Some(&task["id"])).await.expect(200);
        assert_eq!(waiting["error"]["code"], 50301, "{waiting}");
        assert!(waiting["error"]["message"].as_str().unwrap().contains("do not pay again"), "{waiting}");
    }
    assert_eq!(
        (world.chain.balance(&wallet.address).await, balance(&client).await),
        (1_000_000, json!("$0.00"))
    );
    world.chain.ask(json!({ "op": "mine", "blocks": 100 })).await;
    let done = version.task(&version.send(&client, message, Some(&task["id"])).await.expect(200));
    assert_eq!(state(&done), "completed", "{done}");
    assert_eq!(world.chain.balance(&wallet.address).await, 1_000_000);
    assert_clean(&service).await;
}

#[tokio::test]
async fn stream_of_a_paid_task_ends_with_a_receipt() {
    let world = PaymentSetup::start().await;
    let mut script = Script::divided_panel(8);
    script.default.latency = Duration::from_millis(300);
    let service = world.with_node(Setup::scripted(script)).boot().await;
    let (_, client) = service.user_with(MicroUsd::ZERO).await;
    let wallet = world.wallet(1).await;
    let version = Version::V1;
    let task = version.task(&version.send(&client, asks("first"), None).await.expect(200));
    let payload = signed(&world, &task, &wallet, json!({})).await;
    let mut message = pays("paid", "payment-submitted", &payload);
    (message["taskId"], message["role"]) = (task["id"].clone(), "ROLE_USER".into());
    let streamed = client
        .post_with("/api/a2a/message:stream", &json!({ "message": message }), &[version.header()])
        .await;
    let events = streamed.text.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = events.map(|event| serde_json::from_str(event).unwrap()).collect();
    assert!(events.len() > 4, "{}", streamed.text);
    let last = &events[events.len() - 1]["statusUpdate"];
    assert_eq!(last["status"]["state"], "TASK_STATE_COMPLETED", "{last}");
    assert_eq!(payment_metadata(last)["x402.payment.status"], "payment-completed", "{last}");
    assert_eq!(payment_metadata(last)["x402.payment.receipts"][0]["payer"], json!(wallet.address));
}

#[tokio::test]
async fn extension_is_declared_if_deposits_are_enabled() {
    // The facilitator is not called.
    let paid = |setup: Setup| {
        let setup = setup.with("EP_X402_FACILITATOR_URL", "http://127.0.0.1:9");
        setup.with("EP_X402_PAY_TO", "0x036CbD53842c5426634e7929541eC2318f3dCF7e")
    };
    let extensions = async |setup: Setup| {
        let service = setup.boot().await;
        let card = service.anonymous().get("/.well-known/agent-card.json").await.expect(200);
        card["capabilities"]["extensions"].clone()
    };
    let declared = extensions(paid(Setup::demo())).await;
    assert_eq!((&declared[0]["uri"], &declared[0]["required"]), (&json!(URI), &json!(false)));
    assert!(extensions(paid(Setup::demo()).with("EP_BILLING", "off")).await.is_null());
    assert!(extensions(Setup::demo()).await.is_null());
    // Every binding requests the payment; the oldest protocol has no extensions.
    let service = paid(Setup::demo()).boot().await;
    let (_, client) = service.user_with(MicroUsd::ZERO).await;
    let mut message = asks("over-http");
    message["role"] = "ROLE_USER".into();
    let body = json!({ "message": message });
    let header = Version::V1.header();
    let reply = client.post_with("/api/a2a/message:send", &body, &[header]).await;
    assert_eq!(reply.header(header.0), URI);
    let task = reply.expect(200)["task"].clone();
    assert_eq!(payment_metadata(&task)["x402.payment.status"], "payment-required", "{task}");
    let streamed = client.post_with("/api/a2a/message:stream", &body, &[header]).await;
    assert_eq!(streamed.header(header.0), URI);
    let event: Value = serde_json::from_str(streamed.text.trim().trim_start_matches("data: ")).unwrap();
    assert_eq!(event["task"], task);
    let older = json!({ "message": { "role": "user", "parts": message["parts"] } });
    client.post_with("/api/a2a/tasks/send", &older, &[header]).await.expect(402);
    // If the extension is not declared, activating it has no effect.
    let service = Setup::demo().boot().await;
    let (_, client) = service.user_with(MicroUsd::ZERO).await;
    let reply = Version::V1.send(&client, asks("first"), None).await;
    assert_eq!(reply.header("a2a-extensions"), "");
    assert_eq!(reply.expect(200)["error"]["code"], 40200);
}
