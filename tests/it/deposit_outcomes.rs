//! USDC deposits with an unknown outcome: lost responses, nodes that lag behind, confirmations and replaced
//! blocks.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ensemble_poll::app::clock::SystemClock;
use ep_kernel::Clock;
use ep_kernel::testing::{ManualClock, SeededEntropy};
use ep_polling::MicroUsd;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::deposits::{PaymentSetup, assert_clean, balance, pay, pay_until_known};
use crate::harness::{Engine, Service, Setup, Wallet, question, until};

const FIVE: MicroUsd = MicroUsd::new(5_000_000);

/// A clock that the test moves, starting at the real time, because signatures use the real time.
fn with_clock(setup: Setup, seed: u64) -> (Setup, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(SystemClock.now()));
    let controlled = Some((Arc::clone(&clock), Arc::new(SeededEntropy::new(seed))));
    (Setup { controlled, ..setup }, clock)
}

/// The secret key of services and commands that share a database.
fn secret() -> String {
    "5a".repeat(32)
}

async fn reconcile(service: &Service) -> usize {
    service.payments.deposits().unwrap().reconcile().await.unwrap()
}

async fn posted(service: &Service, world: &PaymentSetup, wallet: &Wallet) -> MicroUsd {
    let user = world.user_of(&service.anonymous(), wallet).await;
    service.app.accounts.balance(user).await.unwrap().posted
}

/// Returns the ids of the deposits with unknown outcome.
async fn unknown(service: &Service) -> Vec<String> {
    service.app.accounts.treasury.audit(Duration::from_mins(1)).await.unwrap().unknown_deposits
}

async fn blocks(world: &PaymentSetup) -> u64 {
    world.chain.ask(json!({ "op": "blocks" })).await["number"].as_u64().unwrap()
}

async fn mine(world: &PaymentSetup, blocks: u64, seconds: u64) {
    world.chain.ask(json!({ "op": "mine", "blocks": blocks, "seconds": seconds })).await;
}

/// Replaces the blocks after this one with empty blocks.
async fn drop_blocks_after(world: &PaymentSetup, block: u64) {
    // The chain mines continuously, and the earlier blocks are empty.
    let depth = blocks(world).await - block + 2;
    world.chain.ask(json!({ "op": "reorganize", "depth": depth })).await;
}

/// Makes the facilitator fail all further settlements of a test.
async fn break_facilitator(world: &PaymentSetup) {
    world.facilitator.fail(json!({ "settle": vec!["500"; 100] })).await;
}

async fn repair_facilitator(world: &PaymentSetup) {
    world.facilitator.fail(json!({ "settle": [] })).await;
}

/// Submits a payment as a third party and returns the transaction's hash.
async fn submit(world: &PaymentSetup, operation: &str, signed: &Value) -> String {
    let request = json!({
        "op": operation,
        "authorization": signed["payload"]["payload"]["authorization"],
        "signature": signed["payload"]["payload"]["signature"],
    });
    world.chain.ask(request).await["txHash"].as_str().unwrap().to_owned()
}

fn header(signed: &Value) -> &str {
    signed["header"].as_str().unwrap()
}

