//! MCP over HTTP, both eras on one endpoint, and over stdio.

use std::process::Stdio;
use std::time::Duration;

use ep_kernel::Agents;
use ep_polling::MicroUsd;
use ep_upstream::testing::{Action, Behaviour, Script, VoteFor};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::harness::{Client, MCP_VERSION, Service, Setup, StdioServer, example, question, until};

/// Makes a 2026-07-28 request as a client without optional capabilities.
async fn modern(client: &Client, method: &str, name: Option<&str>, params: Value) -> (u16, Value) {
    let reply = client.mcp(json!({}), method, name, params).await;
    (reply.status, reply.json())
}

#[tokio::test]
async fn initialize_era() {
    let service = Service::start().await;
    let client = service.user().await;
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
    let result = client.rpc("/api/mcp", "initialize", hello).await.expect(200)["result"].clone();
    assert_eq!(
        (&result["protocolVersion"], &result["serverInfo"]["name"]),
        (&json!("2025-11-25"), &json!("ensemble-poll"))
    );
    assert!(result["instructions"].as_str().unwrap().contains("poll_id"));
    let tools = client.rpc("/api/mcp", "tools/list", json!({})).await.expect(200)["result"]["tools"].clone();
    let names: Vec<&str> =
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["poll_question", "get_poll_result", "get_balance"]);

    let poll = client.tool("poll_question", question(json!({}))).await;
    assert_eq!(poll["isError"], false);
    let structured = &poll["structuredContent"];
    assert_eq!(structured["caveat"], "Agreement among models, not truth.");
    let text = poll["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("won") && text.contains(structured["poll_id"].as_str().unwrap()), "{text}");
    assert!(structured.get("votes").is_none() && structured["tally"].is_object());
    let result = client.tool("get_poll_result", json!({ "poll_id": structured["poll_id"] })).await;
    assert_eq!(result["structuredContent"]["tally"], structured["tally"]);
}

