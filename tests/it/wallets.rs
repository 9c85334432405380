//! Sign-in with a wallet, against the libraries that wallets use: `viem`, `ethers`, both `siwe` libraries, and
//! contract wallets on a separate chain.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Chain, Client, Engine, Reply, Setup, Wallet, WalletLibraries};

/// Returns the service's message for this wallet.
async fn challenge(client: &Client, address: &str) -> Value {
    client.get(&format!("/api/wallet/challenge?address={address}")).await.expect(200)
}

async fn challenge_text(client: &Client, address: &str) -> String {
    challenge(client, address).await["message"].as_str().unwrap().to_owned()
}

async fn verify(client: &Client, message: &str, signature: &str) -> Reply {
    client.post("/api/wallet/verify", &json!({ "message": message, "signature": signature })).await
}

#[tokio::test]
async fn wallets_of_every_library_sign_in() {
    let libraries = WalletLibraries::start();
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let service = Setup::demo().on(engine).boot().await;
        let client = service.anonymous();
        for (library, signer) in
            [("viem", "viem"), ("siwe", "ethers"), ("signinwithethereum", "ethers"), ("the service", "viem")]
        {
            let wallet = libraries.wallet().await;
            let challenge = challenge(&client, &wallet.address).await;
            let written = challenge["message"].as_str().unwrap();
            for reader in ["viem", "siwe", "signinwithethereum"] {
                let read =
                    libraries.ask(json!({ "op": "parse", "library": reader, "message": written })).await;
                assert_eq!(read["nonce"], challenge["nonce"], "{reader}");
                assert_eq!((&read["address"], &read["chainId"]), (&json!(wallet.address), &json!(8453)));
            }
            let message = if library == "the service" {
                written.to_owned()
            } else {
                let host = service.url.strip_prefix("http://").unwrap();
                let fields = json!({
                    "domain": host, "address": wallet.address, "uri": service.url, "version": "1",
                    "chainId": 8453, "nonce": challenge["nonce"], "issuedAt": now(),
                });
                let built =
                    libraries.ask(json!({ "op": "build", "library": library, "fields": fields })).await;
                built["message"].as_str().unwrap().to_owned()
            };
            let signature = libraries.sign_with(signer, &wallet, &message).await;
            let reply = verify(&client, &message, &signature).await;
            let cookie = reply.cookie();
            assert!(
                reply.header("set-cookie").ends_with("; HttpOnly; SameSite=Lax; Path=/; Max-Age=1209600")
            );
            assert_eq!(reply.header("cache-control"), "no-store");
            let first = reply.expect(200);
            assert_eq!((&first["address"], &first["is_new_user"]), (&json!(wallet.address), &json!(true)));
            assert_eq!(first.as_object().unwrap().len(), 4, "{first}");

            // The key and the cookie belong to this account, which has its starter credit.
            let with_key = client.with_key(first["api_key"].as_str().unwrap());
            assert_eq!(with_key.get("/api/balance").await.expect(200)["balance"], "$1.00");
            let me = client.request(reqwest::Method::GET, "/api/auth/me").header("cookie", &cookie);
            let email = format!("{}@wallet.invalid", wallet.address.to_lowercase());
            assert_eq!(
                client.send(me).await.expect(200),
                json!({ "userId": first["user_id"], "email": email })
            );

            // The same wallet gets the same account, without its key.
            let again = libraries.sign_in(&service.anonymous(), &wallet, &[]).await.expect(200);
            let expected =
                json!({ "address": wallet.address, "user_id": first["user_id"], "is_new_user": false });
            assert_eq!(again, expected);
        }
        assert!(service.app.accounts.treasury.audit(Duration::from_mins(1)).await.unwrap().is_clean());
    }
}

/// Returns the current time in RFC 3339.
fn now() -> String {
    use ep_kernel::Clock;
    ensemble_poll::app::clock::SystemClock.now().to_string()
}