#[tokio::test]
async fn payment_with_unknown_outcome_is_never_marked_failed() {
    let world = PaymentSetup::start().await;
    let files = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}", files.path().join("polls.db").display());
    let shared =
        |setup: Setup| setup.with("EP_DATABASE_URL", database.clone()).with("EP_SECRET_KEY", secret());
    let (setup, clock) = with_clock(shared(world.without_node(Setup::demo())), 1);
    let service = setup.boot().await;
    let client = service.anonymous();
    let (paid, unpaid) = (world.wallet(5).await, world.wallet(5).await);
    let [paying, not_paying] = [
        world.signed(&client, &paid, 2, json!({})).await,
        world.signed(&client, &unpaid, 1, json!({})).await,
    ];
    // One payment moves money, the other does not. The service cannot know which.
    break_facilitator(&world).await;
    for signed in [&paying, &not_paying] {
        pay(&client, header(signed)).await.refused(503);
    }
    let transaction = submit(&world, "transferWithAuthorization", &paying).await;
    assert!(unknown(&service).await.is_empty(), "their authorizations have not expired");
    clock.advance(Duration::from_hours(2));
    for _ in 0..3 {
        reconcile(&service).await;
        for signed in [&paying, &not_paying] {
            let said = pay(&client, header(signed)).await.refused(503);
            assert!(said.contains("do not pay again"), "{said}");
        }
        assert_eq!(unknown(&service).await.len(), 2);
        clock.advance(Duration::from_hours(72));
    }
    drop(service);

    // Days later, a node is available: the settled payment is credited, the other one is known to be unsettled.
    mine(&world, 3, 4000).await;
    let (setup, clock) = with_clock(shared(world.with_node(Setup::demo())), 2);
    clock.advance(Duration::from_hours(300));
    let service = setup.boot().await;
    let client = service.anonymous();
    reconcile(&service).await;
    let settled = pay_until_known(&client, header(&paying)).await.expect(200);
    assert_eq!((&settled["status"], &settled["tx_hash"]), (&json!("settled"), &json!(transaction)));
    assert_eq!(posted(&service, &world, &paid).await, FIVE);
    let refused = pay(&client, header(&not_paying)).await.expect(402);
    assert!(refused["error"].as_str().unwrap().contains("expired unused"), "{refused}");
    assert_clean(&service).await;
}

#[tokio::test]
async fn the_operator_reconciles_deposits_that_are_not_due() {
    let world = PaymentSetup::start().await;
    let service = world.with_node(Setup::demo()).boot().await;
    let client = service.anonymous();
    break_facilitator(&world).await;
    for _ in 0..3 {
        let wallet = world.wallet(5).await;
        let signed = world.signed(&client, &wallet, 2, json!({})).await;
        pay(&client, header(&signed)).await.refused(503);
        submit(&world, "transferWithAuthorization", &signed).await;
    }
    assert_eq!(reconcile(&service).await, 0, "none is due");
    let deposits = service.payments.deposits().unwrap();
    assert_eq!(deposits.reconcile_all().await.unwrap(), 3);
    assert_eq!(deposits.reconcile_all().await.unwrap(), 0, "they are settled");
    assert_clean(&service).await;
}

