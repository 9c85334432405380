//! Metrics and logs, and the absence of secrets in both.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::harness::{Client, WalletLibraries};

#[tokio::test]
async fn metrics_and_logs_are_complete_without_secrets() {
    let data = tempfile::tempdir().unwrap();
    let ep = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ep"));
        command
            .args(arguments)
            .env_clear()
            .env("EP_DATA_DIR", data.path())
            .env("EP_DEMO_PACE", "0")
            .current_dir(data.path());
        command
    };
    let made = ep(&["admin", "create-user", "--email", "a@example.com", "--json"]).output().await.unwrap();
    let key = serde_json::from_slice::<Value>(&made.stdout).unwrap()["api_key"].as_str().unwrap().to_owned();
    let mut child = ep(&["serve", "--listen", "127.0.0.1:0"])
        .env("EP_METRICS_LISTEN", "127.0.0.1:0")
        .env("EP_LOG", "debug")
        .env("EP_LOG_FORMAT", "json")
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let (mut seen, mut address, mut metrics) = (Vec::new(), None, None);
    while address.is_none() || metrics.is_none() {
        let line =
            tokio::time::timeout(Duration::from_secs(30), lines.next_line()).await.unwrap().unwrap().unwrap();
        if let Ok(log) = serde_json::from_str::<Value>(&line) {
            let at = log["fields"]["address"].as_str().map(str::to_owned);
            match log["fields"]["message"].as_str() {
                Some("listening") => address = at,
                Some("metrics at /metrics") => metrics = at,
                _ => {}
            }
        }
        seen.push(line);
    }
    // Read concurrently, because a full pipe would block the service.
    let reading = tokio::spawn(async move {
        let mut seen = seen;
        while let Ok(Some(line)) = lines.next_line().await {
            seen.push(line);
        }
        seen
    });
    let url = format!("http://{}", address.unwrap());
    let client = Client::new(&url, Some(key.clone()));
    client.poll(json!({})).await.expect(200);
    client.with_key("ep_k_secretguess").poll(json!({})).await.expect(401);
    // Each key is shown in one response: one response is stored for replay, the other is not.
    let mut keys = vec![key.clone()];
    for headers in [&[("idempotency-key", "once")][..], &[]] {
        let created = client.post_with("/api/keys", &json!({}), headers).await.expect(201);
        let key = created["key"].as_str().unwrap().to_owned();
        client.with_key(&key).get("/api/keys").await.expect(200);
        client.get(&format!("/api/keys?key={key}")).await.expect(200);
        keys.push(key);
    }
    let again = client.post_with("/api/keys", &json!({}), &[("idempotency-key", "once")]).await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.expect(201)["key"], keys[1].as_str());
    // A wallet's signature, its session cookie, and the key of its new account.
    let libraries = WalletLibraries::start();
    let wallet = libraries.wallet().await;
    let keyed = [("idempotency-key", "wallet")];
    let (reply, signature) = libraries.sign_in_signed(&client, &wallet, &keyed).await;
    let cookie = reply.cookie();
    let me = Client::new(&url, None).request(reqwest::Method::GET, "/api/auth/me").header("cookie", &cookie);
    Client::new(&url, None).send(me).await.expect(200);
    keys.push(cookie.strip_prefix("ep_session=").unwrap().to_owned());
    keys.push(reply.expect(200)["api_key"].as_str().unwrap().to_owned());
    keys.push(signature);
    // The secret that signs the account's notifications, and a URL that may contain a secret.
    let secret = client.post("/api/account/webhook/secret", &json!({})).await.expect(200)["secret"].clone();
    keys.push(secret.as_str().unwrap().to_owned());
    client.poll(json!({ "notify_url": "https://localhost:1/a-secret-path" })).await.expect(200);
    // Client errors that rmcp logs as warnings.
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": 5 });
    client.post("/api/mcp", &initialize).await;
    client
        .post_with("/api/mcp", &json!({ "jsonrpc": "2.0", "result": {} }), &[("mcp-protocol-version", "x")])
        .await;
    client.tool("nope", json!({})).await;
    let metrics = Client::new(&format!("http://{}", metrics.unwrap()), None);
    let text = metrics.get("/metrics").await.text;
    for metric in [
        "ep_requests_total{tool=\"poll_question\",surface=\"rest\",code=\"ok\"} 2",
        "ep_requests_total{tool=\"poll_question\",surface=\"rest\",code=\"unauthenticated\"} 1",
        "ep_request_duration_seconds_count",
        "ep_added_latency_seconds_count",
        "ep_polls_total{reason=",
        "ep_votes_total{result=\"vote\"}",
        "ep_poll_cost_micro_usd_total",
        "ep_connections 1",
    ] {
        assert!(text.contains(metric), "{metric} in {text}");
    }
    client.get("/metrics").await.refused(404);
    drop(child.kill().await);
    let seen = reading.await.unwrap();
    let logs = seen.join("\n");
    assert!(logs.contains("call completed") && logs.contains("poll closed"), "{logs}");
    let scanned: Vec<&String> = seen.iter().filter(|line| line.contains("there is nothing at")).collect();
    assert!(!scanned.is_empty() && scanned.iter().all(|line| line.contains("\"level\":\"DEBUG\"")));
    let of_rmcp = seen.iter().filter(|line| line.contains("\"target\":\"rmcp")).count();
    assert_eq!(of_rmcp, 0, "{logs}");
    for secret in ["ep_k_secretguess", "Which of the two", "a-secret-path"] {
        assert!(!logs.contains(secret), "{secret} is in the logs");
    }
    let mut files: Vec<Vec<u8>> = vec![logs.into_bytes(), text.into_bytes()];
    for file in std::fs::read_dir(data.path()).unwrap().map(Result::unwrap) {
        if file.file_type().unwrap().is_file() {
            files.push(std::fs::read(file.path()).unwrap());
        }
    }
    assert!(files.iter().any(|bytes| bytes.starts_with(b"SQLite format 3\0")));
    for key in &keys {
        let in_hex = hex::encode(key);
        for bytes in &files {
            let holds = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
            assert!(!holds(key) && !holds(&in_hex));
        }
    }
}