#[tokio::test]
async fn message_is_bound_to_wallet_domain_chain_time_and_purpose_and_used_once() {
    let libraries = WalletLibraries::start();
    let service = Setup::demo().seeded(7).boot().await;
    let client = service.anonymous();
    let (wallet, other) = (libraries.wallet().await, libraries.wallet().await);
    let refused = async |message: &str, signature: &str| {
        let reply = verify(&client, message, signature).await;
        assert_eq!(reply.header("set-cookie"), "", "{message}");
        reply.refused(401)
    };
    let own = challenge_text(&client, &wallet.address).await;
    let by_other = libraries.sign(&other, &own).await;
    assert!(refused(&own, &by_other).await.contains("not this wallet's signature"));

    // Each message is signed correctly; only its content is wrong.
    let host = service.url.strip_prefix("http://").unwrap();
    let nonce = challenge(&client, &other.address).await["nonce"].as_str().unwrap().to_owned();
    let own_nonce = own.split("Nonce: ").nth(1).unwrap().split('\n').next().unwrap();
    for (changed, why) in [
        (own.replace(&format!("{host} wants"), "evil.example wants"), "domain or URI"),
        (own.replace(&format!("URI: {}", service.url), "URI: https://evil.example"), "domain or URI"),
        (own.replace("Chain ID: 8453", "Chain ID: 1"), "chain of the message"),
        (own.replace(own_nonce, &nonce), "not issued for this wallet"),
        (own.replace(own_nonce, "0123456789abcdef0123"), "not issued for this wallet"),
        (own.replace("Issued At: 2026-11-21T12:00", "Issued At: 2026-11-21T11:00"), "expired"),
        (own.replace("Issued At: 2026-11-21T12:00", "Issued At: 2026-11-21T12:30"), "not valid yet"),
        (own.replace('\n', "\r\n"), "EIP-4361"),
        (format!("{own}\n"), "EIP-4361"),
        (own.replace("Version: 1", "Version: 2"), "EIP-4361"),
        (own.replace("\n\nURI", "\nURI: https://evil.example\n\nURI"), "EIP-4361"),
        ("hello".to_owned(), "EIP-4361"),
    ] {
        assert_ne!(changed, own);
        let said = refused(&changed, &libraries.sign(&wallet, &changed).await).await;
        assert!(said.contains(why) && said.contains("new challenge"), "{said}: {changed}");
    }
    let signature = libraries.sign(&wallet, &own).await;
    for malformed in ["", "0x", "0xzz", &signature[2..], &signature[..130], &format!("{signature}00")] {
        assert!(refused(&own, malformed).await.contains("not this wallet's signature"), "{malformed}");
    }

    // A message for one purpose is rejected for another and stays unused.
    let path = format!("/api/wallet/challenge?address={}&purpose=rotate_key", wallet.address);
    let rotation = client.get(&path).await.expect(200)["message"].as_str().unwrap().to_owned();
    assert!(rotation.contains("Revoke all API keys"));
    let rotation_signature = libraries.sign(&wallet, &rotation).await;
    assert!(refused(&rotation, &rotation_signature).await.contains("purpose"));
    let body = json!({ "message": rotation, "signature": rotation_signature });
    assert!(client.post("/api/wallet/rotate-key", &body).await.refused(404).contains("no account"));

    // A nonce in different letter case is a different nonce.
    let upper = own.replace(own_nonce, &own_nonce.to_uppercase());
    assert_ne!(upper, own);
    let said = refused(&upper, &libraries.sign(&wallet, &upper).await).await;
    assert!(said.contains("not issued for this wallet"), "{said}");

    // None of these requests created an account. Of sixteen concurrent uses, one succeeds.
    assert_eq!(service.app.accounts.treasury.audit(Duration::from_mins(1)).await.unwrap().accounts, 0);
    let uses = (0..16).map(|_| verify(&client, &own, &signature));
    let uses = futures::future::join_all(uses).await;
    assert_eq!(uses.iter().filter(|reply| reply.status == 200).count(), 1);
    assert!(refused(&own, &signature).await.contains("already been used"));
    assert_eq!(service.app.accounts.treasury.audit(Duration::from_mins(1)).await.unwrap().accounts, 1);

    let late = challenge_text(&client, &wallet.address).await;
    let late_signature = libraries.sign(&wallet, &late).await;
    service.clock.as_ref().unwrap().advance(Duration::from_mins(5));
    assert!(refused(&late, &late_signature).await.contains("expired"));
}