#[tokio::test]
async fn operator_settles_a_deposit_by_transaction() {
    let world = PaymentSetup::start().await;
    let data = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}", data.path().join("ensemble-poll.db").display());
    let setup = world.without_node(Setup::demo()).with("EP_DATABASE_URL", database);
    let (setup, clock) = with_clock(setup.with("EP_SECRET_KEY", secret()), 3);
    let service = setup.boot().await;
    let client = service.anonymous();
    break_facilitator(&world).await;
    let mut transactions = Vec::new();
    for is_paid in [true, false, true] {
        let wallet = world.wallet(5).await;
        let signed = world.signed(&client, &wallet, 2, json!({})).await;
        pay(&client, header(&signed)).await.refused(503);
        if is_paid {
            transactions.push(submit(&world, "transferWithAuthorization", &signed).await);
        }
        clock.advance(Duration::from_secs(1));
    }
    clock.advance(Duration::from_hours(2));
    reconcile(&service).await;
    let deposits = unknown(&service).await;
    let [paid, unpaid, by_hand] = [0, 1, 2].map(|index| deposits[index].as_str());

    let admin = async |arguments: &[&str], with_node: bool| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ep"));
        command.arg("admin").args(arguments).env_clear().envs(world.settings());
        command.env("EP_DATA_DIR", data.path()).env("EP_SECRET_KEY", secret()).current_dir(data.path());
        if with_node {
            command.env("EP_X402_RPC_URL", world.chain.rpc_url());
        }
        let output = command.output().await.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.success(), text(output.stdout) + &text(output.stderr))
    };
    let (clean, said) = admin(&["audit"], false).await;
    for id in [paid, unpaid, by_hand] {
        assert!(!clean && said.contains(&format!("a deposit of unknown outcome: {id}")), "{said}");
    }
    // Without a node, the operator's statement counts, once.
    let settle = ["settle-deposit", by_hand, "--transaction", &transactions[1]];
    let (done, said) = admin(&settle, false).await;
    assert!(done && said.contains("credited $5.00"), "{said}");
    assert!(!admin(&settle, false).await.0);
    assert!(!admin(&["settle-deposit", by_hand, "--not-paid"], false).await.0);
    // A node verifies the statement.
    mine(&world, 3, 4000).await;
    let nothing = format!("0x{}", "0".repeat(64));
    for (arguments, expected, words) in [
        (["settle-deposit", paid, "--transaction", &nothing], false, "does not show this transaction"),
        (["settle-deposit", paid, "--transaction", &transactions[1]], false, "does not pay this deposit"),
        (["settle-deposit", unpaid, "--transaction", &transactions[0]], false, "does not pay this deposit"),
        (["settle-deposit", paid, "--transaction", &transactions[0]], true, "credited $5.00"),
    ] {
        let (done, said) = admin(&arguments, true).await;
        assert!(done == expected && said.contains(words), "{arguments:?}: {said}");
    }
    let (done, said) = admin(&["settle-deposit", unpaid, "--not-paid"], true).await;
    assert!(done, "{said}");
    let (clean, said) = admin(&["audit"], true).await;
    assert!(clean && said.contains("2 USDC deposits: $10.00 settled, $10.00 on the chain"), "{said}");
}

#[tokio::test]
async fn deposit_declared_unpaid_without_a_node_does_not_block_account_deletion() {
    let world = PaymentSetup::start().await;
    let (setup, clock) = with_clock(world.without_node(Setup::demo()), 7);
    let service = setup.boot().await;
    let client = service.anonymous();
    let wallet = world.wallet(5).await;
    let account = world.libraries.sign_in(&client, &wallet, &[]).await.expect(200);
    let owner = client.with_key(account["api_key"].as_str().unwrap());
    let signed = world.signed(&client, &wallet, 2, json!({})).await;
    break_facilitator(&world).await;
    pay(&client, header(&signed)).await.refused(503);
    clock.advance(Duration::from_hours(2));
    reconcile(&service).await;
    let deposit = unknown(&service).await[0].parse().unwrap();
    let all = json!({ "confirm": account["user_id"], "forfeit_balance": true });
    let refused = owner.post("/api/account/delete", &all).await.refused(409);
    assert!(refused.contains("USDC deposits"), "{refused}");

    service.payments.deposits().unwrap().declare_unpaid(deposit).await.unwrap();
    clock.advance(Duration::from_hours(72));
    assert_eq!(reconcile(&service).await, 0, "the operator's statement is final");
    owner.post("/api/account/delete", &all).await.expect(200);
    assert_clean(&service).await;
}

