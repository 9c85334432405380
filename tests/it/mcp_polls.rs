//! Polls over MCP: as tasks, as resources, cancelled, repeated, and read by other clients.

use std::time::Duration;

use ep_polling::MicroUsd;
use ep_upstream::testing::Script;
use serde_json::{Value, json};

use crate::harness::{Client, Engine, Setup, question, until};

/// Models with this latency that never agree.
fn models(count: usize, latency_ms: u64) -> Setup {
    let mut script = Script::divided_panel(count);
    script.default.latency = Duration::from_millis(latency_ms);
    Setup::scripted(script)
}

fn ask(members: Value) -> Value {
    json!({ "name": "poll_question", "arguments": question(members) })
}

/// The capabilities of a client that supports tasks.
fn tasks() -> Value {
    json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } })
}

async fn task(client: &Client, method: &str, id: &Value) -> Value {
    let name = id.as_str().unwrap();
    client.mcp(tasks(), method, Some(name), json!({ "taskId": id })).await.json()
}

#[tokio::test]
async fn poll_is_a_task_for_clients_with_task_support() {
    let service = models(10, 300).boot().await;
    let client = service.user().await;
    let all = json!({ "confidence_threshold": 1, "pace": "fast" });
    let created =
        client.mcp(tasks(), "tools/call", Some("poll_question"), ask(all.clone())).await.expect(200);
    let created = &created["result"];
    assert_eq!(
        (&created["resultType"], &created["status"]),
        (&json!("task"), &json!("working")),
        "{created}"
    );
    assert_eq!((&created["pollIntervalMs"], &created["ttlMs"]), (&json!(2000), &json!(null)));
    let id = &created["taskId"];

    // Only its owner can access it.
    let other = service.user().await;
    for method in ["tasks/get", "tasks/cancel"] {
        assert_eq!(task(&other, method, id).await["error"]["code"], -32602, "{method}");
        assert_eq!(task(&client, method, &json!("EP-20260131-7KQ2M4X9TB")).await["error"]["code"], -32602);
    }
    // A client that does not declare tasks gets none and cannot request one.
    let plain =
        client.mcp(json!({}), "tools/call", Some("poll_question"), ask(json!({ "wait_ms": 0 }))).await;
    assert_eq!(plain.expect(200)["result"]["structuredContent"]["status"], "running");
    let undeclared = client.mcp(json!({}), "tasks/get", id.as_str(), json!({ "taskId": id })).await;
    assert_eq!(undeclared.json()["error"]["code"], -32021);

    let read = async || task(&client, "tasks/get", id).await["result"].clone();
    let done = until("the task has ended", read, |task| {
        assert_eq!(task["resultType"], "complete");
        task["status"] != "working"
    })
    .await;
    assert_eq!(done["status"], "completed");
    assert_eq!(done["result"]["structuredContent"]["outcome"], "tie");
    assert!(done["result"]["content"][0]["text"].as_str().unwrap().contains(" tie with "), "{done}");
    assert_eq!(done["createdAt"], created["createdAt"]);
    assert!(done["lastUpdatedAt"].as_str() > done["createdAt"].as_str());
    // Cancelling a finished task succeeds and changes nothing.
    assert_eq!(task(&client, "tasks/cancel", id).await["result"]["resultType"], "complete");
    assert_eq!(task(&client, "tasks/get", id).await["result"]["status"], "completed");
}

#[tokio::test]
async fn task_can_be_cancelled() {
    let service = models(40, 200).with("EP_UPSTREAM_MAX_CONCURRENT", "2").boot().await;
    let client = service.user().await;
    let asked = ask(json!({ "confidence_threshold": 1, "pace": "thrifty" }));
    let created = client.mcp(tasks(), "tools/call", Some("poll_question"), asked).await.expect(200);
    let id = &created["result"]["taskId"];
    task(&client, "tasks/cancel", id).await;
    let cancelled = task(&client, "tasks/get", id).await["result"].clone();
    assert_eq!(cancelled["status"], "cancelled", "{cancelled}");
    assert!(service.upstream().total_calls() < 40);
}