#[tokio::test]
async fn stateless_era() {
    let service = Service::start().await;
    let client = service.user().await;
    let (status, discovered) = modern(&client, "server/discover", None, json!({})).await;
    assert_eq!(status, 200);
    assert!(discovered["result"]["supportedVersions"].as_array().unwrap().contains(&json!(MCP_VERSION)));
    assert_eq!(
        (&discovered["result"]["ttlMs"], &discovered["result"]["cacheScope"]),
        (&json!(300_000), &json!("public"))
    );
    let (_, tools) = modern(&client, "tools/list", None, json!({})).await;
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 3);
    assert_eq!(tools["result"]["ttlMs"], 300_000);
    let (_, balance) =
        modern(&client, "tools/call", Some("get_balance"), json!({ "name": "get_balance", "arguments": {} }))
            .await;
    assert_eq!(balance["result"]["structuredContent"]["balance"], "$1.00");
    assert_eq!(balance["result"]["resultType"], "complete");
    assert_eq!(balance["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "ensemble-poll");
    let (_, prompts) = modern(&client, "prompts/list", None, json!({})).await;
    assert_eq!(prompts["result"]["prompts"][0]["name"], "poll_models");
    assert_eq!(prompts["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "ensemble-poll");
    let (_, read) = modern(
        &client,
        "resources/read",
        Some("ensemble-poll://guide"),
        json!({ "uri": "ensemble-poll://guide" }),
    )
    .await;
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("poll_question"));
    assert_eq!(read["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "ensemble-poll");
    let (status, unknown) = modern(&client, "no/such", None, json!({})).await;
    assert_eq!((status, unknown["error"]["code"].as_i64()), (404, Some(-32601)));
}

#[tokio::test]
async fn tool_list_is_short_and_correct() {
    let service = Service::start().await;
    let client = service.user().await;
    let tools = client.rpc("/api/mcp", "tools/list", json!({})).await.expect(200)["result"]["tools"].clone();
    // Such JSON has about four bytes per token, and 4.24 for all tools (o200k_base: about 1,250 and 4,454 tokens).
    let tokens = |tools: &Value| tools.to_string().len() / 4;
    assert!(tokens(&tools) <= 1500, "the tool list takes about {} tokens", tokens(&tools));
    let mut inputs = tools.clone();
    for tool in inputs.as_array_mut().unwrap() {
        tool.as_object_mut().unwrap().remove("outputSchema");
    }
    assert!(tokens(&inputs) <= 900, "without output schemas it takes about {} tokens", tokens(&inputs));
    let hints = |index: usize| {
        let hints = &tools[index]["annotations"];
        ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]
            .map(|hint| hints[hint].as_bool().unwrap())
    };
    assert_eq!(hints(0), [false, false, false, true]);
    assert_eq!(hints(1), [true, false, true, false]);
    assert_eq!(hints(2), [true, false, true, false]);
    let input = &tools[0]["inputSchema"];
    let schema = input.to_string();
    for noise in [
        "\"null\"",
        ":null",
        "$schema",
        "$ref",
        "\"uint",
        "\"title\"",
        "deprecated",
        "prompt",
        "oneOf",
        "const",
    ] {
        assert!(!schema.contains(noise), "{noise} in {schema}");
    }
    assert!(schema.contains("idempotency_key"));
    assert_eq!(input["required"], json!(["question", "options"]));
    let presets = client.get("/api/profiles").await.expect(200)["presets"].clone();
    assert_eq!(input["properties"]["preset"]["enum"], presets);
    assert_eq!(input["properties"]["pace"]["enum"], json!(["thrifty", "balanced", "fast"]));
    let description = tools[0]["description"].as_str().unwrap();
    for expected in ["private", "poll_id", "partial", "45 s", "wait_ms", "not what is true"] {
        assert!(description.contains(expected), "{expected} in {description}");
    }
    let all =
        client.rpc("/api/mcp?toolsets=all", "tools/list", json!({})).await.expect(200)["result"]["tools"]
            .clone();
    let names: Vec<&str> =
        all.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(
        names.contains(&"estimate_poll") && !names.contains(&"poll_free") && !names.contains(&"get_health"),
        "{names:?}"
    );
    let tokens = all.to_string().len() * 100 / 424;
    assert!(tokens <= 4500, "all tools take about {tokens} tokens");
    let mut listed = 3;
    for (set, own, other) in [
        ("polls", "estimate_poll", "create_batch"),
        ("labels", "create_batch", "estimate_poll"),
        ("account", "delete_account", "create_batch"),
    ] {
        let tools = client.rpc(&format!("/api/mcp/x/{set}"), "tools/list", json!({})).await.expect(200);
        let tools = tools["result"]["tools"].as_array().unwrap().clone();
        let has = |name: &str| tools.iter().any(|tool| tool["name"] == name);
        assert!(has("poll_question") && has(own) && !has(other), "{set}: {tools:?}");
        listed += tools.len() - 3;
    }
    assert_eq!(listed, names.len());
}

#[tokio::test]
async fn faults_are_actionable_tool_results() {
    let service = Service::start().await;
    let client = service.user().await;
    let wrong =
        client.tool("poll_question", json!({ "question": "Long enough to ask?", "options": ["one"] })).await;
    assert_eq!(wrong["isError"], true);
    assert!(wrong["content"][0]["text"].as_str().unwrap().contains("2 to 10"));
    assert_eq!(wrong["structuredContent"]["error"]["code"], "invalid_input");
    let missing = client.tool("get_poll_result", json!({ "poll_id": "EP-20260131-0000000000" })).await;
    assert_eq!(missing["structuredContent"]["error"]["code"], "not_found");
    let unknown =
        client.rpc("/api/mcp", "tools/call", json!({ "name": "nope", "arguments": {} })).await.expect(200);
    assert_eq!(unknown["error"]["code"], -32602);
    assert!(unknown["error"]["message"].as_str().unwrap().contains("poll_question"));
}

#[tokio::test]
async fn anonymous_callers_and_malformed_bodies() {
    let service = Service::start().await;
    let anonymous = service.anonymous().rpc("/api/mcp", "tools/list", json!({})).await;
    assert_eq!(anonymous.header("www-authenticate"), "Bearer realm=\"ensemble-poll\"");
    let said = anonymous.rpc_refused(401);
    assert!(said.contains("ep_k_") && said.contains("MCP client"), "{said}");
    let wrong = service.anonymous().with_key("ep_k_x").rpc("/api/mcp", "tools/list", json!({})).await;
    assert!(wrong.rpc_refused(401).contains("MCP client"));
    let client = service.user().await;
    let long = json!({ "name": "get_balance", "arguments": { "x": "x".repeat(65_536) } });
    assert!(client.rpc("/api/mcp", "tools/call", long).await.rpc_refused(413).contains("65536 bytes"));
    for (body, code) in
        [("{", -32700), ("[]", -32600), ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600)]
    {
        let request = client
            .request(Method::POST, "/api/mcp")
            .header("content-type", "application/json")
            .body(body.to_owned());
        let reply = client.send(request).await;
        assert_eq!((reply.status, reply.json()["error"]["code"].as_i64()), (400, Some(code)), "{body}");
    }
    let odd = [
        ("5", -32600, "object"),
        ("{}", -32600, "jsonrpc"),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600, "method"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, "id"),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, "id"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}"#, -32602, "params"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":5}}"#, -32602, "params._meta"),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32600, "each field may appear only once"),
        (r#"{"jsonrpc":"2.0","result":{}}"#, -32600, "this is a JSON-RPC response"),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}"#,
            -32600,
            "this is a JSON-RPC response",
        ),
    ];
    for (body, code, named) in odd {
        let request = client.request(Method::POST, "/api/mcp").body(body.to_owned());
        let reply = client.send(request).await;
        let error = reply.json()["error"].clone();
        assert_eq!((reply.status, error["code"].as_i64()), (400, Some(code)), "{body}");
        assert!(error["message"].as_str().unwrap().contains(named), "{error}");
    }
    // curl sends `Accept: */*` and no MCP headers.
    let request = client.request(Method::POST, "/api/mcp").header("accept", "*/*");
    let plain =
        client.send(request.json(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }))).await;
    assert_eq!(plain.header("content-type"), "application/json");
    plain.expect(200);
    let foreign = client.request(Method::POST, "/api/mcp").header("origin", "https://evil.example");
    let foreign =
        client.send(foreign.json(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }))).await;
    assert_eq!(foreign.header("content-type"), "application/json");
    assert_eq!(foreign.status, 403);
}

