//! USDC deposits by x402: Circle's contract on a separate chain, a facilitator built from the reference
//! libraries, and the paying clients of both versions.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ensemble_poll::app::clock::SystemClock;
use ep_kernel::Clock;
use ep_kernel::testing::{ManualClock, SeededEntropy};
use ep_polling::MicroUsd;
use ep_store::UserId;
use ep_upstream::testing::{Script, ScriptedUpstream};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::crash;
use crate::harness::{
    Chain, Client, Engine, Facilitator, Payer, Reply, Service, Setup, Wallet, WalletLibraries, until,
};

/// Everything that a payment needs.
pub struct PaymentSetup {
    pub chain: Chain,
    pub facilitator: Facilitator,
    pub payer: Payer,
    pub libraries: WalletLibraries,
}

impl PaymentSetup {
    pub async fn start() -> Self {
        let chain = Chain::start(84532).await;
        let facilitator = Facilitator::start(&chain).await;
        Self { chain, facilitator, payer: Payer::start(), libraries: WalletLibraries::start() }
    }

    fn fact(&self, name: &str) -> String {
        self.chain.facts[name].as_str().unwrap().to_owned()
    }

    /// The settings of a service without a node.
    pub fn settings(&self) -> [(&'static str, String); 6] {
        [
            // A transfer in the latest block is final, so that no test waits for blocks.
            ("EP_X402_CONFIRMATIONS", "0".to_owned()),
            ("EP_X402_NETWORK", "eip155:84532".to_owned()),
            ("EP_X402_FACILITATOR_URL", self.facilitator.url.clone()),
            ("EP_X402_PAY_TO", self.fact("payTo")),
            ("EP_X402_ASSET", self.chain.facts["token"]["address"].as_str().unwrap().to_owned()),
            ("EP_X402_ASSET_NAME", "USDC".to_owned()),
        ]
    }

    pub fn without_node(&self, setup: Setup) -> Setup {
        self.settings().into_iter().fold(setup, |setup, (name, value)| setup.with(name, value))
    }

    pub fn with_node(&self, setup: Setup) -> Setup {
        self.without_node(setup).with("EP_X402_RPC_URL", self.chain.rpc_url())
    }

    /// Creates a wallet with this many dollars.
    pub async fn wallet(&self, dollars: u64) -> Wallet {
        let wallet = self.libraries.wallet().await;
        let amount = (dollars * 1_000_000).to_string();
        self.chain.ask(json!({ "op": "fund", "address": wallet.address, "amount": amount })).await;
        wallet
    }

    /// Returns the account of a wallet.
    pub async fn user_of(&self, client: &Client, wallet: &Wallet) -> UserId {
        let signed_in = self.libraries.sign_in(client, wallet, &[]).await.expect(200);
        signed_in["user_id"].as_str().unwrap().parse().unwrap()
    }

    /// Signs a payment header for the service's request, in version 1 or 2, with some fields changed.
    pub async fn header(&self, client: &Client, wallet: &Wallet, version: u64, changes: Value) -> String {
        self.signed(client, wallet, version, changes).await["header"].as_str().unwrap().to_owned()
    }

    pub async fn signed(&self, client: &Client, wallet: &Wallet, version: u64, changes: Value) -> Value {
        let asked = client.post("/api/deposit", &json!({ "amount_usd": 5 })).await;
        let current = decoded(asked.header("payment-required"));
        let legacy = asked.expect(402);
        let requirements = if version == 1 { &legacy["accepts"][0] } else { &current["accepts"][0] };
        let request = json!({
            "op": "sign", "version": version, "requirements": requirements, "resource": current["resource"],
            "privateKey": wallet.private_key, "overrides": changes,
        });
        self.payer.ask(request).await
    }
}

fn decoded(header: &str) -> Value {
    serde_json::from_slice(&STANDARD.decode(header).unwrap()).unwrap()
}

/// Pays five dollars with this header, of either version.
pub async fn pay(client: &Client, header: &str) -> Reply {
    client.post_with("/api/deposit", &json!({ "amount_usd": 5 }), &[("payment-signature", header)]).await
}

/// Repeats a payment until the outcome is known, as the responses request.
pub async fn pay_until_known(client: &Client, header: &str) -> Reply {
    until(
        "the outcome of the payment is known",
        async || pay(client, header).await,
        |reply| {
            if reply.status != 503 {
                return true;
            }
            assert!(!reply.header("retry-after").is_empty());
            assert!(reply.text.contains("do not sign another payment"), "{}", reply.text);
            false
        },
    )
    .await
}

pub async fn assert_clean(service: &Service) {
    let audit = service.app.accounts.treasury.audit(Duration::from_mins(1)).await.unwrap();
    assert!(audit.is_clean(), "{audit:?}");
}

pub async fn balance(client: &Client) -> Value {
    client.get("/api/balance").await.expect(200)["balance"].clone()
}

#[tokio::test]
async fn real_clients_of_both_versions_pay() {
    let world = PaymentSetup::start().await;
    let pay_to = world.fact("payTo");
    for (engine, paying) in [
        (Engine::Sqlite, "x402-fetch-v2"),
        (Engine::Sqlite, "x402-fetch-v1"),
        (Engine::Sqlite, "python"),
        (Engine::Postgres, "x402-fetch-v2"),
        (Engine::Postgres, "x402-fetch-v1"),
    ] {
        let service = world.with_node(Setup::demo().on(engine)).boot().await;
        let wallet = world.wallet(40).await;
        let received = world.chain.balance(&pay_to).await;
        let pay = async |amount: &str, key: Option<&str>| {
            let headers = key.map_or(json!({}), |key| json!({ "authorization": format!("Bearer {key}") }));
            let body: Value = serde_json::from_str(&format!(r#"{{ "amount_usd": {amount} }}"#)).unwrap();
            let request = json!({
                "op": "pay", "client": paying, "url": format!("{}/api/deposit", service.url), "body": body,
                "privateKey": wallet.private_key, "rpcUrl": world.chain.rpc_url(), "chainId": 84532, "headers": headers,
            });
            let paid = world.payer.ask(request).await;
            assert_eq!(paid["status"], 200, "{paying}: {paid}");
            paid
        };
        let paid = pay("12.5", None).await;
        let first = &paid["body"];
        let answer = decoded(paid["headers"]["payment-response"].as_str().unwrap());
        assert_eq!((&answer["success"], &answer["transaction"]), (&json!(true), &first["tx_hash"]));
        assert_eq!(paid["headers"]["cache-control"], "no-store");
        assert_eq!((&first["amount_usd"], &first["amount_cents"]), (&json!(12.5), &json!(1250)));
        assert_eq!((&first["payer"], &first["is_new_user"]), (&json!(wallet.address), &json!(true)));
        assert_eq!(first["status"], "settled");
        assert_eq!(first.as_object().unwrap().len(), 9, "{first}");
        assert_eq!(world.chain.balance(&pay_to).await - received, 12_500_000);
        // No starter credit: only accounts that sign in get one.
        let client = service.anonymous().with_key(first["api_key"].as_str().unwrap());
        assert_eq!(balance(&client).await, "$12.50");

        let again = pay("1", None).await["body"].clone();
        assert_eq!((&again["user_id"], &again["is_new_user"]), (&first["user_id"], &json!(false)));
        assert!(again["api_key"].is_null());
        assert_eq!(balance(&client).await, "$13.50");
        // With a credential, the payment is credited to that account.
        let (user, other) = service.user_with(MicroUsd::ZERO).await;
        let for_other = pay("20", other.key.as_deref()).await["body"].clone();
        assert_eq!((&for_other["user_id"], &for_other["is_new_user"]), (&json!(user), &json!(false)));
        assert_eq!((balance(&other).await, balance(&client).await), (json!("$20.00"), json!("$13.50")));
        assert_eq!(client.get("/api/balance").await.expect(200)["usage_cents"], 0);
        assert_clean(&service).await;

        // The payer signs in with the same wallet and gets the same account.
        let signed_in = world.libraries.sign_in(&service.anonymous(), &wallet, &[]).await.expect(200);
        assert_eq!((&signed_in["user_id"], &signed_in["is_new_user"]), (&first["user_id"], &json!(false)));
    }
}

#[tokio::test]
async fn payment_is_credited_once_and_its_repeat_shows_no_key() {
    let world = PaymentSetup::start().await;
    let service = world.with_node(Setup::demo()).boot().await;
    let client = service.anonymous();
    for version in [1, 2] {
        let wallet = world.wallet(50).await;
        let header = world.header(&client, &wallet, version, json!({})).await;
        let once = futures::future::join_all((0..8).map(|_| pay(&client, &header))).await;
        let mut keys = Vec::new();
        for reply in once {
            match reply.status {
                200 => keys.extend(reply.json()["api_key"].as_str().map(str::to_owned)),
                status => assert_eq!(status, 503, "{}", reply.text),
            }
        }
        assert_eq!(keys.len(), 1, "the one that carried it out");
        let owner = client.with_key(&keys[0]);
        assert_eq!(balance(&owner).await, "$5.00");
        // The same header again, by its owner, by a stranger, and for another amount.
        let first = pay(&owner, &header).await.expect(200);
        assert!(first["api_key"].is_null() && first["is_new_user"] == false);
        assert_eq!(first["user_id"], json!(world.user_of(&client, &wallet).await));
        let (_, stranger) = service.user_with(MicroUsd::ZERO).await;
        let other_header = [("x-payment", header.as_str())];
        let again = stranger.post_with("/api/deposit", &json!({ "amount_usd": 5 }), &other_header).await;
        // Payments on the chain are public, so only the account itself gets the account id.
        let mut without_account = first.clone();
        without_account.as_object_mut().unwrap().remove("user_id");
        assert_eq!(again.expect(200), without_account);
        assert_eq!(pay(&client, &header).await.expect(200), without_account);
        let more = stranger.post_with("/api/deposit", &json!({ "amount_usd": 50 }), &other_header).await;
        assert!(more.expect(402)["error"].as_str().unwrap().contains("another amount"));
        assert_eq!((balance(&owner).await, balance(&stranger).await), (json!("$5.00"), json!("$0.00")));
        assert_eq!(world.chain.balance(&wallet.address).await, 45_000_000);
    }
    assert_clean(&service).await;
}

#[tokio::test]
async fn payments_that_differ_from_the_request_move_no_money() {
    let world = PaymentSetup::start().await;
    let service = world.with_node(Setup::demo()).boot().await;
    let client = service.anonymous();
    let wallet = world.wallet(100).await;
    let poor = world.wallet(4).await;
    let past = SystemClock.now().millis() / 1000 - 60;
    for version in [1, 2] {
        for (payer, changes) in [
            (&wallet, json!({ "value": "4999999" })),
            (&wallet, json!({ "value": "5000001" })),
            (&wallet, json!({ "to": poor.address })),
            (&wallet, json!({ "asset": poor.address })),
            (&wallet, json!({ "chainId": 8453 })),
            (&wallet, json!({ "name": "USD Coin" })),
            (&wallet, json!({ "validBefore": past })),
            (&wallet, json!({ "validAfter": past + 86_400 })),
            // Another account's money.
            (&poor, json!({ "from": wallet.address })),
            (&poor, json!({})),
        ] {
            let header = world.header(&client, payer, version, changes.clone()).await;
            let reply = pay(&client, &header).await;
            assert_eq!(reply.header("cache-control"), "no-store");
            assert_eq!(decoded(reply.header("payment-response"))["success"], false);
            assert_eq!(decoded(reply.header("payment-required"))["accepts"][0]["amount"], "5000000");
            let body = reply.expect(402);
            assert_eq!(body["accepts"][0]["maxAmountRequired"], "5000000", "{changes}");
            let said = body["error"].as_str().unwrap();
            assert!(said.len() < 120 && !said.contains("0x"), "{said}");
        }
        // Claims of the payer outside the signed authorization.
        let signed = world.signed(&client, &wallet, version, json!({})).await["payload"].clone();
        for (pointer, value) in [
            ("/accepted/payTo", json!(poor.address)),
            ("/accepted/amount", json!("1")),
            ("/accepted/asset", json!(poor.address)),
            ("/accepted/network", json!("eip155:8453")),
            ("/network", json!("base")),
        ] {
            let mut changed = signed.clone();
            if let Some(member) = changed.pointer_mut(pointer) {
                *member = value;
                pay(&client, &STANDARD.encode(changed.to_string())).await.expect(402);
            }
        }
        for (pointer, value) in [
            ("/x402Version", json!(3)),
            ("/payload/authorization/nonce", json!("0x01")),
            ("/payload/authorization/from", json!("me")),
            ("/payload/authorization/value", json!(5_000_000)),
            ("/payload/signature", json!("")),
            ("/payload", json!(null)),
        ] {
            let mut changed = signed.clone();
            *changed.pointer_mut(pointer).unwrap() = value;
            pay(&client, &STANDARD.encode(changed.to_string())).await.refused(400);
        }
    }
    for malformed in ["", "not base64!", "bm90IGpzb24", "W10=", &"A".repeat(14_000)] {
        pay(&client, malformed).await.refused(400);
    }
    for amount in ["0.99", "1000.01", "5.001", "1e2", "\"5\"", "null", "-5"] {
        let request =
            client.request(reqwest::Method::POST, "/api/deposit").header("content-type", "application/json");
        let said = client.send(request.body(format!(r#"{{ "amount_usd": {amount} }}"#))).await.refused(400);
        assert!(said.contains("amount_usd"), "{said}");
    }
    let request =
        client.request(reqwest::Method::POST, "/api/deposit").header("content-type", "application/json");
    let request = request.header("idempotency-key", "k".repeat(256)).body(r#"{ "amount_usd": 5 }"#);
    assert!(client.send(request).await.refused(400).contains("Idempotency-Key"));
    // An x402 client gets the x402 format, regardless of the requested error style.
    let styled = [("accept", "application/problem+json"), ("x-machine-client", "true")];
    let asked = client.post_with("/api/deposit", &json!({ "amount_usd": 5 }), &styled).await;
    assert_eq!(asked.expect(402)["x402Version"], 1);
    client.with_key("ep_k_wrong").post("/api/deposit", &json!({ "amount_usd": 5 })).await.refused(401);
    assert_eq!(world.chain.balance(&wallet.address).await, 100_000_000);
    assert_eq!(service.app.accounts.treasury.audit(Duration::from_mins(1)).await.unwrap().accounts, 0);

    let without = Setup::demo().boot().await;
    let said = without.anonymous().post("/api/deposit", &json!({ "amount_usd": 5 })).await.refused(503);
    assert!(said.contains("EP_X402_FACILITATOR_URL"), "{said}");
}

#[tokio::test]
async fn facilitator_failures_cause_no_double_or_lost_payment() {
    let world = PaymentSetup::start().await;
    for with_node in [true, false] {
        let service =
            if with_node { world.with_node(Setup::demo()) } else { world.without_node(Setup::demo()) };
        let service = service.boot().await;
        let client = service.anonymous();
        // Before any money has moved, a failure has no consequences.
        for failure in ["500", "drop", "garbage"] {
            let wallet = world.wallet(5).await;
            let header = world.header(&client, &wallet, 2, json!({})).await;
            world.facilitator.fail(json!({ "verify": [failure] })).await;
            assert!(pay(&client, &header).await.refused(503).contains("nothing was charged"), "{failure}");
            pay(&client, &header).await.expect(200);
        }
        // Without a node, the outcome is known only from the facilitator's repeated response.
        let failures: &[&str] = if with_node {
            &[
                "500",
                "drop",
                "drop-after",
                "garbage",
                "pending",
                "lost-receipt",
                "lie-payer",
                "lie-tx",
                "slow-after:300",
            ]
        } else {
            &["500", "drop", "garbage", "lie-payer"]
        };
        for failure in failures {
            for version in [1, 2] {
                let wallet = world.wallet(5).await;
                let header = world.header(&client, &wallet, version, json!({})).await;
                world.facilitator.fail(json!({ "settle": [failure] })).await;
                let paid = pay_until_known(&client, &header).await.expect(200);
                assert_eq!(paid["payer"], wallet.address, "{failure}");
                assert_eq!(world.chain.balance(&wallet.address).await, 0, "{failure}");
                let user = world.user_of(&client, &wallet).await;
                let posted = service.app.accounts.balance(user).await.unwrap().posted;
                assert_eq!(posted, MicroUsd::new(5_000_000), "{failure}");
                assert_clean(&service).await;
            }
        }
        // A rejection without a known reason may follow a sent transaction, so the response does not request a
        // new payment.
        let wallet = world.wallet(5).await;
        let header = world.header(&client, &wallet, 2, json!({})).await;
        world.facilitator.fail(json!({ "settle": ["reject", "reject:400", "reject:500"] })).await;
        pay_until_known(&client, &header).await.expect(200);
        assert_clean(&service).await;
    }
}

#[tokio::test]
async fn authorization_settled_by_a_third_party_is_credited() {
    let world = PaymentSetup::start().await;
    let service = world.with_node(Setup::demo()).boot().await;
    let client = service.anonymous();
    let wallet = world.wallet(10).await;
    let signed = world.signed(&client, &wallet, 2, json!({})).await;
    let transfer = json!({
        "op": "transferWithAuthorization",
        "authorization": signed["payload"]["payload"]["authorization"],
        "signature": signed["payload"]["payload"]["signature"],
    });
    // The facilitator is about to settle it.
    world.facilitator.fail(json!({ "settle": ["slow:1500"] })).await;
    let header = signed["header"].as_str().unwrap();
    let front_run = async {
        tokio::time::sleep(Duration::from_millis(700)).await;
        world.chain.ask(transfer.clone()).await
    };
    let (paid, front_run) = futures::future::join(pay(&client, header), front_run).await;
    let paid = if paid.status == 503 { pay_until_known(&client, header).await } else { paid }.expect(200);
    assert_eq!(paid["tx_hash"], front_run["txHash"]);
    let user = world.user_of(&client, &wallet).await;
    assert_eq!(service.app.accounts.balance(user).await.unwrap().posted, MicroUsd::new(5_000_000));

    // A payment on the chain that was never sent through the service credits nothing to a caller who copies it.
    let signed = world.signed(&client, &wallet, 1, json!({})).await;
    let transfer = json!({
        "op": "transferWithAuthorization",
        "authorization": signed["payload"]["payload"]["authorization"],
        "signature": signed["payload"]["payload"]["signature"],
    });
    world.chain.ask(transfer).await;
    pay(&client, signed["header"].as_str().unwrap()).await.expect(402);
    assert_clean(&service).await;
}

#[tokio::test]
async fn abandoned_deposit_is_reconciled() {
    let world = PaymentSetup::start().await;
    for engine in [Engine::Sqlite, Engine::Postgres] {
        // Signatures use the real time.
        let clock = Arc::new(ManualClock::at(SystemClock.now()));
        let controlled = Some((Arc::clone(&clock), Arc::new(SeededEntropy::new(13))));
        let setup = Setup { controlled, ..Setup::demo() }.on(engine);
        let service = world.with_node(setup).boot().await;
        let client = service.anonymous();
        let wallet = world.wallet(10).await;
        let (header, other) = (
            world.header(&client, &wallet, 2, json!({})).await,
            world.header(&client, &wallet, 1, json!({})).await,
        );
        // One was never settled, the other was. Neither the facilitator nor the node could report it.
        world.facilitator.fail(json!({ "settle": ["500", "500"] })).await;
        pay(&client, &header).await.refused(503);
        pay(&client, &other).await.refused(503);
        let deposits = service.payments.deposits().unwrap();
        assert_eq!(deposits.reconcile().await.unwrap(), 0, "not at once");
        clock.advance(Duration::from_secs(121));
        assert_eq!(deposits.reconcile().await.unwrap(), 2);
        assert_eq!(deposits.reconcile().await.unwrap(), 0);
        assert_eq!(world.chain.balance(&wallet.address).await, 0);
        let paid = pay(&client, &header).await.expect(200);
        assert!(paid["api_key"].is_null(), "anyone can repeat a payment, not only its payer");
        let user = world.user_of(&client, &wallet).await;
        assert_eq!(service.app.accounts.balance(user).await.unwrap().posted, MicroUsd::new(10_000_000));
        assert_clean(&service).await;
    }
}

/// Kills the process at different moments of a payment. The caller repeats the payment, and it is credited once.
#[tokio::test]
async fn kill_during_a_deposit() {
    let world = PaymentSetup::start().await;
    let database = ep_store::testing::Postgres::start().unwrap().database().await.unwrap();
    let upstream = ScriptedUpstream::start(Script::panel(5)).unwrap();
    for database in [None, Some(database.url())] {
        let data = tempfile::tempdir().unwrap();
        let serve = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_ep"));
            command.arg("serve").args(["--listen", "127.0.0.1:0"]).env_clear().envs(world.settings());
            command.env("EP_X402_RPC_URL", world.chain.rpc_url());
            crash::started(command, data.path(), &upstream, database, 1500)
        };
        let (mut child, mut url) = serve().await;
        let mut payments = 0;
        for (mode, wait_ms) in
            [("slow:800", 300), ("slow-after:3000", 700), ("drop-after", 60), ("ok", 30), ("ok", 90)]
        {
            let client = Client::new(&url, None);
            let wallet = world.wallet(5).await;
            let header = world.header(&client, &wallet, 2, json!({})).await;
            world.facilitator.fail(json!({ "settle": [mode] })).await;
            let request =
                client.request(reqwest::Method::POST, "/api/deposit").json(&json!({ "amount_usd": 5 }));
            let cut_off = tokio::spawn(request.header("payment-signature", &header).send());
            tokio::time::sleep(Duration::from_millis(wait_ms)).await;
            child.kill().await.unwrap();
            drop(cut_off.await.unwrap());
            (child, url) = serve().await;
            let client = Client::new(&url, None);
            pay_until_known(&client, &header).await.expect(200);
            payments += 1;
            assert_eq!(world.chain.balance(&wallet.address).await, 0, "{mode}");
            let user = world.user_of(&client, &wallet).await.to_string();
            let arguments = ["balance", "--user", &user, "--json"];
            let money = crash::admin(data.path(), database, &arguments).await;
            assert_eq!(money["available_usd"].as_f64(), Some(5.0), "{mode}");
        }
        child.kill().await.unwrap();
        let audit = crash::admin(data.path(), database, &["audit", "--json"]).await;
        assert_eq!((&audit["clean"], &audit["transfers"]), (&json!(true), &json!(payments)), "{audit}");
    }
}