#[tokio::test]
async fn disconnect_cancels_a_request_unless_it_is_durable() {
    let service = models(40, 200).with("EP_UPSTREAM_MAX_CONCURRENT", "2").boot().await;
    let client = service.user().await;
    let polls = async || client.get("/api/polls").await.expect(200)["polls"].as_array().unwrap().clone();
    let asked = |members: Value| {
        let mut all = json!({ "confidence_threshold": 1, "pace": "thrifty" });
        all.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        ask(all)
    };
    let with_progress = |mut params: Value| {
        params["_meta"] = json!({ "progressToken": "p" });
        params
    };
    let modern = |params: Value| {
        client.mcp_request("/api/mcp", json!({}), "tools/call", Some("poll_question"), params)
    };
    let legacy = |params: Value| {
        client
            .request(reqwest::Method::POST, "/api/mcp")
            .header("accept", "application/json, text/event-stream")
            .json(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }))
    };
    // Before 2026-07-28, a disconnect did not cancel a request.
    let cases = [
        (modern(asked(json!({}))), true),
        (modern(asked(json!({ "idempotency_key": "lasts" }))), false),
        (modern(asked(json!({ "notify_url": "https://example.com/hook" }))), false),
        (legacy(asked(json!({}))), false),
        (modern(with_progress(asked(json!({ "idempotency_key": "lasts too" })))), false),
        (legacy(with_progress(asked(json!({})))), false),
        (modern(with_progress(asked(json!({})))), true),
    ];
    let status = async |id: &str| client.get(&format!("/api/polls/{id}/status")).await.expect(200);
    let mut ids = Vec::new();
    for (number, (request, taken_back)) in cases.into_iter().enumerate() {
        let sent = tokio::spawn(async move {
            // Reads at least the first event of a stream.
            let mut response = request.send().await.unwrap();
            response.chunk().await.unwrap();
            std::future::pending::<()>().await;
        });
        until("another poll is open", async || polls().await.len(), |count| *count > number).await;
        let id = polls().await[0]["poll_id"].as_str().unwrap().to_owned();
        sent.abort();
        if taken_back {
            until("the poll is cancelled", async || status(&id).await, |status| status["cancelled"] == true)
                .await;
        }
        ids.push((id, taken_back));
    }
    // The last case is cancelled, so the earlier disconnects were noticed as well.
    for (number, (id, taken_back)) in ids.iter().enumerate() {
        assert_eq!(status(id).await["cancelled"], *taken_back, "case {number}");
        client.post(&format!("/api/polls/{id}/cancel"), &json!({})).await.expect(200);
    }
}