#[tokio::test]
async fn invalid_methods_and_params_are_named() {
    let service = Service::start().await;
    let client = service.user().await;
    let error = async |method: &str, params: Value| {
        let error = client.rpc("/api/mcp", method, params).await.expect(200)["error"].clone();
        (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())
    };
    for params in [json!({}), json!({ "name": 5 }), json!({ "name": "get_balance", "arguments": "{}" })] {
        let (code, message) = error("tools/call", params).await;
        assert_eq!(code, -32602);
        assert!(message.contains("arguments (an object)"), "{message}");
    }
    assert_eq!(error("prompts/get", json!({})).await.0, -32602);
    assert_eq!(error("initialize", json!({})).await.0, -32602);
    let (code, message) = error("no/such", json!({})).await;
    assert_eq!((code, message.as_str()), (-32601, "there is no method no/such"));
    let (_, missing) =
        modern(&client, "resources/read", Some("nope://x"), json!({ "uri": "nope://x" })).await;
    assert_eq!(
        (&missing["error"]["code"], &missing["error"]["data"]["uri"]),
        (&json!(-32602), &json!("nope://x"))
    );
}

#[tokio::test]
async fn headers_match_the_other_surfaces() {
    let service = Setup::demo().with("EP_RATE_LIMIT_PER_MINUTE", "100").boot().await;
    let client = service.user().await;
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "poll_question", "arguments": question(json!({})), "_meta": { "progressToken": 1 } } });
    // A client that accepts only JSON gets JSON, even with a progress token.
    let headers = [("accept", "application/json"), ("idempotency-key", "once")];
    let first = client.post_with("/api/mcp/", &call, &headers).await;
    assert_eq!(first.header("content-type"), "application/json");
    assert_eq!((first.header("idempotency-key"), first.header("ratelimit-limit")), ("once", "100"));
    let second = client.post_with("/api/mcp", &call, &headers).await;
    assert_eq!(second.header("idempotent-replayed"), "true");
    assert!(!second.header("x-request-id").is_empty());
    let poll_id = |reply: Value| reply["result"]["structuredContent"]["poll_id"].clone();
    assert_eq!(poll_id(first.expect(200)), poll_id(second.expect(200)));
}

