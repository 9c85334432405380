//! Arguments as agents send them: empty, unknown or with several mistakes; and the response for the model.

use std::time::{Duration, Instant};

use ep_kernel::Agents;
use ep_upstream::testing::{Script, VoteFor};
use serde_json::{Value, json};

use crate::harness::{Service, Setup, StdioServer, question};

/// Every optional argument of a poll that is no limit, with an empty value.
fn empties() -> [Value; 3] {
    let names = [
        "prompt",
        "poll_type",
        "preset",
        "models",
        "exclude",
        "profile",
        "confidence_threshold",
        "max_cost_usd",
        "pace",
        "notify_url",
        "dry_run",
        "wait_ms",
    ];
    [json!(null), json!(""), json!([])].map(|empty| names.iter().map(|name| (*name, empty.clone())).collect())
}

#[tokio::test]
async fn empty_optional_arguments_are_absent_on_every_surface() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    for empty in empties() {
        let asked = question(empty.clone());
        assert_eq!(client.post("/api/poll", &asked).await.expect(200)["preset"], "fast_and_cheap", "{empty}");
        let stream = client.post("/api/poll/stream", &asked).await;
        assert!(stream.text.contains("event: complete"), "{empty}: {}", stream.text);
        let dry = client.post("/api/poll/dry-run", &asked).await.expect(200);
        assert_eq!(dry["errors"], json!([]), "{empty}");
        let mut agents = asked.clone();
        for name in ["idempotency_key", "include", "include_votes"] {
            agents[name] = empty["preset"].clone();
        }
        let result = client.tool("poll_question", agents).await;
        assert_eq!(result["isError"], false, "{empty}: {result}");
        let id = &result["structuredContent"]["poll_id"];
        let read = json!({ "poll_id": id, "costs": empty["preset"], "wait_ms": empty["preset"] });
        assert_eq!(client.tool("get_poll_result", read).await["isError"], false, "{empty}");
        let task = client.skill("poll_question", &asked).await;
        assert_eq!(task["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{empty}: {task}");
    }
    let id = client.poll(json!({})).await.expect(200)["poll_id"].as_str().unwrap().to_owned();
    for path in [
        format!("/api/results/{id}?costs=&wait_ms="),
        "/api/poll/estimate?preset=&options=&models=&exclude=".to_owned(),
        "/api/results?limit=&offset=".to_owned(),
    ] {
        client.get(&path).await.expect(200);
    }
    let made = client.post("/api/keys", &json!({ "label": null })).await.expect(201);
    assert_eq!(made["label"], client.post("/api/keys", &json!({})).await.expect(201)["label"]);
    let free = json!({ "question": "Is a hot dog a sandwich?", "options": null, "o": [], "theme": "", "private": null });
    service.anonymous().post("/api/poll", &free).await.expect(200);
    // Requests with and without empty arguments are equal.
    let key = [("idempotency-key", "one")];
    let first = client.post_with("/api/poll", &question(json!({})), &key).await.expect(200);
    let again = client.post_with("/api/poll", &question(json!({ "private": null })), &key).await.expect(200);
    assert_eq!(first["poll_id"], again["poll_id"]);
}

#[test]
fn command_line_treats_empty_arguments_as_absent() {
    let data = tempfile::tempdir().unwrap();
    for empty in empties() {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ep"));
        command.args(["call", "poll_question", &question(empty.clone()).to_string()]);
        let run =
            command.env_clear().env("EP_DATA_DIR", data.path()).env("EP_DEMO_PACE", "0").output().unwrap();
        assert!(run.status.success(), "{empty}: {}", String::from_utf8_lossy(&run.stderr));
    }
}