#[tokio::test]
async fn repeated_request_returns_its_running_poll() {
    let service = models(10, 400).boot().await;
    let client = service.user().await;
    let asked = ask(json!({ "confidence_threshold": 1, "idempotency_key": "once" }));
    let call =
        || client.mcp_request("/api/mcp", json!({}), "tools/call", Some("poll_question"), asked.clone());
    let first = tokio::spawn(call().send());
    until("a model is called", async || service.upstream().total_calls(), |calls| *calls > 0).await;
    let again = client.send(call()).await.expect(200)["result"]["structuredContent"].clone();
    assert_eq!(again["status"], "running", "{again}");
    let first: Value = first.await.unwrap().unwrap().json().await.unwrap();
    assert_eq!(first["result"]["structuredContent"]["poll_id"], again["poll_id"]);
    assert_eq!(client.get("/api/polls").await.expect(200)["polls"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn get_poll_result_waits_for_a_running_poll() {
    let service = models(10, 300).boot().await;
    let client = service.user().await;
    let running =
        client.tool("poll_question", question(json!({ "confidence_threshold": 1, "wait_ms": 0 }))).await;
    let id = &running["structuredContent"]["poll_id"];
    let wait = |ms: u32| client.tool("get_poll_result", json!({ "poll_id": id, "wait_ms": ms }));
    assert_eq!(wait(1).await["structuredContent"]["status"], "running");
    let read = wait(20_000).await;
    assert_eq!(read["structuredContent"]["outcome"], "tie");
    assert_eq!(wait(60_001).await["isError"], true);
    let public = service.anonymous().get(&format!("/api/results/{}?wait_ms=5", id.as_str().unwrap())).await;
    assert_eq!(public.expect(200)["outcome"], "tie");
}

#[tokio::test]
async fn poll_is_a_resource() {
    let service = Setup::demo().boot().await;
    let (client, other) = (service.user().await, service.user().await);
    let templates = client.mcp(json!({}), "resources/templates/list", None, json!({})).await.expect(200);
    assert_eq!(templates["result"]["resourceTemplates"][0]["uriTemplate"], "poll://{poll_id}");
    let poll = client.tool("poll_question", question(json!({ "private": true }))).await;
    let link = &poll["content"][1];
    assert_eq!(link["type"], "resource_link");
    let uri = link["uri"].as_str().unwrap();
    let read = async |client: &Client, uri: &str| {
        client.mcp(json!({}), "resources/read", Some(uri), json!({ "uri": uri })).await.json()
    };
    let read_by_owner = read(&client, uri).await["result"].clone();
    let contents = &read_by_owner["contents"];
    assert_eq!(
        (&contents[0]["mimeType"], &contents[1]["mimeType"]),
        (&json!("text/markdown"), &json!("application/json"))
    );
    assert!(contents[0]["text"].as_str().unwrap().starts_with("# Which of the two"));
    let value: Value = serde_json::from_str(contents[1]["text"].as_str().unwrap()).unwrap();
    assert_eq!(value["tally"], poll["structuredContent"]["tally"]);
    assert!(value["votes"].is_array());
    assert_eq!((&read_by_owner["cacheScope"], &read_by_owner["ttlMs"]), (&json!("private"), &json!(0)));
    for (reader, uri) in [(&other, uri), (&client, "poll://EP-1"), (&client, "poll://"), (&client, "poll:/")]
    {
        let refused = read(reader, uri).await;
        assert_eq!(
            (&refused["error"]["code"], &refused["error"]["data"]["uri"]),
            (&json!(-32602), &json!(uri))
        );
    }

    let complete = async |reference: Value, name: &str, value: &str| {
        let params = json!({ "ref": reference, "argument": { "name": name, "value": value } });
        client.mcp(json!({}), "completion/complete", None, params).await.json()
    };
    let polls = json!({ "type": "ref/resource", "uri": "poll://{poll_id}" });
    let ids = complete(polls, "poll_id", "ep-").await;
    assert_eq!(ids["result"]["completion"]["values"], json!([poll["structuredContent"]["poll_id"]]));
    let prompt = || json!({ "type": "ref/prompt", "name": "poll_models" });
    let presets = complete(prompt(), "preset", "f").await["result"]["completion"]["values"].clone();
    assert!(presets.as_array().unwrap().contains(&json!("fast_and_cheap")), "{presets}");
    let profiles = complete(prompt(), "profile", "").await["result"]["completion"]["values"].clone();
    assert_eq!(profiles, json!(["conservative", "balanced", "quick"]));
    assert_eq!(complete(prompt(), "question", "").await["result"]["completion"]["values"], json!([]));
    let unknown = complete(json!({ "type": "ref/prompt", "name": "no" }), "x", "").await;
    assert_eq!(unknown["error"]["code"], -32602);
}

#[tokio::test]
async fn toolsets_are_selected_by_path_header_or_query() {
    let service = Setup::demo().boot().await;
    let client = service.user().await;
    let names = async |path: &str, header: &str| {
        let mut request = client.mcp_request(path, json!({}), "tools/list", None, json!({}));
        if !header.is_empty() {
            request = request.header("x-mcp-toolsets", header);
        }
        let tools = client.send(request).await.expect(200)["result"]["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let core = names("/api/mcp", "").await;
    assert_eq!(core, ["poll_question", "get_poll_result", "get_balance"]);
    let all = names("/api/mcp/x/all", "").await;
    assert!(all.len() > 8 && all.contains(&"cancel_poll".to_owned()), "{all:?}");
    assert_eq!(names("/api/mcp", "all").await, all);
    assert_eq!(names("/api/mcp?toolsets=all", "").await, all);
    assert_eq!(names("/api/mcp/x/core?toolsets=all", "all").await, core);
    let reading = names("/api/mcp/x/read-only", "").await;
    assert!(reading.contains(&"list_models".to_owned()), "{reading:?}");
    assert!(!reading.contains(&"poll_question".to_owned()) && !reading.contains(&"cancel_poll".to_owned()));
    assert_eq!(names("/api/mcp", "core, read-only").await, core[1..]);
    // A connection is read-only if anything says so.
    for (path, header) in [("/api/mcp/x/all", "read-only"), ("/api/mcp/x/all?toolsets=read-only", "")] {
        let listed = names(path, header).await;
        assert!(!listed.contains(&"poll_question".to_owned()), "{path} {header}: {listed:?}");
    }
    let asked = client.mcp_request(
        "/api/mcp/x/read-only",
        json!({}),
        "tools/call",
        Some("poll_question"),
        ask(json!({})),
    );
    let refused = client.send(asked).await.json();
    assert!(refused["error"]["message"].as_str().unwrap().contains("read-only"), "{refused}");
    let unknown =
        client.send(client.mcp_request("/api/mcp/x/every", json!({}), "tools/list", None, json!({}))).await;
    assert_eq!(unknown.status, 400);
    assert!(
        unknown.text.contains("core, polls, labels, account, all, read-only, not every"),
        "{}",
        unknown.text
    );
}

#[tokio::test]
async fn user_id_is_accepted_only_if_enabled_and_for_accounts_without_money() {
    for (accepted, engine) in [(false, Engine::Sqlite), (true, Engine::Sqlite), (true, Engine::Postgres)] {
        let setup = Setup::demo().with("EP_MCP_ACCEPT_USER_ID", if accepted { "true" } else { "false" });
        let service = setup.on(engine).boot().await;
        let (user, client) = service.user_with(MicroUsd::ZERO).await;
        let by_id = client.with_key(&user.to_string());
        let free = || ask(json!({ "preset": "free" }));
        let reply = by_id.mcp(json!({}), "tools/call", Some("poll_question"), free()).await;
        assert_eq!(reply.status, if accepted { 200 } else { 401 });
        if accepted {
            let id = &reply.json()["result"]["structuredContent"]["poll_id"];
            assert_eq!(client.get("/api/polls").await.expect(200)["polls"][0]["poll_id"], *id);
            // The user id allows only polls.
            let change = json!({ "name": "set_confirmation", "arguments": { "above_usd": 1 } });
            let changed = by_id.mcp(json!({}), "tools/call", Some("set_confirmation"), change).await;
            assert!(changed.status == 403 || changed.json()["result"]["isError"] == true, "{}", changed.text);
            assert_eq!(client.get("/api/account/confirmation").await.expect(200)["above_usd"], Value::Null);
        }
        // An account with money rejects the user id alone, because the id is not secret.
        service.app.accounts.credit(user, MicroUsd::new(1), "a cent's part").await.unwrap();
        for (tool, arguments) in [("poll_question", free()), ("poll_question", ask(json!({})))] {
            let reply = by_id.mcp(json!({}), "tools/call", Some(tool), arguments).await;
            let said = reply.rpc_refused(401);
            assert_eq!(said.contains("without money"), accepted, "{said}");
        }
        let (rich, _) = service.user_with(MicroUsd::STARTER_CREDIT).await;
        let by_rich_id = client.with_key(&rich.to_string());
        assert_eq!(by_rich_id.mcp(json!({}), "tools/list", None, json!({})).await.status, 401);
        // Other routes and unknown ids are always rejected.
        by_id.get("/api/polls").await.refused(401);
        by_id.poll(json!({})).await.refused(401);
        let nobody = client.with_key("0191f2a4-7b1c-4d3e-8f5a-6b7c8d9e0f1a");
        assert_eq!(nobody.mcp(json!({}), "tools/list", None, json!({})).await.status, 401);
    }
}

/// Calls a tool as a client that can ask its user in these ways.
async fn asking(client: &Client, ways: Value, mut params: Value, answer: Option<(&Value, Value)>) -> Value {
    if let Some((asked, responses)) = answer {
        params["requestState"] = asked["requestState"].clone();
        params["inputResponses"] = responses;
    }
    let capabilities = json!({ "elicitation": ways });
    client.mcp(capabilities, "tools/call", Some("poll_question"), params).await.expect(200)["result"].clone()
}

async fn polls_over_a_limit_are_confirmed(engine: Engine) {
    let service = models(10, 5).on(engine).boot().await;
    let client = service.user().await;
    assert_eq!(client.get("/api/account/confirmation").await.expect(200), json!({ "above_usd": null }));
    let set = client.post("/api/account/confirmation", &json!({ "above_usd": 0.0001 })).await.expect(200);
    assert_eq!(set, client.get("/api/account/confirmation").await.expect(200));
    let polls = async || client.get("/api/polls").await.expect(200)["polls"].as_array().unwrap().len();

    let asked = asking(&client, json!({}), ask(json!({})), None).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let shown = &asked["inputRequests"]["confirm_cost"];
    assert_eq!((&shown["method"], &shown["params"]["mode"]), (&json!("elicitation/create"), &json!("form")));
    assert!(shown["params"]["message"].as_str().unwrap().contains("Which of the two"));
    assert_eq!((polls().await, service.upstream().total_calls()), (0, 0));

    let yes = || json!({ "confirm_cost": { "action": "accept", "content": { "confirm_cost": true } } });
    for no in [
        json!({ "confirm_cost": { "action": "accept", "content": { "confirm_cost": false } } }),
        json!({ "confirm_cost": { "action": "decline" } }),
        json!({ "confirm_cost": { "action": "cancel" } }),
        json!({ "confirm_cost": true }),
    ] {
        let declined = asking(&client, json!({}), ask(json!({})), Some((&asked, no))).await;
        assert_eq!(declined["isError"], true);
        assert!(declined["content"][0]["text"].as_str().unwrap().contains("no model was asked"));
    }
    // A response to another question, of another account, or with a foreign state is rejected.
    let other = ask(json!({ "pace": "fast" }));
    assert_eq!(asking(&client, json!({}), other, Some((&asked, yes()))).await["isError"], true);
    let stranger = service.user().await;
    stranger.post("/api/account/confirmation", &json!({ "above_usd": 0.0001 })).await.expect(200);
    assert_eq!(asking(&stranger, json!({}), ask(json!({})), Some((&asked, yes()))).await["isError"], true);
    let made_up = json!({ "requestState": "00".repeat(60) });
    assert_eq!(asking(&client, json!({}), ask(json!({})), Some((&made_up, yes()))).await["isError"], true);
    let wrong_name = json!({ "another": { "action": "accept" } });
    let again = asking(&client, json!({}), ask(json!({})), Some((&asked, wrong_name))).await;
    assert_eq!(again["resultType"], "input_required");
    assert_eq!(polls().await, 0);

    let poll = asking(&client, json!({ "form": {} }), ask(json!({})), Some((&asked, yes()))).await;
    assert_eq!(poll["isError"], false, "{poll}");
    assert_eq!(polls().await, 1);
    // Cheap polls, dry runs, and clients that cannot ask their user need no confirmation.
    for (ways, members) in [
        (json!({}), json!({ "max_cost_usd": 0.0001 })),
        (json!({}), json!({ "dry_run": true })),
        (json!({ "url": {} }), json!({})),
    ] {
        assert_eq!(asking(&client, ways, ask(members), None).await["resultType"], "complete");
    }
    assert_eq!(client.tool("poll_question", question(json!({}))).await["isError"], false);
    client.post("/api/account/confirmation", &json!({ "above_usd": null })).await.expect(200);
    assert_eq!(asking(&client, json!({}), ask(json!({})), None).await["resultType"], "complete");
    // Agents cannot raise the confirmation limit.
    let key = client.post("/api/keys", &json!({ "scope": "polls" })).await.expect(201);
    let limited = client.with_key(key["key"].as_str().unwrap());
    limited.post("/api/account/confirmation", &json!({ "above_usd": 9 })).await.refused(403);
    client.post("/api/account/confirmation", &json!({ "above_usd": 0 })).await.refused(400);
}

#[tokio::test]
async fn polls_over_a_limit_are_confirmed_on_sqlite() {
    polls_over_a_limit_are_confirmed(Engine::Sqlite).await;
}

#[tokio::test]
async fn polls_over_a_limit_are_confirmed_on_postgres() {
    polls_over_a_limit_are_confirmed(Engine::Postgres).await;
}

#[tokio::test]
async fn empty_balance_links_to_the_funding_page() {
    let service = models(10, 5).with("EP_ADD_FUNDS_URL", "https://example.com/funds").boot().await;
    let (user, client) = service.user_with(MicroUsd::ZERO).await;
    let asked = asking(&client, json!({ "url": {} }), ask(json!({})), None).await;
    let page = &asked["inputRequests"]["add_funds"]["params"];
    assert_eq!(
        (&page["mode"], &page["url"]),
        (&json!("url"), &json!("https://example.com/funds")),
        "{asked}"
    );
    // A retry without funds reports the missing funds. A client that cannot show pages gets the error at once.
    let accepted = || json!({ "add_funds": { "action": "accept" } });
    for answer in [Some((&asked, accepted())), None] {
        let ways = if answer.is_some() { json!({ "url": {} }) } else { json!({}) };
        let refused = asking(&client, ways, ask(json!({})), answer).await;
        assert_eq!(refused["structuredContent"]["error"]["code"], "insufficient_balance", "{refused}");
    }
    service.app.accounts.credit(user, MicroUsd::new(1_000_000), "test").await.unwrap();
    let poll = asking(&client, json!({ "url": {} }), ask(json!({})), Some((&asked, accepted()))).await;
    assert_eq!((&poll["resultType"], &poll["isError"]), (&json!("complete"), &json!(false)));
}