#[tokio::test]
async fn only_a_block_after_expiry_proves_nonpayment() {
    let world = PaymentSetup::start().await;
    let (setup, clock) = with_clock(world.with_node(Setup::demo()), 4);
    let service = setup.with("EP_X402_CONFIRMATIONS", "2").boot().await;
    let client = service.anonymous();
    let (late, unpaid, forgotten) = (world.wallet(5).await, world.wallet(5).await, world.wallet(5).await);
    let [late_one, unpaid_one, forgotten_one] = [
        world.signed(&client, &late, 2, json!({})).await,
        world.signed(&client, &unpaid, 2, json!({})).await,
        world.signed(&client, &forgotten, 2, json!({})).await,
    ];
    break_facilitator(&world).await;
    for signed in [&late_one, &unpaid_one, &forgotten_one] {
        pay(&client, header(signed)).await.refused(503);
    }
    // By the service's clock they have expired; the node's latest block is older.
    clock.advance(Duration::from_hours(1));
    for signed in [&late_one, &unpaid_one] {
        pay(&client, header(signed)).await.refused(503);
    }
    // An earlier release marked one of them failed, but it was paid.
    submit(&world, "transferWithAuthorization", &late_one).await;
    submit(&world, "transferWithAuthorization", &forgotten_one).await;
    let database = rusqlite::Connection::open(service.data.path().join("ensemble-poll.db")).unwrap();
    let forget = "UPDATE deposits SET status = 'failed', look_at = 0 WHERE payer = $1";
    let payer = forgotten.address.to_lowercase();
    assert_eq!(database.execute(forget, [&payer]).unwrap(), 1);
    mine(&world, 3, 4000).await;
    pay_until_known(&client, header(&late_one)).await.expect(200);
    let refused = pay_until_known(&client, header(&unpaid_one)).await.expect(402);
    assert!(refused["error"].as_str().unwrap().contains("expired unused"), "{refused}");
    // The service also reconciles in the background.
    let read = async || -> String {
        clock.advance(Duration::from_hours(2));
        reconcile(&service).await;
        let read = "SELECT status FROM deposits WHERE payer = $1";
        database.query_row(read, [&payer], |row| row.get(0)).unwrap()
    };
    assert_eq!(until("the deposit is reconciled", read, |status| status != "failed").await, "settled");
    for wallet in [&late, &forgotten] {
        assert_eq!(posted(&service, &world, wallet).await, FIVE);
    }
    assert_clean(&service).await;
}

#[tokio::test]
async fn deposit_can_be_spent_after_enough_confirmations() {
    let world = PaymentSetup::start().await;
    for engine in [Engine::Sqlite, Engine::Postgres] {
        // More blocks than the chain mines during the test.
        let setup = world.with_node(Setup::demo().on(engine)).with("EP_X402_CONFIRMATIONS", "100");
        let service = setup.boot().await;
        let client = service.anonymous();
        let wallet = world.wallet(5).await;
        mine(&world, 10, 0).await;
        let signed = world.signed(&client, &wallet, 2, json!({})).await;
        let before = blocks(&world).await;
        let first = pay(&client, header(&signed)).await.expect(200);
        assert_eq!((&first["status"], &first["is_new_user"]), (&json!("confirming"), &json!(true)));
        let owner = client.with_key(first["api_key"].as_str().unwrap());
        assert_eq!(balance(&owner).await, "$0.00");
        owner.post("/api/poll", &question(json!({}))).await.refused(402);
        let again = pay_until_known(&owner, header(&signed)).await.expect(200);
        assert_eq!((&again["status"], &again["user_id"]), (&json!("confirming"), &first["user_id"]));
        assert_clean(&service).await;

        // Its block is replaced: the payment is settled again and still counts once.
        break_facilitator(&world).await;
        drop_blocks_after(&world, before).await;
        assert_eq!(world.chain.balance(&wallet.address).await, 5_000_000);
        let gone = pay_until_known(&owner, header(&signed)).await.expect(200);
        assert_eq!(gone["status"], "confirming");
        repair_facilitator(&world).await;
        let moved = pay_until_known(&owner, header(&signed)).await.expect(200);
        assert_eq!(moved["status"], "confirming");
        assert_eq!(world.chain.balance(&wallet.address).await, 0);
        assert_eq!(balance(&owner).await, "$0.00");
        mine(&world, 100, 0).await;
        let settled = pay_until_known(&owner, header(&signed)).await.expect(200);
        assert_eq!((&settled["status"], &settled["tx_hash"]), (&json!("settled"), &moved["tx_hash"]));
        assert_eq!(balance(&owner).await, "$5.00");
        owner.post("/api/poll", &question(json!({}))).await.expect(200);
        assert_clean(&service).await;
    }
}

