//! Models by the names that people use, and the list that shows their ids.

use ep_polling::MicroUsd;
use ep_upstream::testing::{Script, priced};
use serde_json::{Value, json};

use crate::harness::{Setup, question, until};

/// Models of three makers; the second of each line is the newest.
fn models() -> Script {
    let created = |id: &str, created: u32| {
        let mut model = priced(id, "0.000001", "0.000002");
        model["created"] = created.into();
        model
    };
    let models = vec![
        created("anthropic/claude-3.5-sonnet", 10),
        created("anthropic/claude-sonnet-4.5", 20),
        created("openai/gpt-4o", 30),
        created("openai/gpt-4o-mini", 40),
        created("mistralai/mistral-large", 50),
    ];
    Script { models, ..Script::default() }
}

fn asked(poll: &Value) -> Vec<&str> {
    poll["votes"].as_array().unwrap().iter().map(|vote| vote["model_id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_poll_asks_the_models_that_its_names_stand_for_and_says_so() {
    let service = Setup::scripted(models()).boot().await;
    let client = service.user().await;
    let wanted = ["anthropic/claude-sonnet-4.5", "openai/gpt-4o"];
    for names in [json!(["claude", "gpt-4o"]), json!(["Claude Sonnet", "GPT 4o"])] {
        let poll = client.poll(json!({ "models": names, "complete": true })).await.expect(200);
        let mut ids = asked(&poll);
        ids.sort_unstable();
        assert_eq!(ids, wanted, "{poll}");
        let notices = poll["notices"].to_string();
        assert!(notices.contains("is read as anthropic/claude-sonnet-4.5, the newest model"), "{notices}");
        assert!(notices.contains("is read as openai/gpt-4o\""), "{notices}");
    }
    // Servers that list no times say nothing about the newest.
    let untimed = Setup::demo().boot().await;
    let poll = untimed.user().await.poll(json!({ "models": ["aurora", "basalt large"] })).await.expect(200);
    let notices = poll["notices"].to_string();
    assert!(
        notices.contains("“aurora” is read as demo/aurora-nano, one of 6 models of that name"),
        "{notices}"
    );
    let part = json!({ "text": "Ask Claude and GPT-4o: is tea or coffee better?" });
    let message = json!({ "message": { "messageId": "named", "role": "ROLE_USER", "parts": [part] } });
    let reply = client.rpc("/api/a2a", "SendMessage", message).await.expect(200);
    let poll = &reply["result"]["task"]["artifacts"][0]["parts"][0]["data"];
    assert_eq!(
        (&poll["question"], &poll["options"], &poll["models_requested"]),
        (&json!("Is tea or coffee better?"), &json!(["Tea", "Coffee"]), &json!(2)),
        "{reply}"
    );
    let free =
        service.anonymous().post("/api/poll", &json!({ "q": "Ask Claude and GPT: tea or coffee?" })).await;
    assert!(free.refused(400).contains("send an API key to choose models"));
    let by_tool = client.tool("poll_question", question(json!({ "models": ["claude", "mistral"] }))).await;
    assert_eq!(by_tool["structuredContent"]["models_requested"], 2, "{by_tool}");
    for (names, problem) in [
        (["claud", "gpt-4o"], "no claud; the nearest are anthropic/claude-"),
        (["openai/gpt-4", "claude"], "no openai/gpt-4; the nearest are openai/gpt-4o"),
        (["claude", "anthropic"], "match one model, anthropic/claude-sonnet-4.5"),
    ] {
        let refused = client.poll(json!({ "models": names })).await.refused(400);
        assert!(refused.contains(problem), "{refused}");
    }
}

#[tokio::test]
async fn a_panel_and_a_batch_keep_the_ids_of_their_creation() {
    let service = Setup::scripted(models()).boot().await;
    let (_, client) = service.user_with(MicroUsd::new(50_000_000)).await;
    let panel = json!({ "name": "judges", "models": ["claude", "gpt-4o"] });
    let panel = client.post("/api/panels", &panel).await.expect(200);
    assert_eq!(panel["models"], json!(["anthropic/claude-sonnet-4.5", "openai/gpt-4o"]), "{panel}");
    assert!(panel["notices"].to_string().contains("“claude” is read as"), "{panel}");

    let rows = json!([question(json!({}))]);
    let batch = json!({ "rows": rows, "models": ["claude", "gpt-4o"], "complete": true });
    let batch = client.post("/api/batches", &batch).await.expect(202);
    let path = format!("/api/batches/{}", batch["batch_id"].as_str().unwrap());
    until("the end", async || client.get(&path).await.expect(200), |state| state["ended_at"].is_string())
        .await;
    let results = client.get(&format!("{path}/results")).await.expect(200).to_string();
    assert!(results.contains("anthropic/claude-sonnet-4.5") && !results.contains("is read as"), "{results}");
    let unknown = json!({ "rows": rows, "models": ["claud", "gpt-4o"] });
    let refused = client.post("/api/batches", &unknown).await.refused(400);
    assert!(refused.contains("no claud"), "{refused}");
}

#[tokio::test]
async fn the_list_is_found_by_words_and_is_short_for_agents() {
    let priced =
        |n: usize| priced(&format!("maker-{}/some-model-{n}-instruct", n % 30), "0.000001", "0.00001");
    let script = Script { models: (0..340).map(priced).collect(), ..Script::default() };
    let service = Setup::scripted(script).boot().await;
    let client = service.user().await;
    let all = client.get("/api/models").await.expect(200);
    assert_eq!((&all["count"], all["variants"].as_array().unwrap().len()), (&json!(340), 340));
    let few = client.get("/api/models?query=maker-3/%20instruct&max_price_usd=4&limit=2").await.expect(200);
    assert_eq!((&few["count"], &few["next_offset"]), (&json!(12), &json!(2)));
    assert_eq!(few["variants"][0]["id"], "maker-3/some-model-3-instruct");

    let brief = client.tool("list_models", json!({})).await;
    let text = brief["content"][0]["text"].as_str().unwrap();
    assert_eq!(text.parse::<Value>().unwrap(), brief["structuredContent"]);
    // 60 ids of this length are 1,348 tokens (o200k_base).
    assert!(text.len() < 5_000, "{} bytes", text.len());
    let listed = &brief["structuredContent"];
    assert_eq!((&listed["count"], listed["variants"].as_array().unwrap().len()), (&json!(340), 60));
    let rest = client.tool("list_models", json!({ "offset": listed["next_offset"] })).await;
    assert_eq!(rest["structuredContent"]["variants"][0]["id"], "maker-0/some-model-60-instruct");
}