#[tokio::test]
async fn progress_is_sent_only_on_request() {
    let mut script = Script { votes_for: VoteFor::Text("Beta".into()), ..Script::panel(50) };
    script.default.latency = Duration::from_millis(20);
    let service = Setup::scripted(script).boot().await;
    let client = service.user().await;
    let call =
        |meta: Value| json!({ "name": "poll_question", "arguments": question(json!({})), "_meta": meta });
    let quiet = client.rpc("/api/mcp", "tools/call", call(json!({}))).await;
    assert_eq!(quiet.header("content-type"), "application/json");
    let streamed = client.rpc("/api/mcp", "tools/call", call(json!({ "progressToken": "p" }))).await;
    assert_eq!(streamed.header("content-type"), "text/event-stream");
    let messages: Vec<Value> = streamed
        .text
        .lines()
        .filter_map(|line| serde_json::from_str(line.strip_prefix("data:")?.trim()).ok())
        .collect();
    let (result, notes) = messages.split_last().unwrap();
    assert_eq!(result["result"]["structuredContent"]["outcome"], "Beta");
    assert!(notes.len() > 3);
    let progress: Vec<f64> = notes.iter().map(|note| note["params"]["progress"].as_f64().unwrap()).collect();
    assert!(progress.is_sorted() && notes.iter().all(|note| note["params"]["total"] == 50.0), "{progress:?}");
}

#[tokio::test]
async fn long_poll_returns_its_id_before_the_timeout() {
    let mut script = Script { votes_for: VoteFor::Text("Beta".into()), ..Script::panel(50) };
    script.default.latency = Duration::from_millis(600);
    let service = Setup::scripted(script).with("EP_POLL_DEADLINE_MS", "60000").boot().await;
    let client = service.user().await;
    let running =
        client.tool("poll_question", question(json!({ "wait_ms": 100 }))).await["structuredContent"].clone();
    assert_eq!(running["status"], "running");
    assert!(running["poll_after_ms"].as_u64().unwrap() > 0);
    let id = json!({ "poll_id": running["poll_id"] });
    let read = async || client.tool("get_poll_result", id.clone()).await["structuredContent"].clone();
    let result = until("the poll has ended", read, |result| result["status"] != "running").await;
    assert_eq!(result["winning_option"], "Beta");
}

#[tokio::test]
async fn stdio_supports_both_eras_as_the_operator() {
    let data = tempfile::tempdir().unwrap();
    let mut server = StdioServer::start(data.path(), &[], "0").await;
    server.call(3, "get_poll_result", json!({ "poll_id": "EP-1" })).await;
    server.call(2, "poll_question", question(json!({}))).await;
    let mut text = String::new();
    let poll = loop {
        let line = server.line().await;
        let message: Value = serde_json::from_str(&line).unwrap();
        text.push_str(&line);
        if message["id"] == 3 {
            assert_eq!(message["result"]["isError"], true);
        }
        if message["id"] == 2 {
            break message["result"]["structuredContent"].clone();
        }
    };
    assert_eq!((&poll["simulated"], poll["outcome"].is_string()), (&json!(true), true), "{poll}");
    // No listener is running, so the text contains no links.
    assert!(poll.get("result_url").is_none() && !text.contains("http"), "{text}");
    assert!(server.close().await.success());
}