#[tokio::test]
async fn empty_required_arguments_are_rejected_and_nullable_ones_accept_null() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    for (name, empty) in [
        ("question", json!("")),
        ("question", json!(null)),
        ("question", json!([])),
        ("options", json!([])),
        ("options", json!(null)),
        ("options", json!("")),
    ] {
        let asked = question(json!({ name: empty }));
        assert!(client.post("/api/poll", &asked).await.refused(400).contains(name), "{asked}");
        let result = client.tool("poll_question", asked.clone()).await;
        assert_eq!(result["isError"], true, "{asked}");
        assert!(result["content"][0]["text"].as_str().unwrap().contains(name), "{result}");
    }
    for (path, name, value) in [
        ("/api/account/confirmation", "above_usd", json!(0.5)),
        ("/api/account/webhook", "url", json!("https://example.com/hook")),
    ] {
        client.post(path, &json!({ name: value })).await.expect(200);
        assert_eq!(client.post(path, &json!({ name: null })).await.expect(200)[name], Value::Null);
        client.post(path, &json!({})).await.refused(400);
        client.post(path, &json!({ name: [] })).await.refused(400);
    }
}

#[tokio::test]
async fn unknown_argument_error_names_the_nearest() {
    let service = Setup::scripted(Script::panel(5)).boot().await;
    let client = service.user().await;
    for (given, nearest) in [
        ("num_models", "models"),
        ("maxCost", "max_cost_usd"),
        ("idempotencyKey", "idempotency_key"),
        ("includes", "include"),
        ("voters", ""),
    ] {
        let result = client.tool("poll_question", question(json!({ given: 3 }))).await;
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(result["isError"], true, "{result}");
        assert!(text.contains(given) && text.contains(nearest) && !text.contains("prompt"), "{text}");
        assert_eq!(result["structuredContent"]["error"]["code"], "invalid_input");
    }
    for (given, nearest) in [("num_models", "models"), ("maxCost", "max_cost_usd")] {
        let refused = client.skill("poll_question", &question(json!({ given: 3 }))).await;
        let text = refused["error"]["message"].as_str().unwrap();
        assert!(text.contains(given) && text.contains(nearest), "{refused}");
    }
    assert_eq!(service.upstream().total_calls(), 0, "a model was asked");
    let dry = client.post("/api/poll/dry-run", &question(json!({ "num_models": 3 }))).await.expect(200);
    assert!(dry["estimates"]["notices"].to_string().contains("did you mean models?"), "{dry}");
    let poll = client.tool("poll_question", question(json!({}))).await;
    // Aliases of an argument are still accepted.
    let read = json!({ "resultId": poll["structuredContent"]["poll_id"] });
    assert_eq!(client.tool("get_poll_result", read).await["isError"], false);
}

#[tokio::test]
async fn one_error_lists_every_mistake() {
    let service = Service::start().await;
    let client = service.user().await;
    for (wrong, named) in [
        (json!({ "options": ["one"], "confidence_threshold": 7 }), vec!["options", "confidence_threshold"]),
        (json!({ "num_models": 3, "options": ["one"] }), vec!["num_models", "options"]),
        (json!({ "include": "costs", "max_cost_usd": "much" }), vec!["include", "max_cost_usd"]),
        (json!({ "a_b": 1, "c_d": 1 }), vec!["a_b", "c_d"]),
    ] {
        let result = client.tool("poll_question", question(wrong.clone())).await;
        let text = result["content"][0]["text"].as_str().unwrap();
        for name in named {
            assert!(text.contains(name), "{name} in {text}");
            let fields = result["structuredContent"]["error"].to_string();
            assert!(fields.contains(name), "{name} in {fields}");
        }
    }
    let missing = client.tool("poll_question", json!({ "confidence_threshold": 7 })).await;
    let text = missing["content"][0]["text"].as_str().unwrap();
    for name in ["question is missing", "options is missing", "confidence_threshold"] {
        assert!(text.contains(name), "{name} in {text}");
    }
    let body = json!({ "prompt": "Which is the better one?", "options": 3, "pace": "x" });
    let text = client.post("/api/poll", &body).await.refused(400);
    assert!(text.contains("options") && text.contains("pace") && !text.contains("question"), "{text}");
}