#[tokio::test]
async fn invalid_addresses_and_missing_fields_return_400() {
    let service = Setup::demo().boot().await;
    let client = service.anonymous();
    for address in [
        "",
        "0x",
        "nobody.eth",
        "0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe",
        "%00",
    ] {
        let said = client.get(&format!("/api/wallet/challenge?address={address}")).await.refused(400);
        assert!(said.contains("address"), "{said}");
    }
    assert!(client.get("/api/wallet/challenge").await.refused(400).contains("address"));
    let wrong = "/api/wallet/challenge?address=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed&purpose=steal";
    assert!(client.get(wrong).await.refused(400).contains("purpose"));
    for path in ["/api/wallet/verify", "/api/wallet/rotate-key", "/api/wallet/revoke-key"] {
        for body in [json!({}), json!({ "message": "m" }), json!({ "message": 1, "signature": "0x" })] {
            client.post(path, &body).await.refused(400);
        }
    }
}

#[tokio::test]
async fn keys_are_revoked_and_rotated_by_signature() {
    let libraries = WalletLibraries::start();
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let service = Setup::demo().on(engine).boot().await;
        let client = service.anonymous();
        let (wallet, other) = (libraries.wallet().await, libraries.wallet().await);
        let account = libraries.sign_in(&service.anonymous(), &wallet, &[]).await.expect(200);
        libraries.sign_in(&service.anonymous(), &other, &[]).await.expect(200);
        let first = client.with_key(account["api_key"].as_str().unwrap());
        let second = first.post("/api/keys", &json!({ "label": "second" })).await.expect(201);
        let signed = async |path: &str, wallet: &Wallet, purpose: &str, key_id: &str| {
            let path_of = format!("/api/wallet/challenge?address={}&purpose={purpose}", wallet.address);
            let message = client.get(&path_of).await.expect(200)["message"].as_str().unwrap().to_owned();
            let signature = libraries.sign(wallet, &message).await;
            let body = json!({ "message": message, "signature": signature, "key_id": key_id });
            client.post(path, &body).await
        };
        let revoke = "/api/wallet/revoke-key";
        let key_id = second["id"].as_str().unwrap();
        for id in ["00000000-0000-4000-8000-000000000000", "no id"] {
            signed(revoke, &wallet, "revoke_key", id).await.refused(404);
        }
        signed(revoke, &other, "revoke_key", key_id).await.refused(404);
        signed(revoke, &libraries.wallet().await, "any", key_id).await.refused(404);
        signed(revoke, &wallet, "sign_in", key_id).await.refused(401);
        let revoked = signed(revoke, &wallet, "any", key_id).await.expect(200);
        assert_eq!(revoked, json!({ "revoked": true, "key_id": key_id }));
        signed(revoke, &wallet, "revoke_key", key_id).await.refused(404);
        client.with_key(second["key"].as_str().unwrap()).get("/api/keys").await.refused(401);

        let third = first.post("/api/keys", &json!({})).await.expect(201);
        let reply = signed("/api/wallet/rotate-key", &wallet, "rotate_key", "").await;
        let rotated = reply.expect(200);
        assert_eq!(rotated["revoked_count"], 2);
        assert!(rotated["warning"].as_str().unwrap().contains("cannot be shown again"));
        for old in [account["api_key"].as_str().unwrap(), third["key"].as_str().unwrap()] {
            client.with_key(old).get("/api/keys").await.refused(401);
        }
        let keys = client.with_key(rotated["api_key"].as_str().unwrap()).get("/api/keys").await.expect(200);
        let active: Vec<&Value> =
            keys.as_array().unwrap().iter().filter(|key| key["revoked_at"].is_null()).collect();
        assert_eq!(active.len(), 1);
        assert_eq!(
            (&active[0]["id"], &active[0]["key_prefix"]),
            (&rotated["key_id"], &rotated["key_prefix"])
        );
    }
}