#[tokio::test]
async fn closing_stdio_succeeds_and_logs_have_no_colours() {
    let data = tempfile::tempdir().unwrap();
    let run = async |input: &str| {
        let mut child = tokio::process::Command::new(env!("CARGO_BIN_EXE_ep"))
            .arg("mcp")
            .env_clear()
            .env("EP_DATA_DIR", data.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).await.unwrap();
        tokio::time::timeout(Duration::from_secs(20), child.wait_with_output()).await.unwrap().unwrap()
    };
    assert!(run("").await.status.success());
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    let wrong = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "nope" } });
    let done = run(&format!("{hello}\n{wrong}\n")).await;
    assert!(done.status.success());
    assert!(!String::from_utf8_lossy(&done.stderr).contains('\u{1b}'));
}

/// Validates a value against a compact schema. Supports only the keywords of `crates/protocols/src/mcp/output.rs`.
fn fits(value: &Value, schema: &Value) -> Result<(), String> {
    for (keyword, rule) in schema.as_object().unwrap() {
        let fits = match keyword.as_str() {
            // Exactly one type, because some clients do not support lists of types.
            "type" => match rule.as_str().unwrap() {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "boolean" => value.is_boolean(),
                "null" => value.is_null(),
                "number" => value.is_number(),
                "integer" => value.is_u64() || value.is_i64(),
                other => panic!("{other} is no type"),
            },
            "enum" => rule.as_array().unwrap().contains(value),
            "anyOf" => rule.as_array().unwrap().iter().any(|schema| fits(value, schema).is_ok()),
            "properties" => {
                // A schema names the fields that models use.
                for (name, member) in value.as_object().unwrap() {
                    let Some(schema) = rule.get(name) else { continue };
                    fits(member, schema).map_err(|why| format!("{name}: {why}"))?;
                }
                true
            }
            other => return Err(format!("{other} is not expected in a compact schema")),
        };
        if !fits {
            return Err(format!("{value} is not {schema}"));
        }
    }
    Ok(())
}