#[tokio::test]
async fn settled_deposit_removed_from_the_chain_freezes_the_account() {
    let world = PaymentSetup::start().await;
    let (setup, clock) = with_clock(world.with_node(Setup::demo()), 5);
    let service = setup.boot().await;
    let client = service.anonymous();
    let (wallet, other) = (world.wallet(5).await, world.wallet(5).await);
    pay(&client, &world.header(&client, &other, 2, json!({})).await).await.expect(200);
    mine(&world, 10, 0).await;
    let signed = world.signed(&client, &wallet, 2, json!({})).await;
    let before = blocks(&world).await;
    let paid = pay(&client, header(&signed)).await.expect(200);
    let owner = client.with_key(paid["api_key"].as_str().unwrap());
    let deposits = service.payments.deposits().unwrap();
    let compare = async || deposits.compare_recent(Duration::from_hours(6)).await.unwrap().unwrap();
    let compared = compare().await;
    assert!(compared.is_clean() && compared.deposits == 2, "{compared:?}");

    break_facilitator(&world).await;
    drop_blocks_after(&world, before).await;
    mine(&world, 10, 0).await;
    let missing: Vec<String> =
        deposits.compare_all().await.unwrap().unwrap().missing.iter().map(ToString::to_string).collect();
    assert_eq!(missing, [paid["deposit_id"].as_str().unwrap()]);
    assert_clean(&service).await;
    let compared = compare().await;
    assert_eq!((compared.settled, compared.on_chain), (FIVE.plus(FIVE), FIVE));
    let audit = service.app.accounts.treasury.audit(Duration::from_mins(1)).await.unwrap();
    assert_eq!(audit.vanished_deposits, missing);
    assert!(!audit.is_clean());
    owner.post("/api/poll", &question(json!({}))).await.refused(403);
    pay(&owner, header(&signed)).await.refused(503);

    // It is settled again; the operator decides about the freeze.
    repair_facilitator(&world).await;
    clock.advance(Duration::from_hours(2));
    reconcile(&service).await;
    assert_eq!(pay_until_known(&owner, header(&signed)).await.expect(200)["status"], "settled");
    assert!(compare().await.is_clean());
    assert_clean(&service).await;
    let user = paid["user_id"].as_str().unwrap().parse().unwrap();
    service.app.accounts.treasury.freeze(user, false).await.unwrap();
    assert_eq!(balance(&owner).await, "$5.00");
    owner.post("/api/poll", &question(json!({}))).await.expect(200);
}

#[tokio::test]
async fn forged_repeat_of_a_payment_reveals_nothing() {
    let world = PaymentSetup::start().await;
    let service = world.with_node(Setup::demo()).boot().await;
    let client = service.anonymous();
    let wallet = world.wallet(10).await;
    for version in [1, 2] {
        let known = world.signed(&client, &wallet, version, json!({})).await;
        let unknown = world.signed(&client, &wallet, version, json!({})).await;
        pay(&client, header(&known)).await.expect(200);
        // The chain shows the payer, amount and nonce; a copy of these has no signature.
        for junk in [format!("0x{}", "11".repeat(65)), format!("0x{}1c", "5a".repeat(64))] {
            let forged = |signed: &Value| {
                let mut payload = signed["payload"].clone();
                payload["payload"]["signature"] = json!(junk);
                STANDARD.encode(payload.to_string())
            };
            let refused = pay(&client, &forged(&known)).await.expect(402);
            assert_eq!(refused, pay(&client, &forged(&unknown)).await.expect(402));
            for field in ["deposit_id", "user_id", "tx_hash"] {
                assert!(refused[field].is_null(), "{refused}");
            }
        }
        // A changed authorization is a different one.
        let mut changed = known["payload"].clone();
        changed["payload"]["authorization"]["validAfter"] = json!("1");
        pay(&client, &STANDARD.encode(changed.to_string())).await.expect(402);
        // The same signature with different letter case is the same.
        let mut same = known["payload"].clone();
        let signature = same["payload"]["signature"].as_str().unwrap().to_uppercase().replacen("0X", "0x", 1);
        same["payload"]["signature"] = json!(signature);
        pay(&client, &STANDARD.encode(same.to_string())).await.expect(200);
    }
}