#[tokio::test]
async fn the_first_tools_have_only_the_arguments_of_most_polls() {
    let service = Service::start().await;
    let client = service.user().await;
    let listed = async |path: &str| {
        client.rpc(path, "tools/list", json!({})).await.expect(200)["result"]["tools"].clone()
    };
    let (core, all) = (listed("/api/mcp").await, listed("/api/mcp?toolsets=all").await);
    let members = |tools: &Value| tools[0]["inputSchema"]["properties"].clone();
    for name in ["scale", "panel", "notify_url", "reasons", "complete", "on_tie"] {
        assert!(members(&core).get(name).is_none(), "{name}");
        assert!(members(&all)[name]["description"].is_string(), "{name}");
    }
    for tools in [&core, &all] {
        assert!(!tools.to_string().contains("x-"), "{tools}");
        let rule = tools[0]["inputSchema"]["description"].as_str().unwrap();
        assert_eq!(rule, "null omits an optional field.");
        let reads = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "get_poll_result").unwrap();
        let rule = reads["inputSchema"]["description"].as_str().unwrap();
        assert!(rule.contains("null") && rule.contains("[]"), "{rule}");
        let names: Vec<&str> =
            tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        let preset = members(tools)["preset"].to_string();
        for entry in ep_tools::TOOLS.iter().filter(|entry| entry.spec.agents != Agents::None) {
            let name = entry.spec.name;
            assert!(!preset.contains(name) || names.contains(&name), "{name} in {preset}");
        }
    }
    assert!(!members(&core)["preset"].to_string().contains("list_profiles"));
    // Unlisted arguments are still accepted.
    let with_url = question(json!({ "notify_url": "https://example.com/hook", "dry_run": true }));
    assert_eq!(client.tool("poll_question", with_url).await["isError"], false);
}

#[tokio::test]
async fn structured_content_is_short_and_complete() {
    let script = Script { votes_for: VoteFor::Hash, ..Script::panel(50) };
    let service = Setup::scripted(script).boot().await;
    let client = service.user().await;
    let long: Vec<String> = (0..10).map(|n| format!("{n}{}", " or something else".repeat(11))).collect();
    // Such JSON has 3.2 bytes per token (o200k_base, `scripts/long/tokens`).
    for (options, tokens) in [(json!(["Tea", "Water", "Coffee"]), 200), (json!(long), 450)] {
        let text = "Which of them is the better one?";
        let asked = client.tool("poll_question", json!({ "question": text, "options": options })).await;
        let content = &asked["structuredContent"];
        let size = content.to_string().len() * 10 / 32;
        assert!(size <= tokens, "about {size} tokens: {content}");
        for echoed in ["question", "options", "preset", "pace", "confidence_threshold", "max_cost_usd"] {
            assert!(content.get(echoed).is_none(), "{echoed} in {content}");
        }
        assert_eq!(content["caveat"], "Agreement among models, not truth.");
        assert!(content["notices"].is_array(), "{content}");
        let (id, url) = (content["poll_id"].as_str().unwrap(), content["result_url"].as_str().unwrap());
        assert!(url.ends_with(&format!("/api/results/{id}")), "{url}");
        let total: u64 =
            content["tally"].as_object().unwrap().values().map(|votes| votes.as_u64().unwrap()).sum();
        assert!(total > 0);
        let read = client.tool("get_poll_result", json!({ "poll_id": id })).await;
        let read = &read["structuredContent"];
        assert_eq!((&read["question"], &read["options"]), (&json!(text), &options));
        assert_eq!(read["caveat"], content["caveat"]);
        assert_eq!(read["outcome"], content["outcome"]);
    }
    let running =
        client.tool("poll_question", question(json!({ "wait_ms": 0 }))).await["structuredContent"].clone();
    assert!(running["caveat"].is_string() && running.get("question").is_none(), "{running}");
}