#[tokio::test]
async fn contract_wallets_sign_in_with_a_node() {
    let libraries = WalletLibraries::start();
    let chain = Chain::start(84532).await;
    let setup = || Setup::demo().with("EP_X402_NETWORK", "eip155:84532");
    let service = setup().with("EP_X402_RPC_URL", chain.rpc_url()).boot().await;
    let client = service.anonymous();

    let deployed = &chain.facts["wallet1271"];
    let address = deployed["address"].as_str().unwrap();
    let sign1271 = async |owner: &Value, message: &str| {
        let request = json!({ "op": "sign1271", "ownerPrivateKey": owner, "message": message });
        libraries.ask(request).await["signature"].as_str().unwrap().to_owned()
    };
    let message = challenge_text(&client, address).await;
    let stranger = json!(libraries.wallet().await.private_key);
    let by_stranger = sign1271(&stranger, &message).await;
    verify(&client, &message, &by_stranger).await.refused(401);
    let signature = sign1271(&deployed["ownerPrivateKey"], &message).await;
    for damaged in [&signature[..100], &format!("{signature}{}", "00".repeat(40))] {
        verify(&client, &message, damaged).await.refused(401);
    }
    let account = verify(&client, &message, &signature).await.expect(200);
    assert_eq!((&account["address"], &account["is_new_user"]), (&json!(address), &json!(true)));

    // A wallet that is not deployed yet.
    let owner = libraries.wallet().await.private_key;
    let of_factory =
        json!({ "rpcUrl": chain.rpc_url(), "factory": chain.facts["factory"], "ownerPrivateKey": owner });
    let ask = async |op: &str, further: Value| {
        let mut request = of_factory.clone();
        request["op"] = json!(op);
        request.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
        libraries.ask(request).await
    };
    let counterfactual = ask("address6492", json!({})).await["address"].as_str().unwrap().to_owned();
    let message = challenge_text(&client, &counterfactual).await;
    let other = challenge_text(&client, &counterfactual).await;
    let signed = ask("sign6492", json!({ "message": message })).await;
    let signature = signed["signature"].as_str().unwrap();
    verify(&client, &other, signature).await.refused(401);
    let account = verify(&client, &message, signature).await.expect(200);
    assert_eq!(account["address"], counterfactual);

    // Without a node, with a node of another chain, and with an unavailable node.
    let without = setup().boot().await;
    let client = without.anonymous();
    let message = challenge_text(&client, address).await;
    let signature = sign1271(&deployed["ownerPrivateKey"], &message).await;
    verify(&client, &message, &signature).await.refused(401);
    let other_chain = Setup::demo().with("EP_X402_RPC_URL", chain.rpc_url());
    let unreachable = setup().with("EP_X402_RPC_URL", "http://127.0.0.1:9/?key=hunter2");
    for setup in [other_chain, unreachable] {
        let service = setup.boot().await;
        let client = service.anonymous();
        let message = challenge_text(&client, address).await;
        let signature = sign1271(&deployed["ownerPrivateKey"], &message).await;
        let reply = verify(&client, &message, &signature).await;
        assert!(!reply.header("retry-after").is_empty() && !reply.text.contains("hunter2"));
        assert!(reply.refused(503).contains("contract wallets"));
        // Wallets with a key need no node.
        let wallet = libraries.wallet().await;
        libraries.sign_in(&service.anonymous(), &wallet, &[]).await.expect(200);
    }
}

#[tokio::test]
async fn starter_credits_are_limited_and_sign_ins_are_counted() {
    let libraries = WalletLibraries::start();
    let service = Setup::demo()
        .with("EP_STARTER_CREDIT_USD", "0.25")
        .with("EP_STARTER_CREDITS_PER_ADDRESS", "2")
        .with("EP_RATE_LIMIT_SIGN_IN_PER_MINUTE", "8")
        .boot()
        .await;
    for credited in [true, true, false] {
        let wallet = libraries.wallet().await;
        let account = libraries.sign_in(&service.anonymous(), &wallet, &[]).await.expect(200);
        let notice = account["notice"].as_str().unwrap_or_default();
        assert_eq!(notice.contains("no starter credit"), !credited, "{account}");
        let client = service.anonymous().with_key(account["api_key"].as_str().unwrap());
        let balance = if credited { 25 } else { 0 };
        assert_eq!(client.get("/api/balance").await.expect(200)["balance_cents"], balance);
    }
    let client = service.anonymous();
    let wallet = libraries.wallet().await;
    for _ in 0..2 {
        challenge(&client, &wallet.address).await;
    }
    let reply = client.get(&format!("/api/wallet/challenge?address={}", wallet.address)).await;
    assert!(reply.header("ratelimit-policy").contains("\"sign-in\";q=8;w=60"), "{:?}", reply.headers);
    assert!(!reply.header("retry-after").is_empty());
    reply.refused(429);
}