#[tokio::test]
async fn payment_with_a_large_receipt_is_credited() {
    let world = PaymentSetup::start().await;
    let service = world.with_node(Setup::demo()).boot().await;
    let client = service.anonymous();
    let wallet = world.wallet(5).await;
    let signed = world.signed(&client, &wallet, 2, json!({})).await;
    break_facilitator(&world).await;
    pay(&client, header(&signed)).await.refused(503);
    let transaction = submit(&world, "transferInLargeTransaction", &signed).await;
    let receipt =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_getTransactionReceipt", "params": [transaction] });
    let http = ep_outgoing::client_builder().no_proxy().build().unwrap();
    let receipt = http.post(world.chain.rpc_url()).json(&receipt).send().await.unwrap().text().await.unwrap();
    assert!(receipt.len() > 256 * 1024);
    assert_eq!(pay(&client, header(&signed)).await.expect(200)["tx_hash"], json!(transaction));
    assert_clean(&service).await;
}

#[tokio::test]
async fn one_payer_does_not_block_other_deposits() {
    let world = PaymentSetup::start().await;
    let (setup, clock) = with_clock(world.with_node(Setup::demo()), 6);
    let service = setup.boot().await;
    let client = service.anonymous();
    let (crowd, other) = (world.wallet(100).await, world.wallet(5).await);
    break_facilitator(&world).await;
    let each = (0..20).map(async |_| {
        let header = world.header(&client, &crowd, 2, json!({})).await;
        pay(&client, &header).await.refused(503)
    });
    futures::future::join_all(each).await;
    let signed = world.signed(&client, &other, 2, json!({})).await;
    clock.advance(Duration::from_secs(1));
    pay(&client, header(&signed)).await.refused(503);
    submit(&world, "transferWithAuthorization", &signed).await;
    // The facilitator responds to none of the first payer's settlements.
    world.facilitator.fail(json!({ "settle": vec!["timeout"; 100] })).await;
    clock.advance(Duration::from_mins(5));
    let credited = async {
        let user = world.user_of(&client, &other).await;
        let posted = async || service.app.accounts.balance(user).await.unwrap().posted;
        until("the other payer is credited", posted, |posted| *posted >= FIVE).await;
    };
    let reconciling = async {
        reconcile(&service).await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = reconciling => {}
        () = credited => {}
    }
}

#[tokio::test]
async fn real_usdc_is_not_accepted_without_a_node() {
    let world = PaymentSetup::start().await;
    let data = tempfile::tempdir().unwrap();
    let serve = |network: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ep"));
        command.args(["serve", "--listen", "127.0.0.1:0"]).env_clear().envs(world.settings());
        command.env("EP_X402_NETWORK", network).env("EP_DATA_DIR", data.path()).env("EP_LOG_FORMAT", "json");
        command.current_dir(data.path()).kill_on_drop(true);
        command
    };
    let refused = serve("eip155:8453").output().await.unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && said.contains("EP_X402_RPC_URL must be set"), "{said}");
    let mut child = serve("eip155:84532").stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines =
        tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(child.stderr.take().unwrap()));
    let mut has_warned = false;
    loop {
        let line = lines.next_line().await.unwrap().unwrap();
        has_warned |= line.contains("WARN") && line.contains("EP_X402_RPC_URL");
        if line.contains("listening") {
            break;
        }
    }
    assert!(has_warned);
    child.kill().await.unwrap();
}
