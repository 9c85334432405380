//! A request gets the same response through every surface, byte for byte. MCP sends a brief form, which is
//! computed from the full response here.
//!
//! Each call boots a service with the same seed and a stopped clock, so that ids, votes, orders and times are
//! equal. Only measured durations are left out of the comparison.

use ep_kernel::{Agents, Entry, Task};
use ep_polling::MicroUsd;
use ep_tools::TOOLS;
use serde_json::{Value, json};

use crate::harness::{Client, Setup, by_rest, example, until, without_durations};

#[derive(Debug, Clone, Copy)]
enum Surface {
    Rest,
    Stream,
    Mcp,
    A2a,
}

/// Returns the response of an operation through a surface, by a service with a single poll.
async fn answer(entry: &'static Entry, surface: Surface, seed: u64) -> Value {
    let reviews = example(entry).get("row").is_some();
    let setup = Setup::demo()
        .seeded(seed)
        .with("EP_BASE_URL", "https://polls.example.com")
        .with("EP_BATCH_ROWS", if reviews { "1" } else { "0" });
    let service = setup.boot().await;
    let (account, user) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    let poll = user.poll(json!({ "preset": "frontier_generalist" })).await.expect(200);
    let mut input = example(entry);
    if input.get("poll_id").is_some() {
        input["poll_id"] = poll["poll_id"].clone();
    }
    if input.get("key_id").is_some() {
        input["key_id"] = user.post("/api/keys", &json!({})).await.expect(201)["id"].clone();
    }
    if input.get("batch_id").is_some() {
        input["batch_id"] = started_batch(&user, if reviews { "in_progress" } else { "validating" }).await;
    }
    if reviews {
        input["option"] = json!("Alpha");
    }
    if input.get("evaluation_id").is_some() {
        let evaluation = example(ep_tools::find("create_evaluation").unwrap());
        input["evaluation_id"] =
            user.post("/api/evaluations", &evaluation).await.expect(201)["evaluation_id"].clone();
    }
    if input.get("name").is_some() && !entry.spec.name.starts_with("create_") {
        let panel = json!({ "name": input["name"], "preset": "trio" });
        user.post("/api/panels", &panel).await.expect(200);
    }
    // A deletion is confirmed with the id of the deleted object.
    if input.get("confirm").is_some() {
        input["confirm"] = input.get("poll_id").cloned().unwrap_or_else(|| json!(account));
    }
    if input.get("forfeit_balance").is_some() {
        input["forfeit_balance"] = json!(true);
    }
    let mut value = match surface {
        Surface::Rest => {
            let rest = entry.spec.rest.unwrap();
            let anonymous = !entry.spec.access.and(rest.only).key;
            let client = if anonymous { service.anonymous() } else { user };
            by_rest(&client, rest, &input).await.expect(rest.status)
        }
        Surface::Stream => last_event(&by_rest(&user, entry.spec.stream.unwrap(), &input).await.text),
        Surface::Mcp => {
            // MCP omits the votes by default; without votes this has no effect.
            input["include_votes"] = json!(true);
            user.tool(entry.spec.name, input).await["structuredContent"].clone()
        }
        Surface::A2a => {
            let message = json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{ "data": input }],
                "metadata": { "skillId": entry.spec.name } });
            let reply = user.rpc("/api/a2a", "SendMessage", json!({ "message": message })).await.expect(200);
            let result = &reply["result"];
            let parts = result.pointer("/task/artifacts/0/parts").unwrap_or(&result["message"]["parts"]);
            parts[0]["data"].clone()
        }
    };
    without_durations(&mut value);
    value
}

/// Creates a batch and waits for the end of this state and of those before it.
async fn started_batch(user: &Client, state: &str) -> Value {
    let rows = json!([{ "question": "Which of the two is better?", "options": ["Alpha", "Beta"] }]);
    let id = user.post("/api/batches", &json!({ "rows": rows })).await.expect(202)["batch_id"].clone();
    let path = format!("/api/batches/{}", id.as_str().unwrap());
    until(
        "the batch has left this state",
        async || user.get(&path).await.expect(200),
        |batch| !["validating", state].contains(&batch["status"].as_str().unwrap()),
    )
    .await;
    id
}

/// Returns a response in this surface's format.
fn as_sent(entry: &Entry, surface: Surface, answer: &Value) -> String {
    let mut sent = answer.clone();
    if let Surface::Mcp = surface {
        entry.brief.apply(&mut sent);
    }
    sent.to_string()
}

fn last_event(text: &str) -> Value {
    let last = text.split("event: complete").nth(1).unwrap_or_else(|| panic!("no complete event in {text}"));
    let data = last.lines().find_map(|line| line.strip_prefix("data:")).unwrap();
    serde_json::from_str(data).unwrap()
}

fn surfaces(entry: &Entry) -> Vec<Surface> {
    let spec = &entry.spec;
    let mut surfaces = Vec::new();
    // A text body is compared by its operation's tests.
    surfaces.extend(spec.rest.filter(|rest| rest.media_type == "application/json").map(|_| Surface::Rest));
    surfaces.extend(spec.stream.map(|_| Surface::Stream));
    surfaces.extend((spec.agents != Agents::None).then_some(Surface::Mcp));
    surfaces.extend((spec.agents == Agents::Core).then_some(Surface::A2a));
    surfaces
}

#[tokio::test]
async fn every_operation_responds_equally_on_every_surface() {
    let mut compared = 0;
    // The response of a cancellation depends on the poll's progress: see lifecycle.rs and a2a.rs.
    for entry in TOOLS.iter().filter(|entry| entry.spec.task != Task::Cancel) {
        let surfaces = surfaces(entry);
        assert!(!surfaces.is_empty() || entry.spec.rest.is_some(), "{} has no surface", entry.spec.name);
        let Some((first, others)) = surfaces.split_first().filter(|(_, others)| !others.is_empty()) else {
            continue;
        };
        let expected = answer(entry, *first, 7).await;
        for surface in others {
            let answer = answer(entry, *surface, 7).await.to_string();
            assert_eq!(
                answer,
                as_sent(entry, *surface, &expected),
                "{} through {surface:?} and {first:?}",
                entry.spec.name
            );
            compared += 1;
        }
    }
    assert!(compared >= 8, "{compared}");
}

#[tokio::test]
async fn polls_depend_only_on_the_seed() {
    let entry = ep_tools::find("poll_question").unwrap();
    let first = answer(entry, Surface::Rest, 7).await;
    assert_eq!(first, answer(entry, Surface::Rest, 7).await);
    assert_ne!(first, answer(entry, Surface::Rest, 8).await);
}
