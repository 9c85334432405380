//! Recovery actions in the form of the protocol that is spoken, and refusals that name all mistakes.

use ep_kernel::{Agents, Entry};
use ep_polling::MicroUsd;
use ep_tools::TOOLS;
use serde_json::{Value, json};

use crate::harness::{Client, Service, Setup, question};

/// Calls a skill of A2A, and returns the error.
async fn refused_skill(client: &Client, skill: &str, data: &Value) -> Value {
    client.skill(skill, data).await["error"].take()
}

/// Returns the recovery actions of an error of A2A.
fn actions_of_skill(error: &Value) -> Vec<Value> {
    let info = error["data"].as_array().unwrap().iter().find(|detail| detail["metadata"].is_object());
    let actions = info.unwrap()["metadata"]["recovery_actions"].as_str().unwrap();
    serde_json::from_str(actions).unwrap()
}

/// Calls a tool of MCP at this path, and returns the error.
async fn refused_tool(client: &Client, path: &str, tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    let reply = client.rpc(path, "tools/call", params).await.expect(200);
    reply["result"]["structuredContent"]["error"].clone()
}

/// An input that no operation takes.
fn wrong(entry: &Entry) -> Value {
    json!({ "unknown_argument": entry.spec.name })
}

fn names(actions: &[Value]) -> Vec<&str> {
    actions.iter().map(|action| action["action"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_wrong_argument_gets_only_the_advice_that_applies() {
    let service = Service::start().await;
    let client = service.user().await;
    let is_agents = |entry: &&Entry| entry.spec.agents != Agents::None && entry.spec.access.key;
    let mut polls = 0;
    for entry in TOOLS.iter().filter(is_agents) {
        let name = entry.spec.name;
        let polled = name == "poll_question" || name == "start_poll";
        polls += usize::from(polled);
        let expected: &[&str] = if polled { &["fix_input", "check_first"] } else { &["fix_input"] };
        if entry.input().get("properties").is_none() {
            continue;
        }
        for path in ["/api/mcp", "/api/mcp?toolsets=all"] {
            let error = refused_tool(&client, path, name, &wrong(entry)).await;
            assert_eq!(error["code"], "invalid_input", "{name}: {error}");
            let actions = error["recovery_actions"].as_array().unwrap();
            assert_eq!(names(actions), expected, "{name}: {error}");
            for action in actions {
                assert!(action.get("href").is_none() && action.get("skill").is_none(), "{name}: {action}");
            }
            // The check is the same call with dry_run.
            assert!(actions.iter().all(|action| action.get("tool").is_none()), "{name}: {error}");
        }
        let error = refused_skill(&client, name, &wrong(entry)).await;
        let actions = actions_of_skill(&error);
        assert_eq!(names(&actions), expected, "{name}: {error}");
        for action in &actions {
            assert!(action.get("href").is_none() && action.get("tool").is_none(), "{name}: {action}");
        }
        assert!(actions.iter().all(|action| action.get("skill").is_none()), "{name}: {error}");
    }
    assert!(polls > 0);
    // REST has requests, and its catalogue lists all actions of a kind.
    let machine = [("x-machine-client", "true")];
    let error = client.post_with("/api/poll", &json!({}), &machine).await.expect(400);
    let check = &error["recovery_actions"][1];
    assert_eq!(check["href"], format!("{}/api/poll/dry-run", service.url), "{error}");
    assert!(check.get("tool").is_none() && check.get("skill").is_none(), "{check}");
    let error = client.post_with("/api/panels", &json!({}), &machine).await.expect(400);
    assert_eq!(names(error["recovery_actions"].as_array().unwrap()), ["fix_input"]);
    let catalogue = client.get("/api/errors/catalog").await.expect(200);
    let kind = catalogue["errors"].as_array().unwrap().iter().find(|row| row["code"] == "invalid_input");
    assert_eq!(kind.unwrap()["recovery_actions"][1]["href"], check["href"]);
}

#[tokio::test]
async fn actions_are_calls_of_the_protocol_that_is_spoken() {
    let service = Service::start().await;
    let (_, client) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    let unknown = question(json!({ "preset": "no-such" }));
    let rest = client.post_with("/api/poll", &unknown, &[("x-machine-client", "true")]).await.expect(400);
    assert_eq!(rest["recovery_actions"][1]["href"], format!("{}/api/models", service.url), "{rest}");
    let error = refused_tool(&client, "/api/mcp?toolsets=all", "poll_question", &unknown).await;
    assert_eq!(error["code"], "invalid_preset", "{error}");
    assert_eq!(error["recovery_actions"][1]["tool"], "list_models", "{error}");
    assert!(error["recovery_actions"][1].get("href").is_none(), "{error}");
    let actions = actions_of_skill(&refused_skill(&client, "poll_question", &unknown).await);
    assert_eq!((&actions[1]["skill"], actions[1].get("href")), (&json!("list_models"), None));
    // A connection names only tools that it lists.
    let error = refused_tool(&client, "/api/mcp", "poll_question", &unknown).await;
    assert_eq!(error["recovery_actions"][1].get("tool"), None, "{error}");
}

#[tokio::test]
async fn a_refusal_also_names_unknown_presets_and_models() {
    let service = Setup::demo().boot().await;
    let (_, client) = service.user_with(MicroUsd::STARTER_CREDIT).await;
    let few = json!(["one"]);
    let both = json!({ "question": "Which of the two is it?", "options": ["a", "b"], "scale": { "levels": ["a", "b"] } });
    for (input, named) in [
        (json!({ "options": few, "preset": "no-such" }), ["options", "no-such"]),
        (json!({ "options": few, "panel": "no-such" }), ["options", "no-such"]),
        (json!({ "options": few, "models": ["no/such", "demo/*"] }), ["options", "no/such"]),
        (json!({ "options": few, "exclude": ["no/such"] }), ["options", "no/such"]),
        (json!({ "scale": both["scale"], "preset": "no-such" }), ["scale replaces options", "no-such"]),
        (json!({ "notify_url": "http://10.0.0.1", "preset": "no-such" }), ["notify_url", "no-such"]),
        (json!({ "private": "", "preset": "no-such" }), ["private is empty", "no-such"]),
    ] {
        let asked = question(input);
        let rest = client.post("/api/poll", &asked).await.refused(400);
        let tool = refused_tool(&client, "/api/mcp", "poll_question", &asked).await["detail"].take();
        let skill = refused_skill(&client, "poll_question", &asked).await["message"].take();
        for text in [rest.as_str(), tool.as_str().unwrap(), skill.as_str().unwrap()] {
            assert!(named.iter().all(|name| text.contains(name)), "{asked}: {text}");
            assert_eq!(text.matches("no-such").count().min(1), usize::from(named[1] == "no-such"), "{text}");
        }
        let dry = client.post("/api/poll/dry-run", &asked).await;
        assert!(named.iter().all(|name| dry.text.contains(name) || *name == "notify_url"), "{}", dry.text);
    }
    let asked = question(json!({ "num_models": 3, "options": few, "preset": "no-such" }));
    let tool = refused_tool(&client, "/api/mcp", "poll_question", &asked).await["detail"].take();
    let skill = refused_skill(&client, "poll_question", &asked).await["message"].take();
    for name in ["num_models", "options", "no-such"] {
        assert!(tool.as_str().unwrap().contains(name), "{name}: {tool}");
        assert!(skill.as_str().unwrap().contains(name), "{name}: {skill}");
    }
    let misplaced = question(json!({ "include": ["votes"], "num_models": 3, "preset": "no-such" }));
    let skill = refused_skill(&client, "poll_question", &misplaced).await["message"].take();
    for name in ["include", "num_models", "no-such"] {
        assert!(skill.as_str().unwrap().contains(name), "{name}: {skill}");
    }
    let estimate = client.get("/api/poll/estimate?options=99&preset=no-such").await.refused(400);
    assert!(estimate.contains("options must be a number") && estimate.contains("no-such"), "{estimate}");
    let batch = json!({ "rows": [], "panel": "no-such", "max_cost_usd": [] });
    let refused = client.post("/api/batches", &batch).await.refused(400);
    assert!(refused.contains("max_cost_usd is empty") && refused.contains("no-such"), "{refused}");
}