#[tokio::test]
async fn structured_content_matches_the_output_schemas() {
    let service = Setup::scripted(Script::divided_panel(20)).boot().await;
    let client = service.user().await;
    let tools = client.rpc("/api/mcp?toolsets=all", "tools/list", json!({})).await.expect(200);
    let tools = tools["result"]["tools"].as_array().unwrap().clone();
    let mut checked = 0;
    let mut check = |name: &str, result: &Value, what: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        let value = &result["structuredContent"];
        assert!(value.is_object(), "{name}, {what}: {result}");
        // Only the tools that every client lists have a schema.
        if let Some(schema) = tool.get("outputSchema") {
            assert_eq!(schema["type"], "object", "{name}");
            if let Err(why) = fits(value, schema) {
                panic!("{name}, {what}: {why}");
            }
            let named = |field: &str| value.get(field).is_none() || schema["properties"].get(field).is_some();
            assert!(
                ["outcome", "tally", "confidence", "notices", "error"].into_iter().all(named),
                "{name}: {schema}"
            );
        }
        checked += 1;
    };
    let asked = |members: Value| client.tool("poll_question", question(members));
    let tie = asked(json!({ "confidence_threshold": 1, "include": ["votes"] })).await;
    assert_eq!(tie["structuredContent"]["outcome"], "tie");
    check("poll_question", &tie, "a tie with votes");
    check("poll_question", &asked(json!({ "dry_run": true })).await, "a dry run");
    check("poll_question", &asked(json!({ "models": ["maker1/*"] })).await, "named models");
    check("poll_question", &asked(json!({ "options": [] })).await, "a refusal");
    check("poll_question", &asked(json!({ "include": "costs" })).await, "a refusal by the surface");
    let (_, poor) = service.user_with(MicroUsd::ZERO).await;
    check("poll_question", &poor.tool("poll_question", question(json!({}))).await, "no money");
    let running = asked(json!({ "wait_ms": 0 })).await;
    check("poll_question", &running, "a running poll");
    let id = json!({ "poll_id": running["structuredContent"]["poll_id"] });
    check("get_poll_result", &client.tool("get_poll_result", id).await, "a poll that may run");
    service.upstream().change(|script| {
        script.default =
            Behaviour::of(vec![Action::Status(401, "{\"error\": {\"message\": \"bad key\"}}".into())]);
    });
    let none = asked(json!({})).await;
    assert_eq!(none["structuredContent"]["outcome"], "no_votes");
    check("poll_question", &none, "no votes");
    for id in [&none, &tie] {
        let id = json!({ "poll_id": id["structuredContent"]["poll_id"], "include": ["votes"] });
        let result = client.tool("get_poll_result", id).await;
        assert!(result["structuredContent"]["votes"].is_array());
        check("get_poll_result", &result, "a poll that has ended");
    }
    for entry in ep_tools::TOOLS.iter().filter(|entry| entry.spec.agents != Agents::None) {
        let name = entry.spec.name;
        check(name, &client.tool(name, example(entry)).await, "its example");
    }
    assert!(checked > 15, "{checked}");
}

#[tokio::test]
async fn result_text_is_short_and_has_votes_only_on_request() {
    let script = Script { votes_for: VoteFor::Hash, ..Script::panel(50) };
    let service = Setup::scripted(script).boot().await;
    let client = service.user().await;
    let options: Vec<String> = (0..10).map(|n| format!("{n}{}", " or something else".repeat(11))).collect();
    let of = |c: &str| (0..10).map(|n| format!("{n}{}", c.repeat(199))).collect::<Vec<_>>();
    // An ideogram is about one token, an emoji two or three.
    let tokens =
        |text: &str| text.chars().map(|c| [0.25, 0.5, 1.0, 2.5][c.len_utf8() - 1]).sum::<f64>().ceil();
    let long = [options, of("字"), of("ж"), of("😀")];
    for options in [json!(["Alpha", "Beta"])].into_iter().chain(long.map(|options| json!(options))) {
        let asked = json!({ "question": "Which of them is the better one?", "options": options });
        let poll = client.tool("poll_question", asked).await;
        let read = json!({ "poll_id": poll["structuredContent"]["poll_id"] });
        let result = client.tool("get_poll_result", read.clone()).await;
        for result in [&poll, &result] {
            let content = result["content"].as_array().unwrap();
            let id = read["poll_id"].as_str().unwrap();
            assert_eq!((content.len(), &content[1]["uri"]), (2, &json!(format!("poll://{id}"))));
            let text = content[0]["text"].as_str().unwrap();
            assert!(tokens(text) <= 300.0, "{} tokens: {text}", tokens(text));
            for expected in ["votes", "status", read["poll_id"].as_str().unwrap(), "/api/results/"] {
                assert!(text.contains(expected), "{expected} in {text}");
            }
            assert!(!text.contains("maker"), "{text}");
        }
        let mut read = read;
        read["include"] = json!(["votes"]);
        let detailed = client.tool("get_poll_result", read).await;
        let votes: Value = serde_json::from_str(detailed["content"][1]["text"].as_str().unwrap()).unwrap();
        assert_eq!(votes, detailed["structuredContent"]["votes"]);
        assert!(votes[0]["model_id"].as_str().unwrap().starts_with("maker"));
    }
}