#[tokio::test]
async fn repeated_sign_in_does_not_show_the_key_again() {
    let libraries = WalletLibraries::start();
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let service = Setup::demo().on(engine).boot().await;
        let client = service.anonymous();
        let wallet = libraries.wallet().await;
        let message = challenge_text(&client, &wallet.address).await;
        let body = json!({ "message": message, "signature": libraries.sign(&wallet, &message).await });
        let key = [("idempotency-key", "sign-in-1")];
        let first = client.post_with("/api/wallet/verify", &body, &key).await.expect(200);
        let api_key = first["api_key"].as_str().unwrap();
        for _ in 0..2 {
            let again = client.post_with("/api/wallet/verify", &body, &key).await;
            assert_eq!((again.header("idempotent-replayed"), again.header("set-cookie")), ("true", ""));
            assert!(!again.text.contains(api_key), "{}", again.text);
            let again = again.expect(200);
            assert_eq!((&again["api_key"], &again["is_new_user"]), (&Value::Null, &json!(true)));
            assert_eq!((&again["user_id"], &again["address"]), (&first["user_id"], &first["address"]));
            assert!(again["notice"].as_str().unwrap().contains("/api/wallet/rotate-key"), "{again}");
        }
        client.with_key(api_key).get("/api/keys").await.expect(200);

        let path = format!("/api/wallet/challenge?address={}&purpose=rotate_key", wallet.address);
        let message = client.get(&path).await.expect(200)["message"].clone();
        let signature = libraries.sign(&wallet, message.as_str().unwrap()).await;
        let body = json!({ "message": message, "signature": signature });
        let key = [("idempotency-key", "rotate-1")];
        let first = client.post_with("/api/wallet/rotate-key", &body, &key).await.expect(200);
        let api_key = first["api_key"].as_str().unwrap();
        for _ in 0..2 {
            let again = client.post_with("/api/wallet/rotate-key", &body, &key).await;
            assert_eq!(again.header("idempotent-replayed"), "true");
            assert!(!again.text.contains(api_key), "{}", again.text);
            let again = again.expect(200);
            for same in ["revoked_count", "key_id", "key_prefix"] {
                assert_eq!(again[same], first[same], "{again}");
            }
            assert!(again["warning"].as_str().unwrap().contains("/api/wallet/challenge"), "{again}");
        }
        client.with_key(api_key).get("/api/keys").await.expect(200);
    }
}

/// A provider's customer can have up to 65,536 blocks of 64 bits. They count as one network, which gets a tenth
/// of a day's credits.
#[tokio::test]
async fn one_network_cannot_use_all_starter_credits() {
    let libraries = WalletLibraries::start();
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let service = Setup::demo()
            .on(engine)
            .with("EP_STARTER_CREDITS_PER_DAY", "20")
            .with("EP_STARTER_CREDITS_PER_ADDRESS", "1")
            .with("EP_TRUSTED_PROXIES", "127.0.0.0/8")
            .boot()
            .await;
        let client = service.anonymous();
        for (address, credited) in [
            ("2001:db8:1:1::1", true),
            ("2001:db8:1:1::2", false),
            ("2001:db8:1:2::1", true),
            ("2001:db8:1:3::1", false),
            ("2001:db8:1:ffff::1", false),
            ("2001:db8:2:1::1", true),
            ("203.0.113.1", true),
            ("203.0.113.1", false),
            ("203.0.113.2", true),
            ("203.0.113.3", false),
            ("198.51.100.1", true),
        ] {
            let wallet = libraries.wallet().await;
            let account =
                libraries.sign_in(&client, &wallet, &[("x-forwarded-for", address)]).await.expect(200);
            assert_eq!(account["notice"].is_null(), credited, "{address}: {account}");
        }
        assert!(service.app.accounts.treasury.audit(Duration::from_mins(1)).await.unwrap().is_clean());
    }
}