#[tokio::test]
async fn cacheable_results_have_scope_and_lifetime() {
    let service = Service::start().await;
    let client = service.user().await;
    let list = client.mcp(json!({}), "tools/list", None, json!({})).await;
    assert!(list.header("vary").to_lowercase().contains("x-mcp-toolsets"), "{}", list.header("vary"));
    assert_eq!(list.json()["result"]["cacheScope"], "private");
    for uri in ["ensemble-poll://guide", "ui://poll/result"] {
        let read =
            client.mcp(json!({}), "resources/read", Some(uri), json!({ "uri": uri })).await.expect(200);
        assert!(read["result"]["ttlMs"].as_u64().unwrap() >= 60_000, "{uri}: {}", read["result"]["ttlMs"]);
        assert_eq!(read["result"]["cacheScope"], "public");
    }
}

#[tokio::test]
async fn stdio_lists_account_free_tools_and_exits_at_end_of_input() {
    let data = tempfile::tempdir().unwrap();
    let mut server = StdioServer::start(data.path(), &["--toolsets", "all"], "50").await;
    server.send(json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" })).await;
    server.call(3, "poll_question", question(json!({ "wait_ms": 0 }))).await;
    server.call(4, "poll_question", question(json!({}))).await;
    let (mut listed, mut runs) = (None, false);
    while listed.is_none() || !runs {
        let message: Value = serde_json::from_str(&server.line().await).unwrap();
        if message["id"] == 2 {
            listed = Some(message["result"]["tools"].clone());
        }
        if message["id"] == 3 {
            assert_eq!(message["result"]["structuredContent"]["status"], "running", "{message}");
            runs = true;
        }
    }
    let listed = listed.unwrap();
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"poll_question") && names.contains(&"estimate_poll"), "{names:?}");
    for needs_account in ["get_balance", "list_polls", "submit_feedback", "export_account", "delete_account"]
    {
        assert!(!names.contains(&needs_account), "{needs_account} in {names:?}");
    }
    let closed = Instant::now();
    let ended = server.close().await;
    let took = closed.elapsed();
    // The promise is one second. The life of an idle server is the allowance for a loaded machine.
    let (idle_data, started) = (tempfile::tempdir().unwrap(), Instant::now());
    let mut idle = StdioServer::start(idle_data.path(), &["--toolsets", "all"], "1").await;
    idle.line().await;
    assert!(idle.close().await.success());
    let limit = Duration::from_secs(1) + started.elapsed();
    assert!(ended.success() && took < limit, "{ended}: {took:?} of {limit:?}");
    // A call that waits is cancelled with its client; a poll that was answered as running is not.
    let database = rusqlite::Connection::open(data.path().join("ensemble-poll.db")).unwrap();
    let mut polls = database.prepare("SELECT closing FROM polls ORDER BY closing IS NULL DESC").unwrap();
    let closings = polls.query_map([], |row| row.get(0)).unwrap();
    let closings: Vec<Option<String>> = closings.map(Result::unwrap).collect();
    assert!(closings.len() == 2 && closings[0].is_none(), "{closings:?}");
    assert!(closings[1].as_ref().is_some_and(|closing| closing.contains("null")), "{closings:?}");
}

#[tokio::test]
async fn calls_of_agent_frameworks_open_polls() {
    // Recorded by `scripts/long/agents`.
    let recorded: Value = serde_json::from_str(include_str!("agent_calls.json")).unwrap();
    let recorded = recorded.as_object().unwrap();
    assert!(recorded.len() >= 6, "{:?}", recorded.keys());
    assert!(
        recorded["crewai"]["arguments"]["preset"].is_null()
            && recorded["crewai"]["arguments"].get("preset").is_some()
    );
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    for (framework, params) in recorded {
        let reply = client.rpc("/api/mcp", "tools/call", params.clone()).await.expect(200);
        assert_eq!(reply["result"]["isError"], false, "{framework}: {reply}");
        assert_eq!(
            reply["result"]["structuredContent"]["tally"].as_object().unwrap().len(),
            2,
            "{framework}"
        );
    }
}
